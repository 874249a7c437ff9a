/* The largest cell of each window. Its gradient goes to the first such cell, row by row, which is what
   oneDNN and cuDNN do too. */
#include "op/op.h"
#include "op/pool.h"

#include <string.h>

static const jf_attr attrs[] = { JF_POOL_FIELDS, {0} };

static jfl_status grad_infer(jf_infer *c)
{
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  JF_TRY(jf_pool_infer(c));
  for (int i = 1; i < 3; i++)
    if (!jf_shape_eq(&c->in[i]->shape, &c->shape[0]) || c->in[i]->dtype != c->in[0]->dtype)
      return jf_fail(JFL_ESHAPE, "%s: %s should be %s %s, got %s %s", c->op->name, c->op->in[i],
                     jfl_dtype_name(c->in[0]->dtype), jf_shape_str(&c->shape[0], s),
                     jfl_dtype_name(c->in[i]->dtype), jf_shape_str(&c->in[i]->shape, t));
  c->shape[0] = c->in[0]->shape;
  return JFL_OK;
}

static void grad(jf_gradctx *c)
{
  c->dx[0] = JF_EMIT(c->g, max_pool2d_grad, c->node->attr, c->in[0], c->out[0], c->dy[0]);
}

/* The first largest of cells `at` of a plane w wide. */
#define FIND(D, T)                                                        \
  static int64_t find_##D(const T *x, int64_t w, jf_cells at)             \
  {                                                                       \
    int64_t best = at.top * w + at.left;                                  \
    for (int64_t i = at.top; i < at.bottom; i++)                          \
      for (int64_t j = at.left; j < at.right; j++)                        \
        if (x[i * w + j] > x[best]) best = i * w + j;                     \
    return best;                                                          \
  }
/* Calls use for every window: number r of y, its cell `best` of the plane x. */
#define WINDOWS(name, D, T, Y, use)                                       \
  static jfl_status name##_##D(const jf_kargs *k)                         \
  {                                                                       \
    const int64_t *s = k->in[0].shape.d, *d = (Y)->shape.d, plane = d[2] * d[3]; \
    const T *x = k->in[0].data;                                           \
    T *out = k->out[0].data;                                              \
    for (int64_t r = 0; r < d[0] * d[1] * plane; r++) {                   \
      int64_t from = r / plane * s[2] * s[3];                             \
      int64_t best = find_##D(x + from, s[3],                             \
        jf_pool_cells(k->attr, s[2], s[3], r % plane / d[3], r % d[3]));  \
      use;                                                                \
    }                                                                     \
    return JFL_OK;                                                        \
  }
#define FORWARD(D, T) WINDOWS(pool, D, T, &k->out[0], out[r] = x[from + best])
#define SCATTER(D, T) \
  WINDOWS(scatter, D, T, &k->in[2], out[from + best] += ((const T *)k->in[2].data)[r])
/* dx[cell] = sum of dy over the windows whose maximum the cell is. */
#define BACKWARD(D, T)                                                    \
  static jfl_status backward_##D(const jf_kargs *k)                       \
  {                                                                       \
    memset(k->out[0].data, 0, (size_t)jf_numel(&k->out[0].shape) * sizeof(T)); \
    return scatter_##D(k);                                                \
  }
JF_EACH_FLOAT(FIND)
JF_EACH_FLOAT(FORWARD)
JF_EACH_FLOAT(SCATTER)
JF_EACH_FLOAT(BACKWARD)
static const jf_kernel cpu[JFL_N_DTYPE] = { [JFL_F32] = pool_F32, [JFL_F64] = pool_F64 };
static const jf_kernel grad_cpu[JFL_N_DTYPE] = { [JFL_F32] = backward_F32, [JFL_F64] = backward_F64 };

JFL_OP(max_pool2d, .doc = "The largest cell of each window; its first occurrence gets the gradient.",
  .path = "nn.max_pool2d", .in = {"input"}, .out = {"y"}, .attr = attrs,
  .attr_size = sizeof(jf_pool2d), .infer = jf_pool_infer, .grad = grad, .cpu = cpu)

JFL_OP(max_pool2d_grad, .doc = "Gradient of max_pool2d of x at output y.",
  .in = {"x", "y", "dy"}, .out = {"dx"}, .attr = attrs, .attr_size = sizeof(jf_pool2d),
  .infer = grad_infer, .cpu = grad_cpu)
