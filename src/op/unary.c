/* Functions of one tensor, element by element. */
#include "op/elementwise.h"

#define EMIT(id, ...) JF_EMIT(c->g, id, NULL, __VA_ARGS__)
#define SCALAR(v) jf_scalar(c->g, c->in[0]->dtype, v)

JF_UNARY_NUM(negative, -(U)a)
JF_UNARY_NUM(abs, a > 0 ? (U)a : 0 - (U)a)
JF_UNARY_NUM(sign, (a > 0) - (a < 0))
JF_UNARY_NUM(square, (U)a * (U)a)
JF_UNARY_FLOAT(sqrt, sqrt(a))
JF_UNARY_FLOAT(rsqrt, 1 / sqrt(a))
JF_UNARY_FLOAT(reciprocal, 1 / a)
JF_UNARY_FLOAT(exp, exp(a))
JF_UNARY_FLOAT(expm1, expm1(a))
JF_UNARY_FLOAT(log, log(a))
JF_UNARY_FLOAT(log1p, log1p(a))
JF_UNARY_FLOAT(sigmoid, 1 / (1 + exp(-a)))
JF_UNARY_FLOAT(softplus, (a > 0 ? a : 0) + log1p(exp(-fabs(a))))
JF_UNARY_FLOAT(floor, floor(a))
JF_UNARY_FLOAT(ceil, ceil(a))
JF_UNARY_FLOAT(round, rint(a))
JF_BINARY_FLOAT(sigmoid_grad, b * a * (1 - a))

static void negative_grad(jf_gradctx *c) { c->dx[0] = EMIT(negative, c->dy[0]); }
static jfl_value *negative_fold(jf_foldctx *c)
{
  const jf_node *before = jf_made_by(c->node->in[0], &jf_op_negative);
  return before ? before->in[0] : NULL;
}

static void square_grad(jf_gradctx *c) { jf_grad_times(c, EMIT(multiply, c->in[0], SCALAR(2))); }
static void sqrt_grad(jf_gradctx *c) { jf_grad_times(c, EMIT(divide, SCALAR(0.5), c->out[0])); }

static void rsqrt_grad(jf_gradctx *c)
{
  jfl_value *cube = EMIT(multiply, c->out[0], EMIT(square, c->out[0]));
  jf_grad_times(c, EMIT(multiply, cube, SCALAR(-0.5)));
}

static void reciprocal_grad(jf_gradctx *c)
{
  jf_grad_times(c, EMIT(negative, EMIT(square, c->out[0])));
}

static void exp_grad(jf_gradctx *c) { jf_grad_times(c, c->out[0]); }
static void expm1_grad(jf_gradctx *c) { jf_grad_times(c, EMIT(add, c->out[0], SCALAR(1))); }
static void unary_log_grad(jf_gradctx *c) { c->dx[0] = EMIT(divide, c->dy[0], c->in[0]); }

static void log1p_grad(jf_gradctx *c)
{
  c->dx[0] = EMIT(divide, c->dy[0], EMIT(add, c->in[0], SCALAR(1)));
}

#define COSTLY(id) JF_OF_ONE(id), .flags = JF_COSTLY

static void negative_signatures(jf_signatures *c)
{
  jf_signatures_pointwise(c);
  jf_signature_say(c, "P->P");
}

JFL_OP(negative, .doc = "-x.", .path = "math.negative", JF_OF_ONE(negative), .alike = 1,
  .grad = negative_grad, .fold = negative_fold, .signatures = negative_signatures)

JFL_OP(abs, .doc = "The magnitude of x.", .path = "math.abs", JF_OF_ONE(abs), .alike = 1,
  JF_SLOPE(sign))

JFL_OP(sign, .doc = "-1, 0 or 1, as x is below, at or above 0.", .path = "math.sign",
  JF_OF_ONE(sign), .alike = 1, .grad = jf_grad_flat)

JFL_OP(square, .doc = "x^2.", .path = "math.square", JF_OF_ONE(square), .alike = 1,
  .grad = square_grad)

JFL_OP(sqrt, .doc = "The square root of x.", .path = "math.sqrt", JF_OF_ONE(sqrt),
  .grad = sqrt_grad)

JFL_OP(rsqrt, .doc = "1 / sqrt(x).", .path = "math.rsqrt", JF_OF_ONE(rsqrt), .grad = rsqrt_grad)

JFL_OP(reciprocal, .doc = "1 / x.", .path = "math.reciprocal", JF_OF_ONE(reciprocal),
  .grad = reciprocal_grad)

JFL_OP(exp, .doc = "e to the power x.", .path = "math.exp", COSTLY(exp), .grad = exp_grad)

JFL_OP(expm1, .doc = "exp(x) - 1, exact near 0.", .path = "math.expm1", COSTLY(expm1),
  .grad = expm1_grad)

JFL_OP(log, .doc = "The natural logarithm of x.", .path = "math.log", COSTLY(log),
       .grad = unary_log_grad)

JFL_OP(log1p, .doc = "log(1 + x), exact near 0.", .path = "math.log1p", COSTLY(log1p),
  .grad = log1p_grad)

JFL_OP(sigmoid, .doc = "1 / (1 + exp(-x)).", .path = "math.sigmoid", COSTLY(sigmoid),
  JF_SLOPE_AT_OUTPUT(sigmoid_grad))

JFL_OP(sigmoid_grad, .doc = "Gradient of sigmoid at output y.", JF_AT_OUTPUT(sigmoid_grad))

JFL_OP(softplus, .doc = "log(1 + exp(x)), without overflow.", .path = "math.softplus",
  COSTLY(softplus), JF_SLOPE(sigmoid))

JFL_OP(floor, .doc = "x rounded down.", .path = "math.floor", JF_OF_ONE(floor),
  .grad = jf_grad_flat)

JFL_OP(ceil, .doc = "x rounded up.", .path = "math.ceil", JF_OF_ONE(ceil), .grad = jf_grad_flat)

JFL_OP(round, .doc = "x rounded to the nearest whole number, halves to the even one.",
  .path = "math.round math.rint", JF_OF_ONE(round), .grad = jf_grad_flat)
