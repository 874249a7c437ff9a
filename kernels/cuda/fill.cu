/* Ops whose results are known before a run: tensors of one number, arrays, and norms of tensors
   without elements. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/attrs.h"
#include "op/constant.h"
#include "op/op.h"
#include "op/row_norm.h"

#include <math.h>
#include <stdio.h>
#endif

/* Number `at` of the head's data becomes `count` elements of these bytes. */
typedef struct fill_args {
  struct jf_cuda_head head;
  int64_t at, count;
  uint64_t bytes;
} fill_args;

#ifdef JF_DEVICE

JF_KERNEL fill(const fill_args a)
{
  T *y = (T *)a.head.data[a.at];
  JF_EACH(i, a.count) y[i] = (T)a.bytes;
}

#else

extern const char jf_cuda_text_fill[];

/* Adds a launch that fills a result. */
static jfl_status fill_add(jf_kargs *k, int out, double value)
{
  const jf_tensor *y = &k->out[out];
  fill_args a = { .at = k->n_in + out, .count = jf_numel(&y->shape) };
  const jf_cuda_source s = { "fill", jf_cuda_text_fill, NULL,
                             { JF_AS_TYPE("T", jf_cuda_moved(jfl_dtype_size(y->dtype))) } };
  jfl_number_put(y->dtype, &a.bytes, 0, value);
  return jf_cuda_each(k, &s, "fill", a.count, &a, sizeof a);
}

static jfl_status fill_prepare(jf_kargs *k)
{
  const jf_constant *a = k->attr;
  return fill_add(k, 0, k->op == &jf_op_constant ? a->value : 1);
}

static jfl_status zeros_run(const jf_kargs *k)
{
  for (int i = 0; i < k->n_out; i++) {
    const jf_tensor *y = &k->out[i];
    const size_t size = (size_t)jf_numel(&y->shape) * jfl_dtype_size(y->dtype);
    if (size) JF_TRY(jf_cuda_clear(k, y->data, size));
  }
  return JFL_OK;
}

JFL_CUDA(cuda_constant, JF_CUDA_LAUNCHED("constant ones ones_like", NULL, fill_prepare))
JFL_CUDA(cuda_zeros, .op = "zeros zeros_like", .run = zeros_run)

/* ---- norms of nothing: the moments of rows or channels, or the gradients of params ---- */

static int fill_accepts_norm(const jf_kargs *k)
{
  const jfl_dtype t = k->in[0].dtype;
  return (t == JFL_F32 || t == JFL_F64) && jf_numel(&k->in[0].shape) == 0;
}

/* A row without elements has the variance 0. */
static jfl_status fill_row_norm_prepare(jf_kargs *k)
{
  JF_TRY(fill_add(k, 1, 0));
  return fill_add(k, 2, 1 / sqrt(((const jf_row_norm *)k->attr)->epsilon));
}

JFL_CUDA(cuda_fill_row_norm, JF_CUDA_LAUNCHED("row_norm", fill_accepts_norm, fill_row_norm_prepare))
JFL_CUDA(cuda_zero_norm, .op = "row_norm_grad batch_norm batch_norm_grad",
  .accepts = fill_accepts_norm, .run = zeros_run)

/* ---- arrays: a copy that stays on the device ---- */

typedef struct fill_array { jf_device *device; void *data; size_t size; } fill_array;

static void array_release(void *state)
{
  fill_array *f = state;
  if (f->data) f->device->kind->free(f->device, f->data);
  jf_free(f);
}

static jfl_status array_prepare(jf_kargs *k)
{
  const jfl_array *a = ((const jf_array *)k->attr)->value;
  const size_t size = (size_t)jf_numel(&a->shape) * jfl_dtype_size(a->dtype);
  fill_array *f = jf_new(sizeof *f);
  if (!f) return jf_fail(JFL_ENOMEM, "out of memory");
  *f = (fill_array){ .device = k->device, .size = size };
  const jfl_status s = size ? jf_cuda_upload(k->device, a->data, size, &f->data) : JFL_OK;
  if (s) array_release(f);
  else k->state = f;
  return s;
}

static jfl_status array_run(const jf_kargs *k)
{
  const fill_array *f = k->state;
  return jf_cuda_copy(k, k->out[0].data, f->data, f->size);
}

JFL_CUDA(cuda_array, .op = "array", .prepare = array_prepare, .run = array_run,
  .release = array_release)

#endif
