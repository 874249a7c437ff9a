/* What is done besides a convolution or matrix product, by kernels of our own: its epilogue, where
   a library makes the product alone, and the gradient of its bias. */
#ifndef JF_CUDA_CONV_ENDS_H
#define JF_CUDA_CONV_ENDS_H

#include "dev/cuda/cuda.h"
#include "op/conv.h"

/* A result of a convolution is seen as (outer, channels, inner). */
typedef struct jf_conv_ends {
  jf_cuda_kernel *work, *join;         /* join: adds up the parts; NULL: there is one */
  jf_cuda_grid grid, join_grid;
  int64_t outer, channels, inner;
  int64_t parts;                       /* a channel's sum is made of so many, by a block each */
} jf_conv_ends;

/* Prepares y = act(product + bias + residual) for k's first output y, where e is its epilogue. The
   product has y's shape and is of dtype t. If that is y's dtype the product may be y itself. */
jfl_status jf_conv_finish_prepare(jf_kargs *k, const jf_epilogue *e, jfl_dtype t,
                                  jf_conv_ends *out);
/* Prepares the end of a matrix product of y's dtype, whose channels are its last axis. */
jfl_status jf_matmul_finish_prepare(jf_kargs *k, const jf_epilogue *e, jf_conv_ends *out);
jfl_status jf_conv_finish(const jf_kargs *k, const jf_conv_ends *f, void *product);
/* Prepares y = product act(kept) for a call of matmul_slope, which jf_conv_finish does then. */
jfl_status jf_matmul_slope_prepare(jf_kargs *k, const char *act, jf_conv_ends *out);
/* Prepares a conversion of n elements of dtype `from` to `to`. */
jfl_status jf_widen_prepare(jf_kargs *k, jfl_dtype from, jfl_dtype to, int64_t n,
                            jf_conv_ends *out);
jfl_status jf_widen(const jf_kargs *k, const jf_conv_ends *w, const void *from, void *to);
/* Prepares db, the second output of a filter's gradient: the sum of dy, its second input, over all
   but channels. Sets k->scratch_size. */
jfl_status jf_conv_bias_grad_prepare(jf_kargs *k, jf_conv_ends *out);
jfl_status jf_conv_bias_grad(const jf_kargs *k, const jf_conv_ends *b);
/* Adds what makes it to the launches of k (jf_cuda_prepare). */
jfl_status jf_conv_bias_grad_add(jf_kargs *k);
/* Prepares the sums of input `from` of a call of matmul_summed, which jf_conv_bias_grad makes then.
   Sets k->scratch_size. */
jfl_status jf_matmul_sums_prepare(jf_kargs *k, int from, jf_conv_ends *out);

#endif
