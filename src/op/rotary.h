/* Attributes of rotary_embedding, and its angles. */
#ifndef JF_OP_ROTARY_H
#define JF_OP_ROTARY_H

#include "dev/kernel.h"

typedef struct jf_rotary {
  double base, scale;
  jf_nums frequencies;         /* none: base says them */
  int64_t offset, dims;        /* infer replaces dims 0 by the size */
  int interleaved, inverse;
} jf_rotary;

/* What a call turns: `outer` times `length` rows of `size` numbers, of which the first 2 * pairs
   are turned; those of pair i are at i * next and i * next + apart. */
typedef struct jf_rotary_dims { int64_t outer, length, size, pairs, next, apart; } jf_rotary_dims;
jf_rotary_dims jf_rotary_dims_of(const jf_kargs *k);
/* The cosine and sine of the angle by which pair i of the row at that position is turned, times the
   scale. */
void jf_rotary_angle(const jf_rotary *a, int64_t position, int64_t i, double *cosine,
                     double *sine);

#endif
