/* Smooth activation functions, and their slopes. */
#include "op/attrs.h"
#include "op/elementwise.h"

#define EMIT(id, ...) JF_EMIT(c->g, id, NULL, __VA_ARGS__)

/* With s = 1 / (1 + exp(-a)) silu is a s, and its slope s (1 + a (1 - s)). */
JF_UNARY_FLOAT(silu, a / (1 + exp(-a)))
JF_UNARY_FLOAT(silu_slope, (1 + a / (1 + exp(a))) / (1 + exp(-a)))
JF_UNARY_FLOAT_ATTRS(swish, JF_ATTR(jf_swish, beta), a / (1 + exp(-(T)beta * a)))
JF_UNARY_FLOAT_ATTRS(swish_slope, JF_ATTR(jf_swish, beta),
  (1 + (T)beta * a / (1 + exp((T)beta * a))) / (1 + exp(-(T)beta * a)))

/* tanh(softplus(a)), written in u = exp(-|a|) so that nothing overflows. */
JF_FLOAT_FUNCTION(mish,
  const T u = exp(-fabs(a));
  return a * (a > 0 ? (1 + 2 * u) / (1 + 2 * u * (1 + u)) : u * (u + 2) / (u * (u + 2) + 2));)
#define jf_mish(a) JF_FLOAT_CALL(mish, a)
JF_UNARY_FLOAT(mish, jf_mish(a))

/* With t = tanh(softplus(a)) the slope of mish is t + a sigmoid(a) (1 - t^2). */
JF_FLOAT_FUNCTION(mish_slope,
  const T u = exp(-fabs(a));
  const T n = a > 0 ? 1 + 2 * u : u * (u + 2);
  const T d = a > 0 ? 2 * u * u : 2;
  const T t = n / (n + d);
  return t + a * (d / (n + d)) * (a > 0 ? 1 : u) / (1 + u) * (1 + t);)
#define jf_mish_slope(a) JF_FLOAT_CALL(mish_slope, a)
JF_UNARY_FLOAT(mish_slope, jf_mish_slope(a))

/* The approximation of gelu by a tanh (Hendrycks and Gimpel, arXiv:1606.08415): sqrt(2 / pi) is
   0.797... Halved before the product, which could overflow. */
JF_UNARY_FLOAT(gelu_tanh,
  a * ((1 + tanh((T)0.79788456080286535588 * a * (1 + (T)0.044715 * a * a))) / 2))
/* Beyond 10 the slope no longer changes, and squares might overflow. */
JF_FLOAT_FUNCTION(gelu_tanh_slope,
  const T x = a > 10 ? 10 : a < -10 ? -10 : a;
  const T t = tanh((T)0.79788456080286535588 * x * (1 + (T)0.044715 * x * x));
  return (1 + t) / 2 * (1 + (T)0.79788456080286535588 * x * (1 - t) * (1 + (T)0.134145 * x * x));)
#define jf_gelu_tanh_slope(a) JF_FLOAT_CALL(gelu_tanh_slope, a)
JF_UNARY_FLOAT(gelu_tanh_slope, jf_gelu_tanh_slope(a))

JF_UNARY_FLOAT(log_sigmoid, (a < 0 ? a : 0) - log1p(exp(-fabs(a))))

JF_UNARY_FLOAT(softsign, a / (1 + fabs(a)))
JF_BINARY_FLOAT(softsign_grad, b * (1 - fabs(a)) * (1 - fabs(a)))

/* The constants of Klambauer et al. (arXiv:1706.02515), and in the slope their product, rounded as
   it is in the result far below 0. */
JF_UNARY_FLOAT(selu,
  (T)1.0507009873554804934 * (a > 0 ? a : expm1(a) * (T)1.6732632423543772848))
JF_BINARY_FLOAT(selu_grad,
  b * (a > 0 ? (T)1.0507009873554804934
             : a + (T)1.0507009873554804934 * (T)1.6732632423543772848))

JF_ATTRS(swish_attr, JF_FIELD(jf_swish, beta, NUM, "1", "what x is multiplied by in the sigmoid"))

static void log_sigmoid_grad(jf_gradctx *c)
{
  jf_grad_times(c, EMIT(sigmoid, EMIT(negative, c->in[0])));
}

/* With beta 1, the usual case, swish is silu, which may end a product. */
static jfl_value *swish_fold(jf_foldctx *c)
{
  const jf_swish *a = c->node->attr;
  return a->beta == 1 ? EMIT(silu, c->node->in[0]) : NULL;
}

#define SMOOTH(id) JF_OF_ONE(id), .flags = JF_COSTLY

JFL_OP(silu, .doc = "x sigmoid(x).", .path = "nn.silu", SMOOTH(silu), JF_SLOPE(silu_slope))

JFL_OP(silu_slope, .doc = "The derivative of silu at x.", SMOOTH(silu_slope))

JFL_OP(swish, .doc = "x sigmoid(beta x).", .path = "nn.swish", SMOOTH(swish),
  JF_WITH(swish_attr, jf_swish), JF_SLOPE(swish_slope), .fold = swish_fold)

JFL_OP(swish_slope, .doc = "The derivative of swish at x.", SMOOTH(swish_slope),
  JF_WITH(swish_attr, jf_swish))

JFL_OP(mish, .doc = "x tanh(softplus(x)).", .path = "nn.mish", SMOOTH(mish), JF_DEFINES_FLOAT(mish),
  JF_SLOPE(mish_slope))

JFL_OP(mish_slope, .doc = "The derivative of mish at x.", SMOOTH(mish_slope),
  JF_DEFINES_FLOAT(mish_slope))

JFL_OP(gelu_tanh, .doc = "gelu, approximated by a hyperbolic tangent.", .path = "nn.gelu_tanh",
  SMOOTH(gelu_tanh), JF_SLOPE(gelu_tanh_slope))

JFL_OP(gelu_tanh_slope, .doc = "The derivative of gelu_tanh at x.", SMOOTH(gelu_tanh_slope),
  JF_DEFINES_FLOAT(gelu_tanh_slope))

JFL_OP(log_sigmoid, .doc = "The logarithm of sigmoid(x), without overflow.",
  .path = "math.log_sigmoid nn.log_sigmoid", SMOOTH(log_sigmoid), .grad = log_sigmoid_grad)

JFL_OP(softsign, .doc = "x / (1 + |x|).", .path = "nn.softsign", JF_OF_ONE(softsign),
  JF_SLOPE_AT_OUTPUT(softsign_grad))

JFL_OP(softsign_grad, .doc = "Gradient of softsign at output y.", JF_AT_OUTPUT(softsign_grad))

JFL_OP(selu, .doc = "elu with factors that keep the mean 0 and the variance 1 of many layers.",
  .path = "nn.selu", SMOOTH(selu), JF_SLOPE_AT_OUTPUT(selu_grad))

JFL_OP(selu_grad, .doc = "Gradient of selu at output y.", JF_AT_OUTPUT(selu_grad))
