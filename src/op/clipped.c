/* Activations made of straight lines and parabolas. */
#include "op/activation.h"
#include "op/elementwise.h"

JF_UNARY_NUM(relu6, a < 0 ? 0 : a > 6 ? 6 : a)
JF_BINARY_NUM(relu6_grad, a > 0 && a < 6 ? b : 0)
JF_UNARY_NUM_ATTRS(hardtanh, JF_ATTR(jf_hardtanh, min_val) JF_ATTR(jf_hardtanh, max_val),
  (double)a < min_val ? (T)min_val : (double)a > max_val ? (T)max_val : a)
JF_BINARY_NUM_ATTRS(hardtanh_grad, JF_ATTR(jf_hardtanh, min_val) JF_ATTR(jf_hardtanh, max_val),
  a > (T)min_val && a < (T)max_val ? b : 0)
JF_UNARY_FLOAT(hardsigmoid, a <= -3 ? 0 : a >= 3 ? 1 : a / 6 + (T)0.5)
JF_BINARY_FLOAT(hardsigmoid_grad, a > 0 && a < 1 ? b / 6 : 0)
JF_UNARY_FLOAT(hardswish, a <= -3 ? 0 : a >= 3 ? a : a * (a + 3) / 6)
JF_UNARY_FLOAT(hardswish_slope, a <= -3 ? 0 : a >= 3 ? 1 : a / 3 + (T)0.5)
JF_UNARY_FLOAT_ATTRS(softshrink, JF_ATTR(jf_shrink, lambd),
  a > (T)lambd ? a - (T)lambd : a < -(T)lambd ? a + (T)lambd : a * 0)
JF_UNARY_FLOAT_ATTRS(hardshrink, JF_ATTR(jf_shrink, lambd),
  a >= -(T)lambd && a <= (T)lambd ? 0 : a)
JF_BINARY_FLOAT(shrink_grad, a != 0 ? b : 0)

static const jf_attr hardtanh_attr[] = {
  JF_FIELD(jf_hardtanh, min_val, NUM, "-1", "the least result"),
  JF_FIELD(jf_hardtanh, max_val, NUM, "1", "the greatest result"),
  {0},
};
static const jf_attr shrink_attr[] = {
  JF_RANGE(jf_shrink, lambd, NUM, "0.5", "at least 0", "the largest magnitude that becomes 0"),
  {0},
};

static jfl_status hardtanh_infer(jf_infer *c)
{
  jf_hardtanh *a = c->attr;
  if (!(a->min_val < a->max_val))
    return jf_fail_argument(JFL_EINVAL, "min_val", "must be below max_val %g, got %g", a->max_val,
                            a->min_val);
  a->min_val = jf_clamp(c->in[0]->dtype, a->min_val);
  a->max_val = jf_clamp(c->in[0]->dtype, a->max_val);
  return jf_infer_same(c);
}

#define EMIT(id, ...) JF_EMIT(c->g, id, NULL, __VA_ARGS__)

static void relu6_op_grad(jf_gradctx *c) { c->dx[0] = EMIT(relu6_grad, c->out[0], c->dy[0]); }
static void hardsigmoid_op_grad(jf_gradctx *c)
{
  c->dx[0] = EMIT(hardsigmoid_grad, c->out[0], c->dy[0]);
}
static void hardtanh_op_grad(jf_gradctx *c)
{
  c->dx[0] = JF_EMIT(c->g, hardtanh_grad, c->node->attr, c->out[0], c->dy[0]);
}
static void hardswish_grad(jf_gradctx *c)
{
  c->dx[0] = EMIT(multiply, c->dy[0], EMIT(hardswish_slope, c->in[0]));
}
static void shrink_op_grad(jf_gradctx *c) { c->dx[0] = EMIT(shrink_grad, c->out[0], c->dy[0]); }

#define CLIPPED(id, rule) \
  .in = {"x"}, .out = {"y"}, .infer = rule, .inplace = 1, JF_ELEMENTWISE(id)
#define CLIPPED_AT_OUTPUT(id, rule) \
  .in = {"y", "dy"}, .out = {"dx"}, .infer = rule, .inplace = 3, JF_ELEMENTWISE(id)

JFL_OP(relu6, .doc = "x kept between 0 and 6.", .path = "nn.relu6", CLIPPED(relu6, jf_infer_same),
  .alike = 1, .flags = JF_RISES, .bounds = { 0, 6 }, .grad = relu6_op_grad)

JFL_OP(relu6_grad, .doc = "Gradient of relu6 at output y.",
  CLIPPED_AT_OUTPUT(relu6_grad, jf_infer_same))

JFL_OP(hardtanh, .doc = "x kept between min_val and max_val, where it has no gradient.",
  .path = "nn.hardtanh", CLIPPED(hardtanh, hardtanh_infer), .alike = 1, .attr = hardtanh_attr,
  .attr_size = sizeof(jf_hardtanh), .grad = hardtanh_op_grad)

JFL_OP(hardtanh_grad, .doc = "Gradient of hardtanh at output y.",
  CLIPPED_AT_OUTPUT(hardtanh_grad, hardtanh_infer), .attr = hardtanh_attr,
  .attr_size = sizeof(jf_hardtanh))

JFL_OP(hardsigmoid, .doc = "x / 6 + 1/2, kept between 0 and 1.", .path = "nn.hardsigmoid",
  CLIPPED(hardsigmoid, jf_infer_same), .flags = JF_RISES, .grad = hardsigmoid_op_grad)

JFL_OP(hardsigmoid_grad, .doc = "Gradient of hardsigmoid at output y.",
  CLIPPED_AT_OUTPUT(hardsigmoid_grad, jf_infer_same))

JFL_OP(hardswish, .doc = "x hardsigmoid(x).", .path = "nn.hardswish",
  CLIPPED(hardswish, jf_infer_same), .grad = hardswish_grad)

JFL_OP(hardswish_slope, .doc = "The derivative of hardswish at x.",
  CLIPPED(hardswish_slope, jf_infer_same))

JFL_OP(softshrink, .doc = "x moved towards 0 by lambd, or 0 if it is nearer.",
  .path = "nn.softshrink", CLIPPED(softshrink, jf_infer_same), .attr = shrink_attr,
  .attr_size = sizeof(jf_shrink), .grad = shrink_op_grad)

JFL_OP(hardshrink, .doc = "x, or 0 where its magnitude is at most lambd.", .path = "nn.hardshrink",
  CLIPPED(hardshrink, jf_infer_same), .attr = shrink_attr, .attr_size = sizeof(jf_shrink),
  .grad = shrink_op_grad)

JFL_OP(shrink_grad, .doc = "Gradient of softshrink and hardshrink at output y.",
  CLIPPED_AT_OUTPUT(shrink_grad, jf_infer_same))
