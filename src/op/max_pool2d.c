/* The largest cell of each window. The gradient goes to the first cell, row by row, that has the
   largest value, as in oneDNN and PyTorch. */
#include "op/op.h"
#include "op/pool.h"

#include <string.h>

static const jf_attr attrs[] = { JF_POOL_FIELDS, {0} };

static jfl_status max_pool2d_grad_infer(jf_infer *c)
{
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  JF_TRY(jf_pool_infer(c));
  for (int i = 1; i < 3; i++)
    if (!jf_shape_eq(&c->in[i]->shape, &c->shape[0]) || c->in[i]->dtype != c->in[0]->dtype)
      return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must be %s %s, got %s %s",
                              jfl_dtype_name(c->in[0]->dtype), jf_shape_str(&c->shape[0], s),
                              jfl_dtype_name(c->in[i]->dtype), jf_shape_str(&c->in[i]->shape, t));
  c->shape[0] = c->in[0]->shape;
  return JFL_OK;
}

static void max_pool2d_grad(jf_gradctx *c)
{
  c->dx[0] = JF_EMIT(c->g, max_pool2d_grad, c->node->attr, c->in[0], c->out[0], c->dy[0]);
}

/* Finds where in x a window has its largest cell, the first one if there are several. */
#define FIND(D, T)                                                              \
  static int64_t find_##D(const T *x, const jf_pooling *w)                      \
  {                                                                             \
    int64_t best = jf_pool_at(w, w->rows.lo, w->columns.lo);                  \
    for (int64_t i = w->rows.lo; i < w->rows.hi; i++)                    \
      for (int64_t j = w->columns.lo; j < w->columns.hi; j++)                  \
        if (x[jf_pool_at(w, i, j)] > x[best]) best = jf_pool_at(w, i, j);       \
    return best;                                                                \
  }
#define TAKE(D, T)                                                               \
  static void take_##D(const jf_kargs *k, const jf_pooling *w)                   \
  {                                                                              \
    const T *x = k->in[0].data;                                                  \
    ((T *)k->out[0].data)[w->number] = x[find_##D(x, w)];                        \
  }                                                                              \
  static jfl_status max_pool2d_pool_##D(const jf_kargs *k)                       \
  {                                                                              \
    return jf_pool_each(k, &k->in[0].shape, &k->out[0].shape, take_##D), JFL_OK; \
  }
/* dx[cell] = sum of dy over the windows whose maximum the cell is. */
#define GIVE(D, T)                                                                              \
  static void give_##D(const jf_kargs *k, const jf_pooling *w)                                  \
  {                                                                                             \
    ((T *)k->out[0].data)[find_##D(k->in[0].data, w)] += ((const T *)k->in[2].data)[w->number]; \
  }                                                                                             \
  static jfl_status max_pool2d_backward_##D(const jf_kargs *k)                                  \
  {                                                                                             \
    memset(k->out[0].data, 0, (size_t)jf_numel(&k->out[0].shape) * sizeof(T));                  \
    return jf_pool_each(k, &k->in[0].shape, &k->in[2].shape, give_##D), JFL_OK;                 \
  }
#define BYTES(X) X(I8, int8_t) X(U8, uint8_t)
JF_EACH_FLOAT(FIND)
JF_EACH_FLOAT(TAKE)
BYTES(FIND)
BYTES(TAKE)
JF_EACH_FLOAT(GIVE)

JFL_OP(max_pool2d,
       .doc = "The largest cell of each window; its first occurrence gets the gradient.",
       .path = "nn.max_pool2d", .in = { "input" }, .out = { "y" }, .attr = attrs,
       .attr_size = sizeof(jf_pool2d), .infer = jf_pool_infer, .grad = max_pool2d_grad,
       .flags = JF_PICKS | JF_NARROWS, .signatures = jf_pool_signatures, .layout = jf_pool_layout,
       .flop = jf_pool_flop,
       .cpu = JF_KERNELS(JF_FLOATS(max_pool2d_pool_), JF_SMALLS(max_pool2d_pool_)))

JFL_OP(max_pool2d_grad, .doc = "Gradient of max_pool2d of x at output y.",
  .in = {"x", "y", "dy"}, .out = {"dx"}, .attr = attrs, .attr_size = sizeof(jf_pool2d),
       .flags = JF_NARROWS,
  .infer = max_pool2d_grad_infer, .signatures = jf_pool_signatures, .layout = jf_pool_layout,
       .flop = jf_pool_grad_flop,
       .cpu = JF_KERNELS(JF_FLOATS(max_pool2d_backward_)))
