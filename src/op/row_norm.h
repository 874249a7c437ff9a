/* Attributes of row_norm and its gradient. */
#ifndef JF_OP_ROW_NORM_H
#define JF_OP_ROW_NORM_H

#include "dev/kernel.h"

/* y = gamma (x - mean) / sqrt(variance + epsilon) + beta, where mean and variance (biased) are
   those of a row of x. Without `center`, mean is 0 and variance the mean of squares.
     row_norm(x, params...) -> y, mean, inverse
     row_norm_grad(dy, x, mean, inverse, params...) -> dx, dparams...
   inverse is 1 / sqrt(variance + epsilon). params are gamma, if `scale` is set, then beta, if
   `shift` is; the gradient takes gamma alone and gives dgamma and dbeta in that order.
   A row is all axes from `axis` on, and params are like the last axes of x (Ba, Kiros and Hinton,
   "Layer Normalization", 2016; Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019).
   With `groups` a row is a group of the channels, axis `axis`, with all axes behind, and params
   have a number for each channel or for each group (Wu and He, "Group Normalization", 2018). */
typedef struct jf_row_norm {
  int64_t axis, groups;
  double epsilon;
  int center, scale, shift;
  jf_halves halves;            /* set by passes */
} jf_row_norm;

/* The rows of a call. A row is `pieces` pieces of `piece` elements. With `step` 1 elements of a
   piece have a param each, those from jf_piece_param on, with step 0 they share that one. */
typedef struct jf_rows {
  int64_t n, length, pieces, piece, step;
  int64_t n_param;             /* elements of gamma or beta; 0 without them */
  int64_t groups;
} jf_rows;
/* n_param elements are in gamma or beta. */
jf_rows jf_rows_of(const jfl_shape *x, const jf_row_norm *a, int64_t n_param);

/* The first param of piece i of row r. */
static inline int64_t jf_piece_param(const jf_rows *s, int64_t r, int64_t i)
{
  if (!s->n_param) return 0;
  return s->step ? (r * s->length + i * s->piece) % s->n_param
                 : r % s->groups * s->pieces + i;
}

#endif
