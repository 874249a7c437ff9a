/* Plain kernels of convolutions and their gradients, for tensors in any form. Sums of float32 are
   accumulated in double. */
#include "op/conv.h"
#include "op/op.h"
#include "op/reduce.h"
#include "op/window.h"

jf_conv_extents jf_conv_extents_of(const jf_conv *a, const jfl_shape *s)
{
  jf_conv_extents e = { { s->d[0], s->d[a->last ? s->n - 1 : 1], 1, 1, 1 } };
  for (int i = 0; i < a->axes; i++) e.d[5 - a->axes + i] = s->d[(a->last ? 1 : 2) + i];
  return e;
}

int jf_conv_channel_axis(const jf_conv *a) { return a->last ? a->axes + 1 : 1; }
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

/* A tensor in any form and order of axes: its extents, and where its elements are. Index c of axis
   0 or 1 is at c / block * outer + c % block * inner; from one cell along depth, height or width to
   the next it is `step`. Offsets are in elements. */
typedef struct conv_axis { int64_t block, outer, inner; } conv_axis;
typedef struct grid { char *data; int64_t d[5]; conv_axis axis[2]; int64_t step[3]; } grid;

/* Sets the steps, given how many elements a cell of the innermost axis takes. */
static void grid_steps(grid *r, int64_t cell)
{
  for (int i = 2; i >= 0; i--) {
    r->step[i] = cell;
    cell *= r->d[2 + i];
  }
}

static int64_t grid_cells(const grid *r) { return r->d[2] * r->d[3] * r->d[4]; }

static grid grid_of(const jf_conv *a, const jf_tensor *t, jf_form form)
{
  const int64_t block = a->block;
  jfl_shape s = t->shape;
  grid r = { .data = t->data };
  if (form != JF_PLAIN) jf_plain_shape(&(jf_packing){ form, block }, &t->shape, &s);
  const jf_conv_extents e = jf_conv_extents_of(a, &s);
  for (int i = 0; i < 5; i++) r.d[i] = e.d[i];
  if (a->last) {
    grid_steps(&r, r.d[1]);
    r.axis[0] = (conv_axis){ 1, grid_cells(&r) * r.d[1], 1 };
    r.axis[1] = (conv_axis){ 1, 1, 1 };
    return r;
  }
  int64_t first = form == JF_PACKED ? block : 1, second = form != JF_PLAIN ? block : 1;
  if (form == JF_PACKED && r.d[1] % block) second = 1;
  int small = form == JF_PACKED && second == 1;       /* few channels: a column holds all of them */
  grid_steps(&r, small ? r.d[1] * block : first * second);
  r.axis[0] = (conv_axis){ first, r.d[1] * grid_cells(&r) * first, 1 };
  r.axis[1] = (conv_axis){ second, small ? block : r.d[2] * r.step[0], first };
  return r;
}

/* The three tensors of a convolution or of one of its gradients. */
typedef struct plain_conv {
  grid x, f, y;
  const jf_conv *a;
  const loops *loop;
  int64_t group;           /* filters per group */
} plain_conv;

static plain_conv conv_of(const jf_kargs *k, const jf_tensor *x, const jf_tensor *f,
                            const jf_tensor *y)
{
  const jf_conv *a = k->attr;
  plain_conv s = { .a = a, .loop = &all_loops[x->dtype] };
  s.x = grid_of(a, x, a->block_x ? JF_BLOCKED : JF_PLAIN);
  s.f = grid_of(a, f, a->packed ? JF_PACKED : JF_PLAIN);
  s.y = grid_of(a, y, a->block_y ? JF_BLOCKED : JF_PLAIN);
  s.group = s.f.d[0] / a->groups;
  return s;
}

static int64_t conv_along(const conv_axis *a, int64_t c)
{
  return a->block == 1 ? c * a->outer : c / a->block * a->outer + c % a->block * a->inner;
}

/* A row of a tensor: indices of images or filters, of channels, of depth and of height. */
typedef struct conv_row { int64_t n, c, depth, row; } conv_row;

/* Address of the element at `column` of a row. */
static char *at(const plain_conv *s, const grid *t, conv_row l, int64_t column)
{
  return t->data + (conv_along(&t->axis[0], l.n) + conv_along(&t->axis[1], l.c) +
                    l.depth * t->step[0] + l.row * t->step[1] + column * t->step[2]) *
                       s->loop->size;
}

/* For column v of the filter, column j of y reads column j * stride + shift of x. */
static int64_t shift(const plain_conv *s, int64_t v)
{
  return v * s->a->dilation[2] - s->a->pad[4];
}

/* The index along axis i (0 depth, 1 height) of x that index j of y reads for index u of the
   filter; it may lie outside of x. */
static int64_t index_of_x(const plain_conv *s, int i, int64_t j, int64_t u)
{
  return j * s->a->stride[i] - s->a->pad[2 * i] + u * s->a->dilation[i];
}

/* The index of y that reads index `at` of x for index u of the filter, or -1. */
static int64_t index_of_y(const plain_conv *s, int i, int64_t at, int64_t u)
{
  const int64_t from = at - index_of_x(s, i, 0, u), j = from / s->a->stride[i];
  return from < 0 || from % s->a->stride[i] || j >= s->y.d[2 + i] ? -1 : j;
}

/* Rows of x, of the filters and of y that belong together. */
typedef struct meeting { conv_row x, f, y; } meeting;

/* Adds to acc what this row of x contributes to columns j0..j1-1 of the row of y. */
static void add_row(const plain_conv *s, const meeting *m, int64_t j0, int64_t j1, double *acc)
{
  int64_t step = s->a->stride[2];
  for (int64_t v = 0; v < s->f.d[4] && !jf_loop_ends_at(v, WIDTH); v++) {
    jf_range j = jf_range_within(j1, step, shift(s, v), 0, s->x.d[4]);
    if (j.lo < j0) j.lo = j0;
    if (j.lo >= j.hi) continue;
    const char *x = at(s, &s->x, m->x, j.lo * step + shift(s, v));
    s->loop->axpy(acc + j.lo - j0, 1, x, step * s->x.step[2], at(s, &s->f, m->f, v), j.hi - j.lo);
  }
}

/* acc = y[to, j0..j1-1] */
static void conv_sum_forward(const plain_conv *s, conv_row to, int64_t j0, int64_t j1, double *acc)
{
  const int64_t *f = s->f.d, *x = s->x.d, first = to.c / s->group * f[1];
  for (int64_t c = 0; c < f[1] && !jf_loop_ends_at(c, WIDTH); c++)
    for (int64_t t = 0; t < f[2]; t++)
      for (int64_t u = 0; u < f[3] && !jf_loop_ends_at(u, WIDTH); u++) {
        const int64_t depth = index_of_x(s, 0, to.depth, t), row = index_of_x(s, 1, to.row, u);
        if (depth < 0 || depth >= x[2] || row < 0 || row >= x[3]) continue;
        const meeting m = { { to.n, first + c, depth, row }, { to.c, c, t, u }, to };
        add_row(s, &m, j0, j1, acc);
      }
}

/* Adds to acc what this row of dy contributes to columns w0..w1-1 of the row of dx. */
static void give_row(const plain_conv *s, const meeting *m, int64_t w0, int64_t w1, double *acc)
{
  int64_t step = s->a->stride[2];
  for (int64_t v = 0; v < s->f.d[4] && !jf_loop_ends_at(v, WIDTH); v++) {
    jf_range j = jf_range_within(s->y.d[4], step, shift(s, v), w0, w1);
    if (j.lo >= j.hi) continue;
    s->loop->axpy(acc + j.lo * step + shift(s, v) - w0, step, at(s, &s->y, m->y, j.lo),
                  s->y.step[2], at(s, &s->f, m->f, v), j.hi - j.lo);
  }
}

/* acc = dx[to, w0..w1-1] */
static void conv_sum_backward(const plain_conv *s, conv_row to, int64_t w0, int64_t w1, double *acc)
{
  const int64_t *f = s->f.d, first = to.c / f[1] * s->group;
  for (int64_t o = first; o < first + s->group && !jf_loop_ends_at(o - first, WIDTH); o++)
    for (int64_t t = 0; t < f[2]; t++)
      for (int64_t u = 0; u < f[3] && !jf_loop_ends_at(u, WIDTH); u++) {
        const int64_t depth = index_of_y(s, 0, to.depth, t), row = index_of_y(s, 1, to.row, u);
        if (depth < 0 || row < 0) continue;
        const meeting m = { to, { o, to.c % f[1], t, u }, { to.n, o, depth, row } };
        give_row(s, &m, w0, w1, acc);
      }
}

/* Computes tensor t row by row, WIDTH numbers at a time. */
static jfl_status stretches(const plain_conv *s, const grid *t,
                            void (*sum)(const plain_conv *, conv_row to, int64_t begin, int64_t end,
                                        double *acc))
{
  const int64_t *d = t->d;
  for (int64_t r = 0; r < d[0] * d[1] * d[2] * d[3]; r++) {
    const int64_t plane = r / (d[2] * d[3]);
    const conv_row to = { plane / d[1], plane % d[1], r / d[3] % d[2], r % d[3] };
    for (int64_t j = 0; j < d[4] && !jf_loop_ends(); j += WIDTH) {
      int64_t end = d[4] - j < WIDTH ? d[4] : j + WIDTH;
      double acc[WIDTH] = { 0 };
      sum(s, to, j, end, acc);
      s->loop->store(at(s, t, to, j), t->step[2], acc, end - j);
    }
  }
  return JFL_OK;
}

/* dfilters[f, v] = sum over images and cells of x dy */
static double filter_sum(const plain_conv *s, conv_row f, int64_t v)
{
  const int64_t *x = s->x.d, *y = s->y.d, step = s->a->stride[2];
  double lane[WIDTH] = { 0 }, sum = 0;
  int64_t channel = f.n / s->group * s->f.d[1] + f.c;
  jf_range j = jf_range_within(y[4], step, shift(s, v), 0, x[4]);
  for (int64_t r = 0; r < y[0] * y[2] * y[3] && !jf_loop_ends_at(r, y[4]); r++) {
    const conv_row from = { r / (y[2] * y[3]), f.n, r / y[3] % y[2], r % y[3] };
    const int64_t depth = index_of_x(s, 0, from.depth, f.depth);
    const int64_t row = index_of_x(s, 1, from.row, f.row);
    if (depth < 0 || depth >= x[2] || row < 0 || row >= x[3]) continue;
    const conv_row to = { from.n, channel, depth, row };
    s->loop->products(lane, at(s, &s->x, to, j.lo * step + shift(s, v)), step * s->x.step[2],
                      at(s, &s->y, from, j.lo), s->y.step[2], j.hi - j.lo);
  }
  for (int i = 0; i < WIDTH; i++) sum += lane[i];
  return sum;
}

/* dbias[c] = the sum of dy over all axes but that of channels */
static jfl_status bias_grad(const jf_kargs *k)
{
  int64_t axes[JFL_MAXDIM];
  jf_reduce a = { .axis.v = axes };
  const jf_conv *conv = k->attr;
  const int n = k->in[1].shape.n, channels = jf_conv_channel_axis(conv);
  for (int i = 0; i < n; i++)
    if (i != channels && !(conv->block_y && i == n - 1)) axes[a.axis.n++] = i;
  const jf_kargs sum = { .in = &k->in[1], .out = &k->out[1], .n_in = 1, .n_out = 1, .attr = &a,
                         .threads = k->threads };
  return jf_op_reduce_sum.cpu[k->in[1].dtype](&sum);
}

jfl_status jf_conv_forward(const jf_kargs *k)
{
  plain_conv s = conv_of(k, &k->in[0], &k->in[1], &k->out[0]);
  return stretches(&s, &s.y, conv_sum_forward);
}

jfl_status jf_conv_data_grad(const jf_kargs *k)
{
  plain_conv s = conv_of(k, &k->out[0], &k->in[0], &k->in[1]);
  return stretches(&s, &s.x, conv_sum_backward);
}

jfl_status jf_conv_filter_grad(const jf_kargs *k)
{
  plain_conv s = conv_of(k, &k->in[0], &k->out[0], &k->in[1]);
  const int64_t *d = s.f.d;
  for (int64_t r = 0; r < d[0] * d[1] * d[2] * d[3] * d[4] && !jf_loop_ends(); r++) {
    const int64_t v = r % d[4], row = r / d[4] % d[3], depth = r / (d[4] * d[3]) % d[2];
    const int64_t plane = r / (d[4] * d[3] * d[2]);
    const conv_row f = { plane / d[1], plane % d[1], depth, row };
    double sum = filter_sum(&s, f, v);
    s.loop->store(at(&s, &s.f, f, v), 1, &sum, 1);
  }
  return s.a->epilogue.bias ? bias_grad(k) : JFL_OK;
}
