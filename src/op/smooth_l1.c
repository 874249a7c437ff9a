/* The loss that is a parabola near its least value and straight farther away. */
#include "op/attrs.h"
#include "op/constant.h"
#include "op/elementwise.h"

typedef struct smooth_l1 { double beta; } smooth_l1;

JF_ATTRS(attrs,
  JF_RANGE(smooth_l1, beta, NUM, "1", "a number of at least 0",
           "the distance where the parabola ends"))

JF_BINARY_FLOAT_ATTRS(smooth_l1, JF_ATTR(smooth_l1, beta),
  fabs(a - b) < (T)beta ? (a - b) * (a - b) * (T)(0.5 / beta) : fabs(a - b) - (T)beta / 2)

/* The slope is d / beta, kept between -1 and 1. */
static void smooth_l1_grad(jf_gradctx *c)
{
  const smooth_l1 *a = c->node->attr;
  jfl_value *d = JF_EMIT(c->g, subtract, NULL, c->in[0], c->in[1]);
  jfl_value *slope = a->beta == 0 ? JF_EMIT(c->g, sign, NULL, d)
    : JF_EMIT(c->g, clip_by_value, &((jf_clip){ -1, 1 }),
              JF_EMIT(c->g, multiply, NULL, d, jf_scalar(c->g, d->dtype, 1 / a->beta)));
  c->dx[0] = JF_EMIT(c->g, multiply, NULL, c->dy[0], slope);
  c->dx[1] = JF_EMIT(c->g, negative, NULL, c->dx[0]);
}

JFL_OP(smooth_l1_loss,
  .doc = "d^2 / (2 beta) where d = |prediction - label| is below beta, and d - beta / 2 elsewhere.",
  .path = "smooth_l1_loss", .in = {"prediction", "label"}, .out = {"loss"}, .alike = 3,
  JF_WITH(attrs, smooth_l1), .infer = jf_infer_same, .inplace = 3,
  .grad = smooth_l1_grad, JF_ELEMENTWISE(smooth_l1))
