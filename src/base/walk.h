/* Tensors as nests of axes: extents, and how far one more index along each axis moves an operand,
   in elements or bytes as the caller counts. The last axis is the innermost. */
#ifndef JF_WALK_H
#define JF_WALK_H

#include "base/base.h"

typedef struct jf_nest {
  int n, n_op;
  int64_t d[JFL_MAXDIM];
  int64_t (*step)[JFL_MAXDIM];        /* of each operand */
} jf_nest;

/* Steps of a dense tensor of n extents, whose elements are `size` apart, along its own axes; and of
   one of shape s along those of `to`, to which it is broadcast: 0 where it is repeated. */
void jf_dense_steps(int n, const int64_t *d, int64_t size, int64_t *step);
void jf_broadcast_steps(const jfl_shape *s, const jfl_shape *to, int64_t size, int64_t *step);

/* Drops extents of 1 and joins neighbours wherever one runs on where the next inner one ends, for
   every operand. border: axes within that many elements stay apart from those outside; 0: none do.
   One axis is left at least, also of a scalar. */
void jf_nest_join(jf_nest *nest, int64_t border);
/* Where an operand is at an index of the first n axes, counted in row-major order. */
int64_t jf_nest_offset(const jf_nest *nest, int op, int n, int64_t index);

/* A walk over the first n axes of a nest, of at most so many operands. */
enum { JF_WALK_OPERANDS = 3 };
typedef struct jf_walk {
  const jf_nest *nest;
  int n;
  int64_t at[JFL_MAXDIM], off[JF_WALK_OPERANDS];      /* the index, and where operands are there */
} jf_walk;
jf_walk jf_walk_at(const jf_nest *nest, int n, int64_t index);
/* Goes to the next index; 0 after the last, and then the walk is at its start again. Here because
   kernels take few elements from one call to the next. */
static inline int jf_walk_next(jf_walk *w)
{
  const jf_nest *nest = w->nest;
  for (int i = w->n - 1; i >= 0; i--) {
    for (int j = 0; j < nest->n_op; j++) w->off[j] += nest->step[j][i];
    if (++w->at[i] < nest->d[i]) return 1;
    for (int j = 0; j < nest->n_op; j++) w->off[j] -= nest->step[j][i] * nest->d[i];
    w->at[i] = 0;
  }
  return 0;
}

#endif
