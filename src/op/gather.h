/* Attributes of gather, unsorted_segment_sum (its gradient) and one_hot; where indices point. */
#ifndef JF_OP_GATHER_H
#define JF_OP_GATHER_H

#include "dev/kernel.h"

/* The slices of index padding_idx, if there is such an index, get no gradient. */
typedef struct jf_gather { int64_t axis, batch_dims, padding_idx; } jf_gather;
/* What belongs to segment `ignored`, if there is such a segment, is not added. */
typedef struct jf_segment_sum { int64_t num_segments, axis, batch_dims, ignored; } jf_segment_sum;
typedef struct jf_one_hot {
  int64_t depth;
  double on_value, off_value;
  int64_t axis;
  jfl_dtype dtype;
} jf_one_hot;

/* How ids pick slices of a tensor seen as (batches, outer, m, run): id j of a batch, of which there
   are n, stands for the `run` elements at that index of axis m, for each index of outer. */
typedef struct jf_picks { int64_t batches, outer, m, n, run; } jf_picks;
jf_picks jf_picks_of(const jfl_shape *whole, const jfl_shape *ids, int64_t axis,
                     int64_t batch_dims);

/* The tuples of `ids` over a tensor of that shape: there are `count` of n numbers, each for a slice
   of `run` elements; step[i]: how many elements the i-th number counts. */
typedef struct jf_tuples {
  const jf_tensor *ids;
  const jfl_shape *whole;
  int n;
  int64_t count, run, step[JFL_MAXDIM];
} jf_tuples;
jf_tuples jf_tuples_of(const jf_tensor *ids, const jfl_shape *whole);
/* Does what jf_check_range does for all numbers of tuples. */
jfl_status jf_tuples_check(const jf_kargs *k, const jf_tuples *t);

#endif
