/* Attributes of the reductions. */
#ifndef JF_OP_REDUCE_H
#define JF_OP_REDUCE_H

#include "dev/kernel.h"

typedef struct jf_reduce {
  jf_ints axis;      /* infer makes it ascending and from 0; all axes where none was given */
  int keepdims;
} jf_reduce;

#endif
