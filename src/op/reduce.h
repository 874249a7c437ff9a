/* Attributes of the reductions. */
#ifndef JF_OP_REDUCE_H
#define JF_OP_REDUCE_H

#include "dev/kernel.h"

typedef struct jf_reduce {
  jf_ints axis;      /* infer sorts them and counts them from 0; none given: all axes */
  int keepdims;
} jf_reduce;

#endif
