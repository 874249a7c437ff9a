/* scale_filters: the filters of a convolution, each multiplied by a number. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/conv.h"
#endif

/* data is filters (n, of_one), line (n), y. */
typedef struct scale_filters_args {
  struct jf_cuda_head head;
  int64_t count, of_one;
} scale_filters_args;

#ifdef JF_DEVICE

JF_KERNEL scale_filters(const scale_filters_args a)
{
  const T *f = (const T *)a.head.data[0], *line = (const T *)a.head.data[1];
  T *y = (T *)a.head.data[2];
  JF_EACH(i, a.count) {
    int64_t rest;
    y[i] = f[i] * line[jf_divide(i, a.of_one, &rest)];
  }
}

#else

extern const char jf_cuda_text_scale_filters[];

static jfl_status scale_filters_prepare(jf_kargs *k)
{
  const jfl_shape *f = &k->in[0].shape;
  const jf_cuda_source s = { "scale_filters", jf_cuda_text_scale_filters, NULL,
                             { JF_AS_DTYPE("T", k->in[0].dtype) } };
  scale_filters_args a = { .count = jf_numel(f) };
  if (a.count == 0) return JFL_OK;
  a.of_one = a.count / f->d[0];
  return jf_cuda_each(k, &s, "scale_filters", a.count, &a, sizeof a);
}

/* Filters in blocks are the CPU's alone. */
static int scale_filters_accepts(const jf_kargs *k)
{
  return (k->in[0].dtype == JFL_F32 || k->in[0].dtype == JFL_F64) &&
         !((const jf_conv *)k->attr)->packed;
}

JFL_CUDA(cuda_scale_filters,
  JF_CUDA_LAUNCHED("scale_filters", scale_filters_accepts, scale_filters_prepare))

#endif
