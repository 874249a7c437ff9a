/* Softmax and its logarithm along one axis. Sums are in double. */
#include "op/attrs.h"
#include "op/move.h"

#include <math.h>
#include <tgmath.h>   /* exp chooses its type by T */

JF_ATTRS(attrs, JF_FIELD(jf_softmax, axis, INT, "-1", "the axis along which results add up to one"))

static jfl_status softmax_infer(jf_infer *c)
{
  JF_TRY(jf_infer_same(c));
  return jf_axis(&((jf_softmax *)c->attr)->axis, c->in[0]->shape.n);
}

/* y = exp(x - max) / sum exp(x - max) */
#define SOFTMAX(D, T)                                                          \
  static void softmax_line_##D(const T *x, T *y, int64_t m, int64_t s)         \
  {                                                                            \
    T max = x[0];                                                              \
    double sum = 0;                                                            \
    for (int64_t j = 1; j < m; j++) max = x[j * s] > max ? x[j * s] : max;     \
    for (int64_t j = 0; j < m; j++) sum += y[j * s] = exp(x[j * s] - max);     \
    for (int64_t j = 0; j < m; j++) y[j * s] = (T)(y[j * s] / sum);            \
  }
/* y = x - max - log sum exp(x - max) */
#define LOGSOFTMAX(D, T)                                                       \
  static void log_line_##D(const T *x, T *y, int64_t m, int64_t s)             \
  {                                                                            \
    T max = x[0];                                                              \
    double sum = 0;                                                            \
    for (int64_t j = 1; j < m; j++) max = x[j * s] > max ? x[j * s] : max;     \
    for (int64_t j = 0; j < m; j++) sum += exp(x[j * s] - max);                \
    for (int64_t j = 0; j < m; j++) y[j * s] = (T)(x[j * s] - max - log(sum)); \
  }
/* dx = y (dy - <y, dy>) */
#define SOFTMAX_GRAD(D, T)                                                     \
  static void grad_line_##D(const T *y, const T *dy, T *dx, int64_t m, int64_t s) \
  {                                                                            \
    double dot = 0;                                                            \
    for (int64_t j = 0; j < m; j++) dot += (double)y[j * s] * dy[j * s];       \
    for (int64_t j = 0; j < m; j++) dx[j * s] = (T)(y[j * s] * (dy[j * s] - dot)); \
  }
/* dx = dy - exp(y) sum dy */
#define LOGSOFTMAX_GRAD(D, T)                                                  \
  static void log_grad_line_##D(const T *y, const T *dy, T *dx, int64_t m, int64_t s) \
  {                                                                            \
    double sum = 0;                                                            \
    for (int64_t j = 0; j < m; j++) sum += dy[j * s];                          \
    for (int64_t j = 0; j < m; j++) dx[j * s] = (T)(dy[j * s] - exp(y[j * s]) * sum); \
  }
JF_EACH_FLOAT(SOFTMAX)
JF_EACH_FLOAT(LOGSOFTMAX)
JF_EACH_FLOAT(SOFTMAX_GRAD)
JF_EACH_FLOAT(LOGSOFTMAX_GRAD)

/* Calls `line` for each line along the axis; `at` is the offset of the line's first element. */
#define LINES(name, T, line, ...)                                               \
  static jfl_status name(const jf_kargs *k)                                     \
  {                                                                             \
    jf_axes s = jf_axes_at(&k->out[0].shape, ((const jf_softmax *)k->attr)->axis); \
    for (int64_t i = 0; i < s.before * s.after && !jf_loop_ends_at(i, s.m); i++) { \
      int64_t at = i / s.after * s.m * s.after + i % s.after;                   \
      line(__VA_ARGS__, (T *)k->out[0].data + at, s.m, s.after);                \
    }                                                                           \
    return JFL_OK;                                                              \
  }
#define IN(i, T) (const T *)k->in[i].data + at
#define KERNELS(D, T)                                                   \
  LINES(softmax_##D, T, softmax_line_##D, IN(0, T))                     \
  LINES(logsoftmax_##D, T, log_line_##D, IN(0, T))                      \
  LINES(softmax_grad_##D, T, grad_line_##D, IN(0, T), IN(1, T))         \
  LINES(logsoftmax_grad_##D, T, log_grad_line_##D, IN(0, T), IN(1, T))
JF_EACH_FLOAT(KERNELS)

static void softmax_grad(jf_gradctx *c)
{
  c->dx[0] = JF_EMIT(c->g, softmax_grad, c->node->attr, c->out[0], c->dy[0]);
}

static void softmax_log_grad(jf_gradctx *c)
{
  c->dx[0] = JF_EMIT(c->g, logsoftmax_grad, c->node->attr, c->out[0], c->dy[0]);
}

static void softmax_signatures(jf_signatures *c)
{
  jf_signatures_but(c, 1u << ((const jf_softmax *)c->node->attr)->axis);
}

JFL_OP(softmax, .doc = "exp(logits), divided by its sum along axis.", .path = "nn.softmax",
       .in = { "logits" }, .out = { "y" }, JF_WITH(attrs, jf_softmax),
       .flags = JF_COSTLY, .inplace = 1, .infer = softmax_infer, .grad = softmax_grad,
       .cpu = JF_KERNELS(JF_FLOATS(softmax_)), .signatures = softmax_signatures)

JFL_OP(softmax_grad, .doc = "Gradient of softmax at output y.",
  .in = {"y", "dy"}, .out = {"dx"}, JF_WITH(attrs, jf_softmax), .inplace = 3,
  .infer = softmax_infer, .cpu = JF_KERNELS(JF_FLOATS(softmax_grad_)),
  .signatures = softmax_signatures)

JFL_OP(logsoftmax, .doc = "The logarithm of softmax, without overflow.", .path = "nn.logsoftmax",
       .in = { "logits" }, .out = { "y" }, JF_WITH(attrs, jf_softmax),
       .flags = JF_COSTLY, .inplace = 1, .infer = softmax_infer, .grad = softmax_log_grad,
       .cpu = JF_KERNELS(JF_FLOATS(logsoftmax_)), .signatures = softmax_signatures)

JFL_OP(logsoftmax_grad, .doc = "Gradient of logsoftmax at output y.",
  .in = {"y", "dy"}, .out = {"dx"}, JF_WITH(attrs, jf_softmax), .inplace = 3,
  .infer = softmax_infer, .cpu = JF_KERNELS(JF_FLOATS(logsoftmax_grad_)),
  .signatures = softmax_signatures)
