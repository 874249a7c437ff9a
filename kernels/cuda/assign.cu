/* Ops that write a variable: assign, carry, and the moving averages of batch normalization. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/attrs.h"
#include "op/op.h"

#include <stdio.h>
#endif

/* data: the variable, the value, and for carry the turn. */
typedef struct assign_args { struct jf_cuda_head head; int64_t n; double momentum; } assign_args;

#ifdef JF_DEVICE

JF_KERNEL assign(const assign_args a)
{
  if (jf_halted(a.head)) return;
  JF_EACH(i, a.n) ((T *)a.head.data[0])[i] = ((const T *)a.head.data[1])[i];
}

/* The variable becomes the value, or 0 in the call that makes a step. */
JF_KERNEL carry(const assign_args a)
{
  if (jf_halted(a.head)) return;
  const int steps = *(const double *)a.head.data[2] > 0;
  JF_EACH(i, a.n) ((T *)a.head.data[0])[i] = steps ? (T)0 : ((const T *)a.head.data[1])[i];
}

/* In double, as on the CPU: there are as many elements as channels. */
JF_KERNEL moving_average(const assign_args a)
{
  T *to = (T *)a.head.data[0];
  const T *value = (const T *)a.head.data[1];
  if (jf_halted(a.head)) return;
  JF_EACH(i, a.n) to[i] = (T)(a.momentum * to[i] + (1 - a.momentum) * value[i]);
}

#else

extern const char jf_cuda_text_assign[];

static jfl_status assign_make(jf_kargs *k, const char *stored, double momentum)
{
  const assign_args a = { .n = jf_numel(&k->in[0].shape), .momentum = momentum };
  const jf_cuda_source s = { "assign", jf_cuda_text_assign, NULL, { JF_AS_TYPE("T", stored) } };
  return jf_cuda_each(k, &s, k->op->name, a.n, &a, sizeof a);
}

static jfl_status assign_prepare(jf_kargs *k)
{
  return assign_make(k, jf_cuda_moved(jfl_dtype_size(k->in[0].dtype)), 0);
}

static jfl_status moving_average_prepare(jf_kargs *k)
{
  return assign_make(k, k->in[0].dtype == JFL_F64 ? "double" : "float",
                     ((const jf_moving_average *)k->attr)->momentum);
}

static int assign_accepts_float(const jf_kargs *k)
{
  return k->in[0].dtype == JFL_F32 || k->in[0].dtype == JFL_F64;
}

JFL_CUDA(cuda_assign, JF_CUDA_LAUNCHED("assign", NULL, assign_prepare))
JFL_CUDA(cuda_carry, JF_CUDA_LAUNCHED("carry", assign_accepts_float, assign_prepare))
JFL_CUDA(cuda_moving_average,
  JF_CUDA_LAUNCHED("moving_average", assign_accepts_float, moving_average_prepare))

#endif
