/* Helpers of ops that move elements without looking at them, or that make a tensor of a given
   shape. */
#ifndef JF_OP_MOVE_H
#define JF_OP_MOVE_H

#include "ir/moves.h"
#include "op/index.h"
#include "op/op.h"

/* Table entries that give every dtype the same kernel. */
#define JF_EVERY_DTYPE(fn)                                                        \
  [JFL_F32] = fn, [JFL_F64] = fn, [JFL_F16] = fn, [JFL_BF16] = fn, [JFL_I8] = fn, \
  [JFL_U8] = fn, [JFL_I32] = fn, [JFL_I64] = fn
/* Table entries for ops that take blocks as elements, too. */
#define JF_EVERY_ELEMENT(fn)                                                              \
  JF_EVERY_DTYPE(fn), [JFL_Q8_0] = fn, [JFL_Q4_0] = fn, [JFL_Q4_K] = fn, [JFL_Q6_K] = fn
/* Table entries that choose a kernel by element size: fn##1, fn##2, fn##4 or fn##8. */
#define JF_BY_SIZE(fn)                                                                    \
  [JFL_F32] = fn##4, [JFL_F64] = fn##8, [JFL_F16] = fn##2, [JFL_BF16] = fn##2, [JFL_I8] = fn##1, \
  [JFL_U8] = fn##1, [JFL_I32] = fn##4, [JFL_I64] = fn##8

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
