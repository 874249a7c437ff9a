/* Attributes of strided_slice, strided_slice_grad and strided_slice_update. */
#ifndef JF_OP_STRIDED_H
#define JF_OP_STRIDED_H

#include "base/walk.h"
#include "dev/kernel.h"

/* Lists have an entry for each axis; infer makes begin count from 0 and replaces sizes of -1. */
typedef struct jf_strided { jf_ints begin, step, size; } jf_strided;
/* dx has this shape; dy lies in it at begin, begin + step, ..., and the rest is 0. */
typedef struct jf_strided_grad { jf_ints begin, step, shape; } jf_strided_grad;
typedef struct jf_strided_update { jf_ints begin, step; } jf_strided_update;

/* How a box lies in a tensor: a nest of two operands, the tensor and the box, with steps in
   elements; begin: the box's first element in the tensor. */
typedef struct jf_strided_box {
  jf_nest nest;
  int64_t step[2][JFL_MAXDIM];
  int64_t begin;
} jf_strided_box;
void jf_strided_find(const jfl_shape *whole, const jfl_shape *box, const jf_ints *begin,
                     const jf_ints *step, jf_strided_box *b);

#endif
