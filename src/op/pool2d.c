/* Pooling over windows of height and width: the largest cell of each, or the mean. The gradient of
   a maximum goes to the first cell, row by row, that has the largest value, as in oneDNN and
   PyTorch. */
#include "op/pool2d.h"
#include "op/layout.h"
#include "op/op.h"
#include "op/window.h"

#include <string.h>

/* In OneFlow's order. */
#define POOL_FIELDS                                                                               \
  JF_FIELD(jf_pool2d, ksize, INTS, NULL, "the window: one number, or height and width"),          \
  JF_FIELD(jf_pool2d, strides, INTS, "none", "step of the window; its size, unless given"),       \
  JF_FIELD(jf_pool2d, padding, PAD, "VALID", "SAME (odd cell first), SAME_UPPER, VALID or list"), \
  JF_WORD(jf_pool2d, data_format, "NCHW", "NCHW NHWC", "the order of axes"),                      \
  JF_FIELD(jf_pool2d, ceil_mode, BOOL, "false", "with a padding list: count a last, partial window")

JF_ATTRS(attrs, POOL_FIELDS)
JF_ATTRS(avg_grad_attrs,
  POOL_FIELDS,
  JF_FIELD(jf_pool2d, size, INTS, NULL, "height and width of the result"))

/* ---- shapes ---- */

/* Checks the rank of in[0] and finds the axes of height and width by data_format. In blocks of
   channels in[0] has one axis more, the last. */
static jfl_status check_axes(const jf_infer *c)
{
  jf_pool2d *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  char buf[JF_SHAPE_STR];
  const int last = !strcmp(a->data_format, "NHWC");
  a->axis = last ? 1 : 2;
  if (!a->block) return jf_check_rank4(c, last ? "(N, H, W, C)" : "(N, C, H, W)");
  if (!last && s->n == 5 && s->d[4] == a->block) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[0], "must be (N, C / %lld, H, W, %lld), got %s %s",
                          (long long)a->block, (long long)a->block, a->data_format,
                          jf_shape_str(s, buf));
}

/* Checks that every window has at least one valid cell. */
static jfl_status check_covered(const jf_window *w)
{
  for (int i = 0; i < 4; i++)
    if (i % 2 == 0 && w->pad[i] >= w->extent[i / 2])
      return jf_fail_argument(JFL_EINVAL, "padding", "must be below the window's %lld, got %lld",
                              (long long)w->extent[i / 2], (long long)w->pad[i]);
  for (int i = 0; i < 2; i++)
    if ((w->out[i] - 1) * w->stride[i] >= w->in[i] + w->pad[2 * i])
      return jf_fail(JFL_EINVAL, "the last window covers nothing but padding");
  return JFL_OK;
}

/* Completes the attributes for an input of height and width `in` and gives the pooled height and
   width. */
static jfl_status pool_place(jf_infer *c, const int64_t in[2], int64_t out[2])
{
  jf_pool2d *a = c->attr;
  jf_window w = { .n = 2, .last = a->axis == 1 };
  JF_TRY(jf_extents("ksize", &a->ksize, 2, a->kernel));
  jf_ints strides = a->strides.n ? a->strides : (jf_ints){ 2, a->kernel };
  JF_TRY(jf_extents("strides", &strides, 2, a->stride));
  for (int i = 0; i < 2; i++) {
    w.in[i] = in[i];
    w.extent[i] = a->kernel[i];
    w.stride[i] = a->stride[i];
  }
  JF_TRY(jf_window_place(&a->padding, a->ceil_mode && !a->padding.word ? JF_CEIL : 0, &w));
  JF_TRY(check_covered(&w));
  memcpy(a->pad, w.pad, sizeof a->pad);
  memcpy(out, w.out, 2 * sizeof *out);
  return JFL_OK;
}

/* Gives the height and width of in[0], which is x or dy. */
static jfl_status pool_size(const jf_infer *c, int64_t size[2])
{
  JF_TRY(check_axes(c));
  memcpy(size, c->in[0]->shape.d + ((const jf_pool2d *)c->attr)->axis, 2 * sizeof *size);
  return JFL_OK;
}

/* Sets the result to the dtype and shape of in[0] with another height and width. */
static void pool_result(jf_infer *c, const int64_t size[2])
{
  c->shape[0] = c->in[0]->shape;
  memcpy(c->shape[0].d + ((const jf_pool2d *)c->attr)->axis, size, 2 * sizeof *size);
  c->dtype[0] = c->in[0]->dtype;
}

static jfl_status pool_infer(jf_infer *c)
{
  int64_t in[2], out[2];
  JF_TRY(pool_size(c, in));
  JF_TRY(pool_place(c, in, out));
  pool_result(c, out);
  return JFL_OK;
}

static jfl_status max_grad_infer(jf_infer *c)
{
  JF_TRY(pool_infer(c));
  for (int i = 1; i < 3; i++) JF_TRY(jf_infer_is(c, i, c->in[0]->dtype, &c->shape[0], NULL));
  c->shape[0] = c->in[0]->shape;
  return JFL_OK;
}

static jfl_status avg_grad_infer(jf_infer *c)
{
  jf_pool2d *a = c->attr;
  int64_t pooled[2], size[2], out[2];
  char s[JF_SHAPE_STR];
  JF_TRY(pool_size(c, pooled));
  JF_TRY(jf_extents("size", &a->size, 2, size));
  JF_TRY(pool_place(c, size, out));
  if (pooled[0] != out[0] || pooled[1] != out[1])
    return jf_fail_argument(JFL_ESHAPE, "dy", "must be %lld high and %lld wide, got %s",
                            (long long)out[0], (long long)out[1],
                            jf_shape_str(&c->in[0]->shape, s));
  pool_result(c, size);
  return JFL_OK;
}

/* ---- plain kernels ---- */

/* One window. Its result is element `number` of the pooled tensor. Its valid cells are elements of
   the full tensor, `inner` apart from `first` on, in rows of `width` cells. */
typedef struct pooling {
  int64_t number, first, width, inner;
  jf_pool_range rows, columns;
} pooling;
typedef void (*pool_use)(const jf_kargs *k, const pooling *w);

/* Calls `use` for every window. full and pooled are the shapes of x and y. */
static jfl_status pool_each(const jf_kargs *k, const jfl_shape *full, const jfl_shape *pooled,
                            pool_use use)
{
  const jf_pool2d *a = k->attr;
  const int64_t *size = full->d + a->axis, *out = pooled->d + a->axis;
  int64_t inner = 1;
  for (int i = a->axis + 2; i < full->n; i++) inner *= full->d[i];
  const int64_t n = jf_numel(pooled);
  for (int64_t r = 0; r < n && !jf_loop_ends(); r++) {
    const int64_t cell = r / inner, plane = cell / (out[0] * out[1]);
    pooling w = {
      r, plane * size[0] * size[1] * inner + r % inner, size[1], inner,
      jf_pool_window(a, 0, size[0], cell / out[1] % out[0]),
      jf_pool_window(a, 1, size[1], cell % out[1])
    };
    use(k, &w);
  }
  return JFL_OK;
}

static jfl_status pool_forward(const jf_kargs *k, pool_use use)
{
  return pool_each(k, &k->in[0].shape, &k->out[0].shape, use);
}

static jfl_status pool_backward(const jf_kargs *k, pool_use use)
{
  const jf_tensor *dx = &k->out[0];
  memset(dx->data, 0, (size_t)jf_numel(&dx->shape) * jfl_dtype_size(dx->dtype));
  return pool_each(k, &dx->shape, &k->in[k->n_in - 1].shape, use);
}

/* The element of x's tensor that is cell (i, j). */
static int64_t pool_at(const pooling *w, int64_t i, int64_t j)
{
  return w->first + (i * w->width + j) * w->inner;
}

static double pool_count(const pooling *w)
{
  return (double)((w->rows.hi - w->rows.lo) * (w->columns.hi - w->columns.lo));
}

#define CELLS \
  for (int64_t i = w->rows.lo; i < w->rows.hi; i++) \
    for (int64_t j = w->columns.lo; j < w->columns.hi; j++)
/* The kernel `id` of a dtype, which does id##_at at each window. */
#define KERNEL(id, D, pass) \
  static jfl_status id##_##D(const jf_kargs *k) { return pass(k, id##_at_##D); }

/* Finds where in x a window has its largest cell, the first one if there are several. */
#define MAX(D, T)                                                               \
  static int64_t find_##D(const T *x, const pooling *w)                         \
  {                                                                             \
    int64_t best = pool_at(w, w->rows.lo, w->columns.lo);                       \
    CELLS if (x[pool_at(w, i, j)] > x[best]) best = pool_at(w, i, j);           \
    return best;                                                                \
  }                                                                             \
  static void max_at_##D(const jf_kargs *k, const pooling *w)                   \
  {                                                                             \
    const T *x = k->in[0].data;                                                 \
    ((T *)k->out[0].data)[w->number] = x[find_##D(x, w)];                       \
  }                                                                             \
  KERNEL(max, D, pool_forward)
/* dx[cell] = sum of dy over the windows whose maximum the cell is. */
#define MAX_GRAD(D, T)                                                                          \
  static void max_grad_at_##D(const jf_kargs *k, const pooling *w)                              \
  {                                                                                             \
    ((T *)k->out[0].data)[find_##D(k->in[0].data, w)] += ((const T *)k->in[2].data)[w->number]; \
  }                                                                                             \
  KERNEL(max_grad, D, pool_backward)
/* y = the mean of a window's cells. */
#define AVG(D, T)                                                               \
  static void avg_at_##D(const jf_kargs *k, const pooling *w)                   \
  {                                                                             \
    const T *x = k->in[0].data;                                                 \
    double sum = 0;                                                             \
    CELLS sum += x[pool_at(w, i, j)];                                           \
    ((T *)k->out[0].data)[w->number] = (T)(sum / pool_count(w));                \
  }                                                                             \
  KERNEL(avg, D, pool_forward)
/* Each valid cell of a window gets dy / count, where count is the number of these. */
#define AVG_GRAD(D, T)                                                          \
  static void avg_grad_at_##D(const jf_kargs *k, const pooling *w)              \
  {                                                                             \
    T *dx = k->out[0].data;                                                     \
    const T v = (T)(((const T *)k->in[0].data)[w->number] / pool_count(w));     \
    CELLS dx[pool_at(w, i, j)] += v;                                            \
  }                                                                             \
  KERNEL(avg_grad, D, pool_backward)
JF_EACH_FLOAT(MAX)
JF_EACH_SMALL(MAX)
JF_EACH_FLOAT(MAX_GRAD)
JF_EACH_FLOAT(AVG)
JF_EACH_FLOAT(AVG_GRAD)

/* ---- records ---- */

static void max_pool2d_grad(jf_gradctx *c)
{
  c->dx[0] = JF_EMIT(c->g, max_pool2d_grad, c->node->attr, c->in[0], c->out[0], c->dy[0]);
}

static void avg_pool2d_grad(jf_gradctx *c)
{
  jf_pool2d a = *(const jf_pool2d *)c->node->attr;
  const int64_t *size = c->in[0]->shape.d + a.axis;
  a.size = (jf_ints){ 2, (int64_t *)size };
  c->dx[0] = JF_EMIT(c->g, avg_pool2d_grad, &a, c->dy[0]);
}

/* Images and channels may be split. */
static void pool_signatures(jf_signatures *c)
{
  jf_signatures_but(c, 3u << ((const jf_pool2d *)c->node->attr)->axis);
}

static double pool_cells(const jf_kargs *k, const jf_tensor *pooled)
{
  const jf_pool2d *a = k->attr;
  return (double)jf_numel(&pooled->shape) * (double)a->kernel[0] * (double)a->kernel[1];
}

static double pool_flop(const jf_kargs *k) { return pool_cells(k, &k->out[0]); }
static double pool_grad_flop(const jf_kargs *k) { return pool_cells(k, &k->in[k->n_in - 1]); }

static int pool_layout(jf_layout *c)
{
  jf_pool2d *a = c->attr;
  if (strcmp(a->data_format, "NCHW") || !jf_layout_blocks(c)) return 0;
  a->block = jf_layout_block(c);
  jf_layout_all(c, JF_BLOCKED);
  return 1;
}

static jf_first pool_first(const jf_node *n, void *attr)
{
  jf_pool2d *a = attr;
  (void)n;
  if (a->axis != 1 || a->padding.list.n > 4) return JF_FIRST_NOT;
  a->data_format = "NCHW";
  return JF_FIRST_ALONG;
}

#define POOL(attrs_, rule, cells)                                                 \
  JF_WITH(attrs_, jf_pool2d), .infer = rule, .flop = cells,                       \
  .signatures = pool_signatures, .layout = pool_layout

JFL_OP(max_pool2d,
       .doc = "The largest cell of each window; its first occurrence gets the gradient.",
       .path = "nn.max_pool2d", .in = { "input" }, .out = { "y" },
       POOL(attrs, pool_infer, pool_flop), .grad = max_pool2d_grad, .channels_first = pool_first,
       .flags = JF_PICKS | JF_NARROWS, .cpu = JF_KERNELS(JF_FLOATS(max_), JF_SMALLS(max_)))

JFL_OP(max_pool2d_grad, .doc = "Gradient of max_pool2d of x at output y.",
       .in = {"x", "y", "dy"}, .out = {"dx"}, POOL(attrs, max_grad_infer, pool_grad_flop),
       .flags = JF_NARROWS, .cpu = JF_KERNELS(JF_FLOATS(max_grad_)))

JFL_OP(avg_pool2d, .doc = "The mean of each window's cells that are inside input.",
       .path = "nn.avg_pool2d", .in = { "input" }, .out = { "y" },
       POOL(attrs, pool_infer, pool_flop), .grad = avg_pool2d_grad, .channels_first = pool_first,
       .cpu = JF_KERNELS(JF_FLOATS(avg_)))

JFL_OP(avg_pool2d_grad, .doc = "Gradient of avg_pool2d.", .in = { "dy" }, .out = { "dx" },
       POOL(avg_grad_attrs, avg_grad_infer, pool_grad_flop),
       .cpu = JF_KERNELS(JF_FLOATS(avg_grad_)))
