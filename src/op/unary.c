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

/* Sets dx = dy * slope. */
static void times(jf_gradctx *c, jfl_value *slope)
{
  c->dx[0] = EMIT(multiply, c->dy[0], slope);
}

static void negative_grad(jf_gradctx *c) { c->dx[0] = EMIT(negative, c->dy[0]); }
static jfl_value *negative_fold(jf_foldctx *c)
{
  const jf_node *before = jf_made_by(c->node->in[0], &jf_op_negative);
  return before ? before->in[0] : NULL;
}

static void abs_grad(jf_gradctx *c) { times(c, EMIT(sign, c->in[0])); }
static void square_grad(jf_gradctx *c) { times(c, EMIT(multiply, c->in[0], SCALAR(2))); }
static void sqrt_grad(jf_gradctx *c) { times(c, EMIT(divide, SCALAR(0.5), c->out[0])); }

static void rsqrt_grad(jf_gradctx *c)
{
  jfl_value *cube = EMIT(multiply, c->out[0], EMIT(square, c->out[0]));
  times(c, EMIT(multiply, cube, SCALAR(-0.5)));
}

static void reciprocal_grad(jf_gradctx *c) { times(c, EMIT(negative, EMIT(square, c->out[0]))); }
static void exp_grad(jf_gradctx *c) { times(c, c->out[0]); }
static void expm1_grad(jf_gradctx *c) { times(c, EMIT(add, c->out[0], SCALAR(1))); }
static void unary_log_grad(jf_gradctx *c) { c->dx[0] = EMIT(divide, c->dy[0], c->in[0]); }

static void log1p_grad(jf_gradctx *c)
{
  c->dx[0] = EMIT(divide, c->dy[0], EMIT(add, c->in[0], SCALAR(1)));
}

static void sigmoid_op_grad(jf_gradctx *c) { c->dx[0] = EMIT(sigmoid_grad, c->out[0], c->dy[0]); }
static void softplus_grad(jf_gradctx *c) { times(c, EMIT(sigmoid, c->in[0])); }

#define UNARY(id) \
  .in = {"x"}, .out = {"y"}, .infer = jf_infer_same, .inplace = 1, JF_ELEMENTWISE(id)
#define COSTLY(id) UNARY(id), .flags = JF_COSTLY
#define AT_OUTPUT(id) \
  .in = {"y", "dy"}, .out = {"dx"}, .infer = jf_infer_same, .inplace = 3, JF_ELEMENTWISE(id)

static void negative_signatures(jf_signatures *c)
{
  jf_signatures_pointwise(c);
  jf_signature_say(c, "P->P");
}

JFL_OP(negative, .doc = "-x.", .path = "math.negative", UNARY(negative), .alike = 1,
  .grad = negative_grad, .fold = negative_fold, .signatures = negative_signatures)

JFL_OP(abs, .doc = "The magnitude of x.", .path = "math.abs", UNARY(abs), .alike = 1,
  .grad = abs_grad)

JFL_OP(sign, .doc = "-1, 0 or 1, as x is below, at or above 0.", .path = "math.sign", UNARY(sign),
  .alike = 1, .grad = jf_grad_flat)

JFL_OP(square, .doc = "x^2.", .path = "math.square", UNARY(square), .alike = 1, .grad = square_grad)

JFL_OP(sqrt, .doc = "The square root of x.", .path = "math.sqrt", UNARY(sqrt), .grad = sqrt_grad)

JFL_OP(rsqrt, .doc = "1 / sqrt(x).", .path = "math.rsqrt", UNARY(rsqrt), .grad = rsqrt_grad)

JFL_OP(reciprocal, .doc = "1 / x.", .path = "math.reciprocal", UNARY(reciprocal),
  .grad = reciprocal_grad)

JFL_OP(exp, .doc = "e to the power x.", .path = "math.exp", COSTLY(exp), .grad = exp_grad)

JFL_OP(expm1, .doc = "exp(x) - 1, exact near 0.", .path = "math.expm1", COSTLY(expm1),
  .grad = expm1_grad)

JFL_OP(log, .doc = "The natural logarithm of x.", .path = "math.log", COSTLY(log),
       .grad = unary_log_grad)

JFL_OP(log1p, .doc = "log(1 + x), exact near 0.", .path = "math.log1p", COSTLY(log1p),
  .grad = log1p_grad)

JFL_OP(sigmoid, .doc = "1 / (1 + exp(-x)).", .path = "math.sigmoid", COSTLY(sigmoid),
  .grad = sigmoid_op_grad)

JFL_OP(sigmoid_grad, .doc = "Gradient of sigmoid at output y.", AT_OUTPUT(sigmoid_grad))

JFL_OP(softplus, .doc = "log(1 + exp(x)), without overflow.", .path = "math.softplus",
  COSTLY(softplus), .grad = softplus_grad)

JFL_OP(floor, .doc = "x rounded down.", .path = "math.floor", UNARY(floor), .grad = jf_grad_flat)

JFL_OP(ceil, .doc = "x rounded up.", .path = "math.ceil", UNARY(ceil), .grad = jf_grad_flat)

JFL_OP(round, .doc = "x rounded to the nearest whole number, halves to the even one.",
  .path = "math.round math.rint", UNARY(round), .grad = jf_grad_flat)
