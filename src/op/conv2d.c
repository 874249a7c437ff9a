/* Convolution over height and width (cross-correlation) and its gradients. Sums of float32 are
   accumulated in double. */
#include "op/conv2d.h"
#include "op/layout.h"
#include "op/op.h"
#include "op/reduce.h"
#include "op/window.h"

static const jf_attr attrs[] = { JF_CONV2D_ATTRS, {0} };
#define SIZE JF_FIELD(jf_conv2d, size, INTS, NULL, "height and width of the result")
static const jf_attr grad_attrs[] = { JF_CONV2D_ATTRS, SIZE, {0} };
static const jf_attr filter_attrs[] = {
  JF_CONV2D_ATTRS, SIZE,
  { "bias", JF_ATTR_BOOL, offsetof(jf_conv2d, epilogue.bias), "false", "give dbias too", NULL },
  {0},
};

/* Sets stride, dilation and pad of the attributes, given the height and width of input and
   filter. */
static jfl_status conv2d_complete(const jf_infer *c, const int64_t in[2], const int64_t filter[2],
                           jf_window *w)
{
  jf_conv2d *a = c->attr;
  JF_TRY(jf_check_nchw(a->data_format));
  JF_TRY(jf_pair("strides", &a->strides, 1, a->stride));
  JF_TRY(jf_pair("dilations", &a->dilations, 1, a->dilation));
  if (a->groups < 1)
    return jf_fail_argument(JFL_EINVAL, "groups", "must be at least 1, got %lld",
                            (long long)a->groups);
  for (int i = 0; i < 2; i++) {
    w->in[i] = in[i];
    w->stride[i] = a->stride[i];
    JF_TRY(jf_window_extent(filter[i], a->dilation[i], &w->extent[i]));
  }
  JF_TRY(jf_window_place(&a->padding, 0, w));
  for (int i = 0; i < 4; i++) a->pad[i] = w->pad[i];
  return JFL_OK;
}

/* Gives the plain shape of input i, a tensor of four dimensions that is stored in `form`. */
static jfl_status conv2d_plain(const jf_infer *c, int i, jf_form form, jfl_shape *out)
{
  const jfl_shape *s = &c->in[i]->shape;
  int64_t block = ((const jf_conv2d *)c->attr)->block;
  char buf[JF_SHAPE_STR];
  if (form != JF_PLAIN && jf_plain_shape(&(jf_packing){ form, block }, s, out)) return JFL_OK;
  if (form != JF_PLAIN)
    return jf_fail(JFL_ESHAPE, "%s is not in blocks of %lld: %s", c->op->in[i], (long long)block,
                   jf_shape_str(s, buf));
  JF_TRY(jf_check_rank4(c, i, "of four dimensions"));
  return *out = *s, JFL_OK;
}

static jf_form form_x(const jf_infer *c)
{
  return ((const jf_conv2d *)c->attr)->block_x ? JF_BLOCKED : JF_PLAIN;
}

static jf_form form_y(const jf_infer *c)
{
  return ((const jf_conv2d *)c->attr)->block_y ? JF_BLOCKED : JF_PLAIN;
}

static jf_form form_f(const jf_infer *c)
{
  return ((const jf_conv2d *)c->attr)->packed ? JF_PACKED : JF_PLAIN;
}

/* Checks the two operands and gives their plain shapes. */
static jfl_status check_pair(const jf_infer *c, jf_form first, jf_form second, jfl_shape *a,
                             jfl_shape *b)
{
  JF_TRY(conv2d_plain(c, 0, first, a));
  JF_TRY(conv2d_plain(c, 1, second, b));
  if (c->in[0]->dtype == c->in[1]->dtype) return JFL_OK;
  return jf_fail_argument(JFL_EDTYPE, c->op->in[1], "must be %s like %s, got %s",
                          jfl_dtype_name(c->in[0]->dtype), c->op->in[0],
                          jfl_dtype_name(c->in[1]->dtype));
}

/* Sets the result: its plain shape is s, and it is stored in `form`. */
static jfl_status conv2d_give(jf_infer *c, jf_form form, const jfl_shape *s)
{
  int64_t block = ((const jf_conv2d *)c->attr)->block;
  char buf[JF_SHAPE_STR];
  jf_relayout r;
  c->dtype[0] = c->in[0]->dtype;
  c->shape[0] = *s;
  if (form == JF_PLAIN) return JFL_OK;
  if (!jf_relayout_to(&(jf_packing){ form, block }, s, &r))
    return jf_fail(JFL_ESHAPE, "%s cannot be cut into blocks of %lld", jf_shape_str(s, buf),
                   (long long)block);
  c->shape[0] = r.to;
  return JFL_OK;
}

static jfl_status conv2d_infer(jf_infer *c)
{
  const jf_conv2d *a = c->attr;
  jfl_shape x, f;
  char s[JF_SHAPE_STR];
  jf_window w;
  JF_TRY(check_pair(c, form_x(c), form_f(c), &x, &f));
  JF_TRY(conv2d_complete(c, x.d + 2, f.d + 2, &w));
  if (f.d[0] % a->groups)
    return jf_fail_argument(JFL_ESHAPE, "groups", "must divide the %lld filters, got %lld",
                            (long long)f.d[0], (long long)a->groups);
  if (f.d[1] * a->groups != x.d[1])
    return jf_fail_argument(JFL_ESHAPE, c->op->in[0], "must have %lld channels for filters %s, got "
                            "%lld", (long long)(f.d[1] * a->groups), jf_shape_str(&f, s),
                            (long long)x.d[1]);
  return conv2d_give(c, form_y(c), &(jfl_shape){ 4, { x.d[0], f.d[0], w.out[0], w.out[1] } });
}

static jfl_status check_dy(const jf_window *w, const jfl_shape *dy)
{
  char s[JF_SHAPE_STR];
  if (dy->d[2] == w->out[0] && dy->d[3] == w->out[1]) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, "dy", "must be %lld high and %lld wide, got %s",
                          (long long)w->out[0], (long long)w->out[1], jf_shape_str(dy, s));
}

static jfl_status data_infer(jf_infer *c)
{
  const jf_conv2d *a = c->attr;
  jfl_shape f, dy;
  int64_t size[2];
  jf_window w;
  JF_TRY(check_pair(c, form_f(c), form_y(c), &f, &dy));
  JF_TRY(jf_pair("size", &a->size, 1, size));
  JF_TRY(conv2d_complete(c, size, f.d + 2, &w));
  JF_TRY(check_dy(&w, &dy));
  if (dy.d[1] != f.d[0] || f.d[0] % a->groups)
    return jf_fail_argument(JFL_ESHAPE, "dy", "must have a channel for each of %lld filters in "
                            "%lld groups, got %lld", (long long)f.d[0], (long long)a->groups,
                            (long long)dy.d[1]);
  return conv2d_give(c, form_x(c),
                     &(jfl_shape){ 4, { dy.d[0], f.d[1] * a->groups, size[0], size[1] } });
}

static jfl_status filter_infer(jf_infer *c)
{
  const jf_conv2d *a = c->attr;
  jfl_shape x, dy;
  int64_t size[2];
  jf_window w;
  JF_TRY(check_pair(c, form_x(c), form_y(c), &x, &dy));
  JF_TRY(jf_pair("size", &a->size, 1, size));
  JF_TRY(conv2d_complete(c, x.d + 2, size, &w));
  JF_TRY(check_dy(&w, &dy));
  if (x.d[1] % a->groups || dy.d[1] % a->groups || x.d[0] != dy.d[0])
    return jf_fail_argument(JFL_ESHAPE, "dy", "must agree with the input in batch size and groups");
  c->shape[1] = (jfl_shape){ 1, { dy.d[1] } };
  c->dtype[1] = c->in[0]->dtype;
  c->n_out = a->epilogue.bias ? 2 : 1;
  return conv2d_give(c, form_f(c),
                     &(jfl_shape){ 4, { dy.d[1], x.d[1] / a->groups, size[0], size[1] } });
}

static void conv2d_grad(jf_gradctx *c)
{
  jf_conv2d data = *(const jf_conv2d *)c->node->attr, filter = data;
  const int64_t *x = c->in[0]->shape.d, *f = c->in[1]->shape.d;
  data.size = JF_INTS(x[2], x[3]);
  filter.size = JF_INTS(f[2], f[3]);
  c->dx[0] = JF_EMIT(c->g, conv2d_data_grad, &data, c->in[1], c->dy[0]);
  c->dx[1] = JF_EMIT(c->g, conv2d_filter_grad, &filter, c->in[0], c->dy[0]);
}

enum { WIDTH = 64 };      /* how many numbers of a row are summed at once */

/* The loops that depend on the dtype. Steps are in elements. */
typedef struct loops {
  int64_t size;           /* bytes of an element */
  /* acc[i] += f[0] x[i] */
  void (*axpy)(double *acc, int64_t acc_step, const void *x, int64_t x_step, const void *f,
               int64_t n);
  /* lane[i % WIDTH] += x[i] dy[i] */
  void (*products)(double *lane, const void *x, int64_t x_step, const void *dy, int64_t dy_step,
                   int64_t n);
  void (*store)(void *y, int64_t step, const double *acc, int64_t n);
} loops;

#define AXPY(D, T)                                                                      \
  static void axpy_##D(double *acc, int64_t acc_step, const void *in, int64_t step,     \
                       const void *filter, int64_t n)                                   \
  {                                                                                     \
    const T *x = in;                                                                    \
    const double f = *(const T *)filter;                                                \
    if (acc_step == 1 && step == 1)                                                     \
      for (int64_t i = 0; i < n; i++) acc[i] += f * x[i];                               \
    else                                                                                \
      for (int64_t i = 0; i < n; i++) acc[i * acc_step] += f * x[i * step];             \
  }
#define PRODUCTS(D, T)                                                                  \
  static void products_##D(double *lane, const void *in, int64_t step, const void *grad, \
                           int64_t dy_step, int64_t n)                                  \
  {                                                                                     \
    const T *x = in, *dy = grad;                                                        \
    for (; n > 0; n -= WIDTH, x += WIDTH * step, dy += WIDTH * dy_step) {               \
      int64_t m = n < WIDTH ? n : WIDTH;                                                \
      if (step == 1 && dy_step == 1)                                                    \
        for (int64_t i = 0; i < m; i++) lane[i] += (double)x[i] * dy[i];                \
      else                                                                              \
        for (int64_t i = 0; i < m; i++) lane[i] += (double)x[i * step] * dy[i * dy_step]; \
    }                                                                                   \
  }
#define STORE(D, T)                                                                     \
  static void store_##D(void *y, int64_t step, const double *acc, int64_t n)            \
  {                                                                                     \
    for (int64_t i = 0; i < n; i++) ((T *)y)[i * step] = (T)acc[i];                     \
  }
#define LOOPS_ROW(D, T) [JFL_##D] = { sizeof(T), axpy_##D, products_##D, store_##D },
JF_EACH_FLOAT(AXPY)
JF_EACH_FLOAT(PRODUCTS)
JF_EACH_FLOAT(STORE)
static const loops all_loops[JFL_N_DTYPE] = { JF_EACH_FLOAT(LOOPS_ROW) };

/* A tensor of four dimensions in any form: its plain extents, and where its elements are. Index c
   of axis 0 or 1 is at c / block * outer + c % block * inner. Offsets are in elements. */
typedef struct conv2d_axis { int64_t block, outer, inner; } conv2d_axis;
typedef struct grid { char *data; int64_t d[4]; conv2d_axis axis[2]; int64_t row, column; } grid;

static grid grid_of(const jf_tensor *t, jf_form form, int64_t block)
{
  jfl_shape s = t->shape;
  grid r = { .data = t->data };
  if (form != JF_PLAIN) jf_plain_shape(&(jf_packing){ form, block }, &t->shape, &s);
  int64_t first = form == JF_PACKED ? block : 1, second = form != JF_PLAIN ? block : 1;
  if (form == JF_PACKED && s.d[1] % block) second = 1;
  int small = form == JF_PACKED && second == 1;       /* few channels: a column holds all of them */
  for (int i = 0; i < 4; i++) r.d[i] = s.d[i];
  r.column = small ? s.d[1] * block : first * second;
  r.row = s.d[3] * r.column;
  r.axis[0] = (conv2d_axis){ first, s.d[1] * s.d[2] * s.d[3] * first, 1 };
  r.axis[1] = (conv2d_axis){ second, small ? block : s.d[2] * r.row, first };
  return r;
}

/* The three tensors of a convolution or of one of its gradients. */
typedef struct conv2d_conv {
  grid x, f, y;
  const jf_conv2d *a;
  const loops *loop;
  int64_t group;           /* filters per group */
} conv2d_conv;

static conv2d_conv conv_of(const jf_kargs *k, const jf_tensor *x, const jf_tensor *f,
                           const jf_tensor *y)
{
  const jf_conv2d *a = k->attr;
  conv2d_conv s = { .a = a, .loop = &all_loops[x->dtype] };
  s.x = grid_of(x, a->block_x ? JF_BLOCKED : JF_PLAIN, a->block);
  s.f = grid_of(f, a->packed ? JF_PACKED : JF_PLAIN, a->block);
  s.y = grid_of(y, a->block_y ? JF_BLOCKED : JF_PLAIN, a->block);
  s.group = s.f.d[0] / a->groups;
  return s;
}

static int64_t conv2d_along(const conv2d_axis *a, int64_t c)
{
  return a->block == 1 ? c * a->outer : c / a->block * a->outer + c % a->block * a->inner;
}

/* Address of element (i, j) of the plane at index (n, c) of axes 0 and 1. */
static char *at(const conv2d_conv *s, const grid *t, int64_t n, int64_t c, int64_t i, int64_t j)
{
  return t->data + (conv2d_along(&t->axis[0], n) + conv2d_along(&t->axis[1], c) + i * t->row +
                    j * t->column) *
                       s->loop->size;
}

/* For column v of the filter, column j of y reads column j * stride + shift of x. */
static int64_t shift(const conv2d_conv *s, int64_t v)
{
  return v * s->a->dilation[1] - s->a->pad[2];
}

/* The row of x that row i of y reads for row u of the filter; it may lie outside of x. */
static int64_t row_of_x(const conv2d_conv *s, int64_t i, int64_t u)
{
  return i * s->a->stride[0] - s->a->pad[0] + u * s->a->dilation[0];
}

/* A row of x and a row of y that belong together: row `row` of plane (n, c) of x meets row i of
   plane o of y through row u of the filter. */
typedef struct meeting { int64_t n, c, o, row, u, i; } meeting;

/* Adds to acc what this row of x contributes to columns j0..j1-1 of the row of y. */
static void add_row(const conv2d_conv *s, const meeting *m, int64_t j0, int64_t j1, double *acc)
{
  int64_t step = s->a->stride[1];
  for (int64_t v = 0; v < s->f.d[3]; v++) {
    jf_range j = jf_range_within(j1, step, shift(s, v), 0, s->x.d[3]);
    if (j.lo < j0) j.lo = j0;
    if (j.lo >= j.hi) continue;
    const char *x = at(s, &s->x, m->n, m->c, m->row, j.lo * step + shift(s, v));
    const char *f = at(s, &s->f, m->o, m->c % s->f.d[1], m->u, v);
    s->loop->axpy(acc + j.lo - j0, 1, x, step * s->x.column, f, j.hi - j.lo);
  }
}

/* acc = y[n, o, i, j0..j1-1] */
static void conv2d_forward(const conv2d_conv *s, const int64_t *to, int64_t j1, double *acc)
{
  const int64_t *f = s->f.d, first = to[1] / s->group * f[1];
  for (int64_t c = first; c < first + f[1]; c++)
    for (int64_t u = 0; u < f[2]; u++) {
      meeting m = { to[0], c, to[1], row_of_x(s, to[2], u), u, to[2] };
      if (m.row >= 0 && m.row < s->x.d[2]) add_row(s, &m, to[3], j1, acc);
    }
}

/* Adds to acc what this row of dy contributes to columns w0..w1-1 of the row of dx. */
static void give_row(const conv2d_conv *s, const meeting *m, int64_t w0, int64_t w1, double *acc)
{
  int64_t step = s->a->stride[1];
  for (int64_t v = 0; v < s->f.d[3]; v++) {
    jf_range j = jf_range_within(s->y.d[3], step, shift(s, v), w0, w1);
    if (j.lo >= j.hi) continue;
    const char *dy = at(s, &s->y, m->n, m->o, m->i, j.lo);
    const char *f = at(s, &s->f, m->o, m->c % s->f.d[1], m->u, v);
    s->loop->axpy(acc + j.lo * step + shift(s, v) - w0, step, dy, s->y.column, f, j.hi - j.lo);
  }
}

/* acc = dx[n, c, row, w0..w1-1] */
static void conv2d_backward(const conv2d_conv *s, const int64_t *to, int64_t w1, double *acc)
{
  const int64_t *f = s->f.d, first = to[1] / f[1] * s->group, step = s->a->stride[0];
  for (int64_t o = first; o < first + s->group; o++)
    for (int64_t u = 0; u < f[2]; u++) {
      int64_t from = to[2] - row_of_x(s, 0, u);
      meeting m = { to[0], to[1], o, to[2], u, from / step };
      if (from >= 0 && from % step == 0 && m.i < s->y.d[2]) give_row(s, &m, to[3], w1, acc);
    }
}

/* Computes tensor t row by row, WIDTH numbers at a time; `to` is the index of the first of them. */
static jfl_status stretches(const conv2d_conv *s, const grid *t,
                            void (*sum)(const conv2d_conv *, const int64_t *to, int64_t end,
                                        double *acc))
{
  const int64_t *d = t->d;
  for (int64_t r = 0; r < d[0] * d[1] * d[2]; r++)
    for (int64_t j = 0; j < d[3]; j += WIDTH) {
      int64_t to[4] = { r / (d[1] * d[2]), r / d[2] % d[1], r % d[2], j };
      int64_t end = d[3] - j < WIDTH ? d[3] : j + WIDTH;
      double acc[WIDTH] = { 0 };
      sum(s, to, end, acc);
      s->loop->store(at(s, t, to[0], to[1], to[2], j), t->column, acc, end - j);
    }
  return JFL_OK;
}

/* dfilters[o, c, u, v] = sum over n, i, j of x dy */
static double filter_sum(const conv2d_conv *s, int64_t o, int64_t c, int64_t u, int64_t v)
{
  const int64_t *x = s->x.d, *y = s->y.d, step = s->a->stride[1];
  double lane[WIDTH] = { 0 }, sum = 0;
  int64_t channel = o / s->group * s->f.d[1] + c;
  jf_range j = jf_range_within(y[3], step, shift(s, v), 0, x[3]);
  for (int64_t n = 0; n < y[0]; n++)
    for (int64_t i = 0; i < y[2]; i++) {
      int64_t row = row_of_x(s, i, u);
      if (row < 0 || row >= x[2]) continue;
      s->loop->products(lane, at(s, &s->x, n, channel, row, j.lo * step + shift(s, v)),
                        step * s->x.column, at(s, &s->y, n, o, i, j.lo), s->y.column,
                        j.hi - j.lo);
    }
  for (int i = 0; i < WIDTH; i++) sum += lane[i];
  return sum;
}

/* dbias[c] = the sum of dy over all axes but that of channels */
static jfl_status bias_grad(const jf_kargs *k)
{
  const jf_reduce a = { .axis = JF_INTS(0, 2, 3) };
  const jf_kargs sum = { .in = &k->in[1], .out = &k->out[1], .n_in = 1, .n_out = 1, .attr = &a,
                         .threads = k->threads };
  return jf_op_reduce_sum.cpu[k->in[1].dtype](&sum);
}

static jfl_status conv2d(const jf_kargs *k)
{
  conv2d_conv s = conv_of(k, &k->in[0], &k->in[1], &k->out[0]);
  return stretches(&s, &s.y, conv2d_forward);
}

static jfl_status conv2d_data_grad(const jf_kargs *k)
{
  conv2d_conv s = conv_of(k, &k->out[0], &k->in[0], &k->in[1]);
  return stretches(&s, &s.x, conv2d_backward);
}

static jfl_status conv2d_filter_grad(const jf_kargs *k)
{
  conv2d_conv s = conv_of(k, &k->in[0], &k->out[0], &k->in[1]);
  const int64_t *d = s.f.d;
  for (int64_t r = 0; r < d[0] * d[1] * d[2] * d[3]; r++) {
    int64_t o = r / (d[1] * d[2] * d[3]), c = r / (d[2] * d[3]) % d[1], u = r / d[3] % d[2];
    double sum = filter_sum(&s, o, c, u, r % d[3]);
    s.loop->store(at(&s, &s.f, o, c, u, r % d[3]), 1, &sum, 1);
  }
  return s.a->epilogue.bias ? bias_grad(k) : JFL_OK;
}

static const jf_kernel cpu[JFL_N_DTYPE] = { [JFL_F32] = conv2d, [JFL_F64] = conv2d };
static const jf_kernel data_cpu[JFL_N_DTYPE] = {
  [JFL_F32] = conv2d_data_grad, [JFL_F64] = conv2d_data_grad
};
static const jf_kernel filter_cpu[JFL_N_DTYPE] = {
  [JFL_F32] = conv2d_filter_grad, [JFL_F64] = conv2d_filter_grad,
};

/* The roles of a node's tensors: the number of the input that is x, the filters or y; -1 stands for
   the output. */
typedef struct places { int x, f, y; } places;

static const jfl_shape *shape_at(const jf_layout *c, int i)
{
  return i < 0 ? c->out_shape[0] : c->in_shape[i];
}

static jf_form *form_at(const jf_layout *c, int i) { return i < 0 ? &c->out[0] : &c->in[i]; }

/* The fast loops take groups only if each consists of whole blocks or of a single channel. */
static int groups_fit(int64_t groups, int64_t channels, int64_t filters, int64_t block)
{
  return groups == 1 || (groups == channels && groups == filters)
      || (channels / groups % block == 0 && filters / groups % block == 0);
}

/* Chooses forms for the fast rows: y is in blocks wherever its channels allow it, and x with it. An
   x of at most FEW channels, as in a first layer, stays plain, but the filters are packed. */
enum { FEW = 3 };
static int arrange(jf_layout *c, places p)
{
  jf_conv2d *a = c->attr;
  int64_t channels = shape_at(c, p.x)->d[1], filters = shape_at(c, p.y)->d[1], b;
  if (c->node->in[0]->dtype != JFL_F32 || (b = jf_layout_block(c)) == 0) return 0;
  if (!channels || !filters || !groups_fit(a->groups, channels, filters, b)) return 0;
  a->block = b;
  a->block_y = filters % b == 0;
  a->block_x = channels % b == 0 && (a->block_y || *form_at(c, p.x) == JF_BLOCKED);
  a->packed = a->groups == 1 && a->block_y && (a->block_x || channels <= FEW);
  if (!a->block_x && !a->block_y) return 0;
  jf_layout_all(c, JF_PLAIN);
  *form_at(c, p.x) = a->block_x ? JF_BLOCKED : JF_PLAIN;
  *form_at(c, p.f) = a->packed ? JF_PACKED : JF_PLAIN;
  *form_at(c, p.y) = a->block_y ? JF_BLOCKED : JF_PLAIN;
  return 1;
}

int jf_conv2d_layout(jf_layout *c)
{
  if (!arrange(c, (places){ 0, 1, -1 })) return 0;
  if (((const jf_conv2d *)c->attr)->epilogue.residual) c->in[c->node->n_in - 1] = c->out[0];
  return 1;
}

static int data_layout(jf_layout *c) { return arrange(c, (places){ -1, 0, 1 }); }
static int filter_layout(jf_layout *c) { return arrange(c, (places){ 0, -1, 1 }); }

/* Operations of a forward call or of a gradient: each element of y needs the products of one
   filter. Cells of the padding are counted as if they were computed. */
static double conv2d_work(const jf_kargs *k, const jf_tensor *f, const jf_tensor *y)
{
  const jf_conv2d *a = k->attr;
  int64_t filters = f->shape.d[0] * (a->packed ? a->block : 1);
  return 2 * (double)jf_numel(&y->shape) * (double)jf_numel(&f->shape) / (double)filters;
}

static double conv2d_flop(const jf_kargs *k) { return conv2d_work(k, &k->in[1], &k->out[0]); }
static double data_flop(const jf_kargs *k) { return conv2d_work(k, &k->in[0], &k->in[1]); }
static double filter_flop(const jf_kargs *k) { return conv2d_work(k, &k->out[0], &k->in[1]); }

static const jf_ending ending = { &jf_op_conv2d_fused, offsetof(jf_conv2d, epilogue), 1 };
static const jf_side_sum bias_sum = { 1, 1, 1, offsetof(jf_conv2d, epilogue.bias) };

JFL_OP(conv2d, .doc = "Slides filters (out, in / groups, height, width) over input (N, in, H, W).",
       .path = "nn.conv2d", .in = { "input", "filters" }, .out = { "y" }, .attr = attrs,
       .attr_size = sizeof(jf_conv2d), .infer = conv2d_infer, .grad = conv2d_grad, .cpu = cpu,
       .ending = &ending, .flop = conv2d_flop, .layout = jf_conv2d_layout)

JFL_OP(conv2d_data_grad, .doc = "Gradient of conv2d for its input.",
  .in = {"filters", "dy"}, .out = {"dx"}, .attr = grad_attrs, .attr_size = sizeof(jf_conv2d),
  .infer = data_infer, .cpu = data_cpu, .flop = data_flop, .layout = data_layout)

JFL_OP(conv2d_filter_grad, .doc = "Gradient of conv2d for its filters, and for a bias added to it.",
  .in = {"input", "dy"}, .out = {"dfilters", "dbias"}, .attr = filter_attrs,
  .attr_size = sizeof(jf_conv2d), .infer = filter_infer, .cpu = filter_cpu, .flop = filter_flop,
  .side_sum = &bias_sum, .layout = filter_layout)
