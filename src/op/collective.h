/* Attributes of ops in which several ranks of the world take part. */
#ifndef JF_OP_COLLECTIVE_H
#define JF_OP_COLLECTIVE_H

#include "dev/kernel.h"

/* The ranks that add up what each has, ascending, with this one. `team`, here and below: the number
   of those of their devices that do it among themselves (jf_kind, join); 0: the host does. */
typedef struct jf_all_reduce { jf_ints ranks; int64_t team; } jf_all_reduce;

/* In addition the extent along `axis` of each rank's part of the sum, and which of them is this
   one: ranks.v[member]. */
typedef struct jf_reduce_scatter {
  jf_ints ranks, sizes;
  int64_t member, axis, team;
} jf_reduce_scatter;

/* The rank that input i is sent to, and that output i comes from; for each output its number of
   axes and then their extents. If nothing comes, there is one empty output. */
typedef struct jf_exchange {
  jf_ints to, from, shapes;
  jfl_dtype dtype;
  int64_t team;
} jf_exchange;

#endif
