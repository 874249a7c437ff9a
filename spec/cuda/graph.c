/* Running a graph of cuDNN's on the CPU: every tensor is seen as an array of doubles in the order
   of its axes, and rounded to its type where an op writes it. */
#include "cudnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

size_t emulated_type_size(int type)
{
  return type == T64 ? 8 : type == T32 || type == TI32 ? 4 : type == TBOOL ? 1 : 2;
}

/* ---- elements ---- */

static double graph_read(const void *at, int type, int tf32)
{
  uint16_t half;
  uint32_t u;
  float f;
  _Float16 h;
  switch (type) {
  case T64: return *(const double *)at;
  case T32:
    memcpy(&u, at, sizeof u);
    if (tf32) u = (u + 0xfff + (u >> 13 & 1)) & ~0x1fffu;
    return memcpy(&f, &u, sizeof f), f;
  case T16: return memcpy(&h, at, sizeof h), (double)h;
  default:
    memcpy(&half, at, sizeof half);
    u = (uint32_t)half << 16;
    return memcpy(&f, &u, sizeof f), f;
  }
}

static void graph_write(void *at, int type, double v)
{
  const float f = (float)v;
  const _Float16 h = (_Float16)f;
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  const uint16_t b = (uint16_t)(f != f ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
  switch (type) {
  case T64: *(double *)at = v; break;
  case T32: *(float *)at = f; break;
  case T16: memcpy(at, &h, sizeof h); break;
  default: memcpy(at, &b, sizeof b);
  }
}

/* ---- tensors as arrays ---- */

static int64_t graph_count(const emulated_tensor *t)
{
  int64_t n = 1;
  for (int i = 0; i < t->n; i++) n *= t->extent[i];
  return n;
}

/* Calls for each element: its number, and how far it lies from the tensor's beginning. */
#define EACH_ELEMENT(t, i, offset)                                                   \
  for (int64_t i = 0, at_[EMULATED_AXES] = { 0 }, offset = 0, n_ = graph_count(t);   \
       i < n_; i++, offset = graph_step(t, at_, offset))

static int64_t graph_step(const emulated_tensor *t, int64_t *at, int64_t offset)
{
  for (int k = t->n - 1; k >= 0; k--) {
    offset += t->step[k];
    if (++at[k] < t->extent[k]) return offset;
    offset -= at[k] * t->step[k];
    at[k] = 0;
  }
  return offset;
}

static double *graph_load(const emulated_tensor *t, int tf32)
{
  double *v = malloc((size_t)graph_count(t) * sizeof *v);
  if (t->by_value) return *v = t->value, v;
  const size_t size = emulated_type_size(t->type);
  EACH_ELEMENT(t, i, offset)
    v[i] = graph_read((char *)t->at + (size_t)offset * size, t->type, tf32);
  return v;
}

/* Rounds v to the tensor's type, and writes it where the tensor lies somewhere. */
static void graph_store(const emulated_tensor *t, double *v, int spoil)
{
  const size_t size = emulated_type_size(t->type);
  if (t->type == TI32 || t->type == TBOOL) return;       /* whole numbers that lie nowhere */
  EACH_ELEMENT(t, i, offset) {
    double rounded;
    graph_write(&rounded, t->type, spoil ? NAN : v[i]);
    v[i] = graph_read(&rounded, t->type, 0);
    if (!t->is_virtual) graph_write((char *)t->at + (size_t)offset * size, t->type, v[i]);
  }
}

/* ---- convolutions ---- */

/* A tensor's extents as images or filters, channels, depth, height, width. */
static void graph_extents(const emulated_tensor *t, int64_t *d)
{
  d[0] = t->extent[0];
  d[1] = t->extent[1];
  for (int k = 0; k < 3; k++) d[2 + k] = k < 5 - t->n ? 1 : t->extent[k + t->n - 3];
}

typedef struct conv {
  const emulated_op *op;
  int64_t x[5], w[5], y[5], room[3];   /* room: extents of x with what is around it */
  double *px, *pw, *py;                /* px lies in that room */
} conv;

/* Copies between x and its room. */
static void conv_room(const conv *c, double *x, int into)
{
  const int64_t *before = c->op->before;
  for (int64_t i = 0; i < c->x[0] * c->x[1]; i++)
    for (int64_t d = 0; d < c->x[2]; d++)
      for (int64_t h = 0; h < c->x[3]; h++) {
        double *line = x + ((i * c->x[2] + d) * c->x[3] + h) * c->x[4];
        double *wide = c->px + ((i * c->room[0] + d + before[0]) * c->room[1] + h + before[1]) *
                                   c->room[2] + before[2];
        memcpy(into ? wide : line, into ? line : wide, (size_t)c->x[4] * sizeof *x);
      }
}

/* One cell of a filter over a line of y, which is n long: what the three ops add. */
__attribute__((target_clones("avx2,fma", "default")))
static void line_forward(double *y, const double *x, double w, int64_t n, int64_t stride)
{
  if (stride == 1) for (int64_t i = 0; i < n; i++) y[i] += w * x[i];
  else for (int64_t i = 0; i < n; i++) y[i] += w * x[i * stride];
}
__attribute__((target_clones("avx2,fma", "default")))
static void line_data(const double *y, double *x, double w, int64_t n, int64_t stride)
{
  if (stride == 1) for (int64_t i = 0; i < n; i++) x[i] += w * y[i];
  else for (int64_t i = 0; i < n; i++) x[i * stride] += w * y[i];
}
__attribute__((target_clones("avx2,fma", "default")))
static double line_filter(const double *y, const double *x, int64_t n, int64_t stride)
{
  double part[4] = { 0 };
  int64_t i = 0;
  if (stride == 1)
    for (; i + 4 <= n; i += 4)
      for (int k = 0; k < 4; k++) part[k] += y[i + k] * x[i + k];
  for (; i < n; i++) part[0] += y[i] * x[i * stride];
  return part[0] + part[1] + part[2] + part[3];
}

/* Cell `cell` of filter o and channel c of it, over image n. */
static void conv_cell(const conv *c, int64_t n, int64_t o, int64_t ch, const int64_t *cell)
{
  const emulated_op *op = c->op;
  const int64_t group = o / (c->y[1] / (c->x[1] / c->w[1]));
  double *w = c->pw + (((o * c->w[1] + ch) * c->w[2] + cell[0]) * c->w[3] + cell[1]) * c->w[4] +
              cell[2];
  const int64_t plane = n * c->x[1] + group * c->w[1] + ch;
  for (int64_t d = 0; d < c->y[2]; d++)
    for (int64_t h = 0; h < c->y[3]; h++) {
      double *y = c->py + (((n * c->y[1] + o) * c->y[2] + d) * c->y[3] + h) * c->y[4];
      const int64_t xd = d * op->stride[0] + cell[0] * op->dilation[0];
      const int64_t xh = h * op->stride[1] + cell[1] * op->dilation[1];
      double *x = c->px + ((plane * c->room[0] + xd) * c->room[1] + xh) * c->room[2] +
                  cell[2] * op->dilation[2];
      if (op->sort == 10) line_forward(y, x, *w, c->y[4], op->stride[2]);
      else if (op->sort == 12) line_data(y, x, *w, c->y[4], op->stride[2]);
      else *w += line_filter(y, x, c->y[4], op->stride[2]);
    }
}

static void conv_run(const conv *c)
{
  int64_t cell[3];
  for (int64_t n = 0; n < c->y[0]; n++)
    for (int64_t o = 0; o < c->y[1]; o++)
      for (int64_t ch = 0; ch < c->w[1]; ch++)
        for (cell[0] = 0; cell[0] < c->w[2]; cell[0]++)
          for (cell[1] = 0; cell[1] < c->w[3]; cell[1]++)
            for (cell[2] = 0; cell[2] < c->w[4]; cell[2]++) conv_cell(c, n, o, ch, cell);
}

/* value[i] is the array of tensor i, or NULL. */
static double *graph_value(const emulated_run_args *r, double **value, int i, int tf32)
{
  if (!value[i]) value[i] = graph_load(&r->tensor[i], tf32);
  return value[i];
}

static double *graph_zero(const emulated_run_args *r, double **value, int i)
{
  free(value[i]);
  return value[i] = calloc((size_t)graph_count(&r->tensor[i]), sizeof(double));
}

/* The array of a convolution's tensor i: zeroed if it is the one that is written. */
static double *graph_of(const emulated_run_args *r, double **value, int i, int written)
{
  return i == written ? graph_zero(r, value, i) : graph_value(r, value, i, r->tf32);
}

static void graph_conv(const emulated_run_args *r, const emulated_op *op, double **value)
{
  const int written = op->sort == 10 ? op->y : op->sort == 12 ? op->x : op->b;
  conv c = { .op = op };
  graph_extents(&r->tensor[op->x], c.x);
  graph_extents(&r->tensor[op->b], c.w);
  graph_extents(&r->tensor[op->y], c.y);
  int64_t room = c.x[0] * c.x[1];
  for (int k = 0; k < 3; k++) {
    const int64_t used = (c.y[2 + k] - 1) * op->stride[k] + (c.w[2 + k] - 1) * op->dilation[k] + 1;
    const int64_t whole = op->before[k] + c.x[2 + k];
    c.room[k] = used > whole ? used : whole;
    room *= c.room[k];
  }
  c.px = calloc((size_t)room, sizeof *c.px);
  double *x = graph_of(r, value, op->x, written);
  c.pw = graph_of(r, value, op->b, written);
  c.py = graph_of(r, value, op->y, written);
  if (written != op->x) conv_room(&c, x, 1);
  conv_run(&c);
  if (written == op->x) conv_room(&c, x, 0);
  free(c.px);
  graph_store(&r->tensor[written], value[written], r->spoil);
}

/* ---- pointwise ops ---- */

static double graph_apply(int mode, double x, double b, double t)
{
  switch (mode) {
  case MODE_ADD: return x + b;
  case MODE_SUB: return x - b;
  case MODE_MUL: return x * b;
  case MODE_DIV: return x / b;
  case MODE_EXP: return exp(x);
  case MODE_LOG: return log(x);
  case MODE_AT_LEAST: return x >= b;
  case MODE_SELECT: return t ? x : b;
  default: return x < 0 ? 0 : x;
  }
}

/* The index along an axis of element i. */
static double graph_index(const emulated_tensor *t, int64_t i, int axis)
{
  for (int k = t->n - 1; k > axis; k--) i /= t->extent[k];
  return (double)(i % t->extent[axis]);
}

static void graph_point(const emulated_run_args *r, const emulated_op *op, double **value)
{
  const emulated_tensor *y = &r->tensor[op->y];
  emulated_tensor b = *y;              /* the steps of b along y, 0 where it has one element */
  const double *x = graph_value(r, value, op->x, 0);
  const double *more = op->b < 0 ? NULL : graph_value(r, value, op->b, 0);
  const double *t = op->t < 0 ? NULL : graph_value(r, value, op->t, 0);
  int64_t step = 1;
  for (int k = y->n - 1; op->b >= 0 && k >= 0; k--) {
    b.step[k] = r->tensor[op->b].extent[k] == 1 ? 0 : step;
    step *= r->tensor[op->b].extent[k];
  }
  double *to = graph_zero(r, value, op->y);
  EACH_ELEMENT(&b, i, offset)
    to[i] = op->mode == MODE_INDEX ? graph_index(y, i, op->axis)
        : graph_apply(op->mode, x[i], more ? more[offset] : 0, t ? t[i] : 0);
  graph_store(y, to, 0);
}

/* ---- matrices ---- */

static void graph_matmul(const emulated_run_args *r, const emulated_op *op, double **value)
{
  const emulated_tensor *c = &r->tensor[op->y];
  const int64_t n = c->extent[c->n - 2], m = c->extent[c->n - 1];
  const int64_t inner = r->tensor[op->x].extent[c->n - 1], batch = graph_count(c) / (n * m);
  const double *a = graph_value(r, value, op->x, 0), *b = graph_value(r, value, op->b, 0);
  double *to = graph_zero(r, value, op->y);
  for (int64_t i = 0; i < batch * n; i++)
    for (int64_t k = 0; k < inner; k++)
      line_forward(to + i * m, b + (i / n * inner + k) * m, a[i * inner + k], m, 1);
  graph_store(c, to, r->spoil);
}

/* Over the axes where y has one element. */
static void graph_reduce(const emulated_run_args *r, const emulated_op *op, double **value)
{
  emulated_tensor x = r->tensor[op->x];
  const emulated_tensor *y = &r->tensor[op->y];
  const double *from = graph_value(r, value, op->x, 0);
  double *to = graph_zero(r, value, op->y);
  int64_t step = 1;
  for (int k = y->n - 1; k >= 0; k--) {
    x.step[k] = y->extent[k] == 1 ? 0 : step;
    step *= y->extent[k];
  }
  for (int64_t i = 0; op->mode == MODE_MAX && i < graph_count(y); i++) to[i] = -INFINITY;
  EACH_ELEMENT(&x, i, offset)
    to[offset] = op->mode == MODE_MAX ? fmax(to[offset], from[i]) : to[offset] + from[i];
  graph_store(y, to, 0);
}

/* y lies in x's place, with steps of its own. */
static void graph_reshape(const emulated_run_args *r, const emulated_op *op, double **value)
{
  const emulated_tensor *y = &r->tensor[op->y];
  const double *x = graph_value(r, value, op->x, 0);
  double *to = graph_zero(r, value, op->y);
  EACH_ELEMENT(y, i, offset) to[i] = x[offset];
  graph_store(y, to, 0);
}

static int64_t graph_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Takes some milliseconds of the clock that streams have. */
static void graph_dawdle(void)
{
  for (const int64_t until = graph_now() + 4000000; graph_now() < until;) {}
}

void emulated_graph_run(void *args)
{
  const emulated_run_args *r = args;
  double *value[EMULATED_TENSORS] = { NULL };
  for (int i = 0; i < r->n_op; i++) {
    const emulated_op *op = &r->op[i];
    if (op->sort == 13) graph_point(r, op, value);
    else if (op->sort == 19) graph_matmul(r, op, value);
    else if (op->sort == 22) graph_reduce(r, op, value);
    else if (op->sort == 31) graph_reshape(r, op, value);
    else graph_conv(r, op, value);
  }
  for (int i = 0; i < r->n_tensor; i++) free(value[i]);
  if (r->slow) graph_dawdle();
}
