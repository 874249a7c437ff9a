/* Softmax and cross entropy against class numbers. Sums are in double. */
#include "ir/halves.h"
#include "op/constant.h"
#include "op/cross_entropy.h"
#include "op/move.h"

#include <math.h>
#include <tgmath.h>   /* exp chooses its type by T */

JF_ATTRS(loss_attrs,
  JF_RANGE(jf_cross_entropy, label_smoothing, NUM, "0", "from 0 to 1",
           "the share of the label that all classes get alike, from 0 to 1"))
JF_ATTRS(attrs,
  JF_RANGE(jf_cross_entropy, label_smoothing, NUM, "0", "from 0 to 1", "as in the loss"),
  JF_FIELD(jf_cross_entropy, scale, NUM, "1", "what the gradient of each loss is multiplied by"))

/* Checks that labels and x have the same leading axes. The last axis of x, that of classes, is
   absent in labels or has extent 1 there. */
static jfl_status check_labels(const jf_infer *c, int labels, int x)
{
  const jfl_shape *l = &c->in[labels]->shape, *s = &c->in[x]->shape;
  char a[JF_SHAPE_STR], b[JF_SHAPE_STR];
  JF_TRY(jf_check_classes(c, x));
  int fit = l->n == s->n - 1 || (l->n == s->n && l->d[l->n - 1] == 1);
  for (int i = 0; fit && i < s->n - 1; i++) fit = l->d[i] == s->d[i];
  JF_TRY(jf_check_indices(c, labels));
  if (fit) return JFL_OK;
  int one_hot = jf_shape_eq(l, s);
  return jf_fail_argument(JFL_ESHAPE, "labels", "must have the shape of %s %s without its last "
                          "axis, got %s%s", c->op->in[x], jf_shape_str(s, b), jf_shape_str(l, a),
                          one_hot ? "; softmax_cross_entropy_with_logits takes one-hot labels"
                                  : "");
}

static jfl_status sparse_ce_infer(jf_infer *c)
{
  JF_TRY(check_labels(c, 0, 1));
  for (int i = 0; i < 3; i++) c->shape[i] = c->in[0]->shape;
  jf_halves_infer(c, jf_halves_seen(c, 1));
  return JFL_OK;
}

static jfl_status sparse_ce_grad_infer(jf_infer *c)
{
  const jfl_dtype t = jf_halves_seen(c, 1);
  JF_TRY(check_labels(c, 0, 1));
  for (int i = JF_ENTROPY_MOST; i < c->n_in; i++)
    JF_TRY(jf_infer_is(c, i, t, &c->in[0]->shape, NULL));
  c->shape[0] = c->in[1]->shape;
  jf_halves_infer(c, t);
  return JFL_OK;
}

int jf_entropy_counts(const jf_node *n)
{
  return n->op == &jf_op_sparse_softmax_cross_entropy_with_logits;
}

/* If dy is one number throughout, as for the gradient of a mean, the number becomes the attribute
   `scale` and no tensor dy is made. */
static void sparse_ce_grad(jf_gradctx *c)
{
  jfl_value *dy = c->dy[0], *in[] = { c->in[0], c->in[1], c->out[1], c->out[2], dy };
  jf_cross_entropy a = *(const jf_cross_entropy *)c->node->attr;
  a.scale = 1;
  if (!dy) return;
  const size_t n = jf_number(dy, &a.scale) ? JF_ENTROPY_DY : JF_ENTROPY_DY + 1;
  c->dx[1] = jf_emit(c->g, &jf_op_sparse_softmax_cross_entropy_grad, &a, in, n);
}

/* Returns -log p[label], where p = softmax(x), that is log sum exp(x - most) - (x[label] - most),
   where with label smoothing the mean of x has a share in x[label]. */
#define LINE(D, T)                                                            \
  static T sparse_ce_line_##D(const T *x, int64_t m, int64_t label, double smoothing, T *most, \
                              T *inverse)                                     \
  {                                                                           \
    T max = x[0];                                                             \
    double sum = 0, all = 0, own = x[label];                                  \
    for (int64_t j = 0; j < m; j++) all += x[j];                              \
    if (smoothing > 0) own += smoothing * (all / (double)m - own);            \
    for (int64_t j = 1; j < m; j++) max = x[j] > max ? x[j] : max;            \
    for (int64_t j = 0; j < m; j++) sum += exp(x[j] - max);                   \
    *most = max;                                                              \
    *inverse = (T)(1 / sum);                                                  \
    return (T)(log(sum) - (own - max));                                       \
  }
#define FORWARD(D, T)                                                                  \
  static jfl_status sparse_ce_forward_##D(const jf_kargs *k)                           \
  {                                                                                    \
    const int64_t m = jf_entropy_classes(k), n = jf_numel(&k->in[0].shape);            \
    const int64_t step = k->in[1].shape.d[k->in[1].shape.n - 1];                       \
    const T *x = k->in[1].data;                                                        \
    T *loss = k->out[0].data, *most = k->out[1].data, *inverse = k->out[2].data;       \
    const double smoothing = ((const jf_cross_entropy *)k->attr)->label_smoothing;     \
    JF_TRY(jf_check_range(k, JF_WRONG_LABEL, &k->in[0], m));                           \
    for (int64_t i = 0; i < n && !jf_loop_ends_at(i, m); i++, x += step)               \
      loss[i] = sparse_ce_line_##D(x, m, jf_index_at(&k->in[0], i), smoothing, &most[i], \
                                   &inverse[i]);                                       \
    return JFL_OK;                                                                     \
  }
/* dx = scale dy (p - mass), where mass is a share for all and the rest at the label; dx may be the
   memory of x. */
#define BACKWARD(D, T)                                                                 \
  static jfl_status sparse_ce_backward_##D(const jf_kargs *k)                          \
  {                                                                                    \
    const int64_t m = jf_entropy_classes(k), n = jf_numel(&k->in[0].shape);            \
    const int64_t step = k->in[1].shape.d[k->in[1].shape.n - 1];                       \
    const T *x = k->in[1].data, *dy = k->n_in > JF_ENTROPY_DY ? k->in[JF_ENTROPY_DY].data : NULL; \
    const T *most = k->in[JF_ENTROPY_MOST].data, *inverse = k->in[JF_ENTROPY_INVERSE].data; \
    const jf_cross_entropy *a = k->attr;                                               \
    const T scale = (T)a->scale, share = (T)(a->label_smoothing / (double)m);          \
    T *dx = k->out[0].data;                                                            \
    JF_TRY(jf_check_range(k, JF_WRONG_LABEL, &k->in[0], m));                           \
    for (int64_t i = 0; i < n && !jf_loop_ends_at(i, m); i++, x += step, dx += step) { \
      const T d = dy ? scale * dy[i] : scale;                                          \
      for (int64_t j = 0; j < m; j++) dx[j] = d * (exp(x[j] - most[i]) * inverse[i] - share); \
      for (int64_t j = m; j < step; j++) dx[j] = 0;                                    \
      dx[jf_index_at(&k->in[0], i)] -= d * (T)(1 - a->label_smoothing);                \
    }                                                                                  \
    return JFL_OK;                                                                     \
  }
JF_EACH_FLOAT(LINE)
JF_EACH_FLOAT(FORWARD)
JF_EACH_FLOAT(BACKWARD)

/* Logits; the gradient's are as these are. */
static const jf_mixed mixed = { 0, offsetof(jf_cross_entropy, halves), 0x2, 0 };
static const jf_mixed grad_mixed = { 0, offsetof(jf_cross_entropy, halves), 0x2, 0x1 };

/* Samples may be split, classes not. */
static void sparse_ce_signatures(jf_signatures *c)
{
  for (int axis = 0; axis < c->node->in[1]->shape.n - 1; axis++) jf_signature_along(c, axis);
}

JFL_OP(sparse_softmax_cross_entropy_with_logits,
  .doc = "The loss of each sample: minus the logarithm of softmax(logits) at its label.",
  .path = "nn.sparse_softmax_cross_entropy_with_logits", .in = {"labels", "logits"},
  .out = {"loss", "most", "inverse"}, .n_public = 1, .flags = JF_COSTLY,
  JF_WITH(loss_attrs, jf_cross_entropy), .key = 1, .infer = sparse_ce_infer, .grad = sparse_ce_grad,
  .cpu = JF_KERNELS(JF_FLOATS(sparse_ce_forward_)), .mixed = &mixed,
  .signatures = sparse_ce_signatures)

JFL_OP(sparse_softmax_cross_entropy_grad,
  .doc = "Gradient of sparse_softmax_cross_entropy_with_logits for its logits.",
  .in = {"labels", "logits", "most", "inverse", "dy"}, .out = {"dlogits"},
  .flags = JF_OPTIONAL | JF_COSTLY, JF_WITH(attrs, jf_cross_entropy), .key = 1, .inplace = 2,
  .infer = sparse_ce_grad_infer, .cpu = JF_KERNELS(JF_FLOATS(sparse_ce_backward_)),
  .mixed = &grad_mixed, .signatures = sparse_ce_signatures)
