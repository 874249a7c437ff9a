/* Numbers that stand for integers: what is seen of them in a graph. */
#include "op/integers.h"
#include "op/cast.h"
#include "op/constant.h"
#include "op/matmul.h"
#include "op/op.h"

#include <math.h>

int jf_integer_shift(const jf_node *n)
{
  double zero;
  if (jf_numel(&n->in[1]->shape) != 1 || !jf_number(n->in[1], &zero)) return 0;
  return fabs(zero) <= 255 && zero == rint(zero) ? (int)zero : 0;
}

/* A power of 2 has become its inverse, by which is multiplied. */
jfl_value *jf_integer_divisor(const jf_node *n, double *number)
{
  int exponent;
  *number = 0;
  if (n->op != &jf_op_multiply) return n->in[1];
  if (!jf_number(n->in[1], number) || frexp(*number, &exponent) != 0.5) *number = 0;
  else *number = 1 / *number;
  return NULL;
}

static int divides(const jf_node *n, const jfl_value *v)
{
  double number;
  if (n->in[0] != v || jf_numel(&n->in[1]->shape) != 1) return 0;
  return n->op == &jf_op_divide || (jf_integer_divisor(n, &number), number > 0);
}

jfl_value *jf_integers_of(const jfl_value *v, jfl_value **scale, int *zero)
{
  const jf_node *n = jf_made_by(v, &jf_op_multiply);
  for (int i = 0; n && v->dtype == JFL_F32 && i < 2; i++) {
    const jf_node *shifted = jf_made_by(n->in[i], &jf_op_subtract);
    *zero = shifted ? jf_integer_shift(shifted) : 0;
    const jf_node *wide = jf_made_by(*zero ? shifted->in[0] : n->in[i], &jf_op_cast);
    if (!wide || !jf_shape_eq(&wide->out[0]->shape, &v->shape)) continue;
    *scale = n->in[1 - i];
    if (jf_is_byte(wide->in[0]->dtype)) return wide->in[0];
  }
  return NULL;
}

static void take_epilogue(const jf_node *n, const jf_epilogue *e, jf_integer_product *out)
{
  if (e->bias) out->bias = n->in[2];
  if (e->residual) out->residual = n->in[n->n_in - 1];
  if (e->act) out->act = jf_activation(e->act);
  out->relu = out->act == &jf_op_relu;
  if (out->relu) out->act = NULL;
}

static int conv_product(const jf_node *n, jf_integer_product *out)
{
  const jf_conv *a = n->attr;
  const jf_node *scaled = jf_made_by(n->in[1], &jf_op_scale_filters);
  out->conv = a;
  if (scaled) {
    out->factor = scaled->in[0];
    out->line = scaled->in[1];
  }
  if (n->op == &jf_op_conv2d_fused) take_epilogue(n, &a->epilogue, out);
  return !a->block;
}

int jf_integer_product_of(const jf_node *n, jf_integer_product *out)
{
  const int is_conv = n->op == &jf_op_conv2d || n->op == &jf_op_conv2d_fused;
  if (!is_conv && n->op != &jf_op_matmul && n->op != &jf_op_matmul_fused) return 0;
  *out = (jf_integer_product){ .x = n->in[0], .factor = n->in[1] };
  if (is_conv) return conv_product(n, out);
  const jf_matmul_fused *a = n->attr;
  if (!jf_matmul_takes_panels(n) || a->product.panel) return 0;
  if (n->op == &jf_op_matmul_fused) take_epilogue(n, &a->epilogue, out);
  return 1;
}

jf_integer_step jf_integer_step_of(const jf_node *n, const jfl_value *v)
{
  if (n->op == &jf_op_relu) return JF_STEP_RELU;
  if (n->op == &jf_op_max_pool2d) return JF_STEP_POOL;
  if (n->op->flags & JF_VIEW) return JF_STEP_VIEW;
  if (n->op == &jf_op_round) return JF_STEP_ROUND;
  if ((n->op == &jf_op_divide || n->op == &jf_op_multiply) && divides(n, v) &&
      jf_shape_eq(&n->out[0]->shape, &v->shape)) return JF_STEP_DIVIDE;
  if (n->op == &jf_op_add && n->in[0] == v && jf_integer_shift(n)) return JF_STEP_SHIFT;
  if (n->op == &jf_op_cast && jf_is_byte(n->out[0]->dtype)) return JF_STEP_CONVERT;
  return JF_STEP_NONE;
}

jfl_value *jf_emit_rounded(jfl_graph *g, jfl_value *v, jfl_value *scale, jfl_dtype to)
{
  jfl_value *q = JF_EMIT(g, round, NULL, JF_EMIT(g, divide, NULL, v, scale));
  q = JF_EMIT(g, cast, &(jf_cast){ to }, q);
  return JF_EMIT(g, multiply, NULL, JF_EMIT(g, cast, &(jf_cast){ JFL_F32 }, q), scale);
}
