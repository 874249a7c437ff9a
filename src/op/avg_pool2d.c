/* The mean of each window's valid cells. */
#include "op/op.h"
#include "op/pool.h"

#include <string.h>

static const jf_attr attrs[] = { JF_POOL_FIELDS, {0} };
static const jf_attr grad_attrs[] = {
  JF_POOL_FIELDS,
  JF_FIELD(jf_pool2d, size, INTS, NULL, "height and width of the result"),
  {0},
};

static jfl_status avg_pool2d_grad_infer(jf_infer *c)
{
  jf_pool2d *a = c->attr;
  int64_t pooled[2], size[2], out[2];
  char s[JF_SHAPE_STR];
  JF_TRY(jf_pool_size(c, pooled));
  JF_TRY(jf_extents("size", &a->size, 1, 2, size));
  JF_TRY(jf_pool_place(c, size, out));
  if (pooled[0] != out[0] || pooled[1] != out[1])
    return jf_fail_argument(JFL_ESHAPE, "dy", "must be %lld high and %lld wide, got %s",
                            (long long)out[0], (long long)out[1],
                            jf_shape_str(&c->in[0]->shape, s));
  jf_pool_result(c, size);
  return JFL_OK;
}

static void avg_pool2d_grad(jf_gradctx *c)
{
  jf_pool2d a = *(const jf_pool2d *)c->node->attr;
  const int64_t *size = c->in[0]->shape.d + a.axis;
  a.size = (jf_ints){ 2, (int64_t *)size };
  c->dx[0] = JF_EMIT(c->g, avg_pool2d_grad, &a, c->dy[0]);
}

static double avg_pool2d_count(const jf_pooling *w)
{
  return (double)((w->rows.hi - w->rows.lo) * (w->columns.hi - w->columns.lo));
}

/* y = the mean of a window's cells. */
#define MEAN(D, T)                                                                            \
  static void avg_pool2d_mean_##D(const jf_kargs *k, const jf_pooling *w)                     \
  {                                                                                           \
    const T *x = k->in[0].data;                                                               \
    double sum = 0;                                                                           \
    for (int64_t i = w->rows.lo; i < w->rows.hi; i++)                                  \
      for (int64_t j = w->columns.lo; j < w->columns.hi; j++) sum += x[jf_pool_at(w, i, j)]; \
    ((T *)k->out[0].data)[w->number] = (T)(sum / avg_pool2d_count(w));                 \
  }
/* Each cell of a window gets dy / count, where count is the number of the window's valid cells. */
#define SHARE(D, T)                                                                          \
  static void share_##D(const jf_kargs *k, const jf_pooling *w)                              \
  {                                                                                          \
    T *dx = k->out[0].data;                                                                  \
    T v = (T)(((const T *)k->in[0].data)[w->number] / avg_pool2d_count(w));           \
    for (int64_t i = w->rows.lo; i < w->rows.hi; i++)                                 \
      for (int64_t j = w->columns.lo; j < w->columns.hi; j++) dx[jf_pool_at(w, i, j)] += v; \
  }
#define KERNELS(D, T)                                                                       \
  static jfl_status avg_pool2d_pool_##D(const jf_kargs *k)                                  \
  {                                                                                         \
    return jf_pool_each(k, &k->in[0].shape, &k->out[0].shape, avg_pool2d_mean_##D), JFL_OK; \
  }                                                                                         \
  static jfl_status avg_pool2d_backward_##D(const jf_kargs *k)                              \
  {                                                                                         \
    memset(k->out[0].data, 0, (size_t)jf_numel(&k->out[0].shape) * sizeof(T));              \
    return jf_pool_each(k, &k->out[0].shape, &k->in[0].shape, share_##D), JFL_OK;           \
  }
JF_EACH_FLOAT(MEAN)
JF_EACH_FLOAT(SHARE)
JF_EACH_FLOAT(KERNELS)

JFL_OP(avg_pool2d, .doc = "The mean of each window's cells that are inside input.",
       .path = "nn.avg_pool2d", .in = { "input" }, .out = { "y" }, .attr = attrs,
       .attr_size = sizeof(jf_pool2d), .infer = jf_pool_infer, .grad = avg_pool2d_grad,
       .signatures = jf_pool_signatures, .layout = jf_pool_layout,
       .flop = jf_pool_flop,
       .cpu = JF_KERNELS(JF_FLOATS(avg_pool2d_pool_)))

JFL_OP(avg_pool2d_grad, .doc = "Gradient of avg_pool2d.", .in = { "dy" }, .out = { "dx" },
       .attr = grad_attrs, .attr_size = sizeof(jf_pool2d), .infer = avg_pool2d_grad_infer,
       .signatures = jf_pool_signatures, .layout = jf_pool_layout,
       .flop = jf_pool_grad_flop,
       .cpu = JF_KERNELS(JF_FLOATS(avg_pool2d_backward_)))
