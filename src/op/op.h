/* All ops, as symbols (jf_op_NAME) and as a table. The build generates both from the JFL_OP
   lines. */
#ifndef JF_OP_H
#define JF_OP_H

#include "ir/ir.h"

#define OP(id) extern const jfl_op jf_op_##id;
#include "gen/oplist.h"
#undef OP

extern const jfl_op *const jf_ops[];   /* NULL-terminated, sorted by name */

/* The plain kernels of a record, by dtype: entries as these macros make them. */
#define JF_KERNELS(...) ((const jf_kernel[JFL_N_DTYPE]){ __VA_ARGS__ })
/* One for each dtype, named p##F32, ... */
#define JF_FLOATS(p) [JFL_F32] = p##F32, [JFL_F64] = p##F64
#define JF_INTEGERS(p) [JFL_I32] = p##I32, [JFL_I64] = p##I64
#define JF_SMALLS(p) [JFL_I8] = p##I8, [JFL_U8] = p##U8
#define JF_NUMS(p) JF_FLOATS(p), JF_INTEGERS(p)
#define JF_TYPES(p) JF_NUMS(p), JF_SMALLS(p)
#define JF_DTYPES(p) JF_TYPES(p), [JFL_F16] = p##F16, [JFL_BF16] = p##BF16
/* One for each size of elements: fn##1, fn##2, fn##4 and fn##8. */
#define JF_BY_SIZE(fn)                                                                    \
  [JFL_F32] = fn##4, [JFL_F64] = fn##8, [JFL_F16] = fn##2, [JFL_BF16] = fn##2, [JFL_I8] = fn##1, \
  [JFL_U8] = fn##1, [JFL_I32] = fn##4, [JFL_I64] = fn##8
/* The same one for all of them; an element may be a block of numbers, too. */
#define JF_EVERY_FLOAT(fn) [JFL_F32] = fn, [JFL_F64] = fn
#define JF_EVERY_NUM(fn) JF_EVERY_FLOAT(fn), [JFL_I32] = fn, [JFL_I64] = fn
#define JF_EVERY_DTYPE(fn)                                                                \
  JF_EVERY_NUM(fn), [JFL_F16] = fn, [JFL_BF16] = fn, [JFL_I8] = fn, [JFL_U8] = fn
#define JF_EVERY_BLOCK(fn) \
  [JFL_Q8_0] = fn, [JFL_Q4_0] = fn, [JFL_Q4_K] = fn, [JFL_Q6_K] = fn
#define JF_EVERY_ELEMENT(fn) JF_EVERY_DTYPE(fn), JF_EVERY_BLOCK(fn)

#endif
