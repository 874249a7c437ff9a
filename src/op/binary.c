/* Arithmetic of two tensors, broadcast as in numpy. */
#include "op/constant.h"
#include "op/elementwise.h"

#define EMIT(id, ...) JF_EMIT(c->g, id, NULL, __VA_ARGS__)
#define SCALAR(v) jf_scalar(c->g, c->in[0]->dtype, v)

/* Integer division never traps: division by zero gives 0, and the least number / -1 wraps. */
JF_FUNCTION(divide, return a / b;,
  return b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : a / b;)
#define jf_divide(a, b) JF_CALL(divide, a, b)

/* The remainder with the sign of the divisor. */
JF_FUNCTION(mod,
  T r = fmod(a, b); return r != 0 && (r < 0) != (b < 0) ? r + b : r;,
  T r = b == 0 || b == -1 ? 0 : a % b; return r != 0 && (r ^ b) < 0 ? r + b : r;)
#define jf_mod(a, b) JF_CALL(mod, a, b)

JF_FUNCTION(floordiv, return floor(a / b);,
  if (b == 0) return 0;
  if (b == -1) return (T)(0 - (U)a);
  return a / b - (a % b != 0 && (a ^ b) < 0);)
#define jf_floordiv(a, b) JF_CALL(floordiv, a, b)

/* Powers of 2, and of 1 in their gradient, are common, and pow would compute the same more slowly.
   For integers this squares and multiplies; a negative power of anything but 1 and -1 is 0. */
JF_FUNCTION(pow,
  return b == 2 ? a * a : b == 1 ? a : pow(a, b);,
  U y = 1; U x = (U)a;
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
  for (; b; b >>= 1) { if (b & 1) y *= x; x *= x; }
  return (T)y;)
#define jf_pow(a, b) JF_CALL(pow, a, b)

JF_BINARY_NUM(add, (U)a + (U)b)
JF_BINARY_NUM(subtract, (U)a - (U)b)
JF_BINARY_NUM(multiply, (U)a * (U)b)
JF_BINARY_NUM(divide, jf_divide(a, b))
JF_BINARY_NUM(mod, jf_mod(a, b))
JF_BINARY_NUM(floordiv, jf_floordiv(a, b))
JF_BINARY_NUM(pow, jf_pow(a, b))
JF_BINARY_NUM(maximum, a > b || a != a ? a : b)         /* what is no number is passed on */
JF_BINARY_NUM(minimum, a < b || a != a ? a : b)
JF_BINARY_NUM(squared_difference, ((U)a - (U)b) * ((U)a - (U)b))

static void add_grad(jf_gradctx *c) { c->dx[0] = c->dx[1] = c->dy[0]; }

/* If v is made by `negative`, returns what it negates; else NULL. */
static jfl_value *negated(const jfl_value *v)
{
  const jf_node *n = jf_made_by(v, &jf_op_negative);
  return n ? n->in[0] : NULL;
}

static jfl_value *add_fold(jf_foldctx *c)
{
  jfl_value *const *in = c->node->in, *x;
  if ((x = negated(in[1]))) return EMIT(subtract, in[0], x);
  if ((x = negated(in[0]))) return EMIT(subtract, in[1], x);
  return NULL;
}

static void subtract_grad(jf_gradctx *c)
{
  c->dx[0] = c->dy[0];
  c->dx[1] = EMIT(negative, c->dy[0]);
}

static jfl_value *subtract_fold(jf_foldctx *c)
{
  jfl_value *x = negated(c->node->in[1]);
  return x ? EMIT(add, c->node->in[0], x) : NULL;
}

static void multiply_grad(jf_gradctx *c)
{
  c->dx[0] = EMIT(multiply, c->dy[0], c->in[1]);
  c->dx[1] = EMIT(multiply, c->dy[0], c->in[0]);
}

static void divide_grad(jf_gradctx *c)
{
  c->dx[0] = EMIT(divide, c->dy[0], c->in[1]);
  c->dx[1] = EMIT(negative, EMIT(multiply, c->dx[0], c->out[0]));
}

/* Division by a power of two becomes multiplication by the reciprocal, which is exact. */
static jfl_value *divide_fold(jf_foldctx *c)
{
  const jf_node *n = c->node;
  const jfl_value *by = n->in[1];
  double d;
  int e;
  if (!jf_is_float(by->dtype) || !jf_number(by, &d)) return NULL;
  if ((fabs)((frexp)(d, &e)) != 0.5 || e < -100 || e > 100) return NULL;
  return EMIT(multiply, n->in[0], jf_emit_number(c->g, by->dtype, &by->shape, 1 / d));
}

static void mod_grad(jf_gradctx *c)
{
  jfl_value *times = EMIT(floordiv, c->in[0], c->in[1]);
  c->dx[0] = c->dy[0];
  c->dx[1] = EMIT(negative, EMIT(multiply, c->dy[0], times));
}

/* d/da a^b = b a^(b - 1), and 0 where b is 0, whatever a is. */
static jfl_value *pow_slope(jf_gradctx *c)
{
  jfl_value *a = c->in[0], *b = c->in[1], *zero = SCALAR(0);
  jfl_value *slope = EMIT(multiply, b, EMIT(pow, a, EMIT(subtract, b, SCALAR(1))));
  double exponent;
  if (jf_number(b, &exponent) && exponent != 0) return slope;
  return EMIT(where, EMIT(equal, b, zero), zero, slope);
}

/* d/db a^b = a^b log a. Where a has no logarithm, that counts as 0; 0 has one where a^b is
   infinite. */
static void pow_grad(jf_gradctx *c)
{
  jfl_value *a = c->in[0], *zero = SCALAR(0);
  jfl_value *finite = EMIT(logical_or, EMIT(less, a, zero), EMIT(greater_equal, c->in[1], zero));
  jfl_value *none = EMIT(logical_and, EMIT(less_equal, a, zero), finite);
  jfl_value *grows = EMIT(multiply, c->out[0], EMIT(log, a));
  c->dx[0] = EMIT(multiply, c->dy[0], pow_slope(c));
  c->dx[1] = EMIT(multiply, c->dy[0], EMIT(where, none, zero, grows));
}

/* Where both inputs are equal, the first one gets the gradient; where one is no number, both. */
static void choose(jf_gradctx *c, jfl_value *second, jfl_value *not_second)
{
  jfl_value *zero = SCALAR(0);
  c->dx[0] = EMIT(where, second, zero, c->dy[0]);
  c->dx[1] = EMIT(where, not_second, zero, c->dy[0]);
}

static void maximum_grad(jf_gradctx *c)
{
  choose(c, EMIT(less, c->in[0], c->in[1]), EMIT(greater_equal, c->in[0], c->in[1]));
}

static void minimum_grad(jf_gradctx *c)
{
  choose(c, EMIT(greater, c->in[0], c->in[1]), EMIT(less_equal, c->in[0], c->in[1]));
}

static void squared_difference_grad(jf_gradctx *c)
{
  jfl_value *twice = EMIT(multiply, EMIT(subtract, c->in[0], c->in[1]), SCALAR(2));
  c->dx[0] = EMIT(multiply, c->dy[0], twice);
  c->dx[1] = EMIT(negative, c->dx[0]);
}

static void subtract_signatures(jf_signatures *c)
{
  jf_signatures_pointwise(c);
  jf_signature_say(c, "P,P->P");
}

static void divide_signatures(jf_signatures *c)
{
  jf_signatures_pointwise(c);
  if (jf_is_float(c->node->out[0]->dtype)) jf_signature_say(c, "P,B->P");
}

JFL_OP(add, .doc = "x + y.", .path = "math.add", JF_OF_TWO(add),
  .flags = JF_COMMUTES | JF_ADDS, .neutral = { 3, -0.0 }, .fold = add_fold, .grad = add_grad)

JFL_OP(subtract, .doc = "x - y.", .path = "math.subtract", JF_OF_TWO(subtract),
  .neutral = { 2, 0 }, .fold = subtract_fold, .grad = subtract_grad,
  .signatures = subtract_signatures)

JFL_OP(multiply, .doc = "x * y.", .path = "math.multiply", JF_OF_TWO(multiply),
  .flags = JF_COMMUTES | JF_SCALES, .neutral = { 3, 1 }, .grad = multiply_grad)

JFL_OP(divide, .doc = "x / y; of integers it rounds towards zero, and by zero gives 0.",
  .path = "math.divide", JF_OF_TWO(divide), JF_DEFINES(divide), .neutral = { 2, 1 },
  .fold = divide_fold, .grad = divide_grad, .signatures = divide_signatures)

JFL_OP(mod, .doc = "The remainder of x / y, with the sign of y; of integers by zero it is 0.",
  .path = "math.mod", JF_OF_TWO(mod), JF_DEFINES(mod), .grad = mod_grad)

JFL_OP(floordiv, .doc = "x / y rounded down; of integers by zero it is 0.",
  .path = "math.floordiv", JF_OF_TWO(floordiv), JF_DEFINES(floordiv), .grad = jf_grad_flat)

JFL_OP(pow, .doc = "x to the power y.", .path = "math.pow", JF_OF_TWO(pow), JF_DEFINES(pow),
  .flags = JF_COSTLY, .grad = pow_grad)

JFL_OP(maximum, .doc = "The larger of x and y.", .path = "math.maximum", JF_OF_TWO(maximum),
  .grad = maximum_grad)

JFL_OP(minimum, .doc = "The smaller of x and y.", .path = "math.minimum", JF_OF_TWO(minimum),
  .grad = minimum_grad)

JFL_OP(squared_difference, .doc = "(x - y)^2.", .path = "math.squared_difference",
  JF_OF_TWO(squared_difference), .flags = JF_COMMUTES, .grad = squared_difference_grad)
