/* Pictures at another size, and the gradients: rows are parts. A row of y is made of a line, the
   sum of rows of x by their weights; a row of dx of the rows of dy to which it gives. */
#include "op/image.h"

#include "vector.h"

/* LINE: floats of such a sum. STRIP: elements of y that are made before they are rounded, or of dy
   that are added up before they are given to dx. WIDE: elements of a pixel that are worth a loop of
   their own. */
enum { LINE = 8192, STRIP = 1024, WIDE = 8 };

/* Where pixels have few elements: element j of a row of y is the sum over q of weight[q * many + j]
   times number place[q * many + j] of what its strip is made of, or, for gradients, of x's row.
   Those with a weight come first. What has none is not multiplied, as it may be infinite. */
typedef struct resize_job {
  const jf_kargs *k;
  jf_resizing r;
  jf_taps y, x;
  const int32_t *place;
  const float *weight;
  int64_t many, span, strip;   /* elements of a row; rows of a part; pixels of a strip */
} resize_job;

/* line = the sum of the taps' weights times rows of x, n elements that lie `row` apart. */
#define RESIZE_LINE(T)                                                                          \
  JF_BODY void resize_line_##T(const T *x, int64_t row, const double *weight, int64_t taps,     \
                               int64_t n, float *restrict line)                                 \
  {                                                                                             \
    int is_first = 1;                                                                           \
    for (int64_t p = 0; p < taps; p++, x += row) {                                              \
      const float w = (float)weight[p];                                                         \
      if (w == 0) continue;                                                                     \
      if (is_first) for (int64_t i = 0; i < n; i++) line[i] = w * (float)x[i];                  \
      else for (int64_t i = 0; i < n; i++) line[i] += w * (float)x[i];                          \
      is_first = 0;                                                                             \
    }                                                                                           \
  }
RESIZE_LINE(float)
RESIZE_LINE(uint8_t)

/* Elements j .. j + n - 1 of a row. Those of three taps or more have places of taps before where
   they have fewer, with a weight of 0. */
JF_BODY void resize_elements(const resize_job *g, const float *line, int64_t j, int64_t n,
                             float *restrict to)
{
  const int32_t *place = g->place + j, *next = place + g->many;
  const float *weight = g->weight + j, *more = weight + g->many;
  if (g->x.width == 1) {
    for (int64_t i = 0; i < n; i++) to[i] = line[place[i]];
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const float a = weight[i] * line[place[i]], b = line[next[i]];
    to[i] = more[i] != 0 ? a + more[i] * b : a;
  }
  for (int64_t q = 2; q < g->x.width; q++) {
    next += g->many;
    more += g->many;
    for (int64_t i = 0; i < n; i++) to[i] += more[i] * line[next[i]];
  }
}

/* The same of pixels j .. j + n - 1, of `inner` elements each. */
JF_BODY void resize_pixels(const resize_job *g, const float *line, int64_t base, int64_t j,
                           int64_t n, int64_t inner, float *restrict to)
{
  for (const int64_t end = j + n; j < end; j++, to += inner) {
    const double *weight = g->x.weight + j * g->x.width;
    const float *from = line + g->x.first[j] * inner - base;
    const float w = (float)weight[0], v = g->x.width > 1 ? (float)weight[1] : 0;
    if (v == 0) for (int64_t i = 0; i < inner; i++) to[i] = w * from[i];
    else if (w == 0) for (int64_t i = 0; i < inner; i++) to[i] = v * from[inner + i];
    else for (int64_t i = 0; i < inner; i++) to[i] = w * from[i] + v * from[inner + i];
    for (int64_t q = 2; q < g->x.width; q++) {
      const float more = (float)weight[q];
      for (int64_t i = 0; more != 0 && i < inner; i++) to[i] += more * from[q * inner + i];
    }
  }
}

/* Makes n pixels of a row of y, from number j on, of rows of x. */
JF_BODY void resize_strip(const resize_job *g, int64_t row, const void *x, int64_t j, int64_t n,
                          float *to)
{
  const int64_t inner = g->r.inner, wide = g->r.w * inner, first = g->x.first[j] * inner;
  const int64_t size = (g->x.first[j + n - 1] + g->x.width) * inner - first;
  const double *weight = g->y.weight + row * g->y.width;
  float sums[LINE];
  const float *line = sums;
  if (g->k->in[0].dtype == JFL_U8)
    resize_line_uint8_t((const uint8_t *)x + first, wide, weight, g->y.width, size, sums);
  else if (g->y.width == 1) line = (const float *)x + first;
  else resize_line_float((const float *)x + first, wide, weight, g->y.width, size, sums);
  if (inner == JF_LANES) resize_pixels(g, line, first, j, n, JF_LANES, to);
  else if (inner >= WIDE) resize_pixels(g, line, first, j, n, inner, to);
  else resize_elements(g, line, j * inner, n * inner, to);
}

/* Whether a row of y is made as the one before it. */
JF_BODY int resize_repeats(const jf_taps *t, int64_t row)
{
  const double *weight = t->weight + row * t->width;
  return row > 0 && t->first[row] == t->first[row - 1] &&
         !memcmp(weight, weight - t->width, (size_t)t->width * sizeof *weight);
}

JF_BODY void resize_round(const float *restrict x, int64_t n, uint8_t *restrict y)
{
  for (int64_t i = 0; i < n; i++) y[i] = (uint8_t)(int32_t)(x[i] + 0.5f);
}

JF_BODY void resize_rows_body(void *ctx, int part)
{
  const resize_job *g = ctx;
  const jf_resizing *r = &g->r;
  const int bytes = g->k->in[0].dtype == JFL_U8;
  const size_t size = bytes ? 1 : sizeof(float);
  const int64_t begin = jf_from(part, g->span), end = jf_to(part, g->span, r->n * r->to_h);
  float strip[STRIP];
  for (int64_t at = begin; at < end; at++) {
    const int64_t row = at % r->to_h, from = at / r->to_h * r->h + g->y.first[row];
    const char *x = (const char *)g->k->in[0].data + (size_t)(from * r->w * r->inner) * size;
    uint8_t *y = (uint8_t *)g->k->out[0].data + (size_t)(at * g->many) * size;
    if (at > begin && resize_repeats(&g->y, row)) {
      memcpy(y, y - (size_t)g->many * size, (size_t)g->many * size);
      continue;
    }
    for (int64_t j = 0, n; j < r->to_w; j += n, y += (size_t)(n * r->inner) * size) {
      n = r->to_w - j < g->strip ? r->to_w - j : g->strip;
      resize_strip(g, row, x, j, n, bytes ? strip : (float *)(void *)y);
      if (bytes) resize_round(strip, n * r->inner, y);
    }
  }
}
JF_VECTOR_VARIANTS(resize_rows)

/* ---- gradients ---- */

/* The first row of y that reads row r of x or a later one. */
static inline int64_t first_reader(const jf_taps *t, int64_t r)
{
  int64_t lo = 0, hi = t->n;
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (t->first[mid] + t->width > r) hi = mid;
    else lo = mid + 1;
  }
  return lo;
}

/* Gives n columns of dy, `sum`, from column j on to a row of dx. */
JF_BODY void give_pixels(const resize_job *g, int64_t j, int64_t n, int64_t inner,
                         const float *restrict sum, float *restrict dx)
{
  const int64_t width = g->x.width;
  for (const int64_t end = j + n; j < end; j++, sum += inner)
    for (int64_t q = 0; q < width; q++) {
      const float w = (float)g->x.weight[j * width + q];
      float *to = dx + (g->x.first[j] + q) * inner;
      for (int64_t i = 0; w != 0 && i < inner; i++) to[i] += w * sum[i];
    }
}

/* The same of n elements from number j on. */
JF_BODY void give_elements(const resize_job *g, int64_t j, int64_t n, const float *restrict sum,
                           float *restrict dx)
{
  const int32_t *place = g->place + j;
  const float *weight = g->weight + j;
  for (int64_t q = 0; q < g->x.width; q++, place += g->many, weight += g->many)
    for (int64_t i = 0; i < n; i++)
      if (weight[i] != 0) dx[place[i]] += weight[i] * sum[i];
}

/* Makes row r of dx. */
JF_BODY void return_row(const resize_job *g, int64_t r)
{
  const int64_t row = r % g->r.h, begin = first_reader(&g->y, row), inner = g->r.inner;
  const float *dy = (const float *)g->k->in[0].data + r / g->r.h * g->r.to_h * g->many;
  float *dx = (float *)g->k->out[0].data + r * g->r.w * inner, sum[STRIP];
  memset(dx, 0, (size_t)(g->r.w * inner) * sizeof *dx);
  for (int64_t j = 0, n; j < g->r.to_w; j += n) {
    int is_first = 1;
    n = g->r.to_w - j < STRIP / inner ? g->r.to_w - j : STRIP / inner;
    for (int64_t i = begin; i < g->r.to_h && g->y.first[i] <= row; i++) {
      const float w = (float)g->y.weight[i * g->y.width + row - g->y.first[i]];
      const float *line = dy + i * g->many + j * inner;
      if (w == 0) continue;
      if (is_first) for (int64_t c = 0; c < n * inner; c++) sum[c] = w * line[c];
      else for (int64_t c = 0; c < n * inner; c++) sum[c] += w * line[c];
      is_first = 0;
    }
    if (is_first) continue;
    if (inner < WIDE) give_elements(g, j * inner, n * inner, sum, dx);
    else if (inner == JF_LANES) give_pixels(g, j, n, JF_LANES, sum, dx);
    else give_pixels(g, j, n, inner, sum, dx);
  }
}

JF_BODY void return_rows_body(void *ctx, int part)
{
  const resize_job *g = ctx;
  const int64_t end = jf_to(part, g->span, g->r.n * g->r.h);
  for (int64_t r = jf_from(part, g->span); r < end; r++) return_row(g, r);
}
JF_VECTOR_VARIANTS(return_rows)

/* ---- rows ---- */

/* A line must hold what a pixel is made of, and a strip a pixel. */
static int resize_accepts(const jf_kargs *k)
{
  const jf_resizing r = jf_resizing_of(k);
  const int64_t taps = (int64_t)(jf_taps_size(&r.x) / (size_t)r.to_w / sizeof(double));
  return jf_has_vectors() &&
         (k->in[0].dtype == JFL_F32 || (k->in[0].dtype == JFL_U8 && !jf_resizes_back(k))) &&
         r.inner > 0 && r.inner <= STRIP && r.inner * taps <= LINE &&
         r.n * (r.h > r.to_h ? r.h : r.to_h) < INT32_MAX;
}

static jfl_status resize_prepare(jf_kargs *k)
{
  const jf_resizing r = jf_resizing_of(k);
  const size_t x = jf_taps_size(&r.x), y = jf_taps_size(&r.y);
  k->scratch_size = x + y;
  if (r.inner < WIDE) k->scratch_size += x * (size_t)r.inner;    /* more than elements take */
  return JFL_OK;
}

/* Writes the places and weights of each element behind the taps of pixels. */
static void resize_lay(resize_job *g, int back, char *room)
{
  const int64_t inner = g->r.inner, width = g->x.width;
  int32_t *place = (int32_t *)(void *)room;
  float *weight = (float *)(place + g->many * width);
  for (int64_t j = 0; j < g->many; j++) {
    const int64_t pixel = j / inner, strip = pixel / g->strip * g->strip;
    const int64_t base = back ? 0 : g->x.first[strip] * inner;
    int64_t n = 0, last = 0;
    for (int64_t q = 0; q < width; q++) {
      const float w = (float)g->x.weight[pixel * width + q];
      if (w == 0) continue;
      last = (g->x.first[pixel] + q) * inner + j % inner - base;
      place[n * g->many + j] = (int32_t)last;
      weight[n++ * g->many + j] = w;
    }
    for (; n < width; n++) {
      place[n * g->many + j] = (int32_t)last;
      weight[n * g->many + j] = 0;
    }
  }
  g->place = place;
  g->weight = weight;
}

static jfl_status resize_run(const jf_kargs *k)
{
  resize_job g = { .k = k, .r = jf_resizing_of(k) };
  const jf_resizing *r = &g.r;
  const int back = jf_resizes_back(k);
  char *room = k->scratch;
  g.y = jf_taps_in(&r->y, room);
  g.x = jf_taps_in(&r->x, room + jf_taps_size(&r->y));
  g.many = r->to_w * r->inner;
  /* n pixels are made of at most (n - 1) w / (to_w - 1) + 1 + width ones. */
  g.strip = 1 + (LINE / r->inner - g.x.width - 1) * (r->to_w - 1) / r->w;
  if (k->in[0].dtype == JFL_U8 && g.strip > STRIP / r->inner) g.strip = STRIP / r->inner;
  if (r->inner < WIDE)
    resize_lay(&g, back, room + jf_taps_size(&r->y) + jf_taps_size(&r->x));
  g.span = JF_PART / (g.many + r->w * r->inner) + 1;
  jf_run_parts(k, jf_parts(r->n * (back ? r->h : r->to_h), g.span),
               back ? return_rows() : resize_rows(), &g);
  return JFL_OK;
}

JFL_CPU(vec_resize, .op = "image_resize image_resize_grad upsample_2d upsample_2d_grad",
        .accepts = resize_accepts, .prepare = resize_prepare, .run = resize_run)
