/* Convolution over height and width (cross-correlation) and its gradients. Sums of float32 are
   accumulated in double. */
#include "op/conv2d.h"
#include "op/op.h"
#include "op/window.h"

#define COMMON                                                                              \
  JF_FIELD(jf_conv2d, strides, INTS, "1", "how far the window moves: one number, or height and width"), \
  JF_FIELD(jf_conv2d, padding, PAD, "VALID", "SAME (odd cell before), SAME_UPPER, VALID or a list"), \
  JF_WORD(jf_conv2d, data_format, "NCHW", "NCHW NHWC", "the order of axes; only NCHW is supported"), \
  JF_FIELD(jf_conv2d, dilations, INTS, "1", "distance between the window's cells"),         \
  JF_FIELD(jf_conv2d, groups, INT, "1", "channels are cut into this many independent groups")
static const jf_attr attrs[] = { COMMON, {0} };
static const jf_attr grad_attrs[] = {
  COMMON,
  JF_FIELD(jf_conv2d, size, INTS, NULL, "height and width of the result"),
  {0},
};

/* Fills strides, dilations and pads, for an input and filters of these heights and widths. */
static jfl_status complete(const jf_infer *c, const int64_t in[2], const int64_t filter[2],
                           jf_window *w)
{
  jf_conv2d *a = c->attr;
  JF_TRY(jf_check_nchw(c, a->data_format));
  JF_TRY(jf_pair(c, "strides", &a->strides, 1, a->stride));
  JF_TRY(jf_pair(c, "dilations", &a->dilations, 1, a->dilation));
  if (a->groups < 1)
    return jf_fail(JFL_EINVAL, "%s: groups must be at least 1, got %lld", c->op->name,
                   (long long)a->groups);
  for (int i = 0; i < 2; i++) {
    w->in[i] = in[i];
    w->stride[i] = a->stride[i];
    w->extent[i] = (filter[i] - 1) * a->dilation[i] + 1;
  }
  JF_TRY(jf_window_place(c, &a->padding, 0, w));
  for (int i = 0; i < 4; i++) a->pad[i] = w->pad[i];
  return JFL_OK;
}

static jfl_status check_pair(const jf_infer *c)
{
  JF_TRY(jf_check_rank4(c, 0, "of four dimensions"));
  JF_TRY(jf_check_rank4(c, 1, "of four dimensions"));
  if (c->in[0]->dtype == c->in[1]->dtype) return JFL_OK;
  return jf_fail(JFL_EDTYPE, "%s: %s is %s but %s is %s", c->op->name, c->op->in[0],
                 jfl_dtype_name(c->in[0]->dtype), c->op->in[1], jfl_dtype_name(c->in[1]->dtype));
}

static jfl_status infer(jf_infer *c)
{
  const jf_conv2d *a = c->attr;
  const jfl_shape *x = &c->in[0]->shape, *f = &c->in[1]->shape;
  char s[JF_SHAPE_STR];
  jf_window w;
  JF_TRY(check_pair(c));
  JF_TRY(complete(c, x->d + 2, f->d + 2, &w));
  if (f->d[1] * a->groups != x->d[1])
    return jf_fail(JFL_ESHAPE, "conv2d: filters %s want %lld input channels, got %lld",
                   jf_shape_str(f, s), (long long)(f->d[1] * a->groups), (long long)x->d[1]);
  if (f->d[0] % a->groups)
    return jf_fail(JFL_ESHAPE, "conv2d: %lld filters cannot be cut into %lld groups",
                   (long long)f->d[0], (long long)a->groups);
  c->shape[0] = (jfl_shape){ 4, { x->d[0], f->d[0], w.out[0], w.out[1] } };
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

static jfl_status check_dy(const jf_infer *c, const jf_window *w)
{
  const jfl_shape *dy = &c->in[1]->shape;
  char s[JF_SHAPE_STR];
  if (dy->d[2] == w->out[0] && dy->d[3] == w->out[1]) return JFL_OK;
  return jf_fail(JFL_ESHAPE, "%s: dy %s should be %lld high and %lld wide", c->op->name,
                 jf_shape_str(dy, s), (long long)w->out[0], (long long)w->out[1]);
}

static jfl_status data_infer(jf_infer *c)
{
  const jf_conv2d *a = c->attr;
  const jfl_shape *f = &c->in[0]->shape, *dy = &c->in[1]->shape;
  int64_t size[2];
  jf_window w;
  JF_TRY(check_pair(c));
  JF_TRY(jf_pair(c, "size", &a->size, 1, size));
  JF_TRY(complete(c, size, f->d + 2, &w));
  JF_TRY(check_dy(c, &w));
  if (dy->d[1] != f->d[0] || f->d[0] % a->groups)
    return jf_fail(JFL_ESHAPE, "%s: dy has %lld channels for %lld filters in %lld groups",
                   c->op->name, (long long)dy->d[1], (long long)f->d[0], (long long)a->groups);
  c->shape[0] = (jfl_shape){ 4, { dy->d[0], f->d[1] * a->groups, size[0], size[1] } };
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

static jfl_status filter_infer(jf_infer *c)
{
  const jf_conv2d *a = c->attr;
  const jfl_shape *x = &c->in[0]->shape, *dy = &c->in[1]->shape;
  int64_t size[2];
  jf_window w;
  JF_TRY(check_pair(c));
  JF_TRY(jf_pair(c, "size", &a->size, 1, size));
  JF_TRY(complete(c, x->d + 2, size, &w));
  JF_TRY(check_dy(c, &w));
  if (x->d[1] % a->groups || dy->d[1] % a->groups || x->d[0] != dy->d[0])
    return jf_fail(JFL_ESHAPE, "%s: input and dy do not agree in batch size and groups",
                   c->op->name);
  c->shape[0] = (jfl_shape){ 4, { dy->d[1], x->d[1] / a->groups, size[0], size[1] } };
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

static void grad(jf_gradctx *c)
{
  jf_conv2d data = *(const jf_conv2d *)c->node->attr, filter = data;
  const int64_t *x = c->in[0]->shape.d, *f = c->in[1]->shape.d;
  data.size = (jf_ints){ 2, { x[2], x[3] } };
  filter.size = (jf_ints){ 2, { f[2], f[3] } };
  c->dx[0] = JF_EMIT(c->g, conv2d_data_grad, &data, c->in[1], c->dy[0]);
  c->dx[1] = JF_EMIT(c->g, conv2d_filter_grad, &filter, c->in[0], c->dy[0]);
}

/* One convolution: shapes of input, filters and output, and how many filters a group has. */
typedef struct conv { const int64_t *x, *f, *y; const jf_conv2d *a; int64_t group; } conv;

static conv conv_of(const jf_kargs *k, const jf_tensor *x, const jf_tensor *f, const jf_tensor *y)
{
  const jf_conv2d *a = k->attr;
  return (conv){ x->shape.d, f->shape.d, y->shape.d, a, f->shape.d[0] / a->groups };
}

/* Where row i of plane (n, c) starts in a tensor of shape s. */
static int64_t row_at(const int64_t *s, int64_t n, int64_t c, int64_t i)
{
  return ((n * s[1] + c) * s[2] + i) * s[3];
}

/* Column j of y meets column j stride + this of x, for the filter's column v. */
static int64_t shift(const conv *s, int64_t v) { return v * s->a->dilation[1] - s->a->pad[2]; }

enum { WIDTH = 64 };      /* the stretch of a row that is summed at once */

/* acc[i] += f x[i], both with steps. */
#define AXPY(D, T)                                                                        \
  static void axpy_##D(double *acc, int64_t acc_step, const T *x, int64_t x_step, T f, int64_t n) \
  {                                                                                       \
    if (acc_step == 1 && x_step == 1)                                                     \
      for (int64_t i = 0; i < n; i++) acc[i] += (double)f * x[i];                         \
    else                                                                                  \
      for (int64_t i = 0; i < n; i++) acc[i * acc_step] += (double)f * x[i * x_step];     \
  }

/* acc = y[n, o, i, j0 .. j1) */
#define FORWARD(D, T)                                                                     \
  static void forward_##D(const conv *s, const T *x, const T *f, const int64_t *at, int64_t j1, \
                          double *acc)                                                    \
  {                                                                                       \
    int64_t n = at[0], o = at[1], i = at[2], j0 = at[3], step = s->a->stride[1];          \
    for (int64_t c = 0; c < s->f[1]; c++)                                                 \
      for (int64_t u = 0; u < s->f[2]; u++) {                                             \
        int64_t row = i * s->a->stride[0] - s->a->pad[0] + u * s->a->dilation[0];         \
        if (row < 0 || row >= s->x[2]) continue;                                          \
        const T *px = x + row_at(s->x, n, o / s->group * s->f[1] + c, row);               \
        const T *pf = f + row_at(s->f, o, c, u);                                          \
        for (int64_t v = 0; v < s->f[3]; v++) {                                           \
          jf_range j = jf_range_within(j1, step, shift(s, v), 0, s->x[3]);                \
          if (j.lo < j0) j.lo = j0;                                                       \
          axpy_##D(acc + j.lo - j0, 1, px + j.lo * step + shift(s, v), step, pf[v], j.hi - j.lo); \
        }                                                                                 \
      }                                                                                   \
  }

/* acc = dx[n, c, row, w0 .. w1): every y that this stretch took part in. */
#define BACKWARD(D, T)                                                                    \
  static void backward_##D(const conv *s, const T *f, const T *dy, const int64_t *at, int64_t w1, \
                           double *acc)                                                   \
  {                                                                                       \
    int64_t n = at[0], g = at[1] / s->f[1], c = at[1] % s->f[1], w0 = at[3];              \
    int64_t step = s->a->stride[1];                                                       \
    for (int64_t o = g * s->group; o < (g + 1) * s->group; o++)                           \
      for (int64_t u = 0; u < s->f[2]; u++) {                                             \
        int64_t i = at[2] + s->a->pad[0] - u * s->a->dilation[0];                         \
        if (i < 0 || i % s->a->stride[0] || i / s->a->stride[0] >= s->y[2]) continue;     \
        const T *pdy = dy + row_at(s->y, n, o, i / s->a->stride[0]);                      \
        const T *pf = f + row_at(s->f, o, c, u);                                          \
        for (int64_t v = 0; v < s->f[3]; v++) {                                           \
          jf_range j = jf_range_within(s->y[3], step, shift(s, v), w0, w1);               \
          axpy_##D(acc + j.lo * step + shift(s, v) - w0, step, pdy + j.lo, 1, pf[v], j.hi - j.lo); \
        }                                                                                 \
      }                                                                                   \
  }

/* dfilters[o, c, u, v] = sum over n, i, j of x dy; at holds o, c, u, v. */
#define FILTER(D, T)                                                                      \
  static double filter_##D(const conv *s, const T *x, const T *dy, const int64_t *at)     \
  {                                                                                       \
    double lane[WIDTH] = { 0 }, sum = 0;                                                  \
    int64_t c = at[0] / s->group * s->f[1] + at[1], step = s->a->stride[1], by = shift(s, at[3]); \
    jf_range j = jf_range_within(s->y[3], step, by, 0, s->x[3]);                          \
    for (int64_t n = 0; n < s->y[0]; n++)                                                 \
      for (int64_t i = 0; i < s->y[2]; i++) {                                             \
        int64_t row = i * s->a->stride[0] - s->a->pad[0] + at[2] * s->a->dilation[0];     \
        if (row < 0 || row >= s->x[2]) continue;                                          \
        lanes_##D(lane, x + row_at(s->x, n, c, row) + by, step, dy + row_at(s->y, n, at[0], i), j); \
      }                                                                                   \
    for (int i = 0; i < WIDTH; i++) sum += lane[i];                                       \
    return sum;                                                                           \
  }
/* lane[.] += x[j step] dy[j] for j in the range. */
#define ADD_LANES(D, T)                                                                   \
  static void lanes_##D(double *lane, const T *x, int64_t step, const T *dy, jf_range j)  \
  {                                                                                       \
    for (int64_t at = j.lo; at < j.hi; at += WIDTH) {                                     \
      int64_t n = j.hi - at < WIDTH ? j.hi - at : WIDTH;                                  \
      const T *px = x + at * step, *pdy = dy + at;                                        \
      if (step == 1) for (int64_t i = 0; i < n; i++) lane[i] += (double)px[i] * pdy[i];   \
      else for (int64_t i = 0; i < n; i++) lane[i] += (double)px[i * step] * pdy[i];      \
    }                                                                                     \
  }
JF_EACH_FLOAT(AXPY)
JF_EACH_FLOAT(FORWARD)
JF_EACH_FLOAT(BACKWARD)
JF_EACH_FLOAT(ADD_LANES)
JF_EACH_FLOAT(FILTER)

/* Fills the output stretch by stretch; fn sums one. */
#define STRETCHES(name, T, X, F, Y, fn)                                                   \
  static jfl_status name(const jf_kargs *k)                                               \
  {                                                                                       \
    conv s = conv_of(k, X, F, Y);                                                         \
    const int64_t *d = k->out[0].shape.d;                                                 \
    T *y = k->out[0].data;                                                                \
    for (int64_t r = 0; r < d[0] * d[1] * d[2]; r++)                                      \
      for (int64_t j = 0; j < d[3]; j += WIDTH) {                                         \
        int64_t at[4] = { r / (d[1] * d[2]), r / d[2] % d[1], r % d[2], j };              \
        int64_t end = d[3] - j < WIDTH ? d[3] : j + WIDTH;                                \
        double acc[WIDTH] = { 0 };                                                        \
        fn(&s, k->in[0].data, k->in[1].data, at, end, acc);                               \
        for (int64_t i = 0; i < end - j; i++) *y++ = (T)acc[i];                           \
      }                                                                                   \
    return JFL_OK;                                                                        \
  }
#define EACH_FILTER(name, T, fn)                                                          \
  static jfl_status name(const jf_kargs *k)                                               \
  {                                                                                       \
    conv s = conv_of(k, &k->in[0], &k->out[0], &k->in[1]);                                \
    const int64_t *d = k->out[0].shape.d;                                                 \
    T *y = k->out[0].data;                                                                \
    for (int64_t r = 0, n = jf_numel(&k->out[0].shape); r < n; r++) {                     \
      int64_t at[4] = { r / (d[1] * d[2] * d[3]), r / (d[2] * d[3]) % d[1], r / d[3] % d[2], \
                        r % d[3] };                                                       \
      y[r] = (T)fn(&s, k->in[0].data, k->in[1].data, at);                                 \
    }                                                                                     \
    return JFL_OK;                                                                        \
  }
#define KERNELS(D, T)                                                                     \
  STRETCHES(conv2d_##D, T, &k->in[0], &k->in[1], &k->out[0], forward_##D)                 \
  STRETCHES(data_##D, T, &k->out[0], &k->in[0], &k->in[1], backward_##D)                  \
  EACH_FILTER(filters_##D, T, filter_##D)
JF_EACH_FLOAT(KERNELS)

static const jf_kernel cpu[JFL_N_DTYPE] = { [JFL_F32] = conv2d_F32, [JFL_F64] = conv2d_F64 };
static const jf_kernel data_cpu[JFL_N_DTYPE] = { [JFL_F32] = data_F32, [JFL_F64] = data_F64 };
static const jf_kernel filter_cpu[JFL_N_DTYPE] = { [JFL_F32] = filters_F32, [JFL_F64] = filters_F64 };

JFL_OP(conv2d, .doc = "Slides filters (out, in / groups, height, width) over input (N, in, H, W).",
  .path = "nn.conv2d", .in = {"input", "filters"}, .out = {"y"}, .attr = attrs,
  .attr_size = sizeof(jf_conv2d), .infer = infer, .grad = grad, .cpu = cpu)

JFL_OP(conv2d_data_grad, .doc = "Gradient of conv2d for its input.",
  .in = {"filters", "dy"}, .out = {"dx"}, .attr = grad_attrs, .attr_size = sizeof(jf_conv2d),
  .infer = data_infer, .cpu = data_cpu)

JFL_OP(conv2d_filter_grad, .doc = "Gradient of conv2d for its filters.",
  .in = {"input", "dy"}, .out = {"dfilters"}, .attr = grad_attrs, .attr_size = sizeof(jf_conv2d),
  .infer = filter_infer, .cpu = filter_cpu)
