/* Resampling: weights of an axis, then sums over lines and within a line. */
#include "data/resample.h"
#include "dev/variants.h"

#include <math.h>
#include <string.h>

static jf_filter resample_filter_of(const jf_stretch *s)
{
  if (s->filter == JF_NEAREST || s->filter == JF_BILINEAR || s->filter == JF_CORNERS)
    return s->filter;
  if (s->extent == (double)s->n && s->begin == floor(s->begin)) return JF_NEAREST;   /* a copy */
  if (s->filter == JF_TRIANGLE) return JF_TRIANGLE;
  return s->extent > (double)s->n ? JF_AREA : JF_BILINEAR;
}

static int64_t taps_width(const jf_stretch *s)
{
  const jf_filter f = resample_filter_of(s);
  if (f == JF_NEAREST || s->limit == 1) return 1;
  if (f == JF_BILINEAR || f == JF_CORNERS) return 2;
  const double scale = s->extent / (double)s->n;
  const int64_t most = (int64_t)ceil(f == JF_TRIANGLE ? 2 * fmax(scale, 1) : scale) + 1;
  return most < s->limit ? most : s->limit;
}

size_t jf_taps_size(const jf_stretch *s)
{
  return (size_t)s->n * (sizeof(int64_t) + (size_t)taps_width(s) * sizeof(double));
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* Adds weight w for source `at` to the taps of result i. */
static void taps_add(const jf_taps *t, int64_t i, int64_t at, double w)
{
  t->weight[i * t->width + at - t->first[i]] += w;
}

/* The parts of the sources that lie under result i, which spans `scale` sources. */
static void taps_area(const jf_stretch *s, const jf_taps *t, int64_t i)
{
  const double scale = s->extent / (double)s->n;
  const double from = s->begin + (double)i * scale, to = from + scale;
  const int64_t lo = clamp((int64_t)floor(from), 0, s->limit - 1);
  t->first[i] = clamp(lo, 0, s->limit - t->width);
  for (int64_t j = lo; j < s->limit && (double)j < to && j < t->first[i] + t->width; j++) {
    const double a = (double)j > from ? (double)j : from;
    const double b = (double)(j + 1) < to ? (double)(j + 1) : to;
    if (b > a) taps_add(t, i, j, (b - a) / scale);
  }
}

/* Between the two sources on both sides of `at`; none outside the stretch. */
static void taps_between(const jf_stretch *s, const jf_taps *t, int64_t i, double at)
{
  const double whole = floor(at);
  const int64_t lo = clamp((int64_t)floor(s->begin), 0, s->limit - 1);
  const int64_t hi = clamp((int64_t)ceil(s->begin + s->extent) - 1, lo, s->limit - 1);
  const int64_t a = clamp((int64_t)whole, lo, hi), b = clamp((int64_t)whole + 1, lo, hi);
  t->first[i] = clamp(a, 0, s->limit - t->width);
  taps_add(t, i, a, 1 - (at - whole));
  taps_add(t, i, b, at - whole);
}

static void taps_bilinear(const jf_stretch *s, const jf_taps *t, int64_t i)
{
  taps_between(s, t, i, s->begin + ((double)i + 0.5) * s->extent / (double)s->n - 0.5);
}

static void taps_corners(const jf_stretch *s, const jf_taps *t, int64_t i)
{
  taps_between(s, t, i, s->n > 1 ? (double)i * (double)(s->limit - 1) / (double)(s->n - 1) : 0);
}

static void taps_triangle(const jf_stretch *s, const jf_taps *t, int64_t i)
{
  const double scale = s->extent / (double)s->n, reach = fmax(scale, 1);
  const double at = s->begin + ((double)i + 0.5) * scale;
  const double low = s->beyond ? 0 : s->begin, high = s->beyond ? (double)s->limit
                                                               : s->begin + s->extent;
  const int64_t lo = clamp((int64_t)floor(fmax(at - reach, low) + 0.5), 0, s->limit - 1);
  const int64_t hi = clamp((int64_t)floor(fmin(at + reach, high) + 0.5), lo + 1, s->limit);
  double sum = 0;
  t->first[i] = clamp(lo, 0, s->limit - t->width);
  for (int64_t j = lo; j < hi; j++) sum += fmax(0, 1 - fabs((double)j + 0.5 - at) / reach);
  for (int64_t j = lo; j < hi; j++)
    taps_add(t, i, j, fmax(0, 1 - fabs((double)j + 0.5 - at) / reach) / sum);
}

static void taps_nearest(const jf_stretch *s, const jf_taps *t, int64_t i)
{
  t->first[i] = clamp((int64_t)floor(s->begin + (double)i * s->extent / (double)s->n), 0,
                      s->limit - 1);
  taps_add(t, i, t->first[i], 1);
}

jf_taps jf_taps_in(const jf_stretch *s, void *memory)
{
  static void (*const fill[])(const jf_stretch *, const jf_taps *, int64_t) = {
    [JF_NEAREST] = taps_nearest, [JF_BILINEAR] = taps_bilinear, [JF_AREA] = taps_area,
    [JF_TRIANGLE] = taps_triangle, [JF_CORNERS] = taps_corners
  };
  jf_taps t = { .n = s->n, .width = taps_width(s), .first = memory };
  t.weight = (double *)(t.first + t.n);
  for (int64_t i = 0; i < t.n * t.width; i++) t.weight[i] = 0;
  for (int64_t i = 0; i < t.n; i++) fill[resample_filter_of(s)](s, &t, i);
  return t;
}

/* ---- sums ---- */

size_t jf_resize_line(int64_t width, int64_t channels)
{
  return (size_t)(width * channels) * sizeof(double);
}

/* to[x] = the sum over the taps of result y of weight * source[row][x], for the columns that the
   other axis needs: from up to `end`. */
#define LINE(D, T, A)                                                                           \
  static void resample_line_##D(const jf_resize *r, int64_t y, int64_t from, int64_t end,       \
                                void *to)                                                       \
  {                                                                                             \
    A *line = to;                                                                               \
    const double *weight = r->y->weight + y * r->y->width;                                      \
    for (int64_t k = 0; k < r->y->width; k++) {                                                 \
      const T *x = (const T *)r->src + (r->y->first[y] + k) * r->src_row;                       \
      const A w = (A)weight[k];                                                                 \
      if (!k) for (int64_t i = from; i < end; i++) line[i] = w != 0 ? w * (A)x[i] : 0;          \
      else if (w != 0) for (int64_t i = from; i < end; i++) line[i] += w * (A)x[i];             \
    }                                                                                           \
  }
LINE(U8, uint8_t, float)
LINE(F32, float, float)
LINE(F64, double, double)

/* dst[y][column][channel] = scale times the sum over the taps of that column. Those at both ends
   may have no weight. */
#define ROW(NAME, A, T, ROUNDED)                                                   \
  static void resample_row_##NAME(const jf_resize *r, int64_t y, const void *from) \
  {                                                                                \
    const A scale = (A)r->scale;                                                   \
    const int64_t c = r->channels, width = r->x->width;                            \
    for (int64_t i = 0; i < r->x->n; i++) {                                        \
      const double *weight = r->x->weight + i * width;                             \
      const A *x = (const A *)from + r->x->first[i] * c;                           \
      T *to = (T *)r->dst + y * r->row + i * r->column;                            \
      int64_t first = 0, end = width;                                              \
      while (first < end && weight[first] == 0) first++;                           \
      while (first < end && weight[end - 1] == 0) end--;                           \
      for (int64_t j = 0; j < c; j++) {                                            \
        A v = 0;                                                                   \
        for (int64_t k = first; k < end; k++) v += (A)weight[k] * x[k * c + j];    \
        to[j * r->channel] = (T)(scale * v + (A)ROUNDED);                          \
      }                                                                            \
    }                                                                              \
  }
ROW(U8, float, uint8_t, 0.5)
ROW(F32, float, float, 0)
ROW(F64, double, double, 0)

/* Whether a picture of bytes keeps its size, and its pixels lie in the result as in the source. */
static int resample_copies(const jf_resize *r)
{
  const jf_taps *x = r->x;
  return r->from == JFL_U8 && r->y->width == 1 && x->width == 1 && x->n &&
         x->first[x->n - 1] - x->first[0] == x->n - 1 && r->column == r->channels &&
         (r->channel == 1 || r->channels == 1);
}

static void resample_copy(const jf_resize *r, int64_t y)
{
  const int64_t n = r->x->n * r->channels;
  const uint8_t *from = (const uint8_t *)r->src + r->y->first[y] * r->src_row +
                        r->x->first[0] * r->channels;
  const float scale = (float)r->scale;
  float *to = (float *)r->dst + y * r->row;
  if (r->to == JFL_U8) memcpy((uint8_t *)r->dst + y * r->row, from, (size_t)n);
  else JF_EACH_ALONE for (int64_t i = 0; i < n; i++) to[i] = scale * (float)from[i];
}

void jf_resize_rows(const jf_resize *r, int64_t first, int64_t last, void *line)
{
  int64_t from = r->x->first[0], end = 0;
  if (resample_copies(r)) {
    for (int64_t y = first; y < last; y++) resample_copy(r, y);
    return;
  }
  for (int64_t i = 0; i < r->x->n; i++) {
    if (r->x->first[i] < from) from = r->x->first[i];
    if (r->x->first[i] + r->x->width > end) end = r->x->first[i] + r->x->width;
  }
  for (int64_t y = first; y < last; y++) {
    if (r->from == JFL_U8) resample_line_U8(r, y, from * r->channels, end * r->channels, line);
    else if (r->from == JFL_F32)
      resample_line_F32(r, y, from * r->channels, end * r->channels, line);
    else resample_line_F64(r, y, from * r->channels, end * r->channels, line);
    if (r->to == JFL_U8) resample_row_U8(r, y, line);
    else if (r->to == JFL_F32) resample_row_F32(r, y, line);
    else resample_row_F64(r, y, line);
  }
}
