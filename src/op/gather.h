/* Attributes of gather, unsorted_segment_sum (its gradient) and one_hot. */
#ifndef JF_OP_GATHER_H
#define JF_OP_GATHER_H

#include "dev/kernel.h"

typedef struct jf_gather { int64_t axis; } jf_gather;
typedef struct jf_segment_sum { int64_t num_segments, axis; } jf_segment_sum;
typedef struct jf_one_hot {
  int64_t depth;
  double on_value, off_value;
  int64_t axis;
  jfl_dtype dtype;
} jf_one_hot;

#endif
