/* Comparisons and logic, which give int8 0 or 1, and `where`, which chooses between two tensors. */
#include "op/elementwise.h"

#define TRUTH(LOOP, id, EXPR)                                        \
  JF_TEXT(id, #EXPR)                                                 \
  LOOP(id, F32, float, float, int8_t, JF_NO_ATTRS, EXPR)             \
  LOOP(id, F64, double, double, int8_t, JF_NO_ATTRS, EXPR)           \
  LOOP(id, I32, int32_t, uint32_t, int8_t, JF_NO_ATTRS, EXPR)        \
  LOOP(id, I64, int64_t, uint64_t, int8_t, JF_NO_ATTRS, EXPR)        \
  LOOP(id, I8, int8_t, uint8_t, int8_t, JF_NO_ATTRS, EXPR)           \
  LOOP(id, U8, uint8_t, uint8_t, int8_t, JF_NO_ATTRS, EXPR)          \
  JF_LOOP_TABLES(id, JF_TYPES)

TRUTH(JF_BINARY_LOOP, equal, a == b)
TRUTH(JF_BINARY_LOOP, not_equal, a != b)
TRUTH(JF_BINARY_LOOP, less, a < b)
TRUTH(JF_BINARY_LOOP, less_equal, a <= b)
TRUTH(JF_BINARY_LOOP, greater, a > b)
TRUTH(JF_BINARY_LOOP, greater_equal, a >= b)
TRUTH(JF_BINARY_LOOP, logical_and, a != 0 && b != 0)
TRUTH(JF_BINARY_LOOP, logical_or, a != 0 || b != 0)
TRUTH(JF_BINARY_LOOP, logical_xor, (a != 0) != (b != 0))

/* Differences of integers wrap, but are 0 all the same. */
TRUTH(JF_UNARY_LOOP, logical_not, a == 0)
TRUTH(JF_UNARY_LOOP, isnan, a != a)
TRUTH(JF_UNARY_LOOP, isinf, a == a && (U)a - (U)a != 0)
TRUTH(JF_UNARY_LOOP, isfinite, (U)a - (U)a == 0)

static jfl_status is_infer(jf_infer *c)
{
  JF_TRY(jf_infer_same(c));
  c->dtype[0] = JFL_I8;
  return JFL_OK;
}

static jfl_status compare_infer(jf_infer *c)
{
  JF_TRY(jf_infer_broadcast(c));
  c->dtype[0] = JFL_I8;
  return JFL_OK;
}

/* The condition `a` is an int8. */
#define CHOSEN(a, b, c) a ? b : c
#define CHOOSE(A, B, C) \
  JF_EACH_ALONE for (int64_t i = 0; i < t->n; i++) y[i] = CHOSEN(A, B, C);
#define WHERE(D, T)                                                              \
  JF_BODY void where_##D##_body(const jf_loop_args *t)                           \
  {                                                                              \
    const int8_t *q = t->in[0];                                                  \
    const T *u = t->in[1], *v = t->in[2], u0 = u[0], v0 = v[0];                  \
    T *y = t->out;                                                               \
    const int64_t i0 = t->step[0], i1 = t->step[1], i2 = t->step[2];             \
    if (i0 & i1 & i2) CHOOSE(q[i], u[i], v[i])                                   \
    else if (i0 & i1) CHOOSE(q[i], u[i], v0)                                     \
    else if (i0 & i2) CHOOSE(q[i], u0, v[i])                                     \
    else CHOOSE(q[i * i0], u[i * i1], v[i * i2])                                 \
  }                                                                              \
  JF_LOOP_KERNEL(where, D)
JF_EACH_TYPE(WHERE)
JF_TEXT(where, JF_STRING(CHOSEN(a, b, c)))
JF_LOOP_TABLES(where, JF_TYPES)

static jfl_status where_infer(jf_infer *c)
{
  jfl_dtype cond = c->in[0]->dtype;
  if (cond != JFL_I8)
    return jf_fail_argument(JFL_EDTYPE, "condition", "must be int8, which comparisons give, got %s",
                            jfl_dtype_name(cond));
  JF_TRY(jf_infer_dtype(c, 2, 1));
  /* Shapes broadcast as if the condition had the dtype of the other two inputs. */
  jfl_value as_x = *c->in[0], *in[3] = { &as_x, c->in[1], c->in[2] };
  jf_infer same = *c;
  as_x.dtype = c->in[1]->dtype;
  same.in = in;
  JF_TRY(jf_infer_broadcast(&same));
  c->dtype[0] = c->in[1]->dtype;
  c->shape[0] = same.shape[0];
  return JFL_OK;
}

static void where_grad(jf_gradctx *c)
{
  jfl_value *zero = jf_scalar(c->g, c->in[1]->dtype, 0);
  c->dx[1] = JF_EMIT(c->g, where, NULL, c->in[0], c->dy[0], zero);
  c->dx[2] = JF_EMIT(c->g, where, NULL, c->in[0], zero, c->dy[0]);
}

#define FIELDS(id) \
  .in = {"x", "y"}, .out = {"z"}, .alike = 3, .infer = compare_infer, JF_ELEMENTWISE(id)

JFL_OP(equal, .doc = "1 where x equals y, else 0.", .path = "math.equal", FIELDS(equal),
  .flags = JF_COMMUTES)

JFL_OP(not_equal, .doc = "1 where x differs from y, else 0.", .path = "math.not_equal",
  FIELDS(not_equal), .flags = JF_COMMUTES)

JFL_OP(less, .doc = "1 where x < y, else 0.", .path = "math.less", FIELDS(less))

JFL_OP(less_equal, .doc = "1 where x <= y, else 0.", .path = "math.less_equal", FIELDS(less_equal))

JFL_OP(greater, .doc = "1 where x > y, else 0.", .path = "math.greater", FIELDS(greater))

JFL_OP(greater_equal, .doc = "1 where x >= y, else 0.", .path = "math.greater_equal",
  FIELDS(greater_equal))

JFL_OP(logical_and, .doc = "1 where neither x nor y is 0, else 0.", .path = "math.logical_and",
  FIELDS(logical_and), .flags = JF_COMMUTES)

JFL_OP(logical_or, .doc = "0 where x and y are both 0, else 1.", .path = "math.logical_or",
  FIELDS(logical_or), .flags = JF_COMMUTES)

JFL_OP(logical_xor, .doc = "1 where one of x and y is 0 and the other is not, else 0.",
  .path = "math.logical_xor", FIELDS(logical_xor), .flags = JF_COMMUTES)

#define IS_FIELDS(id) .in = {"x"}, .out = {"y"}, .infer = is_infer, JF_ELEMENTWISE(id)

JFL_OP(logical_not, .doc = "1 where x is 0, else 0.", .path = "math.logical_not",
  IS_FIELDS(logical_not))

JFL_OP(isnan, .doc = "1 where x is not a number, else 0.", .path = "math.isnan", IS_FIELDS(isnan))

JFL_OP(isinf, .doc = "1 where x is infinite, else 0.", .path = "math.isinf", IS_FIELDS(isinf))

JFL_OP(isfinite, .doc = "1 where x is neither infinite nor not a number, else 0.",
  .path = "math.isfinite", IS_FIELDS(isfinite))

JFL_OP(where, .doc = "x where condition is not 0, else y.", .path = "where",
  .in = {"condition", "x", "y"}, .out = {"z"}, .truth = 1, .alike = 6, .key = 1,
  .infer = where_infer, .grad = where_grad,
  JF_ELEMENTWISE(where))
