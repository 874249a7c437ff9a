/* segment_update(param, data, segment_ids, scalars): param -= lr scale unsorted_segment_sum(data,
   segment_ids), without storing the sums, so that only slices of param that ids name are touched.
   The attributes are those of unsorted_segment_sum; of scalars it reads the scale and the rate. */
#ifndef JF_OPTIM_SEGMENT_UPDATE_H
#define JF_OPTIM_SEGMENT_UPDATE_H

#include "op/gather.h"
#include "optim/update.h"

/* The inputs by number. */
enum { JF_SEGMENT_PARAM, JF_SEGMENT_DATA, JF_SEGMENT_IDS, JF_SEGMENT_SCALARS };

#endif
