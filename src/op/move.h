/* What ops share that move elements without looking at them, or make them from a shape. */
#ifndef JF_OP_MOVE_H
#define JF_OP_MOVE_H

#include "op/index.h"
#include "op/op.h"

/* A table entry for every dtype. */
#define JF_EVERY_DTYPE(fn)                                                        \
  [JFL_F32] = fn, [JFL_F64] = fn, [JFL_F16] = fn, [JFL_BF16] = fn, [JFL_I8] = fn, \
  [JFL_U8] = fn, [JFL_I32] = fn, [JFL_I64] = fn
/* One by element size: fn##1, fn##2, fn##4, fn##8. */
#define JF_BY_SIZE(fn)                                                                    \
  [JFL_F32] = fn##4, [JFL_F64] = fn##8, [JFL_F16] = fn##2, [JFL_BF16] = fn##2, [JFL_I8] = fn##1, \
  [JFL_U8] = fn##1, [JFL_I32] = fn##4, [JFL_I64] = fn##8

/* A list as a shape. */
jfl_status jf_shape_from(const jf_ints *list, jfl_shape *out);
/* The extents of s, borrowed. */
jf_ints jf_ints_from(const jfl_shape *s);
/* Whether a permutation of the axes of s leaves elements in their order: axes of one may go
   anywhere. */
int jf_keeps_order(const jf_ints *perm, const jfl_shape *s);

/* Passes what has classes along its last axis. */
jfl_status jf_check_classes(const jf_infer *c, int input);
/* int32 and int64 pass. */
jfl_status jf_check_indices(const jf_infer *c, int input);

#endif
