/* Helpers of ops that move elements without looking at them, or that make a tensor of a given
   shape. */
#ifndef JF_OP_MOVE_H
#define JF_OP_MOVE_H

#include "ir/moves.h"
#include "op/index.h"
#include "op/op.h"

/* The plain kernels of ops whose records have `moves`. */
extern const jf_kernel jf_moves_cpu[JFL_N_DTYPE];
/* For `share` of ops with a list `size` or `shape` of the extents of output 0: sets those of the
   part. */
void jf_share_extents(jf_share *s);

/* Makes a shape of a list of extents. */
jfl_status jf_shape_from(const jf_ints *list, jfl_shape *out);
/* The extents of s as a list, which borrows them. */
jf_ints jf_ints_from(const jfl_shape *s);
/* Whether permuting the axes of s leaves all elements in their order. Axes of extent 1 may move
   freely. */
int jf_keeps_order(const jf_ints *perm, const jfl_shape *s);

/* Checks that the input has classes along its last axis. */
jfl_status jf_check_classes(const jf_infer *c, int input);
/* Checks that the input is int32 or int64. */
jfl_status jf_check_indices(const jf_infer *c, int input);

#endif
