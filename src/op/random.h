/* Attributes of the ops that draw random numbers. */
#ifndef JF_OP_RANDOM_H
#define JF_OP_RANDOM_H

#include "dev/kernel.h"

typedef struct jf_random_uniform {
  jf_ints shape;
  double minval, maxval;
  jfl_dtype dtype;
} jf_random_uniform;
typedef struct jf_random_normal {
  jf_ints shape;
  double mean, stddev;
  jfl_dtype dtype;
} jf_random_normal;
typedef struct jf_random_randint {
  double low, high;
  jf_ints shape;
  jfl_dtype dtype;
} jf_random_randint;
typedef struct jf_random_permutation { int64_t n; jfl_dtype dtype; } jf_random_permutation;

#endif
