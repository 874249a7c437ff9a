/* Resizing of images. Rows of the result are parts: a row of y is made of two rows of x, and a row
   of dx of the rows of dy to which it gives. */
#include "op/upsample.h"

#include "vector.h"

enum { STRIP = 512 };     /* columns of dy that are added up before they are given to dx */

/* A column of y: the columns of x that it is made of, and the share of the second one. */
typedef struct upsample_column { int32_t low, high; float share; } upsample_column;

typedef struct upsample_job {
  const jf_upsample *a;
  jf_upsampling u;
  const float *from;
  float *to;
  const upsample_column *column;
  int64_t span;           /* rows of a part */
} upsample_job;

/* The floats of row r of an image of rows that wide. */
static inline int64_t upsample_at(const upsample_job *w, int64_t r, int64_t width)
{
  return r * width * w->u.inner;
}

/* (1 - share) a + share b, or a alone. */
JF_BODY float upsample_mix(float a, float b, float share)
{
  return share > 0 ? (1 - share) * a + share * b : a;
}

JF_BODY void enlarge_row(const upsample_job *w, int64_t r)
{
  const jf_upsampling *u = &w->u;
  const jf_pixel_source v = jf_upsample_source(w->a, u->n[0], u->m[0], r % u->m[0]);
  const float *low = w->from + upsample_at(w, r / u->m[0] * u->n[0] + v.low, u->n[1]);
  const float *high = low + (v.high - v.low) * u->n[1] * u->inner;
  const float share = (float)v.share;
  float *y = w->to + upsample_at(w, r, u->m[1]);
  for (int64_t j = 0; j < u->m[1]; j++) {
    const upsample_column h = w->column[j];
    const int64_t p = h.low * u->inner, q = h.high * u->inner;
    if (!w->a->linear)
      for (int64_t i = 0; i < u->inner; i++) *y++ = low[p + i];
    else
      for (int64_t i = 0; i < u->inner; i++) {
        const float first = upsample_mix(low[p + i], high[p + i], share);
        *y++ = upsample_mix(first, upsample_mix(low[q + i], high[q + i], share), h.share);
      }
  }
}

JF_BODY void upsample_2d_body(void *ctx, int part)
{
  const upsample_job *w = ctx;
  const int64_t end = jf_to(part, w->span, w->u.outer * w->u.m[0]);
  for (int64_t r = jf_from(part, w->span); r < end; r++) enlarge_row(w, r);
}
JF_VARIANTS(upsample_2d)

/* The first row of y that reads row r of x or a later one. */
static inline int64_t first_reader(const upsample_job *w, int64_t r)
{
  const jf_upsampling *u = &w->u;
  int64_t lo = 0, hi = u->m[0];
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (jf_upsample_source(w->a, u->n[0], u->m[0], mid).high >= r) hi = mid;
    else lo = mid + 1;
  }
  return lo;
}

/* Gives n columns of dy, `sum`, from column j on to a row of dx. */
JF_BODY void give_columns(const upsample_job *w, int64_t j, int64_t n, const float *sum, float *dx)
{
  const int64_t inner = w->u.inner;
  for (const upsample_column *h = w->column + j, *end = h + n; h < end; h++, sum += inner) {
    float *low = dx + h->low * inner, *high = dx + h->high * inner;
    for (int64_t i = 0; i < inner; i++) low[i] += (1 - h->share) * sum[i];
    if (h->share > 0)
      for (int64_t i = 0; i < inner; i++) high[i] += h->share * sum[i];
  }
}

/* Makes row r of dx. */
JF_BODY void return_row(const upsample_job *w, int64_t r)
{
  const jf_upsampling *u = &w->u;
  const int64_t row = r % u->n[0], begin = first_reader(w, row), wide = u->m[1] * u->inner;
  const int64_t strip = u->inner < STRIP ? STRIP / u->inner : 1;
  const float *dy = w->from + upsample_at(w, r / u->n[0] * u->m[0], u->m[1]);
  float *dx = w->to + upsample_at(w, r, u->n[1]), sum[STRIP];
  memset(dx, 0, (size_t)(u->n[1] * u->inner) * sizeof *dx);
  for (int64_t j = 0; j < u->m[1]; j += strip) {
    const int64_t n = u->m[1] - j < strip ? u->m[1] - j : strip, all = n * u->inner;
    int is_first = 1;
    for (int64_t i = begin; i < u->m[0]; i++) {
      const jf_pixel_source v = jf_upsample_source(w->a, u->n[0], u->m[0], i);
      if (v.low > row) break;
      const double share = v.low == row ? 1 - v.share : v.share;
      const float *line = dy + i * wide + j * u->inner;
      if (is_first) for (int64_t c = 0; c < all; c++) sum[c] = (float)share * line[c];
      else for (int64_t c = 0; c < all; c++) sum[c] += (float)share * line[c];
      is_first = 0;
    }
    if (!is_first) give_columns(w, j, n, sum, dx);
  }
}

JF_BODY void upsample_2d_grad_body(void *ctx, int part)
{
  const upsample_job *w = ctx;
  const int64_t end = jf_to(part, w->span, w->u.outer * w->u.n[0]);
  for (int64_t r = jf_from(part, w->span); r < end; r++) return_row(w, r);
}
JF_VARIANTS(upsample_2d_grad)

/* Many channels in a cell of dy would not fit the strip. */
static int upsample_accepts(const jf_kargs *k)
{
  const int64_t inner = jf_upsampling_of(k->attr, &k->in[0].shape, &k->out[0].shape).inner;
  return k->in[0].dtype == JFL_F32 && inner > 0 && inner <= STRIP;
}

static jfl_status upsample_prepare(jf_kargs *k, size_t *scratch)
{
  const int axis = ((const jf_upsample *)k->attr)->axis + 1;
  const int64_t in = k->in[0].shape.d[axis], out = k->out[0].shape.d[axis];
  *scratch = (size_t)(in > out ? in : out) * sizeof(upsample_column);
  return JFL_OK;
}

/* Describes a call whose x and y have these shapes; its columns go to scratch. */
static upsample_job upsample_job_of(const jf_kargs *k, const jfl_shape *x, const jfl_shape *y)
{
  upsample_column *column = k->scratch;
  upsample_job w = { .a = k->attr, .from = k->in[0].data, .to = k->out[0].data,
                     .column = k->scratch };
  w.u = jf_upsampling_of(w.a, x, y);
  for (int64_t j = 0; j < w.u.m[1]; j++) {
    const jf_pixel_source s = jf_upsample_source(w.a, w.u.n[1], w.u.m[1], j);
    column[j] = (upsample_column){ (int32_t)s.low, (int32_t)s.high, (float)s.share };
  }
  w.span = JF_PART / (w.u.m[1] * w.u.inner) + 1;
  return w;
}

static jfl_status upsample_2d_run(const jf_kargs *k)
{
  upsample_job w = upsample_job_of(k, &k->in[0].shape, &k->out[0].shape);
  jf_run_parts(k, jf_parts(w.u.outer * w.u.m[0], w.span), upsample_2d(), &w);
  return JFL_OK;
}

static jfl_status upsample_2d_grad_run(const jf_kargs *k)
{
  upsample_job w = upsample_job_of(k, &k->out[0].shape, &k->in[0].shape);
  jf_run_parts(k, jf_parts(w.u.outer * w.u.n[0], w.span), upsample_2d_grad(), &w);
  return JFL_OK;
}

JFL_CPU(vec_upsample_2d, .op = "upsample_2d", .accepts = upsample_accepts,
        .prepare = upsample_prepare, .run = upsample_2d_run, .priority = 10)
JFL_CPU(vec_upsample_2d_grad, .op = "upsample_2d_grad", .accepts = upsample_accepts,
        .prepare = upsample_prepare, .run = upsample_2d_grad_run, .priority = 10)
