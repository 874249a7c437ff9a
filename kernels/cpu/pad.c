/* Borders around tensors of numbers of 32 bits, rows in parallel. */
#include "op/pad.h"

#include "vector.h"

/* The tensor without its border and with it, and how long rows along the last axis are in each;
   parts of the loop are `span` rows with the border, or planes. */
typedef struct border_job {
  const jfl_shape *inside, *padded;
  const jf_ints *paddings;
  jf_pad_mode mode;
  const uint32_t *x;
  uint32_t *y, value;
  int64_t n, m, before, rows, span;
} border_job;

/* Row r with its border, from the row `row` without; -1: from none. */
JF_BODY void border_row(const border_job *b, int64_t r, int64_t row)
{
  const int64_t after = b->before + b->n;
  const uint32_t *x = b->x + row * b->n;
  uint32_t *y = b->y + r * b->m;
  if (row < 0) {
    for (int64_t j = 0; j < b->m; j++) y[j] = b->value;
    return;
  }
  if (b->mode == JF_PAD_CONSTANT) {
    for (int64_t j = 0; j < b->before; j++) y[j] = b->value;
    for (int64_t j = after; j < b->m; j++) y[j] = b->value;
  } else {
    for (int64_t j = 0; j < b->before; j++) y[j] = x[jf_pad_from(b->mode, j - b->before, b->n)];
    for (int64_t j = after; j < b->m; j++) y[j] = x[jf_pad_from(b->mode, j - b->before, b->n)];
  }
  memcpy(y + b->before, x, (size_t)b->n * sizeof *y);
}

JF_BODY void border_rows_body(void *ctx, int i)
{
  const border_job *b = ctx;
  const int64_t to = jf_to(i, b->span, b->rows);
  for (int64_t r = jf_from(i, b->span); r < to; r++)
    border_row(b, r, jf_pad_row(b->inside, b->padded, b->paddings, b->mode, r));
}
JF_VARIANTS(border_rows)

static border_job border_of(const jf_kargs *k, const jfl_shape *inside, const jfl_shape *padded)
{
  const jf_pad_sides *a = k->attr;
  border_job b = { .inside = inside, .padded = padded, .paddings = &a->paddings,
                   .mode = jf_pad_mode_of(a), .x = k->in[0].data, .y = k->out[0].data,
                   .n = inside->d[inside->n - 1], .m = padded->d[padded->n - 1],
                   .before = a->paddings.v[2 * inside->n - 2] };
  b.rows = jf_numel(padded) / b.m;
  b.span = JF_PART / b.m + 1;
  return b;
}

static int border_accepts(const jf_kargs *k)
{
  const jfl_shape *s = &k->in[0].shape;
  return jfl_dtype_size(k->in[0].dtype) == 4 && s->n > 0 && jf_numel(s) > 0 &&
         jf_numel(&k->out[0].shape) < (int64_t)JF_PART * INT32_MAX;
}

static jfl_status border_pad(const jf_kargs *k)
{
  border_job b = border_of(k, &k->in[0].shape, &k->out[0].shape);
  jfl_number_put(k->in[0].dtype, &b.value, 0, ((const jf_pad_sides *)k->attr)->constant_value);
  jf_run_parts(k, jf_parts(b.rows, b.span), border_rows(), &b);
  return JFL_OK;
}

/* How many of the leading axes have no border; those behind them are planes by themselves. */
static int border_leading(const jfl_shape *s, const jf_ints *paddings)
{
  int n = 0;
  while (n < s->n - 1 && !paddings->v[2 * n] && !paddings->v[2 * n + 1]) n++;
  return n;
}

/* dx[where element j of dy came from] += dy[j], within a plane. */
static void border_plane(void *ctx, int i)
{
  const border_job *b = ctx;
  const int64_t rows = b->rows / b->span, end = b->before + b->n;
  const int64_t inside = jf_numel(b->inside) / b->span;
  float *dx = (float *)(void *)b->y;
  memset(dx + i * inside, 0, (size_t)inside * sizeof *dx);
  for (int64_t r = i * rows; r < (i + 1) * rows; r++) {
    const int64_t row = jf_pad_row(b->inside, b->padded, b->paddings, b->mode, r);
    const float *dy = (const float *)(const void *)b->x + r * b->m;
    float *to = dx + row * b->n;
    JF_EACH_ALONE for (int64_t j = 0; j < b->n; j++) to[j] += dy[b->before + j];
    for (int64_t j = 0; j < b->before; j++) to[jf_pad_from(b->mode, j - b->before, b->n)] += dy[j];
    for (int64_t j = end; j < b->m; j++) to[jf_pad_from(b->mode, j - b->before, b->n)] += dy[j];
  }
}

static int border_grad_accepts(const jf_kargs *k)
{
  const jf_pad_sides *a = k->attr;
  return k->in[0].dtype == JFL_F32 && k->in[0].shape.n > 0 && jf_numel(&k->out[0].shape) > 0 &&
         jf_pad_mode_of(a) != JF_PAD_CONSTANT && border_leading(&k->in[0].shape, &a->paddings) > 0;
}

static jfl_status border_grad(const jf_kargs *k)
{
  border_job b = border_of(k, &k->out[0].shape, &k->in[0].shape);
  b.span = 1;                          /* the number of planes */
  for (int i = 0; i < border_leading(b.inside, b.paddings); i++) b.span *= b.inside->d[i];
  jf_run_parts(k, (int)b.span, border_plane, &b);
  return JFL_OK;
}

JFL_CPU(fast_pad, .op = "pad", .accepts = border_accepts, .run = border_pad)
JFL_CPU(fast_pad_grad, .op = "pad_grad", .accepts = border_grad_accepts, .run = border_grad)
