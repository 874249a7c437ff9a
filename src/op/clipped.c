/* Activations made of straight lines and parabolas. */
#include "op/attrs.h"
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

JF_ATTRS(hardtanh_attr,
  JF_FIELD(jf_hardtanh, min_val, NUM, "-1", "the least result"),
  JF_FIELD(jf_hardtanh, max_val, NUM, "1", "the greatest result"))
JF_ATTRS(shrink_attr,
  JF_RANGE(jf_shrink, lambd, NUM, "0.5", "at least 0", "the largest magnitude that becomes 0"))

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

JFL_OP(relu6, .doc = "x kept between 0 and 6.", .path = "nn.relu6", JF_OF_ONE(relu6),
  .alike = 1, .flags = JF_RISES, .bounds = { 0, 6 }, JF_SLOPE_AT_OUTPUT(relu6_grad))

JFL_OP(relu6_grad, .doc = "Gradient of relu6 at output y.",
  JF_AT_OUTPUT(relu6_grad))

JFL_OP(hardtanh, .doc = "x kept between min_val and max_val, where it has no gradient.",
  .path = "nn.hardtanh", .in = {"x"}, .out = {"y"},
  .infer = hardtanh_infer, .inplace = 1, JF_ELEMENTWISE(hardtanh), .alike = 1,
  JF_WITH(hardtanh_attr, jf_hardtanh), JF_SLOPE_AT_OUTPUT(hardtanh_grad))

JFL_OP(hardtanh_grad, .doc = "Gradient of hardtanh at output y.",
  .in = {"y", "dy"}, .out = {"dx"}, .infer = hardtanh_infer,
  .inplace = 3, JF_ELEMENTWISE(hardtanh_grad), JF_WITH(hardtanh_attr, jf_hardtanh))

JFL_OP(hardsigmoid, .doc = "x / 6 + 1/2, kept between 0 and 1.", .path = "nn.hardsigmoid",
  JF_OF_ONE(hardsigmoid), .flags = JF_RISES, JF_SLOPE_AT_OUTPUT(hardsigmoid_grad))

JFL_OP(hardsigmoid_grad, .doc = "Gradient of hardsigmoid at output y.",
  JF_AT_OUTPUT(hardsigmoid_grad))

JFL_OP(hardswish, .doc = "x hardsigmoid(x).", .path = "nn.hardswish",
  JF_OF_ONE(hardswish), JF_SLOPE(hardswish_slope))

JFL_OP(hardswish_slope, .doc = "The derivative of hardswish at x.",
  JF_OF_ONE(hardswish_slope))

JFL_OP(softshrink, .doc = "x moved towards 0 by lambd, or 0 if it is nearer.",
  .path = "nn.softshrink", JF_OF_ONE(softshrink), JF_WITH(shrink_attr, jf_shrink),
  JF_SLOPE_AT_OUTPUT(shrink_grad))

JFL_OP(hardshrink, .doc = "x, or 0 where its magnitude is at most lambd.", .path = "nn.hardshrink",
  JF_OF_ONE(hardshrink), JF_WITH(shrink_attr, jf_shrink), JF_SLOPE_AT_OUTPUT(shrink_grad))

JFL_OP(shrink_grad, .doc = "Gradient of softshrink and hardshrink at output y.",
  JF_AT_OUTPUT(shrink_grad))
