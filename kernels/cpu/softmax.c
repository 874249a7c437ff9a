/* Softmax, its logarithm and their gradients, lines in parallel. Where the axis is not the last
   one, a tile of lines beside each other is computed at once. */
#include "op/attrs.h"
#include "op/move.h"

#include "softmax.h"
#include "tile.h"

/* `count` lines of n elements. A part is `span` lines, or tiles of lines. Lines of an axis that is
   not the last are `after` beside each other, in `tiles` tiles, and so are their elements. */
typedef struct lines {
  const float *a, *b;
  float *y;
  int64_t count, n, span, after, tiles;
} lines;

/* ---- lines along the last axis ---- */

/* y = exp(a - max) / sum exp(a - max) */
JF_BODY void softmax_line(const float *a, const float *b, float *y, int64_t n)
{
  (void)b;
  const float scale = (float)(1 / jf_line_exp(a, y, n, jf_line_max(a, n)));
  for (int64_t j = 0; j < n; j++) y[j] *= scale;
}

/* y = a - max - log sum exp(a - max) */
JF_BODY void logsoftmax_line(const float *a, const float *b, float *y, int64_t n)
{
  (void)b;
  const float max = jf_line_max(a, n), rest = (float)log(jf_line_exp(a, NULL, n, max));
  JF_EACH_ALONE for (int64_t j = 0; j < n; j++) y[j] = a[j] - max - rest;
}

/* <a, b> */
JF_BODY float line_dot(const float *a, const float *b, int64_t n)
{
  jf_vec u, v, sum[4] = { { 0 } };
  int64_t i = 0;
  for (; i + 4 * JF_LANES <= n; i += 4 * JF_LANES)
    for (int j = 0; j < 4; j++)
      sum[j] += JF_LOAD(a + i + j * JF_LANES) * JF_LOAD(b + i + j * JF_LANES);
  for (; i < n; i += JF_LANES) {
    jf_load_part(a + i, n - i < JF_LANES ? n - i : JF_LANES, 0, &u);
    jf_load_part(b + i, n - i < JF_LANES ? n - i : JF_LANES, 0, &v);
    sum[0] += u * v;
  }
  sum[0] += sum[1] + (sum[2] + sum[3]);
  return jf_lane_sum(sum);
}

/* y = a (b - <a, b>), where a is the output of softmax and b is the gradient of that output. */
JF_BODY void softmax_grad_line(const float *a, const float *b, float *y, int64_t n)
{
  const float dot = line_dot(a, b, n);
  JF_EACH_ALONE for (int64_t j = 0; j < n; j++) y[j] = a[j] * (b[j] - dot);
}

/* y = b - exp(a) sum b, where a is the output of logsoftmax and b is that output's gradient. */
JF_BODY void logsoftmax_grad_line(const float *a, const float *b, float *y, int64_t n)
{
  const float sum = (float)jf_sum(b, n);
  jf_vec u, v;
  for (int64_t j = 0; j < n; j += JF_LANES) {
    const int64_t some = n - j < JF_LANES ? n - j : JF_LANES;
    jf_load_part(a + j, some, 0, &u);
    jf_load_part(b + j, some, 0, &v);
    jf_exp_low(&u);
    v -= u * sum;
    jf_store_part(y + j, some, &v);
  }
}

/* ---- tiles of lines ---- */

/* Row r of a tile that begins at p. */
#define ROW(p, r) ((p) + (r) * t->after)
/* Runs what follows for each row r of a tile and each vector j of the row. */
#define EACH_IN_TILE(r, j) for (int64_t r = 0; r < t->n; r++) JF_EACH_VEC(j)
/* Sums over rows are added to all[j] every FEW rows, so that few numbers are added at once. */
enum { FEW = 64 };
#define ADD_TO(all, sum, r, j)                   \
  if ((r) % FEW == FEW - 1 || (r) == t->n - 1) { \
    all[j] += sum[j];                            \
    sum[j] = (jf_vec){ 0 };                      \
  }

/* max and the sum of exp(a - max) of each line; y = exp(a - max) unless y is NULL. */
JF_BODY void tile_exp(const lines *t, const float *a, float *y, int n, jf_vec *max, jf_vec *all)
{
  jf_vec v, sum[JF_TILE_VECS] = { { 0 } };
  JF_EACH_VEC(j) jf_tile_load(a, n, j, &max[j]);
  EACH_IN_TILE(r, j) {
    jf_tile_load(ROW(a, r), n, j, &v);
    max[j] = JF_SELECT(v > max[j], v, max[j]);
  }
  EACH_IN_TILE(r, j) {
    jf_tile_load(ROW(a, r), n, j, &v);
    v -= max[j];
    jf_exp_below(&v);
    if (y) jf_tile_store(ROW(y, r), n, j, &v);
    sum[j] += v;
    ADD_TO(all, sum, r, j)
  }
}

JF_BODY void softmax_tile(const lines *t, const float *a, const float *b, float *y, int n)
{
  jf_vec v, max[JF_TILE_VECS], all[JF_TILE_VECS] = { { 0 } };
  (void)b;
  tile_exp(t, a, y, n, max, all);
  JF_EACH_VEC(j) all[j] = 1 / all[j];
  EACH_IN_TILE(r, j) {
    jf_tile_load(ROW(y, r), n, j, &v);
    v *= all[j];
    jf_tile_store(ROW(y, r), n, j, &v);
  }
}

JF_BODY void logsoftmax_tile(const lines *t, const float *a, const float *b, float *y, int n)
{
  jf_vec v, max[JF_TILE_VECS], all[JF_TILE_VECS] = { { 0 } };
  float rest[JF_TILE];
  (void)b;
  tile_exp(t, a, NULL, n, max, all);
  memcpy(rest, all, sizeof rest);
  for (int i = 0; i < n; i++) rest[i] = logf(rest[i]);
  EACH_IN_TILE(r, j) {
    jf_tile_load(ROW(a, r), n, j, &v);
    v = v - max[j] - JF_LOAD(rest + j * JF_LANES);
    jf_tile_store(ROW(y, r), n, j, &v);
  }
}

JF_BODY void softmax_grad_tile(const lines *t, const float *a, const float *b, float *y, int n)
{
  jf_vec u, v, sum[JF_TILE_VECS] = { { 0 } }, all[JF_TILE_VECS] = { { 0 } };
  EACH_IN_TILE(r, j) {
    jf_tile_load(ROW(a, r), n, j, &u);
    jf_tile_load(ROW(b, r), n, j, &v);
    sum[j] += u * v;
    ADD_TO(all, sum, r, j)
  }
  EACH_IN_TILE(r, j) {
    jf_tile_load(ROW(a, r), n, j, &u);
    jf_tile_load(ROW(b, r), n, j, &v);
    v = u * (v - all[j]);
    jf_tile_store(ROW(y, r), n, j, &v);
  }
}

JF_BODY void logsoftmax_grad_tile(const lines *t, const float *a, const float *b, float *y, int n)
{
  jf_vec u, v, sum[JF_TILE_VECS] = { { 0 } }, all[JF_TILE_VECS] = { { 0 } };
  EACH_IN_TILE(r, j) {
    jf_tile_load(ROW(b, r), n, j, &v);
    sum[j] += v;
    ADD_TO(all, sum, r, j)
  }
  EACH_IN_TILE(r, j) {
    jf_tile_load(ROW(a, r), n, j, &u);
    jf_tile_load(ROW(b, r), n, j, &v);
    jf_exp_low(&u);
    v -= u * all[j];
    jf_tile_store(ROW(y, r), n, j, &v);
  }
}

/* ---- rows of the table ---- */

/* The parts `id` and id_tiles of the op: a part's lines, or its tiles of lines. */
#define PARTS(id, name)                                                          \
  JF_BODY void id##_body(void *ctx, int i)                                       \
  {                                                                              \
    const lines *t = ctx;                                                        \
    const int64_t to = jf_to(i, t->span, t->count), n = t->n;                    \
    for (int64_t r = jf_from(i, t->span); r < to; r++)                           \
      name##_line(t->a + r * n, t->b + r * n, t->y + r * n, n);                  \
  }                                                                              \
  JF_VECTOR_VARIANTS(id)                                                         \
  JF_BODY void id##_tiles_body(void *ctx, int i)                                 \
  {                                                                              \
    const lines *t = ctx;                                                        \
    const int64_t to = jf_to(i, t->span, t->count);                              \
    for (int64_t r = jf_from(i, t->span); r < to; r++) {                         \
      const int64_t column = r % t->tiles * JF_TILE, left = t->after - column;   \
      const int64_t at = r / t->tiles * t->n * t->after + column;                \
      if (left >= JF_TILE) name##_tile(t, t->a + at, t->b + at, t->y + at, JF_TILE); \
      else name##_tile(t, t->a + at, t->b + at, t->y + at, (int)left);           \
    }                                                                            \
  }                                                                              \
  JF_VECTOR_VARIANTS(id##_tiles)                                                 \
  static jfl_status id##_run(const jf_kargs *k)                                  \
  {                                                                              \
    return softmax_parts(k, id(), id##_tiles());                              \
  }

static int fast_softmax_accepts(const jf_kargs *k)
{
  return jf_has_vectors() && k->in[0].dtype == JFL_F32;
}

static jfl_status softmax_parts(const jf_kargs *k, jf_part along, jf_part tiles)
{
  const jf_axes s = jf_axes_at(&k->out[0].shape, ((const jf_softmax *)k->attr)->axis);
  lines p = {
    .a = k->in[0].data, .b = k->in[k->n_in - 1].data, .y = k->out[0].data, .n = s.m,
    .after = s.after, .tiles = (s.after + JF_TILE - 1) / JF_TILE, .count = s.before
  };
  const int64_t size = s.after == 1 ? p.n : p.n * JF_TILE;
  if (s.after > 1) p.count *= p.tiles;
  if (!size) return JFL_OK;
  p.span = size < JF_PART / 4 ? JF_PART / 4 / size : 1;
  jf_run_parts(k, jf_parts(p.count, p.span), s.after == 1 ? along : tiles, &p);
  return JFL_OK;
}

PARTS(fast_softmax, softmax)
PARTS(fast_logsoftmax, logsoftmax)
PARTS(fast_softmax_grad, softmax_grad)
PARTS(fast_logsoftmax_grad, logsoftmax_grad)

JFL_CPU(vec_softmax, .op = "softmax", .accepts = fast_softmax_accepts, .run = fast_softmax_run)
JFL_CPU(vec_softmax_grad, .op = "softmax_grad", .accepts = fast_softmax_accepts,
        .run = fast_softmax_grad_run)
JFL_CPU(vec_logsoftmax, .op = "logsoftmax", .accepts = fast_softmax_accepts,
        .run = fast_logsoftmax_run)
JFL_CPU(vec_logsoftmax_grad, .op = "logsoftmax_grad", .accepts = fast_softmax_accepts,
        .run = fast_logsoftmax_grad_run)
