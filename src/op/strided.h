/* Attributes of strided_slice, strided_slice_grad and strided_slice_update. */
#ifndef JF_OP_STRIDED_H
#define JF_OP_STRIDED_H

#include "dev/kernel.h"

/* Lists have an entry for each axis; infer makes begin count from 0 and replaces sizes of -1. */
typedef struct jf_strided { jf_ints begin, step, size; } jf_strided;
/* dx has this shape; dy lies in it at begin, begin + step, ..., and the rest is 0. */
typedef struct jf_strided_grad { jf_ints begin, step, shape; } jf_strided_grad;
typedef struct jf_strided_update { jf_ints begin, step; } jf_strided_update;

#endif
