/* Attributes of the reductions. */
#ifndef JF_OP_REDUCE_H
#define JF_OP_REDUCE_H

#include "dev/kernel.h"

typedef struct jf_reduce {
  jf_ints axis;      /* infer sorts them and counts them from 0; none given: all axes */
  int keepdims;
  int64_t whole;     /* of a part of a mean: how many elements the whole's mean is of; else 0 */
} jf_reduce;

/* The number that divides a mean over so many elements. */
static inline int64_t jf_mean_count(const jf_reduce *a, int64_t count)
{
  return a->whole ? a->whole : count;
}

#endif
