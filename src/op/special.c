/* Logarithms and powers to other bases, the error and gamma functions, and quotients and products
   that are 0 where another factor is. */
#include "op/constant.h"
#include "op/elementwise.h"

#define EMIT(id, ...) JF_EMIT(c->g, id, NULL, __VA_ARGS__)
#define SCALAR(v) jf_scalar(c->g, c->in[0]->dtype, v)

JF_UNARY_FLOAT(exp2, exp2(a))
JF_UNARY_FLOAT(log2, log2(a))
JF_UNARY_FLOAT(log10, log10(a))
JF_UNARY_FLOAT(erf, erf(a))
JF_UNARY_FLOAT(erfc, erfc(a))
JF_UNARY_FLOAT(lgamma, lgamma(a))
JF_UNARY_FLOAT(reciprocal_no_nan, a == 0 ? 0 : 1 / a)
JF_UNARY_FLOAT(trunc, trunc(a))
JF_BINARY_FLOAT(xdivy, a == 0 ? 0 : a / b)
JF_BINARY_FLOAT(xlogy, a == 0 && b == b ? 0 : a * log(b))

/* digamma: psi(a) = psi(a + 1) - 1 / a moves a up to where the asymptotic series holds (Abramowitz
   and Stegun, 6.3.18). Below 0, psi(a) = psi(1 - a) - pi / tan(pi a), and not a number at whole
   numbers. tan has the period pi, so a's distance to the nearest whole number serves, which is
   computed exactly; that to the next lower one is rounded to 1 close below 0. */
JF_FLOAT_FUNCTION(digamma,
  const T pi = (T)3.14159265358979323846;
  T x = a < 0 ? 1 - a : a;
  T y = 0;
  if (a == 0) return -1 / a;
  if (a < 0 && floor(a) == a) return 0 / (a - a);
  for (; x < 10; x += 1) y -= 1 / x;
  const T z = 1 / (x * x);
  y += log(x) - (T)0.5 / x - z * (1 / (T)12 - z * (1 / (T)120 - z * (1 / (T)252 - z * (1 / (T)240
       - z * (1 / (T)132 - z * ((T)691 / 32760 - z / 12))))));
  return a < 0 ? y - pi / tan(pi * (a - rint(a))) : y;)
#define jf_digamma(a) JF_FLOAT_CALL(digamma, a)
JF_UNARY_FLOAT(digamma, jf_digamma(a))

/* trigamma, the derivative of digamma, likewise (6.4.12). */
JF_FLOAT_FUNCTION(trigamma,
  const T pi = (T)3.14159265358979323846;
  T x = a < 0 ? 1 - a : a;
  T y = 0;
  if (a <= 0 && floor(a) == a) return 1 / ((a - a) * (a - a));
  for (; x < 10; x += 1) y += 1 / (x * x);
  const T z = 1 / (x * x);
  y += 1 / x + z / 2 + z / x * (1 / (T)6 - z * (1 / (T)30 - z * (1 / (T)42 - z * (1 / (T)30
       - z * ((T)5 / 66 - z * ((T)691 / 2730 - z * 7 / 6))))));
  const T s = pi / sin(pi * (a - rint(a)));
  return a < 0 ? s * s - y : y;)
#define jf_trigamma(a) JF_FLOAT_CALL(trigamma, a)
JF_UNARY_FLOAT(trigamma, jf_trigamma(a))

static void exp2_grad(jf_gradctx *c)
{
  jf_grad_times(c, EMIT(multiply, c->out[0], SCALAR(0.69314718055994530942)));
}

/* The slope of a logarithm to a base is factor / x. */
static void logarithm_grad(jf_gradctx *c, double factor)
{
  c->dx[0] = EMIT(divide, EMIT(multiply, c->dy[0], SCALAR(factor)), c->in[0]);
}
static void log2_grad(jf_gradctx *c) { logarithm_grad(c, 1.4426950408889634074); }
static void log10_grad(jf_gradctx *c) { logarithm_grad(c, 0.43429448190325182765); }

/* The slope of erf is 2 / sqrt(pi) exp(-x^2), that of erfc minus this. */
static void bell_grad(jf_gradctx *c, double factor)
{
  jfl_value *bell = EMIT(exp, EMIT(negative, EMIT(square, c->in[0])));
  jf_grad_times(c, EMIT(multiply, bell, SCALAR(factor)));
}
static void erf_grad(jf_gradctx *c) { bell_grad(c, 1.12837916709551257390); }
static void erfc_grad(jf_gradctx *c) { bell_grad(c, -1.12837916709551257390); }

static void no_nan_grad(jf_gradctx *c)
{
  jf_grad_times(c, EMIT(negative, EMIT(square, c->out[0])));
}

/* Where x is 0, so is the slope for x. */
static void xdivy_grad(jf_gradctx *c)
{
  jfl_value *zero = SCALAR(0), *slope = EMIT(divide, c->dy[0], c->in[1]);
  c->dx[0] = EMIT(where, EMIT(equal, c->in[0], zero), zero, slope);
  c->dx[1] = EMIT(negative, EMIT(multiply, c->dy[0], EMIT(xdivy, c->out[0], c->in[1])));
}

/* Where x is 0 and y has no logarithm, the slope for x is 0. */
static void xlogy_grad(jf_gradctx *c)
{
  jfl_value *zero = SCALAR(0);
  jfl_value *none = EMIT(logical_and, EMIT(equal, c->in[0], zero),
                         EMIT(less_equal, c->in[1], zero));
  c->dx[0] = EMIT(where, none, zero, EMIT(multiply, c->dy[0], EMIT(log, c->in[1])));
  c->dx[1] = EMIT(multiply, c->dy[0], EMIT(xdivy, c->in[0], c->in[1]));
}

#define SPECIAL(id) JF_OF_ONE(id), .flags = JF_COSTLY
#define SPECIAL_OF_TWO(id) JF_OF_TWO(id), .flags = JF_COSTLY

JFL_OP(exp2, .doc = "2 to the power x.", .path = "math.exp2", SPECIAL(exp2), .grad = exp2_grad)

JFL_OP(log2, .doc = "The logarithm of x to the base 2.", .path = "math.log2", SPECIAL(log2),
  .grad = log2_grad)

JFL_OP(log10, .doc = "The logarithm of x to the base 10.", .path = "math.log10", SPECIAL(log10),
  .grad = log10_grad)

JFL_OP(erf, .doc = "The error function of x.", .path = "math.erf", SPECIAL(erf), .grad = erf_grad)

JFL_OP(erfc, .doc = "1 - erf(x), exact where that is small.", .path = "math.erfc", SPECIAL(erfc),
  .grad = erfc_grad)

JFL_OP(lgamma, .doc = "The logarithm of the magnitude of the gamma function of x.",
  .path = "math.lgamma", SPECIAL(lgamma), JF_SLOPE(digamma))

JFL_OP(digamma, .doc = "The derivative of lgamma at x.", .path = "math.digamma", SPECIAL(digamma),
  JF_DEFINES_FLOAT(digamma), JF_SLOPE(trigamma))

JFL_OP(trigamma, .doc = "The derivative of digamma at x.", SPECIAL(trigamma),
  JF_DEFINES_FLOAT(trigamma))

JFL_OP(reciprocal_no_nan, .doc = "1 / x, or 0 where x is 0.", .path = "math.reciprocal_no_nan",
  JF_OF_ONE(reciprocal_no_nan), .grad = no_nan_grad)

JFL_OP(trunc, .doc = "x without its fraction.", .path = "math.trunc", JF_OF_ONE(trunc),
  .grad = jf_grad_flat)

JFL_OP(xdivy, .doc = "x / y, or 0 where x is 0.", .path = "math.xdivy", SPECIAL_OF_TWO(xdivy),
  .grad = xdivy_grad)

JFL_OP(xlogy, .doc = "x log(y), or 0 where x is 0.", .path = "math.xlogy", SPECIAL_OF_TWO(xlogy),
  .grad = xlogy_grad)
