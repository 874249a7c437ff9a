/* Pictures of a batch, in parallel. */
#include "op/image.h"

#include "vector.h"

static void fast_crop_mirror_part(void *ctx, int i) { jf_crop_mirror_pictures(ctx, i, i + 1); }

static jfl_status fast_crop_mirror(const jf_kargs *k)
{
  jf_run_parts(k, (int)k->in[0].shape.d[0], fast_crop_mirror_part, (void *)k);
  return JFL_OK;
}

static void fast_random_crop_part(void *ctx, int i)
{
  const jf_kargs *k = ctx;
  const jf_tensor *y = &k->out[0];
  const size_t size =
      (size_t)(jf_numel(&y->shape) / y->shape.d[0]) * jfl_dtype_size(y->dtype);
  memset((char *)y->data + (size_t)i * size, 0, size);
  jf_random_crop_draw(k, i);
  jf_random_crop_move(k, i, 0);
}

static jfl_status fast_random_crop(const jf_kargs *k)
{
  jf_run_parts(k, (int)k->in[0].shape.d[0], fast_random_crop_part, (void *)k);
  return JFL_OK;
}

/* ---- another size ---- */

/* LINE: floats of a row of x, whose taps of the other axis have been added up. STRIP: elements of y
   that are made before they are rounded. */
enum { LINE = 8192, STRIP = 1024 };

/* Element j of a row of y is the sum over q of weight[q * many + j] times number first[j] + q *
   inner of the line. */
typedef struct resize_job {
  const jf_kargs *k;
  jf_resizing r;
  jf_taps y;
  const int32_t *first;
  const float *weight;
  int64_t many, width, span;   /* elements of a row; taps of each; rows of a part */
} resize_job;

/* line = the sum of the taps' weights times rows of x. */
#define RESIZE_LINE(T)                                                                          \
  JF_BODY void resize_line_##T(const T *x, const double *weight, int64_t taps, int64_t n,       \
                               float *restrict line)                                            \
  {                                                                                             \
    for (int64_t p = 0; p < taps; p++, x += n) {                                                \
      const float w = (float)weight[p];                                                         \
      if (!p) for (int64_t i = 0; i < n; i++) line[i] = w * (float)x[i];                        \
      else if (w != 0) for (int64_t i = 0; i < n; i++) line[i] += w * (float)x[i];              \
    }                                                                                           \
  }
RESIZE_LINE(float)
RESIZE_LINE(uint8_t)

/* Elements j .. j + n - 1 of a row. */
JF_BODY void resize_columns(const resize_job *g, const float *line, int64_t j, int64_t n,
                            float *restrict to)
{
  const int32_t *first = g->first + j;
  const float *weight = g->weight + j;
  for (int64_t i = 0; i < n; i++) to[i] = weight[i] * line[first[i]];
  for (int64_t q = 1; q < g->width; q++) {
    const float *from = line + q * g->r.inner, *w = weight + q * g->many;
    for (int64_t i = 0; i < n; i++) to[i] += w[i] * from[first[i]];
  }
}

JF_BODY void resize_rows_body(void *ctx, int part)
{
  const resize_job *g = ctx;
  const jf_resizing *r = &g->r;
  const int64_t wide = r->w * r->inner, end = jf_to(part, g->span, r->n * r->to_h);
  const int bytes = g->k->in[0].dtype == JFL_U8;
  float line[LINE], strip[STRIP];
  for (int64_t at = jf_from(part, g->span); at < end; at++) {
    const int64_t row = at % r->to_h, from = (at / r->to_h * r->h + g->y.first[row]) * wide;
    const double *weight = g->y.weight + row * g->y.width;
    if (bytes)
      resize_line_uint8_t((uint8_t *)g->k->in[0].data + from, weight, g->y.width, wide, line);
    else resize_line_float((float *)g->k->in[0].data + from, weight, g->y.width, wide, line);
    for (int64_t j = 0, n; j < g->many; j += n) {
      n = g->many - j < STRIP ? g->many - j : STRIP;
      const int64_t to = at * g->many + j;
      uint8_t *y = (uint8_t *)g->k->out[0].data + to;
      resize_columns(g, line, j, n, bytes ? strip : (float *)g->k->out[0].data + to);
      for (int64_t i = 0; bytes && i < n; i++) y[i] = (uint8_t)(int32_t)(strip[i] + 0.5f);
    }
  }
}
JF_VECTOR_VARIANTS(resize_rows)

static int fast_resize_accepts(const jf_kargs *k)
{
  const jf_resizing r = jf_resizing_of(k->attr, &k->in[0].shape, &k->out[0].shape);
  return jf_has_vectors() && (k->in[0].dtype == JFL_F32 || k->in[0].dtype == JFL_U8) &&
         r.inner > 0 && r.inner <= LINE / r.w && r.n * r.to_h < INT32_MAX;
}

static jfl_status fast_resize_prepare(jf_kargs *k)
{
  const jf_resizing r = jf_resizing_of(k->attr, &k->in[0].shape, &k->out[0].shape);
  const size_t x = jf_taps_size(&r.x), y = jf_taps_size(&r.y);
  k->scratch_size = x + y + x * (size_t)r.inner;   /* elements' taps are half as large as pixels' */
  return JFL_OK;
}

static jfl_status fast_resize(const jf_kargs *k)
{
  resize_job g = { .k = k, .r = jf_resizing_of(k->attr, &k->in[0].shape, &k->out[0].shape) };
  const jf_resizing *r = &g.r;
  char *room = k->scratch;
  g.y = jf_taps_in(&r->y, room);
  const jf_taps x = jf_taps_in(&r->x, room + jf_taps_size(&r->y));
  int32_t *first = (int32_t *)(room + jf_taps_size(&r->y) + jf_taps_size(&r->x));
  float *weight = (float *)(first + r->to_w * r->inner);
  g.many = r->to_w * r->inner;
  g.width = x.width;
  for (int64_t j = 0; j < g.many; j++) {
    const int64_t pixel = j / r->inner;
    first[j] = (int32_t)(x.first[pixel] * r->inner + j % r->inner);
    for (int64_t q = 0; q < x.width; q++)
      weight[q * g.many + j] = (float)x.weight[pixel * x.width + q];
  }
  g.first = first;
  g.weight = weight;
  g.span = JF_PART / (g.many + r->w * r->inner) + 1;
  jf_run_parts(k, jf_parts(r->n * r->to_h, g.span), resize_rows(), &g);
  return JFL_OK;
}

static int fast_image_accepts(const jf_kargs *k) { return k->in[0].shape.d[0] < 1 << 24; }

JFL_CPU(threaded_crop_mirror, .op = "crop_mirror_normalize", .accepts = fast_image_accepts,
        .run = fast_crop_mirror)
JFL_CPU(threaded_random_crop, .op = "random_crop", .accepts = fast_image_accepts,
        .run = fast_random_crop)
JFL_CPU(vec_image_resize, .op = "image_resize", .accepts = fast_resize_accepts,
        .prepare = fast_resize_prepare, .run = fast_resize)
