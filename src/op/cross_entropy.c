/* Softmax cross entropy where labels are probability distributions. */
#include "op/attrs.h"
#include "op/elementwise.h"
#include "op/move.h"
#include "op/reduce.h"
#include "op/reshape.h"

#define EMIT(id, ...) JF_EMIT(c->g, id, NULL, __VA_ARGS__)

static jfl_status ce_infer(jf_infer *c)
{
  JF_TRY(jf_infer_same(c));
  JF_TRY(jf_check_classes(c, 1));
  c->shape[1] = c->shape[0];
  c->dtype[1] = c->dtype[0];
  if (c->shape[0].n > 1) c->shape[0].n--;
  else c->shape[0].d[0] = 1;
  return JFL_OK;
}

/* dlogits = dy (prob sum(labels) - labels), dlabels = -dy log softmax(logits). */
static void ce_grad(jf_gradctx *c)
{
  jfl_shape row = c->in[0]->shape;
  row.d[row.n - 1] = 1;
  jf_reduce last = { .axis = JF_INTS(-1), .keepdims = 1 };
  jf_softmax axis = { -1 };
  if (!c->dy[0]) return;
  jfl_value *dy = jf_emit_view(c->g, c->dy[0], &row);
  jfl_value *mass = JF_EMIT(c->g, reduce_sum, &last, c->in[0]);
  jfl_value *error = EMIT(subtract, EMIT(multiply, c->out[1], mass), c->in[0]);
  jfl_value *log_p = JF_EMIT(c->g, logsoftmax, &axis, c->in[1]);
  c->dx[0] = EMIT(negative, EMIT(multiply, dy, log_p));
  c->dx[1] = EMIT(multiply, dy, error);
}

/* Returns the sum of z (log sum exp(x - max) - (x - max)) and sets p = softmax(x). */
#define LINE(D, T)                                                            \
  static T ce_line_##D(const T *z, const T *x, T *p, int64_t m)               \
  {                                                                           \
    T max = x[0];                                                             \
    double sum = 0, loss = 0;                                                 \
    for (int64_t j = 1; j < m; j++) max = x[j] > max ? x[j] : max;            \
    for (int64_t j = 0; j < m && !jf_loop_ends_at(j, 1); j++)                 \
      sum += p[j] = exp(x[j] - max);                                          \
    for (int64_t j = 0; j < m && !jf_loop_ends_at(j, 1); j++)                 \
      loss += z[j] * (log(sum) - (x[j] - max));                               \
    for (int64_t j = 0; j < m; j++) p[j] = (T)(p[j] / sum);                   \
    return (T)loss;                                                           \
  }
#define FORWARD(D, T)                                                         \
  static jfl_status ce_forward_##D(const jf_kargs *k)                         \
  {                                                                           \
    jf_axes s = jf_axes_at(&k->in[1].shape, k->in[1].shape.n - 1);            \
    const T *z = k->in[0].data, *x = k->in[1].data;                           \
    T *loss = k->out[0].data, *p = k->out[1].data;                            \
    for (int64_t i = 0; i < s.before && !jf_loop_ends_at(i, s.m); i++)        \
      loss[i] = ce_line_##D(z + i * s.m, x + i * s.m, p + i * s.m, s.m);      \
    return JFL_OK;                                                            \
  }
JF_EACH_FLOAT(LINE)
JF_EACH_FLOAT(FORWARD)

JF_BINARY_FLOAT(sigmoid_cross_entropy, (b > 0 ? b : 0) - b * a + log1p(exp(-fabs(b))))

static void sigmoid_ce_grad(jf_gradctx *c)
{
  jfl_value *error = EMIT(subtract, EMIT(sigmoid, c->in[1]), c->in[0]);
  c->dx[0] = EMIT(negative, EMIT(multiply, c->dy[0], c->in[1]));
  c->dx[1] = EMIT(multiply, c->dy[0], error);
}

/* Samples may be split, classes not. */
static void ce_signatures(jf_signatures *c)
{
  for (int axis = 0; axis < c->node->in[1]->shape.n - 1; axis++) jf_signature_along(c, axis);
}

JFL_OP(softmax_cross_entropy_with_logits,
       .doc = "Minus the sum over the last axis of labels times the logarithm of softmax(logits).",
       .path = "nn.softmax_cross_entropy_with_logits", .in = { "labels", "logits" },
       .out = { "loss", "prob" }, .n_public = 1, .flags = JF_COSTLY, .key = 1, .infer = ce_infer,
       .grad = ce_grad, .cpu = JF_KERNELS(JF_FLOATS(ce_forward_)), .signatures = ce_signatures)

JFL_OP(sigmoid_cross_entropy_with_logits,
  .doc = "The cross entropy of each label, a probability, and sigmoid(logits).",
  .path = "nn.sigmoid_cross_entropy_with_logits", .in = {"labels", "logits"}, .out = {"loss"},
  .infer = jf_infer_same, .inplace = 3, .grad = sigmoid_ce_grad,
  JF_ELEMENTWISE(sigmoid_cross_entropy))
