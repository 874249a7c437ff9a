/* What kinds of devices that work late in the host's memory have in common. */
#include "dev/host.h"
#include "dev/stream.h"
#include "system/system.h"

#include <string.h>

void *jf_host_alloc(jf_device *d, size_t size)
{
  (void)d;
  return jf_new(size);
}

void jf_host_free(jf_device *d, void *p)
{
  (void)d;
  jf_free(p);
}

/* ---- streams and events ---- */

void jf_host_stream_free(jf_device *d, void *stream)
{
  (void)d;
  jf_stream_free(stream);
}

jfl_status jf_host_wait(jf_device *d, void *stream)
{
  (void)d;
  return jf_stream_wait(stream);
}

jfl_status jf_host_event_new(jf_device *d, void **out)
{
  (void)d;
  *out = jf_event_new();
  return *out ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
}

void jf_host_event_free(jf_device *d, void *event)
{
  (void)d;
  jf_event_free(event);
}

jfl_status jf_host_record(jf_device *d, void *stream, void *event)
{
  (void)d;
  return jf_stream_record(stream, event);
}

jfl_status jf_host_await(jf_device *d, void *stream, void *event)
{
  (void)d;
  return jf_stream_await(stream, event);
}

jfl_status jf_host_reach(jf_device *d, void *stream, void *event)
{
  (void)d;
  return jf_stream_reach(stream, event);
}

/* ---- copies ---- */

typedef struct host_copy { void *to; const void *from; size_t size; } host_copy;

static jfl_status host_run_copy(void *item)
{
  const host_copy *c = item;
  memmove(c->to, c->from, c->size);
  return JFL_OK;
}

jfl_status jf_host_put(jf_device *d, void *stream, void *to, const void *from, size_t size)
{
  (void)d;
  const host_copy c = { to, from, size };
  return jf_stream_add(stream, JF_STREAM_WORK, host_run_copy, &c, sizeof c);
}

jfl_status jf_host_move(jf_device *d, void *stream, void *to, jf_device *source,
                        const void *from, size_t size)
{
  (void)source;
  return jf_host_put(d, stream, to, from, size);
}

/* ---- kernels ---- */

typedef struct host_launch {
  jf_kernel run;
  int most, low;               /* as jf_loops_get gave them */
  jf_kargs k;
  jf_tensor tensor[];          /* of k, inputs and outputs */
} host_launch;

jfl_status jf_kernel_run(jf_kernel run, const jf_kargs *k)
{
  const unsigned mode = jf_float_usual();
  const jfl_status s = run(k);
  jf_float_restore(mode);
  return s;
}

/* Does nothing once a step of the run has found something wrong in its data. That is no failure: it
   stands in the run's record, which the host reads. */
static jfl_status host_run_call(void *item)
{
  const host_launch *c = item;
  const jf_fault *found = c->k.fault;
  if (found && found->what) return JFL_OK;
  jf_loops_set(c->most, c->low);
  jfl_status s = jf_kernel_run(c->run, &c->k);
  return found && found->what ? JFL_OK : s;
}

jfl_status jf_host_launch(jf_device *d, void *stream, jf_kernel run, const jf_kargs *k)
{
  const size_t n_in = (size_t)k->n_in, n_out = (size_t)k->n_out;
  host_launch *c = jf_stream_room(stream, sizeof *c + (n_in + n_out) * sizeof *c->tensor);
  (void)d;
  if (!c) return jf_fail(JFL_ENOMEM, "out of memory");
  c->run = run;
  jf_loops_get(&c->most, &c->low);
  c->k = *k;
  c->k.in = c->tensor;
  c->k.out = c->tensor + n_in;
  c->k.stream = NULL;
  if (n_in) memcpy(c->k.in, k->in, n_in * sizeof *k->in);
  if (n_out) memcpy(c->k.out, k->out, n_out * sizeof *k->out);
  jf_stream_put(stream, JF_STREAM_WORK, host_run_call);
  return JFL_OK;
}
