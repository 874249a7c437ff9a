/* Attributes of batch_norm and its gradient. */
#ifndef JF_OP_BATCH_NORM_H
#define JF_OP_BATCH_NORM_H

#include "dev/kernel.h"

/* y = gamma (x - mean) / sqrt(variance + epsilon) + beta, then plus an addend, then relu, where
   mean and variance (biased) are those of a channel of x (Ioffe and Szegedy, "Batch Normalization",
   2015).
     batch_norm(x, gamma, beta, extra...) -> y, mean, variance
     batch_norm_grad(dy, x, mean, variance, gamma, extra...) -> dx, dgamma, dbeta, daddend
   The forward op's extra is the addend, if `add` is set. Where `relu` is set, that of the gradient
   is y with an addend, since y is above 0 where relu let a number pass; and beta without an addend,
   as y is then computed anew. Where `add` is not set there is no daddend. Where `sum` is set, in
   gradients with both, one more tensor follows, which is added to dy. */
typedef struct jf_batch_norm {
  int64_t axis;                /* of channels */
  double epsilon;
  int add, relu;
  /* Set by passes: */
  int sum;
  int blocked;                 /* x, y, the addend and their gradients are in blocks of channels */
  jf_halves halves;
} jf_batch_norm;

/* A tensor as (outer, groups, inner, width): element (n, g, i, w) is of channel g width + w. */
typedef struct jf_batch_plane { int64_t outer, groups, inner, width; } jf_batch_plane;
jf_batch_plane jf_batch_plane_of(const jfl_shape *x, const jf_batch_norm *a);

#endif
