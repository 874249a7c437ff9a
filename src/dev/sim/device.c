/* The simulated device's table of functions, which plans and sessions call. */
#include "dev/host.h"
#include "dev/sim/sim.h"

#include <stdlib.h>
#include <string.h>

enum { N_SIM = 4, USUAL_DELAY = 40 };

/* The state of a device. */
typedef struct sim_state {
  jf_sim_memory memory;
  jf_sim_pace pace;
  atomic_int n_stream, n_step;     /* streams so far; steps begun so far */
  int break_at;                    /* JFL_SIM_FAULT: number of the step that fails; 0: none */
} sim_state;

static int sim_device_count(void) { return N_SIM; }

static uint64_t sim_device_number(const char *variable, uint64_t usual)
{
  const char *s = getenv(variable);
  return s && *s ? strtoull(s, NULL, 10) : usual;
}

static jfl_status sim_device_open(jf_device *d)
{
  sim_state *s = d->state = jf_new(sizeof *s);
  if (!s) return jf_fail(JFL_ENOMEM, "out of memory");
  jf_sim_memory_init(&s->memory, d->name);
  s->pace = (jf_sim_pace){ (unsigned)sim_device_number("JFL_SIM_DELAY", USUAL_DELAY),
                           sim_device_number("JFL_SIM_SEED", 1) };
  s->break_at = (int)sim_device_number("JFL_SIM_FAULT", 0);
  return JFL_OK;
}

static void sim_device_close(jf_device *d)
{
  jf_sim_memory_end(&((sim_state *)d->state)->memory);
  jf_free(d->state);
}

static void *sim_device_alloc(jf_device *d, size_t size)
{
  return jf_sim_take(&((sim_state *)d->state)->memory, size);
}

static void sim_device_free(jf_device *d, void *p)
{
  jf_sim_drop(&((sim_state *)d->state)->memory, p);
}

/* ---- streams and events ---- */

static jfl_status sim_device_stream_new(jf_device *d, void **out)
{
  sim_state *s = d->state;
  const uint64_t number = (uint64_t)d->index << 32 | (uint64_t)atomic_fetch_add(&s->n_stream, 1);
  jf_sim_stream *stream;
  JF_TRY(jf_sim_stream_new(d->name, s->pace, number, &stream));
  return *out = stream, JFL_OK;
}

static void sim_device_stream_free(jf_device *d, void *stream)
{
  (void)d;
  jf_sim_stream_free(stream);
}

static jfl_status sim_device_wait(jf_device *d, void *stream)
{
  (void)d;
  JF_TRY(jf_sim_check(stream));
  return jf_stream_wait(((jf_sim_stream *)stream)->stream);
}

static jfl_status sim_device_record(jf_device *d, void *stream, void *event)
{
  (void)d;
  JF_TRY(jf_sim_check(stream));
  return jf_stream_record(((jf_sim_stream *)stream)->stream, event);
}

static jfl_status sim_device_await(jf_device *d, void *stream, void *event)
{
  (void)d;
  JF_TRY(jf_sim_check(stream));
  return jf_stream_await(((jf_sim_stream *)stream)->stream, event);
}

static jfl_status sim_device_reach(jf_device *d, void *stream, void *event)
{
  (void)d;
  JF_TRY(jf_sim_check(stream));
  return jf_stream_reach(((jf_sim_stream *)stream)->stream, event);
}

/* ---- copies ---- */

/* A copy. A side that is in host memory has a NULL memory. */
typedef struct sim_copy {
  jf_sim_item item;
  jf_sim_memory *to_memory, *from_memory;
  void *to;
  const void *from;
  size_t size;
} sim_copy;

static jfl_status sim_device_run_copy(jf_sim_item *i)
{
  const sim_copy *c = (const sim_copy *)i;
  void *to = c->to, *from = (void *)c->from;
  if (c->to_memory) JF_TRY(jf_sim_find(c->to_memory, c->to, c->size, &to));
  if (c->from_memory) JF_TRY(jf_sim_find(c->from_memory, c->from, c->size, &from));
  memmove(to, from, c->size);
  return JFL_OK;
}

static jfl_status sim_device_copy(void *stream, sim_copy what)
{
  void *room;
  JF_TRY(jf_sim_room(stream, sizeof what, &room));
  sim_copy *c = room;
  *c = what;
  jf_sim_put(stream, &c->item, sim_device_run_copy);
  return JFL_OK;
}

static jfl_status sim_device_put(jf_device *d, void *stream, void *to, const void *from,
                                 size_t size)
{
  sim_state *s = d->state;
  return sim_device_copy(stream, (sim_copy){ .to_memory = &s->memory, .to = to, .from = from,
                                             .size = size });
}

static jfl_status sim_device_get(jf_device *d, void *stream, void *to, const void *from,
                                 size_t size)
{
  sim_state *s = d->state;
  return sim_device_copy(stream, (sim_copy){ .from_memory = &s->memory, .to = to, .from = from,
                                             .size = size });
}

static jfl_status sim_device_move(jf_device *d, void *stream, void *to, jf_device *source,
                                  const void *from, size_t size)
{
  sim_state *s = d->state, *other = source->state;
  return sim_device_copy(stream, (sim_copy){ .to_memory = &s->memory, .from_memory = &other->memory,
                                             .to = to, .from = from, .size = size });
}

/* ---- steps: the stream's thread runs plain kernels, which are done when they return ---- */

/* It may be done more than once, so that the addresses it was given are kept beside what they stand
   for. */
typedef struct sim_step {
  jf_sim_item item;
  jf_device *device;
  jf_kernel run;
  jf_kargs given, k;
  jf_tensor tensor[];          /* of k, inputs and outputs; behind them those that were given */
} sim_step;

/* Runs the step, unless an earlier one of the run has found something wrong in its data. That is no
   failure: it stands in the run's record, which the host reads. */
static jfl_status sim_device_run_step(jf_sim_item *i)
{
  sim_step *p = (sim_step *)i;
  sim_state *s = p->device->state;
  if (atomic_fetch_add(&s->n_step, 1) + 1 == s->break_at)
    return jf_fail(JFL_EDEVICE, "%s is broken", p->device->name);
  /* Replaces the device addresses in the step's arguments by the addresses of their contents. */
  jf_sim_memory *m = &((sim_state *)p->device->state)->memory;
  const int n = p->given.n_in + p->given.n_out;
  void *fault = p->given.fault;
  p->k.scratch = p->given.scratch;
  memcpy(p->tensor, p->tensor + n, (size_t)n * sizeof *p->tensor);
  for (jf_tensor *t = p->tensor; t < p->tensor + n; t++) {
    const size_t size = JF_BYTES_OF(t);
    if (size) JF_TRY(jf_sim_find(m, t->data, size, &t->data));
  }
  if (p->k.scratch) JF_TRY(jf_sim_find(m, p->k.scratch, 1, &p->k.scratch));
  if (fault) JF_TRY(jf_sim_find(m, fault, sizeof *p->k.fault, &fault));
  p->k.fault = fault;
  const jf_fault *found = p->k.fault;
  if (found && found->what) return JFL_OK;
  jfl_status st = p->run(&p->k);
  return found && found->what ? JFL_OK : st;
}

static jfl_status sim_device_launch(jf_device *d, void *stream, jf_kernel run, const jf_kargs *k)
{
  size_t n_in = (size_t)k->n_in, n_out = (size_t)k->n_out;
  void *room;
  JF_TRY(jf_sim_room(stream, sizeof(sim_step) + 2 * (n_in + n_out) * sizeof(jf_tensor), &room));
  sim_step *p = room;
  *p = (sim_step){ .device = d, .run = run, .given = *k, .k = *k };
  p->k.in = p->tensor;
  p->k.out = p->tensor + n_in;
  p->k.threads = 1;
  jf_tensor *given = p->tensor + n_in + n_out;
  if (n_in) memcpy(given, k->in, n_in * sizeof *k->in);
  if (n_out) memcpy(given + n_in, k->out, n_out * sizeof *k->out);
  jf_sim_put(stream, &p->item, sim_device_run_step);
  return JFL_OK;
}

static jfl_status sim_device_capture(jf_device *d, void *stream)
{
  (void)d;
  return jf_sim_capture(stream);
}

static jfl_status sim_device_captured(jf_device *d, void *stream, void **out)
{
  (void)d;
  *out = jf_sim_captured(stream);
  return JFL_OK;
}

static jfl_status sim_device_replay(jf_device *d, void *stream, void *work)
{
  (void)d;
  return jf_sim_replay(stream, work);
}

static void *sim_device_pin(jf_device *d, size_t size)
{
  (void)d;
  return jf_new(size);
}

static void sim_device_unpin(jf_device *d, void *p)
{
  (void)d;
  jf_free(p);
}

static void sim_device_work_free(jf_device *d, void *work)
{
  (void)d;
  jf_sim_work_free(work);
}

/* The limits are those of the CPU, so that the programs are the same ones: how nodes are joined
   decides in which order numbers are added up. */
static const jf_fused_limits sim_fused = {
  .slots = 64, .instrs = 32, .outputs = 4, .row = 4096, .sums = 1 << 15,
};

JFL_DEVICE(sim, .plain = 1, .fused = &sim_fused, .count = sim_device_count, .open = sim_device_open,
  .close = sim_device_close, .alloc = sim_device_alloc, .free = sim_device_free,
  .stream_new = sim_device_stream_new, .stream_free = sim_device_stream_free,
  .put = sim_device_put, .get = sim_device_get, .move = sim_device_move,
  .launch = sim_device_launch, .wait = sim_device_wait, .event_new = jf_host_event_new,
  .event_free = jf_host_event_free, .capture = sim_device_capture,
  .captured = sim_device_captured, .replay = sim_device_replay, .work_free = sim_device_work_free,
  .pin = sim_device_pin, .unpin = sim_device_unpin, .reach = sim_device_reach,
  .record = sim_device_record, .await = sim_device_await)
