/* Elementwise ops: one formula per op, from which its loops, its plain kernel and its text come. */
#ifndef JF_OP_ELEMENTWISE_H
#define JF_OP_ELEMENTWISE_H

#include <math.h>
#include <tgmath.h>   /* exp and its like follow the type of a */

#include "dev/variants.h"
#include "op/op.h"

/* Applies tile row by row to k's inputs, broadcast to the shape of k->out[0], on k's threads. */
jfl_status jf_elementwise(const jf_kargs *k, jf_tile tile);

/* One number as a (1) of dtype t, for gradient rules. */
jfl_value *jf_scalar(jfl_graph *g, jfl_dtype t, double value);

/* For ops that are flat wherever they have a derivative: nothing flows. */
void jf_grad_flat(jf_gradctx *c);

/* Output i is used in place of its input, so loops may overlap exactly, never partly. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"   /* loops that call libm stay as they are */
#define JF_EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#else
#define JF_EACH_ALONE _Pragma("GCC ivdep")
#endif

/* In a formula a and b are elements of the inputs, T the input's C type, and p the attributes. U is
   the type that a and b have: T, or unsigned for integers in ops that may overflow, so that these
   wrap. */
#define JF_UNARY_TILE(id, D, T_, U_, O_, ATTR, EXPR)                                          \
  JF_BODY void id##_##D##_body(const jf_tile_args *t)                                         \
  {                                                                                           \
    typedef T_ T; typedef U_ U; typedef O_ O;                                                 \
    const T *x = t->in[0]; O *y = t->out;                                                     \
    const ATTR *p = t->attr; (void)p;                                                         \
    int64_t n = t->step[0] ? t->n : 1;                                                        \
    JF_EACH_ALONE for (int64_t i = 0; i < n; i++) { const U a = (U)x[i]; y[i] = (O)(EXPR); }  \
    for (int64_t i = n; i < t->n; i++) y[i] = y[0];                                           \
  }                                                                                           \
  JF_TILE_KERNEL(id, D)

#define JF_BINARY_LOOP(n, A, B, EXPR)                  \
  JF_EACH_ALONE for (int64_t i = 0; i < (n); i++) {    \
    const U a = (U)(A), b = (U)(B);                    \
    y[i] = (O)(EXPR);                                  \
  }

#define JF_BINARY_TILE(id, D, T_, U_, O_, EXPR)                       \
  JF_BODY void id##_##D##_body(const jf_tile_args *t)                 \
  {                                                                   \
    typedef T_ T; typedef U_ U; typedef O_ O;                         \
    const T *u = t->in[0], *v = t->in[1]; O *y = t->out;              \
    const T u0 = u[0], v0 = v[0];                                     \
    if (t->step[0] & t->step[1]) JF_BINARY_LOOP(t->n, u[i], v[i], EXPR) \
    else if (t->step[0]) JF_BINARY_LOOP(t->n, u[i], v0, EXPR)         \
    else if (t->step[1]) JF_BINARY_LOOP(t->n, u0, v[i], EXPR)         \
    else JF_BINARY_LOOP(t->n, u0, v0, EXPR)                           \
  }                                                                   \
  JF_TILE_KERNEL(id, D)

/* From id_D_body: the loop id_D and the kernel id_plain_D. */
#define JF_TILE_KERNEL(id, D)                       \
  JF_DISPATCH(id##_##D, (const jf_tile_args *t), (t)) \
  static jfl_status id##_plain_##D(const jf_kargs *k) \
  {                                                 \
    return jf_elementwise(k, id##_##D);             \
  }

/* The tables of an op's loops and plain kernels, and the record fields that name them. */
#define JF_TILES_FLOAT(id)                                                                 \
  static const jf_tile id##_tile[JFL_N_DTYPE] = { [JFL_F32] = id##_F32, [JFL_F64] = id##_F64 }; \
  static const jf_kernel id##_cpu[JFL_N_DTYPE] = {                                         \
    [JFL_F32] = id##_plain_F32, [JFL_F64] = id##_plain_F64 };
#define JF_TILES_NUM(id)                                                      \
  static const jf_tile id##_tile[JFL_N_DTYPE] = {                             \
    [JFL_F32] = id##_F32, [JFL_F64] = id##_F64, [JFL_I32] = id##_I32, [JFL_I64] = id##_I64 }; \
  static const jf_kernel id##_cpu[JFL_N_DTYPE] = {                            \
    [JFL_F32] = id##_plain_F32, [JFL_F64] = id##_plain_F64,                   \
    [JFL_I32] = id##_plain_I32, [JFL_I64] = id##_plain_I64 };
#define JF_ELEMENTWISE(id) .cpu = id##_cpu, .tile = id##_tile, .expr = id##_expr

/* Formulas for float32 and float64. The text is made here, before EXPR's own macros expand. */
#define JF_UNARY_FLOAT(id, ATTR, EXPR)                          \
  static const char id##_expr[] = #EXPR;                        \
  JF_UNARY_TILE(id, F32, float, float, float, ATTR, EXPR)       \
  JF_UNARY_TILE(id, F64, double, double, double, ATTR, EXPR)    \
  JF_TILES_FLOAT(id)
#define JF_BINARY_FLOAT(id, EXPR)                        \
  static const char id##_expr[] = #EXPR;                 \
  JF_BINARY_TILE(id, F32, float, float, float, EXPR)     \
  JF_BINARY_TILE(id, F64, double, double, double, EXPR)  \
  JF_TILES_FLOAT(id)

/* Formulas for these and int32 and int64; in the WRAP form integers are computed unsigned. */
#define JF_UNARY_NUM(id, ATTR, EXPR)                                \
  static const char id##_expr[] = #EXPR;                            \
  JF_UNARY_TILE(id, F32, float, float, float, ATTR, EXPR)           \
  JF_UNARY_TILE(id, F64, double, double, double, ATTR, EXPR)        \
  JF_UNARY_TILE(id, I32, int32_t, int32_t, int32_t, ATTR, EXPR)     \
  JF_UNARY_TILE(id, I64, int64_t, int64_t, int64_t, ATTR, EXPR)     \
  JF_TILES_NUM(id)
#define JF_UNARY_WRAP(id, EXPR)                                     \
  static const char id##_expr[] = #EXPR;                            \
  JF_UNARY_TILE(id, F32, float, float, float, void, EXPR)           \
  JF_UNARY_TILE(id, F64, double, double, double, void, EXPR)        \
  JF_UNARY_TILE(id, I32, int32_t, uint32_t, int32_t, void, EXPR)    \
  JF_UNARY_TILE(id, I64, int64_t, uint64_t, int64_t, void, EXPR)    \
  JF_TILES_NUM(id)
#define JF_BINARY_NUM(id, EXPR)                              \
  static const char id##_expr[] = #EXPR;                     \
  JF_BINARY_TILE(id, F32, float, float, float, EXPR)         \
  JF_BINARY_TILE(id, F64, double, double, double, EXPR)      \
  JF_BINARY_TILE(id, I32, int32_t, int32_t, int32_t, EXPR)   \
  JF_BINARY_TILE(id, I64, int64_t, int64_t, int64_t, EXPR)   \
  JF_TILES_NUM(id)
#define JF_BINARY_WRAP(id, EXPR)                             \
  static const char id##_expr[] = #EXPR;                     \
  JF_BINARY_TILE(id, F32, float, float, float, EXPR)         \
  JF_BINARY_TILE(id, F64, double, double, double, EXPR)      \
  JF_BINARY_TILE(id, I32, int32_t, uint32_t, int32_t, EXPR)  \
  JF_BINARY_TILE(id, I64, int64_t, uint64_t, int64_t, EXPR)  \
  JF_TILES_NUM(id)

#endif
