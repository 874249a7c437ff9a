/* Attributes of slices, concat, stack and join. */
#ifndef JF_OP_SLICE_H
#define JF_OP_SLICE_H

#include "dev/kernel.h"

/* Lists with an entry for each axis; infer makes begin count from 0 and replaces sizes of -1. slice
   has no steps, so all are 1. shape: the extents of dx, in which dy lies at begin, begin + step
   and so on, among zeros. */
typedef struct jf_slice { jf_ints begin, size, step, shape; } jf_slice;
static inline int64_t jf_slice_step(const jf_slice *a, int axis)
{
  return a->step.n ? a->step.v[axis] : 1;
}
typedef struct jf_concat { int64_t axis; } jf_concat;
/* Of input i it takes size[i] indices of the axis, from begin[i] on. It starts like jf_concat. */
typedef struct jf_join { int64_t axis; jf_ints begin, size; } jf_join;

#endif
