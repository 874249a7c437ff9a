/* Convolutions with 3x3 and 5x5 filters by Winograd's minimal filtering (Lavin and Gray, 2015):
   tiles of 6x6 cells are transformed, multiplied channel by channel, and transformed back. A tile
   takes 36 products instead of 144 or 100. The points of interpolation are 0, 1, -1, 1/2, -2 and
   infinity, chosen after Barabasz et al. (2020): errors are about three times those of direct
   float32 sums. Transformed filters are four times as large as 3x3 ones. For small pictures, where
   reading them takes longer than multiplying, tiles have 4x4 cells and the points 0, 1, -1 and
   infinity. Tensors are in blocks of 16 channels and filters are packed, as in op/conv.h. */
#include "op/conv.h"
#include "op/op.h"

#include "vector.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

/* SIDE: cells along a side of a tile; SMALL: of a small one. BATCH: tiles that are transformed
   together, so that they stay in the second-level cache. WIDE: columns of a product that are kept
   in registers. For the gradient of the filters, DEEP tiles are summed at a time, GROUP are
   transformed by a thread, and CHUNK floats hold the tiles that are transformed before their
   products are summed. FEW: tiles of SIDE below which small ones are better. */
enum { SIDE = 6, CELLS = SIDE * SIDE, SMALL = 4, FEW = 24, BATCH = 48, ROWS = 6, WIDE = 64,
       MOST_CHANNELS = 512, DEEP = 128, GROUP = 8, CHUNK = 1 << 20 };

#define INNER __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma"), always_inline)) \
  static inline
#define OUTER __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma"))) static

typedef __m512 vec;

/* A convolution from `from` channels to `to` channels. It may be the gradient for the input, which
   is a convolution with the filters turned round, or the gradient for the filters. Channels are
   counted in blocks of 16. */
typedef struct winograd {
  int taps, out;               /* cells of a filter's side; results of a tile's side */
  int side;                    /* cells of a tile's side */
  int turned;
  int packed;                  /* `filter` is transformed already */
  int64_t batch, height, width;            /* extents of `from` */
  int64_t rows, columns;                   /* extents of `to` */
  int64_t top, left;                       /* padding */
  int64_t n_from, n_to;                    /* blocks of channels */
  int64_t down, across, tiles;             /* tiles down and across an image; tiles of all images */
  const float *from, *filter, *bias, *residual, *dto;
  float *to, *dfilter, *dbias;
  float low, high;             /* results are kept between these */
  int lanes;
  int64_t span;                /* tiles of a batch, at most BATCH; of a chunk for a gradient */
  int64_t most;                /* tiles for which there is room, a multiple of ROWS */
  float *u;                    /* transformed filters, or their gradient */
  float *room; size_t room_size;           /* floats for each lane */
  float *v, *d;                /* for the filters' gradient: the transformed tiles of a chunk */
  int64_t first, end;                      /* ... and which tiles these are */
} winograd;

/* ---- the transforms of one line ---- */

/* Transforms an input line: the values of the cofactors of the polynomial of the points. */
INNER void transform(const vec *x, vec *y, int side)
{
  if (side == SMALL) {
    y[0] = x[0] - x[2];
    y[1] = x[1] + x[2];
    y[2] = x[2] - x[1];
    y[3] = x[3] - x[1];
    return;
  }
  const vec two = _mm512_set1_ps(2), half = _mm512_set1_ps(0.5f), one_half = _mm512_set1_ps(1.5f);
  const vec more = _mm512_set1_ps(2.5f), a = x[3] - x[1], b = x[4] - x[2];
  y[0] = _mm512_fmadd_ps(one_half, a, _mm512_fnmadd_ps(two, x[2], x[0] + x[4]));
  y[1] = _mm512_fmadd_ps(more, x[3], _mm512_fmadd_ps(half, x[2], x[4] - x[1]));
  y[2] = _mm512_fnmadd_ps(more, x[2], _mm512_fmadd_ps(half, x[3], x[4] + x[1]));
  y[3] = _mm512_fmadd_ps(two, a, b);
  y[4] = _mm512_fnmadd_ps(half, a, b);
  y[5] = _mm512_fmadd_ps(one_half, b, _mm512_fnmadd_ps(two, x[3], x[5] + x[1]));
}

/* Powers of the points 1/2 and -2. */
static const float half_power[] = { 1, 0.5f, 0.25f, 0.125f, 0.0625f };
static const float two_power[] = { 1, -2, 4, -8, 16 };

/* Result k of m: the sum of each product times the k-th power of its point. */
INNER vec evaluate(const vec *s, int k, int m, int side)
{
  vec y = s[1] + s[2];
  if (k % 2) y = s[1] - s[2];
  if (side == SIDE) {
    y = _mm512_fmadd_ps(_mm512_set1_ps(half_power[k]), s[3], y);
    y = _mm512_fmadd_ps(_mm512_set1_ps(two_power[k]), s[4], y);
  }
  if (k == 0) y = y + s[0];
  if (k == m - 1) y = y + s[side - 1];
  return y;
}

/* The transpose of that: the values at the points of a polynomial of n coefficients. */
INNER void interpolate(const vec *x, int n, vec *y, int side)
{
  vec even = x[0], odd = x[1], at_half = x[0], at_two = x[0];
  for (int k = 2; k < n; k++) {
    if (k % 2) odd = odd + x[k];
    else even = even + x[k];
  }
  for (int k = 1; k < n; k++) {
    at_half = _mm512_fmadd_ps(_mm512_set1_ps(half_power[k]), x[k], at_half);
    at_two = _mm512_fmadd_ps(_mm512_set1_ps(two_power[k]), x[k], at_two);
  }
  y[0] = x[0];
  y[1] = even + odd;
  y[2] = even - odd;
  y[side - 1] = x[n - 1];
  if (side == SMALL) return;
  y[3] = at_half;
  y[4] = at_two;
}

/* What a filter's values at the points are divided by. */
static const float weight[] = { 1, 1.0f / 3, -1.0f / 3, -16.0f / 15, 1.0f / 15, 1 };
static const float small_weight[] = { 1, 0.5f, 0.5f, 1 };

/* ---- tiles ---- */

/* How many floats the numbers of a cell take, for so many tiles with that many channels: one cache
   line more than needed, so that the cells of a tile do not all fall into the same few sets of the
   cache. */
static inline int64_t pitch_of(int64_t tiles, int64_t channels)
{
  return tiles * channels + JF_LANES;
}
static inline int64_t pitch(const winograd *w, int64_t channels)
{
  return pitch_of(w->most, channels);
}
static inline int tile_cells(const winograd *w) { return w->side * w->side; }

/* Where tile t is: its image and its first cell in `from`, which may be outside of the plane. */
typedef struct spot { int64_t image, y, x; } spot;
INNER spot spot_of(const winograd *w, int64_t t)
{
  const int64_t each = w->down * w->across, i = t % each;
  return (spot){ t / each, i / w->across * w->out, i % w->across * w->out };
}

/* Loads the cells of a tile of `size` rows and columns from cell (y, x) on; cells outside of the
   plane are 0. */
INNER void winograd_load(const float *plane, int64_t height, int64_t width, int64_t y, int64_t x,
                         int size, vec *cell)
{
  if (y >= 0 && x >= 0 && y + size <= height && x + size <= width) {
    plane += (y * width + x) * JF_LANES;
    for (int i = 0; i < size; i++)
      for (int j = 0; j < size; j++)
        cell[i * size + j] = _mm512_loadu_ps(plane + (i * width + j) * JF_LANES);
    return;
  }
  const int64_t bottom = y + size < height ? y + size : height;
  const int64_t right = x + size < width ? x + size : width;
  for (int i = 0; i < size * size; i++) cell[i] = _mm512_setzero_ps();
  for (int64_t i = y < 0 ? 0 : y; i < bottom; i++)
    for (int64_t j = x < 0 ? 0 : x; j < right; j++)
      cell[(i - y) * size + j - x] = _mm512_loadu_ps(plane + (i * width + j) * JF_LANES);
}

/* v[cell][tile][channel] of n tiles from `first` on; cells are `apart`. */
INNER void transform_input(const winograd *w, int64_t first, int n, int64_t apart, float *v,
                           int side)
{
  const int64_t stride = w->n_from * JF_LANES;
  for (int t = 0; t < n; t++) {
    const spot s = spot_of(w, first + t);
    for (int64_t c = 0; c < w->n_from; c++) {
      float *out = v + t * stride + c * JF_LANES;
      vec cell[CELLS], line[SIDE], half[CELLS];
      const float *plane = w->from + (s.image * w->n_from + c) * w->height * w->width * JF_LANES;
      winograd_load(plane, w->height, w->width, s.y - w->top, s.x - w->left, side, cell);
      for (int i = 0; i < side; i++) transform(cell + i * side, half + i * side, side);
      for (int j = 0; j < side; j++) {
        vec x[SIDE];
        for (int i = 0; i < side; i++) x[i] = half[i * side + j];
        transform(x, line, side);
        for (int i = 0; i < side; i++)
          _mm512_storeu_ps(out + (i * side + j) * apart, line[i]);
      }
    }
  }
}

/* d[cell][tile][channel]: the transformed gradient of the results. */
INNER void transform_gradient(const winograd *w, int64_t first, int n, int out, int64_t apart,
                              float *d)
{
  const int64_t stride = w->n_to * JF_LANES;
  for (int t = 0; t < n; t++) {
    const spot s = spot_of(w, first + t);
    for (int64_t c = 0; c < w->n_to; c++) {
      float *to = d + t * stride + c * JF_LANES;
      vec cell[16], half[4 * SIDE];
      const float *plane = w->dto + (s.image * w->n_to + c) * w->rows * w->columns * JF_LANES;
      winograd_load(plane, w->rows, w->columns, s.y, s.x, out, cell);
      for (int i = 0; i < out; i++) interpolate(cell + i * out, out, half + i * SIDE, SIDE);
      for (int j = 0; j < SIDE; j++) {
        vec x[4], line[SIDE];
        for (int i = 0; i < out; i++) x[i] = half[i * SIDE + j];
        interpolate(x, out, line, SIDE);
        for (int i = 0; i < SIDE; i++)
          _mm512_storeu_ps(to + (i * SIDE + j) * apart, line[i]);
      }
    }
  }
}

/* Of two numbers, of which one is a NaN, the instructions give the second. */
INNER vec bounded(vec y, vec low, vec high)
{
  return _mm512_max_ps(low, _mm512_min_ps(high, y));
}

/* Stores a result if it is within the plane. */
INNER void put(const winograd *w, int64_t channel, spot s, int i, int j, vec y)
{
  if (s.y + i >= w->rows || s.x + j >= w->columns) return;
  const int64_t at = ((s.image * w->n_to + channel) * w->rows + s.y + i) * w->columns + s.x + j;
  if (w->bias) y = y + _mm512_loadu_ps(w->bias + channel * JF_LANES);
  if (w->residual) y = y + _mm512_loadu_ps(w->residual + at * JF_LANES);
  y = bounded(y, _mm512_set1_ps(w->low), _mm512_set1_ps(w->high));
  _mm512_storeu_ps(w->to + at * JF_LANES, y);
}

/* Transforms m[cell][tile][column] back; m has `width` channels, from block `channel` on. */
INNER void transform_output(const winograd *w, int64_t first, int n, int64_t channel, int width,
                            int out, int side, const float *m)
{
  for (int t = 0; t < n; t++) {
    const spot s = spot_of(w, first + t);
    for (int c = 0; c < width; c++) {
      vec half[4 * SIDE];
      const float *in = m + t * WIDE + c * JF_LANES;
      for (int j = 0; j < side; j++) {
        vec x[SIDE];
        for (int i = 0; i < side; i++) x[i] = _mm512_loadu_ps(in + (i * side + j) * pitch(w, WIDE));
        for (int k = 0; k < out; k++) half[k * side + j] = evaluate(x, k, out, side);
      }
      for (int i = 0; i < out; i++)
        for (int j = 0; j < out; j++)
          put(w, channel + c, s, i, j, evaluate(half + i * side, j, out, side));
    }
  }
}

/* ---- products ---- */

/* A product of `rows` by `width` vectors, summed over n. Element (row, i) of a is a[row * a_row + i
   * a_n]. */
typedef struct winograd_product {
  const float *a, *b;
  float *c;
  int64_t a_row, a_n, b_n, c_row, n;
  const float *soon;           /* of ROWS rows: n cache lines that are read soon */
} winograd_product;

INNER void winograd_multiply(const winograd_product *p, int rows, int width, int add)
{
  vec sum[ROWS * 4];
  for (int r = 0; r < rows; r++)
    for (int j = 0; j < width; j++)
      sum[r * width + j] = add ? _mm512_loadu_ps(p->c + r * p->c_row + j * JF_LANES)
                               : _mm512_setzero_ps();
  const float *a = p->a, *b = p->b;
  for (int64_t i = 0; i < p->n; i++, a += p->a_n, b += p->b_n) {
    vec line[4];
    if (rows == ROWS) _mm_prefetch(p->soon + i * JF_LANES, _MM_HINT_T1);
    for (int j = 0; j < width; j++) line[j] = _mm512_loadu_ps(b + j * JF_LANES);
    for (int r = 0; r < rows; r++) {
      const vec x = _mm512_set1_ps(a[r * p->a_row]);
      for (int j = 0; j < width; j++)
        sum[r * width + j] = _mm512_fmadd_ps(x, line[j], sum[r * width + j]);
    }
  }
  for (int r = 0; r < rows; r++)
    for (int j = 0; j < width; j++)
      _mm512_storeu_ps(p->c + r * p->c_row + j * JF_LANES, sum[r * width + j]);
}

/* The extents are constants, so that the compiler keeps the sums in registers. */
#define PRODUCT(id, rows, add)                                                \
  OUTER void id(const winograd_product *p, int width)                         \
  {                                                                           \
    switch (width) {                                                          \
    case 1: winograd_multiply(p, rows, 1, add); break;                        \
    case 2: winograd_multiply(p, rows, 2, add); break;                        \
    case 3: winograd_multiply(p, rows, 3, add); break;                        \
    default: winograd_multiply(p, rows, 4, add); break;                       \
    }                                                                         \
  }
PRODUCT(winograd_product_of, ROWS, 0)
PRODUCT(first_product, 4, 0)
PRODUCT(add_product, 4, 1)

/* ---- memory ---- */

/* How many floats u has. */
static size_t u_size(const winograd *w)
{
  return (size_t)(tile_cells(w) * w->n_from * w->n_to) * JF_LANES * JF_LANES;
}

/* How many floats a lane needs for a batch before the product, and after it. */
static size_t room_size(const winograd *w)
{
  return (size_t)(tile_cells(w) * (pitch(w, w->n_from * JF_LANES) + pitch(w, WIDE)));
}

/* ---- forward, and the gradient for the input ---- */

static int width_at(const winograd *w, int64_t channel)
{
  const int64_t left = w->n_to - channel;
  return left < WIDE / JF_LANES ? (int)left : WIDE / JF_LANES;
}

/* Multiplies n tiles by the filters of blocks o..o + 3, and transforms the products back. */
OUTER void multiply_tiles(const winograd *w, int64_t first, int n, int64_t o, const float *v,
                          float *m)
{
  const int64_t from = w->n_from * JF_LANES;
  const int width = width_at(w, o);
  const float *u = w->u + o * tile_cells(w) * from * JF_LANES;
  for (int k = 0; k < tile_cells(w); k++) {
    const float *next = u + (int64_t)width * from * JF_LANES;
    for (int t = 0; t < n; t += ROWS) {
      const winograd_product p = {
        .a = v + k * pitch(w, from) + t * from, .a_row = from, .a_n = 1, .b = u,
        .b_n = width * JF_LANES, .c = m + k * pitch(w, WIDE) + t * WIDE, .c_row = WIDE, .n = from,
        .soon = next + t / ROWS % width * from * JF_LANES
      };
      winograd_product_of(&p, width);
    }
    u = next;
  }
  if (w->side == SMALL) transform_output(w, first, n, o, width, 2, SMALL, m);
  else if (w->out == 2) transform_output(w, first, n, o, width, 2, SIDE, m);
  else transform_output(w, first, n, o, width, 4, SIDE, m);
}

OUTER void convolve_batch(void *ctx, int i, int worker)
{
  const winograd *w = ctx;
  const int64_t from = w->n_from * JF_LANES, first = i * w->span, left = w->tiles - first;
  const int n = (int)(left < w->span ? left : w->span);
  float *v = w->room + (size_t)worker * w->room_size;
  transform_input(w, first, n, pitch(w, from), v, SIDE);
  for (int64_t o = 0; o < w->n_to; o += WIDE / JF_LANES)
    multiply_tiles(w, first, n, o, v, v + CELLS * pitch(w, from));
}

/* Small tiles are few, and the filters large: all are transformed first, then each lane reads a
   share of the filters; lanes that have the same share have their own tiles. */
OUTER void small_input(void *ctx, int i)
{
  const winograd *w = ctx;
  const int64_t from = w->n_from * JF_LANES, first = i * ROWS, left = w->tiles - first;
  transform_input(w, first, (int)(left < ROWS ? left : ROWS), pitch(w, from),
                  w->room + first * from, SMALL);
}

static int64_t small_shares(const winograd *w) { return jf_parts(w->n_to, WIDE / JF_LANES); }

static void small_output(void *ctx, int i, int worker)
{
  const winograd *w = ctx;
  const int64_t from = w->n_from * JF_LANES, shares = small_shares(w);
  const int64_t first = i / shares * w->span, left = w->tiles - first;
  float *m = w->room + tile_cells(w) * pitch(w, from);
  multiply_tiles(w, first, (int)(left < w->span ? left : w->span),
                 i % shares * (WIDE / JF_LANES), w->room + first * from,
                 m + (size_t)worker * w->room_size);
}

static void convolve_small(const jf_kargs *k, winograd *w)
{
  const int64_t shares = small_shares(w), lanes = (w->lanes + shares - 1) / shares;
  w->span = jf_parts(jf_parts(w->tiles, lanes), ROWS) * ROWS;
  jf_parallel(k->threads, jf_parts(w->tiles, ROWS), small_input, w);
  jf_parallel_workers(k->threads, (int)shares * jf_parts(w->tiles, w->span), small_output, w);
}

/* Transposes a block of a filter's channels, 16 x 16: out[i][j] = in[j][i]. */
INNER void turn(const float *in, float *out)
{
  for (int i = 0; i < JF_LANES; i++)
    for (int j = 0; j < JF_LANES; j++) out[i * JF_LANES + j] = in[j * JF_LANES + i];
}

/* u[block of 64 `to`][cell][from][to] of one block of `from` and one of `to`. */
INNER void transform_filter(const winograd *w, int64_t from, int64_t to, int taps, int side)
{
  const int64_t group = to / 4 * 4, place = to % 4;
  const int width = width_at(w, group), all = taps * taps;
  const float *f = w->filter + (w->turned ? from * w->n_to + to : to * w->n_from + from) * all *
                   JF_LANES * JF_LANES;
  const float *by = side == SMALL ? small_weight : weight;
  float *u = w->u + group * side * side * w->n_from * JF_LANES * JF_LANES + place * JF_LANES;
  float turned[25 * JF_LANES * JF_LANES];
  if (w->turned) {
    for (int k = 0; k < all; k++)
      turn(f + (all - 1 - k) * JF_LANES * JF_LANES, turned + k * JF_LANES * JF_LANES);
    f = turned;
  }
  for (int c = 0; c < JF_LANES; c++) {
    vec half[5 * SIDE];
    for (int i = 0; i < taps; i++) {
      vec x[5];
      for (int j = 0; j < taps; j++)
        x[j] = _mm512_loadu_ps(f + ((i * taps + j) * JF_LANES + c) * JF_LANES);
      interpolate(x, taps, half + i * side, side);
    }
    for (int j = 0; j < side; j++) {
      vec x[5], y[SIDE];
      for (int i = 0; i < taps; i++) x[i] = half[i * side + j];
      interpolate(x, taps, y, side);
      for (int i = 0; i < side; i++) {
        const int64_t at = (i * side + j) * w->n_from * JF_LANES + from * JF_LANES + c;
        _mm512_storeu_ps(u + at * width * JF_LANES, y[i] * _mm512_set1_ps(by[i] * by[j]));
      }
    }
  }
}

OUTER void filter_part(void *ctx, int i)
{
  const winograd *w = ctx;
  if (w->taps == 5) transform_filter(w, i % w->n_from, i / w->n_from, 5, SIDE);
  else if (w->side == SMALL) transform_filter(w, i % w->n_from, i / w->n_from, 3, SMALL);
  else transform_filter(w, i % w->n_from, i / w->n_from, 3, SIDE);
}

static void transform_filters(winograd *w, int threads)
{
  jf_parallel(threads, (int)(w->n_from * w->n_to), filter_part, w);
}

/* Cuts the tiles into batches so that each lane gets about as many. Results of a tile do not depend
   on its batch. */
static jfl_status convolve(const jf_kargs *k, winograd *w)
{
  const int64_t turns = (w->tiles + (int64_t)w->lanes * BATCH - 1) / ((int64_t)w->lanes * BATCH);
  const int64_t share = (w->tiles + w->lanes * turns - 1) / (w->lanes * turns);
  w->span = (share + ROWS - 1) / ROWS * ROWS;
  w->u = w->packed ? (float *)w->filter : k->scratch;
  w->room = w->packed ? k->scratch : w->u + u_size(w);
  w->room_size = room_size(w);
  if (!w->packed) transform_filters(w, k->threads);
  if (w->side == SMALL) convolve_small(k, w);
  else jf_parallel_workers(k->threads, jf_parts(w->tiles, w->span), convolve_batch, w);
  return JFL_OK;
}

/* ---- the gradient for the filters ---- */

/* Transforms group i of a chunk's tiles. */
OUTER void transform_part(void *ctx, int i)
{
  const winograd *w = ctx;
  const int64_t from = w->n_from * JF_LANES, to = w->n_to * JF_LANES;
  const int64_t first = w->first + i * GROUP, left = w->end - first;
  const int n = (int)(left < GROUP ? left : GROUP);
  const int64_t apart = pitch_of(w->span, from), apart_d = pitch_of(w->span, to);
  float *d = w->d + i * GROUP * to;
  transform_input(w, first, n, apart, w->v + i * GROUP * from, SIDE);
  if (w->out == 2) transform_gradient(w, first, n, 2, apart_d, d);
  else transform_gradient(w, first, n, 4, apart_d, d);
}

/* Adds the products of a chunk to u[cell][from][to], for a cell and 64 of `to`. Sums are made in
   the order of tiles, so they do not depend on the number of threads. */
OUTER void gather_part(void *ctx, int i)
{
  const winograd *w = ctx;
  const int64_t from = w->n_from * JF_LANES, to = w->n_to * JF_LANES, n = w->end - w->first;
  const int64_t k = i % CELLS, o = i / CELLS * (WIDE / JF_LANES);
  const float *v = w->v + k * pitch_of(w->span, from);
  const float *d = w->d + k * pitch_of(w->span, to) + o * JF_LANES;
  float *u = w->u + k * from * to + o * JF_LANES;
  for (int64_t t = 0; t < n; t += DEEP)
    for (int64_t c = 0; c < from; c += 4) {
      const winograd_product p = { v + t * from + c, d + t * to, u + c * to, 1, from, to, to,
                                   n - t < DEEP ? n - t : DEEP, NULL };
      if (w->first + t) add_product(&p, width_at(w, o));
      else first_product(&p, width_at(w, o));
    }
}

/* Gives the filters' gradient of one block of `from` and one of `to`. `evaluate` serves, as it is
   the transpose of `interpolate`. */
INNER void transform_back(const winograd *w, int64_t from, int64_t to, int taps)
{
  const int64_t n_from = w->n_from * JF_LANES, n_to = w->n_to * JF_LANES;
  for (int c = 0; c < JF_LANES; c++) {
    vec half[5 * SIDE];
    for (int j = 0; j < SIDE; j++) {
      vec x[SIDE];
      for (int i = 0; i < SIDE; i++)
        x[i] = _mm512_loadu_ps(w->u + ((i * SIDE + j) * n_from + from * JF_LANES + c) * n_to +
                               to * JF_LANES) *
               _mm512_set1_ps(weight[i] * weight[j]);
      for (int k = 0; k < taps; k++) half[k * SIDE + j] = evaluate(x, k, taps, SIDE);
    }
    float *f = w->dfilter + (to * w->n_from + from) * taps * taps * JF_LANES * JF_LANES;
    for (int i = 0; i < taps; i++)
      for (int j = 0; j < taps; j++)
        _mm512_storeu_ps(f + ((i * taps + j) * JF_LANES + c) * JF_LANES,
                         evaluate(half + i * SIDE, j, taps, SIDE));
  }
}

OUTER void back_part(void *ctx, int i)
{
  const winograd *w = ctx;
  if (w->taps == 5) transform_back(w, i % w->n_from, i / w->n_from, 5);
  else transform_back(w, i % w->n_from, i / w->n_from, 3);
}

/* Gives dbias of one block: sums down the images, then over lines of vectors. */
OUTER void bias_part(void *ctx, int i)
{
  const winograd *w = ctx;
  const int64_t plane = w->rows * w->columns;
  vec sum = _mm512_setzero_ps();
  for (int64_t n = 0; n < w->batch; n++) {
    const float *d = w->dto + (n * w->n_to + i) * plane * JF_LANES;
    vec some = _mm512_setzero_ps();
    for (int64_t j = 0; j < plane; j++) some = some + _mm512_loadu_ps(d + j * JF_LANES);
    sum = sum + some;
  }
  _mm512_storeu_ps(w->dbias + i * JF_LANES, sum);
}

static jfl_status winograd_gather(const jf_kargs *k, winograd *w)
{
  const int columns = jf_parts(w->n_to, WIDE / JF_LANES);
  w->u = k->scratch;
  w->v = w->u + u_size(w);
  w->d = w->v + CELLS * pitch_of(w->span, w->n_from * JF_LANES);
  for (w->first = 0; w->first < w->tiles; w->first = w->end) {
    w->end = w->first + w->span < w->tiles ? w->first + w->span : w->tiles;
    jf_parallel(k->threads, jf_parts(w->end - w->first, GROUP), transform_part, w);
    jf_parallel(k->threads, CELLS * columns, gather_part, w);
  }
  jf_parallel(k->threads, (int)(w->n_from * w->n_to), back_part, w);
  if (w->dbias) jf_parallel(k->threads, (int)w->n_to, bias_part, w);
  return JFL_OK;
}

/* ---- rows ---- */

/* How many direct products each pair of channels must have so that transforming the filters pays
   off, and how many where they are transformed once for many runs. Measured. */
enum { LEAST = 7000, LEAST_PACKED = 400 };

/* Whether the filters of a forward call are transformed before all runs, or can be. */
static int forward_packs(const jf_kargs *k) { return k->in[1].layout.kind != JF_LAYOUT_PLAIN; }

/* Whether this file serves a convolution of those filters and results; if not, the library
   does. */
static int serves(const jf_kargs *k, const jf_tensor *f, const jf_tensor *y, int64_t least)
{
  const jf_conv *a = k->attr;
  const int64_t *d = f->shape.d;
  if (k->in[0].dtype != JFL_F32 || a->block != JF_LANES || !a->block_x || !a->block_y || !a->packed)
    return 0;
  if (f->shape.n != 6 || d[2] != d[3] || (d[2] != 3 && d[2] != 5) || a->groups != 1) return 0;
  for (int i = 0; i < 2; i++) {
    if (a->stride[1 + i] != 1 || a->dilation[1 + i] != 1) return 0;
    if (d[i] * JF_LANES > MOST_CHANNELS) return 0;
  }
  return jf_has_avx512() && y->shape.d[0] * y->shape.d[2] * y->shape.d[3] * d[2] * d[3] >= least;
}

/* Cuts the results into tiles. */
static void winograd_cut(winograd *w, int side)
{
  w->side = side;
  w->out = side + 1 - w->taps;
  w->down = (w->rows + w->out - 1) / w->out;
  w->across = (w->columns + w->out - 1) / w->out;
  w->tiles = w->batch * w->down * w->across;
  w->most = side == SMALL ? (w->tiles + ROWS - 1) / ROWS * ROWS : BATCH;
}

static winograd winograd_describe(const jf_kargs *k, const jf_tensor *from, const jf_tensor *f,
                         const jf_tensor *to)
{
  const jf_conv *a = k->attr;
  const int64_t *in = from->shape.d, *out = to->shape.d;
  winograd w = {
    .taps = (int)f->shape.d[2], .batch = in[0], .height = in[2], .width = in[3], .rows = out[2],
    .columns = out[3], .top = a->pad[2], .left = a->pad[4], .n_from = in[1], .n_to = out[1],
    .from = from->data, .filter = f->data, .to = to->data, .low = -INFINITY,
    .high = INFINITY, .lanes = k->threads
  };
  winograd_cut(&w, SIDE);
  return w;
}

/* Sets the bytes of scratch: for lanes, and for filters that are transformed in each run. */
static void scratch_for(jf_kargs *k, const winograd *w, int filters)
{
  const size_t lanes = (size_t)w->lanes * room_size(w);
  k->scratch_size = (lanes + (filters ? u_size(w) : 0)) * sizeof(float);
}

/* Whether the activation, or NULL, just keeps results between bounds; sets these. */
static int winograd_bounds(const char *act, winograd *w)
{
  if (!act) return 1;
  const jfl_op *op = jf_activation(act);
  w->low = (float)op->bounds.low;
  w->high = (float)op->bounds.high;
  return w->low < w->high;
}

static int forward_accepts(const jf_kargs *k)
{
  const int packs = forward_packs(k) && k->in[1].shape.d[2] == 3;
  winograd w;
  return winograd_bounds(((const jf_conv *)k->attr)->epilogue.act, &w) &&
         serves(k, &k->in[1], &k->out[0], packs ? LEAST_PACKED : LEAST);
}

static winograd forward_of(const jf_kargs *k)
{
  const jf_epilogue *e = &((const jf_conv *)k->attr)->epilogue;
  winograd w = winograd_describe(k, &k->in[0], &k->in[1], &k->out[0]);
  w.bias = jf_epilogue_bias(k, e);
  w.residual = jf_epilogue_residual(k, e);
  winograd_bounds(e->act, &w);
  w.packed = k->in[1].layout.kind == JF_LAYOUT_PACKED;
  if (forward_packs(k) && w.taps == 3 && w.tiles < FEW) winograd_cut(&w, SMALL);
  return w;
}

/* The state of a call whose filters are packed says how. */
static jfl_status forward_prepare(jf_kargs *k)
{
  const winograd w = forward_of(k);
  scratch_for(k, &w, !forward_packs(k));
  if (!forward_packs(k)) return JFL_OK;
  winograd *state = k->state = jf_new(sizeof w);
  if (!state) return jf_fail(JFL_ENOMEM, "out of memory");
  *state = w;
  k->in[1].layout.kind = JF_LAYOUT_PACKED;
  k->in[1].layout.size = u_size(&w) * sizeof(float);
  const int64_t read[] = { w.taps, w.side, w.n_from, w.n_to };         /* by transform_filters */
  k->in[1].layout.form = jf_hash(4, read, sizeof read);
  return JFL_OK;
}

static jfl_status forward_pack(const jf_kargs *k)
{
  winograd w = *(const winograd *)k->state;
  w.filter = k->in[0].data;
  w.u = k->out[0].data;
  transform_filters(&w, k->threads);
  return JFL_OK;
}

static void forward_release(void *state) { jf_free(state); }

static jfl_status winograd_forward_run(const jf_kargs *k)
{
  winograd w = forward_of(k);
  return convolve(k, &w);
}

static int data_accepts(const jf_kargs *k)
{
  const jf_conv *a = k->attr;
  return serves(k, &k->in[0], &k->in[1], LEAST) && a->pad[2] < k->in[0].shape.d[2] &&
         a->pad[4] < k->in[0].shape.d[2];
}

/* dx is a convolution of dy, whose padding is the reach of the filters minus the padding of x. */
static winograd winograd_data_of(const jf_kargs *k)
{
  winograd w = winograd_describe(k, &k->in[1], &k->in[0], &k->out[0]);
  w.turned = 1;
  w.top = w.taps - 1 - w.top;
  w.left = w.taps - 1 - w.left;
  return w;
}

static jfl_status data_prepare(jf_kargs *k)
{
  const winograd w = winograd_data_of(k);
  scratch_for(k, &w, 1);
  return JFL_OK;
}

static jfl_status data_run(const jf_kargs *k)
{
  winograd w = winograd_data_of(k);
  return convolve(k, &w);
}

static int filter_accepts(const jf_kargs *k)
{
  return serves(k, &k->out[0], &k->in[1], LEAST);
}

static winograd filter_of(const jf_kargs *k)
{
  winograd w = winograd_describe(k, &k->in[0], &k->out[0], &k->in[1]);
  w.dto = k->in[1].data;
  w.dfilter = k->out[0].data;
  if (k->n_out > 1) w.dbias = k->out[1].data;
  const int64_t most = CHUNK / (CELLS * (w.n_from + w.n_to) * JF_LANES);
  w.span = most > DEEP ? most / DEEP * DEEP : DEEP;
  if (w.span > w.tiles) w.span = w.tiles;
  return w;
}

static jfl_status filter_prepare(jf_kargs *k)
{
  const winograd w = filter_of(k);
  const int64_t tiles = pitch_of(w.span, w.n_from * JF_LANES) + pitch_of(w.span, w.n_to * JF_LANES);
  k->scratch_size = (u_size(&w) + CELLS * (size_t)tiles) * sizeof(float);
  return JFL_OK;
}

static jfl_status filter_run(const jf_kargs *k)
{
  winograd w = filter_of(k);
  return winograd_gather(k, &w);
}

#else

static int winograd_none(const jf_kargs *k) { (void)k; return 0; }
#define forward_accepts winograd_none
#define data_accepts winograd_none
#define filter_accepts winograd_none
#define forward_prepare NULL
#define forward_pack NULL
#define forward_release NULL
#define winograd_forward_run NULL
#define data_prepare NULL
#define data_run NULL
#define filter_prepare NULL
#define filter_run NULL

#endif

JFL_CPU(winograd_conv2d, .op = "conv2d conv2d_fused", .accepts = forward_accepts,
  .prepare = forward_prepare, .run = winograd_forward_run, .pack = forward_pack,
  .release = forward_release, .priority = JF_SHAPED, .indirect = 1)
JFL_CPU(winograd_conv2d_data_grad, .op = "conv2d_data_grad", .accepts = data_accepts,
  .prepare = data_prepare, .run = data_run, .priority = JF_SHAPED, .indirect = 1)
JFL_CPU(winograd_conv2d_filter_grad, .op = "conv2d_filter_grad", .accepts = filter_accepts,
  .prepare = filter_prepare, .run = filter_run, .priority = JF_SHAPED, .indirect = 1)
