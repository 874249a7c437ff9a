/* Activation functions, and clipping. */
#include "op/attrs.h"
#include "op/elementwise.h"

JF_UNARY_NUM(relu, a < 0 ? 0 : a)
JF_BINARY_NUM(relu_grad, a > 0 ? b : 0)
JF_UNARY_FLOAT_ATTRS(leaky_relu, JF_ATTR(jf_leaky, alpha), a > 0 ? a : a * (T)alpha)
JF_UNARY_FLOAT_ATTRS(elu, JF_ATTR(jf_leaky, alpha), a > 0 ? a : expm1(a) * (T)alpha)
JF_BINARY_FLOAT_ATTRS(leaky_relu_grad, JF_ATTR(jf_leaky, alpha), a > 0 ? b : b * (T)alpha)
JF_BINARY_FLOAT_ATTRS(elu_grad, JF_ATTR(jf_leaky, alpha), a > 0 ? b : b * (a + (T)alpha))
/* Halved before the product, which could overflow. */
JF_UNARY_FLOAT(gelu, a * ((1 + erf(a * (T)0.70710678118654752440)) / 2))
JF_UNARY_FLOAT(gelu_slope,
  (1 + erf(a * (T)0.70710678118654752440)) / 2 + a * exp(a * a / -2) * (T)0.39894228040143267794)
JF_UNARY_NUM_ATTRS(clip_by_value, JF_ATTR(jf_clip, min_value) JF_ATTR(jf_clip, max_value),
  (double)a < min_value ? (T)min_value : (double)a > max_value ? (T)max_value : a)

JF_ATTRS(leaky_attr, JF_FIELD(jf_leaky, alpha, NUM, "0.2", "slope below 0"))
JF_ATTRS(elu_attr, JF_FIELD(jf_leaky, alpha, NUM, "1", "minus the limit far below 0"))
JF_ATTRS(clip_attr,
  JF_FIELD(jf_clip, min_value, NUM, "-inf", "the least result"),
  JF_FIELD(jf_clip, max_value, NUM, "inf", "the greatest result"))

static jfl_status clip_infer(jf_infer *c)
{
  jf_clip *a = c->attr;
  if (!(a->min_value <= a->max_value))
    return jf_fail_argument(JFL_EINVAL, "min_value", "must be at most max_value %g, got %g",
                            a->max_value, a->min_value);
  a->min_value = jf_clamp(c->in[0]->dtype, a->min_value);
  a->max_value = jf_clamp(c->in[0]->dtype, a->max_value);
  return jf_infer_same(c);
}

static void leaky_grad(jf_gradctx *c)
{
  c->dx[0] = JF_EMIT(c->g, leaky_relu_grad, c->node->attr, c->in[0], c->dy[0]);
}

/* Below 0 the slope is alpha exp(x) = y + alpha. Unless alpha is below 0, y tells where x is. Far
   below 0 the sum has few digits left, and then none. The exponential would have them all, but a
   train step would keep x beside y, which what follows reads: a fifth to four fifths more
   memory. */
static void elu_op_grad(jf_gradctx *c)
{
  const jf_leaky *a = c->node->attr;
  if (a->alpha >= 0) {
    c->dx[0] = JF_EMIT(c->g, elu_grad, a, c->out[0], c->dy[0]);
    return;
  }
  jfl_value *above = JF_EMIT(c->g, greater, NULL, c->in[0], jf_scalar(c->g, c->in[0]->dtype, 0));
  jfl_value *slope = JF_EMIT(c->g, add, NULL, c->out[0],
                             jf_scalar(c->g, c->in[0]->dtype, a->alpha));
  c->dx[0] = JF_EMIT(c->g, where, NULL, above, c->dy[0],
                     JF_EMIT(c->g, multiply, NULL, c->dy[0], slope));
}

/* The gradient passes where x was not clipped: there the result equals x. */
static void clip_grad(jf_gradctx *c)
{
  c->dx[0] = JF_EMIT(c->g, where, NULL, JF_EMIT(c->g, equal, NULL, c->in[0], c->out[0]), c->dy[0],
                     jf_scalar(c->g, c->in[0]->dtype, 0));
}

/* With the bounds of relu or relu6 it is that, which may end a product. */
static jfl_value *clip_fold(jf_foldctx *c)
{
  const jf_clip *a = c->node->attr;
  jfl_value *x = c->node->in[0];
  if (a->min_value != 0) return NULL;
  return a->max_value == 6 ? JF_EMIT(c->g, relu6, NULL, x)
       : a->max_value == INFINITY ? JF_EMIT(c->g, relu, NULL, x) : NULL;
}

JFL_OP(relu, .doc = "x where it is above 0, else 0.", .path = "nn.relu math.relu",
  JF_OF_ONE(relu), .alike = 1, .flags = JF_RISES, .bounds = { 0, INFINITY },
  JF_SLOPE_AT_OUTPUT(relu_grad))

JFL_OP(relu_grad, .doc = "Gradient of relu at output y.", JF_AT_OUTPUT(relu_grad))

JFL_OP(leaky_relu, .doc = "x where it is above 0, else alpha x.", .path = "nn.leaky_relu",
  JF_OF_ONE(leaky_relu), JF_WITH(leaky_attr, jf_leaky), .grad = leaky_grad)

JFL_OP(elu, .doc = "x where it is above 0, else alpha (exp(x) - 1).", .path = "nn.elu",
  JF_OF_ONE(elu), .flags = JF_COSTLY, JF_WITH(elu_attr, jf_leaky), .grad = elu_op_grad)

JFL_OP(leaky_relu_grad, .doc = "Gradient of leaky_relu at x.", .in = {"x", "dy"}, .out = {"dx"},
  JF_WITH(leaky_attr, jf_leaky), .infer = jf_infer_same, .inplace = 3,
  JF_ELEMENTWISE(leaky_relu_grad))

JFL_OP(elu_grad, .doc = "Gradient of elu at output y.", JF_AT_OUTPUT(elu_grad),
  JF_WITH(elu_attr, jf_leaky))

JFL_OP(gelu, .doc = "x times the probability that a standard normal number is below x.",
  .path = "math.gelu", JF_OF_ONE(gelu), .flags = JF_COSTLY, JF_SLOPE(gelu_slope))

JFL_OP(gelu_slope, .doc = "The derivative of gelu at x.", JF_OF_ONE(gelu_slope),
  .flags = JF_COSTLY)

JFL_OP(clip_by_value, .doc = "x kept between min_value and max_value.",
  .path = "math.clip_by_value clip_by_value math.clip math.clamp clip clamp", .in = {"values"},
  .out = {"y"}, .inplace = 1, JF_ELEMENTWISE(clip_by_value), .alike = 1,
  JF_WITH(clip_attr, jf_clip), .infer = clip_infer, .grad = clip_grad, .fold = clip_fold)
