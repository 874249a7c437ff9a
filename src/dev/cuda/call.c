/* Preparing the launch of a kernel whose parameter stays the same but for addresses. */
#include "dev/cuda/cuda.h"

#include <string.h>

enum { MOST_ARGS = 1024 };
typedef struct cuda_call {
  jf_cu_function *function;
  jf_cuda_grid grid;
  size_t size;
  _Alignas(16) char args[];
} cuda_call;

static jfl_status call_function(jf_cuda *c, const jf_cuda_source *s, const jf_cuda_type *types,
                                const char *name, jf_cu_function **out)
{
  jf_text define = { 0 };
  char *text;
  if (s->define) jf_text_add(&define, "%s", s->define);
  for (const jf_cuda_type *t = types; t && t->name; t++)
    jf_text_add(&define, "typedef %s %s;\n", jf_cuda_stored(t->dtype), t->name);
  JF_TRY(jf_text_take(&define, &text));
  jfl_status e = jf_cuda_function(c, &(jf_cuda_source){ s->what, s->text, text }, name, out);
  jf_free(text);
  return e;
}

jfl_status jf_cuda_prepare(jf_kargs *k, const jf_cuda_source *s, const jf_cuda_type *types,
                           const char *name, jf_cuda_grid grid, const void *args, size_t size)
{
  cuda_call *call = jf_new(sizeof *call + size);
  if (!call) return jf_fail(JFL_ENOMEM, "out of memory");
  jfl_status e = call_function(k->device->state, s, types, name, &call->function);
  if (e) return jf_free(call), e;
  call->grid = grid;
  call->size = size;
  memcpy(call->args, args, size);
  k->state = call;
  return JFL_OK;
}

jf_cuda_head jf_cuda_head_of(const jf_kargs *k)
{
  return (jf_cuda_head){ .fault = k->fault, .step = k->step, .key = k->random.key };
}

jfl_status jf_cuda_run(const jf_kargs *k)
{
  const cuda_call *call = k->state;
  _Alignas(16) char args[MOST_ARGS];
  jf_cuda_head *h = (jf_cuda_head *)(void *)args;
  int n = 0;
  memcpy(args, call->args, call->size);
  *h = jf_cuda_head_of(k);
  for (int i = 0; i < k->n_in && n < JF_CUDA_POINTERS; i++) h->data[n++] = k->in[i].data;
  for (int i = 0; i < k->n_out && n < JF_CUDA_POINTERS; i++) h->data[n++] = k->out[i].data;
  if (n < JF_CUDA_POINTERS) h->data[n] = k->scratch;
  return jf_cuda_launch(k, call->function, call->grid, args);
}
