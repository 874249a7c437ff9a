/* Preparing launches of kernels whose parameters stay the same but for addresses. */
#include "dev/cuda/cuda.h"

#include <string.h>

enum { MOST_ARGS = 2048, ARGS_ALIGN = 16 };
typedef struct cuda_call {
  jf_cuda_kernel *kernel;
  jf_cuda_grid grid;
  size_t size;                         /* of args, a multiple of ARGS_ALIGN */
  _Alignas(ARGS_ALIGN) char args[];
} cuda_call;

/* Launches, one behind the other in `size` bytes. */
typedef struct cuda_calls {
  jf_device *device;
  void *table;                         /* in the device's memory, or NULL */
  size_t size;
  _Alignas(ARGS_ALIGN) char calls[];
} cuda_calls;

const char *jf_cuda_moved(size_t size)
{
  switch (size) {
  case 1: return "uint8_t";
  case 2: return "uint16_t";
  case 4: return "uint32_t";
  case 8: return "uint64_t";
  default: return "uint4";
  }
}

/* Makes room for one more call behind those of k->state. */
static jfl_status call_room(jf_kargs *k, size_t args, cuda_call **out)
{
  cuda_calls *was = k->state, *all;
  const size_t used = was ? was->size : 0;
  all = jf_new(sizeof *all + used + sizeof **out + args);
  if (!all) return jf_fail(JFL_ENOMEM, "out of memory");
  if (was) memcpy(all, was, sizeof *was + used);
  all->size = used + sizeof **out + args;
  jf_free(was);
  k->state = all;
  *out = (cuda_call *)(void *)(all->calls + used);
  return JFL_OK;
}

jf_cuda_head jf_cuda_head_of(const jf_kargs *k)
{
  return (jf_cuda_head){ .fault = k->fault, .step = k->step, .key = k->random.key,
                         .first = k->random.first };
}

/* Forgets what was prepared, since something failed. */
static jfl_status call_fail(jf_kargs *k, jfl_status e)
{
  jf_cuda_release(k->state);
  k->state = NULL;
  return e;
}

jfl_status jf_cuda_add(jf_kargs *k, jf_cuda_kernel *kernel, jf_cuda_grid grid, const void *args,
                       size_t size)
{
  const size_t whole = (size + ARGS_ALIGN - 1) / ARGS_ALIGN * ARGS_ALIGN;
  cuda_call *call = NULL;
  const jfl_status e = call_room(k, whole, &call);
  if (e) return call_fail(k, e);
  call->kernel = kernel;
  call->grid = grid;
  call->size = whole;
  memcpy(call->args, args, size);
  return JFL_OK;
}

jfl_status jf_cuda_prepare(jf_kargs *k, const jf_cuda_source *s, const char *name,
                           jf_cuda_grid grid, const void *args, size_t size)
{
  jf_cuda_kernel *kernel;
  const jfl_status e = k->n_in + k->n_out > JF_CUDA_POINTERS ? JFL_ENOSYS
                     : jf_cuda_find(k, s, name, &kernel);
  return e ? call_fail(k, e) : jf_cuda_add(k, kernel, grid, args, size);
}

jfl_status jf_cuda_each(jf_kargs *k, const jf_cuda_source *s, const char *name, int64_t n,
                        const void *args, size_t size)
{
  return n ? jf_cuda_prepare(k, s, name, jf_cuda_grid_of(k, n), args, size) : JFL_OK;
}

static jfl_status call_run(const jf_kargs *k, const cuda_call *call, void *table)
{
  _Alignas(ARGS_ALIGN) char args[MOST_ARGS];
  jf_cuda_head *h = (jf_cuda_head *)(void *)args;
  int n = 0;
  memcpy(args, call->args, call->size);
  *h = jf_cuda_head_of(k);
  for (int i = 0; i < k->n_in && n < JF_CUDA_POINTERS; i++) h->data[n++] = k->in[i].data;
  for (int i = 0; i < k->n_out && n < JF_CUDA_POINTERS; i++) h->data[n++] = k->out[i].data;
  if (n < JF_CUDA_POINTERS) h->data[n++] = k->scratch;
  if (n < JF_CUDA_POINTERS) h->data[n] = table;
  return jf_cuda_launch(k, call->kernel, call->grid, args);
}

jfl_status jf_cuda_run(const jf_kargs *k)
{
  const cuda_calls *all = k->state;
  for (size_t at = 0; all && at < all->size;) {
    const cuda_call *call = (const cuda_call *)(const void *)(all->calls + at);
    JF_TRY(call_run(k, call, all->table));
    at += sizeof *call + call->size;
  }
  return JFL_OK;
}

/* ---- bytes ---- */

jfl_status jf_cuda_upload(jf_device *d, const void *from, size_t size, void **out)
{
  jf_cuda *c = d->state;
  void *to;
  JF_TRY(jf_device_take(d, size, "tables", NULL, &to));
  jfl_status s = jf_cuda_enter(c);
  if (!s) {
    jf_cu e = c->api->put((jf_cu_address)(uintptr_t)to, from, size, c->own);
    if (!e) e = c->api->stream_wait(c->own);
    s = jf_cuda_check(c, e, "copying to it");
    jf_cuda_leave(c);
  }
  if (s) d->kind->free(d, to);
  else *out = to;
  return s;
}

jfl_status jf_cuda_keep(jf_kargs *k, const void *table, size_t size)
{
  cuda_calls *all = jf_new(sizeof *all);
  if (!all) return jf_fail(JFL_ENOMEM, "out of memory");
  all->device = k->device;
  const jfl_status s = jf_cuda_upload(k->device, table, size, &all->table);
  if (s) jf_free(all);
  else k->state = all;
  return s;
}

void jf_cuda_release(void *state)
{
  cuda_calls *all = state;
  if (all && all->table) all->device->kind->free(all->device, all->table);
  jf_free(all);
}

static jfl_status call_set_bytes(const jf_kargs *k, void *to, const void *from, size_t size)
{
  jf_cuda *c = jf_cuda_of(k);
  const jf_cu_address at = (jf_cu_address)(uintptr_t)to;
  if (size == 0 || to == from) return JFL_OK;
  JF_TRY(jf_cuda_enter(c));
  const jf_cu e = from ? c->api->copy(at, (jf_cu_address)(uintptr_t)from, size, jf_cuda_queue(k))
                       : c->api->fill(at, 0, size, jf_cuda_queue(k));
  const jfl_status s = jf_cuda_check(c, e, from ? "copying on it" : "clearing memory");
  jf_cuda_leave(c);
  return s;
}

jfl_status jf_cuda_clear(const jf_kargs *k, void *to, size_t size)
{
  return call_set_bytes(k, to, NULL, size);
}

jfl_status jf_cuda_copy(const jf_kargs *k, void *to, const void *from, size_t size)
{
  return call_set_bytes(k, to, from, size);
}
