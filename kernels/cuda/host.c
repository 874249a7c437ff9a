/* Runs an op that has no kernel of its own here by its plain kernel: the stream copies what the op
   reads to the host, calls the plain kernel there, and copies back what it writes. It is slow, but
   every op runs, and it can be captured like any other step. */
#include "dev/cuda/cuda.h"
#include "op/op.h"

#include <string.h>

enum { ALIGNMENT = 64 };

typedef struct host_call {
  jf_cuda *cuda;
  jf_kernel run;
  jf_kargs k;                          /* as the plain kernel sees it */
  char *pinned;                        /* the tensors, then the run's record */
  size_t record_at;
  void *scratch;
  jf_tensor tensor[];                  /* of k: inputs, then outputs */
} host_call;

static int host_accepts(const jf_kargs *k)
{
  return k->op->cpu && k->op->cpu[jf_call_key(k->op, k)] && !(k->op->flags & JF_TRANSFER);
}

static size_t host_bytes(const jf_tensor *t)
{
  return (size_t)jf_numel(&t->shape) * jfl_dtype_size(t->dtype);
}

static size_t host_room(size_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Lays the tensors out in pinned memory, unless that is NULL; gives the bytes of it. */
static size_t host_lay_out(host_call *h, char *pinned)
{
  size_t at = 0;
  for (int i = 0; i < h->k.n_in + h->k.n_out; i++) {
    if (pinned) h->tensor[i].data = pinned + at;
    at += host_room(host_bytes(&h->tensor[i]));
  }
  h->record_at = at;
  return at + host_room(sizeof(jf_run_record));
}

static void host_release(void *state)
{
  host_call *h = state;
  if (h->pinned && jf_cuda_enter_to_end(h->cuda)) {
    h->cuda->api->host_free(h->pinned);
    jf_cuda_leave(h->cuda);
  }
  jf_free(h->scratch);
  jf_free(h);
}

static jfl_status host_take_memory(host_call *h)
{
  const size_t size = host_lay_out(h, NULL);
  const size_t scratch = h->k.op->scratch ? h->k.op->scratch(&h->k) : 0;
  h->scratch = jf_new(scratch);
  if (!h->scratch) return jf_fail(JFL_ENOMEM, "out of memory");
  JF_TRY(jf_cuda_enter(h->cuda));
  jfl_status s = jf_cuda_check(h->cuda, h->cuda->api->host_alloc((void **)&h->pinned, size, 0),
                               "taking pinned memory");
  jf_cuda_leave(h->cuda);
  if (!s) host_lay_out(h, h->pinned);
  return s;
}

static jfl_status host_prepare(jf_kargs *k, size_t *scratch)
{
  const size_t n_in = (size_t)k->n_in, n_out = (size_t)k->n_out;
  host_call *h = jf_new(sizeof *h + (n_in + n_out) * sizeof *h->tensor);
  (void)scratch;
  if (!h) return jf_fail(JFL_ENOMEM, "out of memory");
  h->cuda = k->device->state;
  h->run = k->op->cpu[jf_call_key(k->op, k)];
  h->k = *k;
  if (n_in) memcpy(h->tensor, k->in, n_in * sizeof *k->in);
  if (n_out) memcpy(h->tensor + n_in, k->out, n_out * sizeof *k->out);
  h->k.in = h->tensor;
  h->k.out = h->tensor + n_in;
  h->k.threads = 1;
  jfl_status s = host_take_memory(h);
  if (s) host_release(h);
  else k->state = h;
  return s;
}

static jf_run_record *host_record(const host_call *h)
{
  return (jf_run_record *)(void *)(h->pinned + h->record_at);
}

/* Called on a thread of the driver's, in the stream's order. */
static void host_work(void *state)
{
  host_call *h = state;
  const jf_run_record *record = host_record(h);
  if (record->fault.what) return;
  h->k.random.run = record->number;
  h->run(&h->k);
}

/* Copies tensor i between its place on the device and that in pinned memory. */
static jf_cu host_copy(const host_call *h, jf_cu_stream *s, int i, const void *device, int to_host)
{
  const size_t size = host_bytes(&h->tensor[i]);
  const jf_cu_address at = (jf_cu_address)(uintptr_t)device;
  if (size == 0) return 0;
  return to_host ? h->cuda->api->get(h->tensor[i].data, at, size, s)
                 : h->cuda->api->put(at, h->tensor[i].data, size, s);
}

static jf_cu host_queue(host_call *h, const jf_kargs *k, jf_cu_stream *s)
{
  const jf_cu_address record = (jf_cu_address)(uintptr_t)k->fault;
  jf_cu e = h->cuda->api->get(host_record(h), record, sizeof(jf_run_record), s);
  for (int i = 0; i < k->n_in && !e; i++) e = host_copy(h, s, i, k->in[i].data, 1);
  if (!e) e = h->cuda->api->host_call(s, host_work, h);
  for (int i = 0; i < k->n_in && !e && k->op->flags & JF_EFFECT; i++)
    e = host_copy(h, s, i, k->in[i].data, 0);
  for (int i = 0; i < k->n_out && !e; i++) e = host_copy(h, s, k->n_in + i, k->out[i].data, 0);
  return e ? e : h->cuda->api->put(record, host_record(h), sizeof(jf_run_record), s);
}

static jfl_status host_run(const jf_kargs *k)
{
  host_call *h = k->state;
  h->k.random = k->random;
  h->k.step = k->step;
  h->k.scratch = h->scratch;
  h->k.fault = &host_record(h)->fault;
  JF_TRY(jf_cuda_enter(h->cuda));
  jfl_status s = jf_cuda_check(h->cuda, host_queue(h, k, jf_cuda_queue(k)), "running a step on the "
                               "host");
  jf_cuda_leave(h->cuda);
  return s;
}

JFL_CUDA(cuda_host, .accepts = host_accepts, .prepare = host_prepare, .run = host_run,
  .release = host_release, .priority = 1)
