/* Trigonometric and hyperbolic functions and their inverses; angles are in radians. */
#include "op/constant.h"
#include "op/elementwise.h"

#define EMIT(id, ...) JF_EMIT(c->g, id, NULL, __VA_ARGS__)
#define SCALAR(v) jf_scalar(c->g, c->in[0]->dtype, v)

JF_UNARY_FLOAT(sin, sin(a))
JF_UNARY_FLOAT(cos, cos(a))
JF_UNARY_FLOAT(tan, tan(a))
JF_UNARY_FLOAT(asin, asin(a))
JF_UNARY_FLOAT(acos, acos(a))
JF_UNARY_FLOAT(atan, atan(a))
JF_UNARY_FLOAT(sinh, sinh(a))
JF_UNARY_FLOAT(cosh, cosh(a))
JF_UNARY_FLOAT(tanh, tanh(a))
JF_UNARY_FLOAT(asinh, asinh(a))
JF_UNARY_FLOAT(acosh, acosh(a))
JF_UNARY_FLOAT(atanh, atanh(a))
JF_BINARY_FLOAT(tanh_grad, b * (1 - a * a))
JF_BINARY_FLOAT(atan2, atan2(a, b))

static void cos_grad(jf_gradctx *c)
{
  jf_grad_times(c, EMIT(negative, EMIT(sin, c->in[0])));
}
static void tan_grad(jf_gradctx *c)
{
  jf_grad_times(c, EMIT(add, EMIT(square, c->out[0]), SCALAR(1)));
}

/* 1 / sqrt(sign x^2 + number), the slope of most inverses. */
static jfl_value *inverse_slope(jf_gradctx *c, double sign, double number)
{
  jfl_value *square = EMIT(square, c->in[0]);
  return EMIT(rsqrt, EMIT(add, sign < 0 ? EMIT(negative, square) : square, SCALAR(number)));
}
static void asin_grad(jf_gradctx *c) { jf_grad_times(c, inverse_slope(c, -1, 1)); }
static void acos_grad(jf_gradctx *c)
{
  jf_grad_times(c, EMIT(negative, inverse_slope(c, -1, 1)));
}
static void asinh_grad(jf_gradctx *c) { jf_grad_times(c, inverse_slope(c, 1, 1)); }
static void acosh_grad(jf_gradctx *c) { jf_grad_times(c, inverse_slope(c, 1, -1)); }
static void atan_grad(jf_gradctx *c)
{
  c->dx[0] = EMIT(divide, c->dy[0], EMIT(add, EMIT(square, c->in[0]), SCALAR(1)));
}
static void atanh_grad(jf_gradctx *c)
{
  c->dx[0] = EMIT(divide, c->dy[0], EMIT(subtract, SCALAR(1), EMIT(square, c->in[0])));
}

/* The point at the centre has no slopes: they count as 0. */
static void atan2_grad(jf_gradctx *c)
{
  jfl_value *sum = EMIT(add, EMIT(square, c->in[0]), EMIT(square, c->in[1])), *zero = SCALAR(0);
  jfl_value *share = EMIT(where, EMIT(equal, sum, zero), zero, EMIT(divide, c->dy[0], sum));
  c->dx[0] = EMIT(multiply, share, c->in[1]);
  c->dx[1] = EMIT(negative, EMIT(multiply, share, c->in[0]));
}

#define OF_ANGLE(id) JF_OF_ONE(id), .flags = JF_COSTLY

JFL_OP(sin, .doc = "The sine of x, in radians.", .path = "math.sin", OF_ANGLE(sin),
  JF_SLOPE(cos))

JFL_OP(cos, .doc = "The cosine of x, in radians.", .path = "math.cos", OF_ANGLE(cos),
  .grad = cos_grad)

JFL_OP(tan, .doc = "The tangent of x, in radians.", .path = "math.tan", OF_ANGLE(tan),
  .grad = tan_grad)

JFL_OP(asin, .doc = "The angle from -pi/2 to pi/2 whose sine is x.", .path = "math.asin",
  OF_ANGLE(asin), .grad = asin_grad)

JFL_OP(acos, .doc = "The angle from 0 to pi whose cosine is x.", .path = "math.acos",
  OF_ANGLE(acos), .grad = acos_grad)

JFL_OP(atan, .doc = "The angle from -pi/2 to pi/2 whose tangent is x.", .path = "math.atan",
  OF_ANGLE(atan), .grad = atan_grad)

JFL_OP(atan2, .doc = "The angle from -pi to pi of the point with height x and breadth y.",
  .path = "math.atan2", JF_OF_TWO(atan2), .flags = JF_COSTLY, .grad = atan2_grad)

JFL_OP(sinh, .doc = "The hyperbolic sine of x.", .path = "math.sinh", OF_ANGLE(sinh),
  JF_SLOPE(cosh))

JFL_OP(cosh, .doc = "The hyperbolic cosine of x.", .path = "math.cosh", OF_ANGLE(cosh),
  JF_SLOPE(sinh))

JFL_OP(tanh, .doc = "The hyperbolic tangent of x.", .path = "math.tanh", OF_ANGLE(tanh),
  JF_SLOPE_AT_OUTPUT(tanh_grad))

JFL_OP(tanh_grad, .doc = "Gradient of tanh at output y.", JF_AT_OUTPUT(tanh_grad))

JFL_OP(asinh, .doc = "The number whose hyperbolic sine is x.", .path = "math.asinh",
  OF_ANGLE(asinh), .grad = asinh_grad)

JFL_OP(acosh, .doc = "The number of at least 0 whose hyperbolic cosine is x.",
  .path = "math.acosh", OF_ANGLE(acosh), .grad = acosh_grad)

JFL_OP(atanh, .doc = "The number whose hyperbolic tangent is x.", .path = "math.atanh",
  OF_ANGLE(atanh), .grad = atanh_grad)
