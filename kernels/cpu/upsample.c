/* Resizing of images. Rows of the result are parts: a row of y is made of two rows of x, and a row
   of dx of the rows of dy to which it gives. */
#include "op/upsample.h"

#include "vector.h"

/* STRIP: floats of dy that are added up before they are given to dx. LINE: pixels of a row of x
   that is mixed before its pixels are taken. */
enum { STRIP = 512, LINE = 4096 };

/* Column j of y is made of columns low[j] and high[j] of x; the second one has that share. */
typedef struct upsample_job {
  const jf_upsample *a;
  jf_upsampling u;
  const float *from;
  float *to;
  const int32_t *low, *high;
  const float *share;
  int64_t span;           /* rows of a part */
} upsample_job;

/* The floats of r rows of that width. */
static inline int64_t upsample_at(const upsample_job *w, int64_t r, int64_t width)
{
  return r * width * w->u.inner;
}

/* (1 - share) a + share b, or a alone. */
JF_BODY float upsample_mix(float a, float b, float share)
{
  return share > 0 ? (1 - share) * a + share * b : a;
}

/* A row of single pixels, from rows `low` and `high` of x. */
JF_BODY void enlarge_pixels(const upsample_job *w, const float *low, const float *high, float share,
                            float *restrict y)
{
  float line[LINE];
  if (share > 0) {
    for (int64_t j = 0; j < w->u.n[1]; j++) line[j] = (1 - share) * low[j] + share * high[j];
    low = line;
  }
  if (!w->a->linear)
    for (int64_t j = 0; j < w->u.m[1]; j++) y[j] = low[w->low[j]];
  else
    for (int64_t j = 0; j < w->u.m[1]; j++)
      y[j] = upsample_mix(low[w->low[j]], low[w->high[j]], w->share[j]);
}

/* A row of cells of `inner` floats each. */
JF_BODY void enlarge_cells(const upsample_job *w, const float *low, const float *high, float share,
                           int64_t inner, float *restrict y)
{
  for (int64_t j = 0; j < w->u.m[1]; j++, y += inner) {
    const int64_t p = w->low[j] * inner, q = w->high[j] * inner;
    if (!w->a->linear)
      for (int64_t i = 0; i < inner; i++) y[i] = low[p + i];
    else
      for (int64_t i = 0; i < inner; i++)
        y[i] = upsample_mix(upsample_mix(low[p + i], high[p + i], share),
                            upsample_mix(low[q + i], high[q + i], share), w->share[j]);
  }
}

/* Makes row r of y. If it is like the row before it, which this part made, it is copied. */
JF_BODY void enlarge_row(const upsample_job *w, int64_t r, int64_t first)
{
  const jf_upsampling *u = &w->u;
  const int64_t row = r % u->m[0], wide = u->m[1] * u->inner;
  const jf_pixel_source v = jf_upsample_source(w->a, u->n[0], u->m[0], row);
  const float *low = w->from + upsample_at(w, r / u->m[0] * u->n[0] + v.low, u->n[1]);
  const float *high = low + (v.high - v.low) * u->n[1] * u->inner;
  const float share = (float)v.share;
  float *y = w->to + r * wide;
  if (!w->a->linear && r > first && row > 0 &&
      jf_upsample_source(w->a, u->n[0], u->m[0], row - 1).low == v.low)
    memcpy(y, y - wide, (size_t)wide * sizeof *y);
  else if (u->inner == 1 && u->n[1] <= LINE) enlarge_pixels(w, low, high, share, y);
  else if (u->inner == JF_LANES) enlarge_cells(w, low, high, share, JF_LANES, y);
  else enlarge_cells(w, low, high, share, u->inner, y);
}

JF_BODY void upsample_2d_body(void *ctx, int part)
{
  const upsample_job *w = ctx;
  const int64_t first = jf_from(part, w->span), end = jf_to(part, w->span, w->u.outer * w->u.m[0]);
  for (int64_t r = first; r < end; r++) enlarge_row(w, r, first);
}
JF_VECTOR_VARIANTS(upsample_2d)

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
  for (const int64_t end = j + n; j < end; j++, sum += inner) {
    float *low = dx + w->low[j] * inner, *high = dx + w->high[j] * inner;
    const float share = w->share[j];
    for (int64_t i = 0; i < inner; i++) low[i] += (1 - share) * sum[i];
    if (share > 0)
      for (int64_t i = 0; i < inner; i++) high[i] += share * sum[i];
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
JF_VECTOR_VARIANTS(upsample_2d_grad)

/* Many channels in a cell of dy would not fit the strip. */
static int upsample_accepts(const jf_kargs *k)
{
  const int64_t inner = jf_upsampling_of(k->attr, &k->in[0].shape, &k->out[0].shape).inner;
  return jf_has_vectors() && k->in[0].dtype == JFL_F32 && inner > 0 && inner <= STRIP;
}

static jfl_status upsample_prepare(jf_kargs *k)
{
  const int axis = ((const jf_upsample *)k->attr)->axis + 1;
  const int64_t in = k->in[0].shape.d[axis], out = k->out[0].shape.d[axis];
  k->scratch_size = 3 * (size_t)(in > out ? in : out) * sizeof(float);
  return JFL_OK;
}

/* Describes a call whose x and y have these shapes; its columns go to scratch. */
static upsample_job upsample_job_of(const jf_kargs *k, const jfl_shape *x, const jfl_shape *y)
{
  upsample_job w = { .a = k->attr, .from = k->in[0].data, .to = k->out[0].data };
  w.u = jf_upsampling_of(w.a, x, y);
  int32_t *low = k->scratch, *high = low + w.u.m[1];
  float *share = (float *)(high + w.u.m[1]);
  for (int64_t j = 0; j < w.u.m[1]; j++) {
    const jf_pixel_source s = jf_upsample_source(w.a, w.u.n[1], w.u.m[1], j);
    low[j] = (int32_t)s.low;
    high[j] = (int32_t)s.high;
    share[j] = (float)s.share;
  }
  w.low = low;
  w.high = high;
  w.share = share;
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
        .prepare = upsample_prepare, .run = upsample_2d_run)
JFL_CPU(vec_upsample_2d_grad, .op = "upsample_2d_grad", .accepts = upsample_accepts,
        .prepare = upsample_prepare, .run = upsample_2d_grad_run)
