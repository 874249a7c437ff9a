/* Elementwise ops: each has one formula, from which its loops, its plain kernel and its text
   come. */
#ifndef JF_OP_ELEMENTWISE_H
#define JF_OP_ELEMENTWISE_H

#include <math.h>
#include <tgmath.h>   /* exp and the like choose their type by that of a */

#include "dev/variants.h"
#include "op/constant.h"
#include "op/op.h"

/* Applies loop row by row to k's inputs, broadcast to the shape of k->out[0], on k's threads. */
jfl_status jf_elementwise(const jf_kargs *k, jf_loop loop);

/* The gradient rule of ops whose derivative is 0 wherever it exists: inputs get no gradient. */
void jf_grad_flat(jf_gradctx *c);
/* Sets dx = dy * slope. */
void jf_grad_times(jf_gradctx *c, jfl_value *slope);
/* The gradient rules of ops of one input whose derivative is an op with the same attributes, or
   none: dx = dy * derivative(x), and dx = derivative(y, dy). In a record: JF_SLOPE(cos). */
void jf_grad_slope(jf_gradctx *c);
void jf_grad_output(jf_gradctx *c);
#define JF_SLOPE(id) .grad = jf_grad_slope, .derivative = &jf_op_##id
#define JF_SLOPE_AT_OUTPUT(id) .grad = jf_grad_output, .derivative = &jf_op_##id

/* ---- formulas ----

   An op says by one C expression what an element of its result is. Loops for this processor are
   compiled from it. Its text is in the op's record too: a device that takes source text compiles
   loops of its own from that, so it must mean the same in C, CUDA C++ and OpenCL C. These names
   may stand in it:
     a, b, c        the elements of the inputs, in their order
     T              the type of the input that is the op's key; floats of 16 bits are loaded and
                    stored as numbers of type float
     U              for integers T the unsigned type of the same size, whose sums wrap; else T
     O              the type of the result, to which the expression is converted
     LEAST, MOST    the least and the greatest number of type O, where that is an integer
     alpha, ...     the op's attributes; one that is a number is a double
     uniform        a double in [0, 1) drawn for the element, in ops with JF_RANDOM
     exp, sqrt, ... functions of T that all three languages have
     jf_NAME        the function that the record of op NAME defines, by JF_FUNCTION */

/* A formula for float32 and float64, or for these and int32 and int64. ATTRS are JF_ATTR(...)s.
   The text is made here, before macros in EXPR expand. */
#define JF_UNARY_FLOAT(id, EXPR) \
  JF_TEXT(id, #EXPR) JF_FLOAT_LOOPS(id, JF_UNARY_LOOP, JF_NO_ATTRS, EXPR)
#define JF_UNARY_NUM(id, EXPR) \
  JF_TEXT(id, #EXPR) JF_NUM_LOOPS(id, JF_UNARY_LOOP, JF_NO_ATTRS, EXPR)
#define JF_UNARY_FLOAT_ATTRS(id, ATTRS, EXPR) \
  JF_TEXT(id, #EXPR) JF_FLOAT_LOOPS(id, JF_UNARY_LOOP, ATTRS, EXPR)
#define JF_UNARY_NUM_ATTRS(id, ATTRS, EXPR) \
  JF_TEXT(id, #EXPR) JF_NUM_LOOPS(id, JF_UNARY_LOOP, ATTRS, EXPR)
#define JF_BINARY_FLOAT(id, EXPR) \
  JF_TEXT(id, #EXPR) JF_FLOAT_LOOPS(id, JF_BINARY_LOOP, JF_NO_ATTRS, EXPR)
#define JF_BINARY_NUM(id, EXPR) \
  JF_TEXT(id, #EXPR) JF_NUM_LOOPS(id, JF_BINARY_LOOP, JF_NO_ATTRS, EXPR)
#define JF_BINARY_FLOAT_ATTRS(id, ATTRS, EXPR) \
  JF_TEXT(id, #EXPR) JF_FLOAT_LOOPS(id, JF_BINARY_LOOP, ATTRS, EXPR)
#define JF_BINARY_NUM_ATTRS(id, ATTRS, EXPR) \
  JF_TEXT(id, #EXPR) JF_NUM_LOOPS(id, JF_BINARY_LOOP, ATTRS, EXPR)
#define JF_TEXT(id, expr) static const char id##_expr[] = expr;
/* The text of a macro's expansion. */
#define JF_STRING(x) JF_STRING_OF(x)
#define JF_STRING_OF(...) #__VA_ARGS__

/* Declares attribute `name` of the attribute struct STRUCT for a formula. */
#define JF_ATTR(STRUCT, name) const double name = ((const STRUCT *)t->attr)->name;
#define JF_NO_ATTRS

/* Defines a function that a formula calls. FLOAT is its body for floating types, INT that for
   integers; each takes numbers of type T and returns one. */
#define JF_FUNCTION(id, FLOAT, INT)                            \
  static const char id##_float[] = #FLOAT, id##_int[] = #INT;  \
  JF_FUNCTION_OF(id, F32, float, float, FLOAT)                 \
  JF_FUNCTION_OF(id, F64, double, double, FLOAT)               \
  JF_FUNCTION_OF(id, I32, int32_t, uint32_t, INT)              \
  JF_FUNCTION_OF(id, I64, int64_t, uint64_t, INT)
#define JF_FUNCTION_OF(id, D, T_, U_, BODY)         \
  static inline T_ id##_function_##D(T_ a, T_ b)    \
  {                                                 \
    typedef T_ T; typedef U_ U;                     \
    (void)sizeof(T); (void)sizeof(U);               \
    BODY                                            \
  }
/* Calls jf_NAME(a, b) within a formula. */
#define JF_CALL(id, a, b)                                                              \
  _Generic((a), float: id##_function_F32, double: id##_function_F64,                   \
           int32_t: id##_function_I32, int64_t: id##_function_I64)(a, b)

/* Defines a function of one number for formulas, of floats alone. */
#define JF_FLOAT_FUNCTION(id, FLOAT)                           \
  static const char id##_float[] = #FLOAT;                     \
  JF_FLOAT_FUNCTION_OF(id, F32, float, FLOAT)                  \
  JF_FLOAT_FUNCTION_OF(id, F64, double, FLOAT)
#define JF_FLOAT_FUNCTION_OF(id, D, T_, BODY) \
  static inline T_ id##_function_##D(T_ a) { typedef T_ T; (void)sizeof(T); BODY }
#define JF_FLOAT_CALL(id, a) \
  _Generic((a), float: id##_function_F32, double: id##_function_F64)(a)

/* The fields of an op's record that the formula macros define; with them the others of ops of one
   number, of two that broadcast, and of the gradient of one at its output. */
#define JF_ELEMENTWISE(id) .cpu = id##_cpu, .loop = id##_loop, .expr = id##_expr
#define JF_OF_ONE(id) \
  .in = {"x"}, .out = {"y"}, .infer = jf_infer_same, .inplace = 1, JF_ELEMENTWISE(id)
#define JF_OF_TWO(id) \
  .in = {"x", "y"}, .out = {"z"}, .alike = 3, .infer = jf_infer_broadcast, .inplace = 3, \
  JF_ELEMENTWISE(id)
#define JF_AT_OUTPUT(id) \
  .in = {"y", "dy"}, .out = {"dx"}, .infer = jf_infer_same, .inplace = 3, JF_ELEMENTWISE(id)
#define JF_DEFINES(id) .define = { id##_float, id##_int }
#define JF_DEFINES_FLOAT(id) .define = { id##_float }

/* ---- the loops of a formula ---- */

#define JF_FLOAT_LOOPS(id, TILE, ATTRS, EXPR)         \
  TILE(id, F32, float, float, float, ATTRS, EXPR)     \
  TILE(id, F64, double, double, double, ATTRS, EXPR)  \
  JF_LOOP_TABLES(id, JF_FLOATS)
#define JF_NUM_LOOPS(id, TILE, ATTRS, EXPR)               \
  TILE(id, F32, float, float, float, ATTRS, EXPR)         \
  TILE(id, F64, double, double, double, ATTRS, EXPR)      \
  TILE(id, I32, int32_t, uint32_t, int32_t, ATTRS, EXPR)  \
  TILE(id, I64, int64_t, uint64_t, int64_t, ATTRS, EXPR)  \
  JF_LOOP_TABLES(id, JF_NUMS)
#define JF_LOOP_TABLES(id, TYPES)                                    \
  static const jf_loop id##_loop[JFL_N_DTYPE] = { TYPES(id##_) };    \
  static const jf_kernel id##_cpu[JFL_N_DTYPE] = { TYPES(id##_plain_) };

#define JF_UNARY_LOOP(id, D, T_, U_, O_, ATTRS, EXPR)                                      \
  JF_BODY void id##_##D##_body(const jf_loop_args *t)                                      \
  {                                                                                        \
    typedef T_ T; typedef U_ U; typedef O_ O;                                              \
    const T *x = t->in[0]; O *y = t->out;                                                  \
    const int64_t n = t->step[0] ? t->n : 1;                                               \
    (void)sizeof(U);                                                                       \
    ATTRS                                                                                  \
    JF_EACH_ALONE for (int64_t i = 0; i < n; i++) { const T a = x[i]; y[i] = (O)(EXPR); }  \
    for (int64_t i = n; i < t->n; i++) y[i] = y[0];                                        \
  }                                                                                        \
  JF_LOOP_KERNEL(id, D)

/* n is a copy, as bytes of results might be part of *t for all that the compiler knows. */
#define JF_BINARY_EACH(n, A, B, EXPR)                  \
  JF_EACH_ALONE for (int64_t i = 0; i < (n); i++) {    \
    const T a = (A), b = (B);                          \
    y[i] = (O)(EXPR);                                  \
  }
#define JF_BINARY_LOOP(id, D, T_, U_, O_, ATTRS, EXPR)                \
  JF_BODY void id##_##D##_body(const jf_loop_args *t)                 \
  {                                                                   \
    typedef T_ T; typedef U_ U; typedef O_ O;                         \
    const T *u = t->in[0], *v = t->in[1]; O *y = t->out;              \
    const T u0 = u[0], v0 = v[0];                                     \
    const int64_t n = t->n;                                           \
    (void)sizeof(U);                                                  \
    ATTRS                                                             \
    if (t->step[0] & t->step[1]) JF_BINARY_EACH(n, u[i], v[i], EXPR)  \
    else if (t->step[0]) JF_BINARY_EACH(n, u[i], v0, EXPR)            \
    else if (t->step[1]) JF_BINARY_EACH(n, u0, v[i], EXPR)            \
    else JF_BINARY_EACH(n, u0, v0, EXPR)                              \
  }                                                                   \
  JF_LOOP_KERNEL(id, D)

/* Makes of id_D_body the loop id_D and the kernel id_plain_D. */
#define JF_LOOP_KERNEL(id, D)                         \
  JF_DISPATCH_OF(D)(id##_##D, (const jf_loop_args *t), (t)) \
  static jfl_status id##_plain_##D(const jf_kargs *k) \
  {                                                   \
    return jf_elementwise(k, id##_##D);               \
  }

#endif
