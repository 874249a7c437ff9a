/* Attributes of slice, slice_grad, concat, stack and join. */
#ifndef JF_OP_SLICE_H
#define JF_OP_SLICE_H

#include "dev/kernel.h"

/* Both lists have an entry for each axis; infer makes begin count from 0 and replaces sizes of
   -1. */
typedef struct jf_slice { jf_ints begin, size; } jf_slice;
/* dx has this shape; it is dy from begin on, and 0 elsewhere. */
typedef struct jf_slice_grad { jf_ints begin, shape; } jf_slice_grad;
typedef struct jf_concat { int64_t axis; } jf_concat;
/* Of input i it takes size[i] indices of the axis, from begin[i] on. It starts like jf_concat. */
typedef struct jf_join { int64_t axis; jf_ints begin, size; } jf_join;

#endif
