/* Products with weights of 16 bits, which are multiplied in float32. Few rows of x go over rows of
   w as these lie. For many, 32 rows of w at a time become float32 and are turned, as the tiles of
   products read them (own/tile.h). */
#include "quantized.h"

#include "dev/number.h"
#include "own/tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { MOST_ROWS = 4, SPAN = 16, MANY = 16, MOST_VECTORS = 2, MOST_TILE = 14 };

/* ---- few rows of x ---- */

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define HALF_IN static inline __attribute__((always_inline)) AVX2
#define EACH_ROW _Pragma("GCC unroll 4") for (int i = 0; i < n; i++)

HALF_IN __m256 eight_halves(const uint16_t *w, int is_f16)
{
  const __m128i v = _mm_loadu_si128((const void *)w);
  if (is_f16) return _mm256_cvtph_ps(v);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

HALF_IN float one_half(const uint16_t *w, int is_f16)
{
  return is_f16 ? _cvtsh_ss(*w) : _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(*w << 16)));
}

HALF_IN float half_total(__m256 v)
{
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* y[row + i, r] for n rows of x. */
HALF_IN void half_line(const jf_quantized *p, int64_t row, int n, int64_t r, int is_f16)
{
  enum { STEP = 8 };
  const uint16_t *w = (const uint16_t *)p->w + r * p->k;
  const float *x = p->x + row * p->k;
  __m256 sum[2][MOST_ROWS] = { { { 0 } } };
  float rest[MOST_ROWS] = { 0 };
  int64_t j = 0;
  for (; j + 2 * STEP <= p->k; j += 2 * STEP)
    _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++) {
      const __m256 v = eight_halves(w + j + h * STEP, is_f16);
      EACH_ROW sum[h][i] = _mm256_fmadd_ps(v, _mm256_loadu_ps(x + i * p->k + j + h * STEP),
                                           sum[h][i]);
    }
  for (; j < p->k; j++) EACH_ROW rest[i] += one_half(w + j, is_f16) * x[i * p->k + j];
  EACH_ROW p->y[(row + i) * p->n + r] = half_total(_mm256_add_ps(sum[0][i], sum[1][i])) + rest[i];
}

HALF_IN void half_part(const jf_quantized *p, int part, int is_f16)
{
  const int64_t from = jf_from(part, p->span), to = jf_to(part, p->span, p->n);
  int64_t i = 0;
  for (; i + MOST_ROWS <= p->m; i += MOST_ROWS)
    for (int64_t r = from; r < to; r++) half_line(p, i, MOST_ROWS, r, is_f16);
  for (; i < p->m; i++)
    for (int64_t r = from; r < to; r++) half_line(p, i, 1, r, is_f16);
}

AVX2 static void f16_part(void *ctx, int i) { half_part(ctx, i, 1); }
AVX2 static void bf16_part(void *ctx, int i) { half_part(ctx, i, 0); }

/* ---- many rows of x ---- */

static int64_t lanes_up(int64_t n) { return (n + JF_LANES - 1) / JF_LANES * JF_LANES; }
static int64_t halves_least(int64_t a, int64_t b) { return a < b ? a : b; }
static int halves_tiles(const jf_quantized *p)
{
  return jf_parts(p->m, jf_own_loops()[0]->rows);
}

/* The first row of x in a tile: they are divided evenly. */
static int64_t first_row(const jf_quantized *p, int64_t tile)
{
  return p->m * tile / halves_tiles(p);
}

/* Packs a tile's rows of x: JF_LANES numbers of each, then the next ones of each. */
static void halves_pack(void *ctx, int tile)
{
  const jf_quantized *p = ctx;
  const int64_t first = first_row(p, tile), rows = first_row(p, tile + 1) - first;
  for (int64_t r = 0; r < rows; r++) {
    const float *from = p->x + (first + r) * p->k;
    float *to = p->lines + first * lanes_up(p->k) + r * JF_LANES;
    int64_t j = 0;
    for (; j + JF_LANES <= p->k; j += JF_LANES) memcpy(to + j * rows, from + j, sizeof(jf_vec));
    memcpy(to + j * rows, from + j, (size_t)(p->k - j) * sizeof *to);
  }
}

/* A stretch of rows of w, `lanes` of them, from number `from` on: to[j] has number j of each. */
static void halves_turn(const jf_quantized *p, int64_t r, int64_t lanes, int64_t from, int64_t n,
                      float *to)
{
  float row[JF_LANES][JF_CHUNK];
  const uint16_t *w = (const uint16_t *)p->w + r * p->k + from;
  for (int64_t l = 0; l < lanes; l++) jf_halves_get(p->dtype, w + l * p->k, row[l], n);
  jf_own_turn(row[0], JF_CHUNK, lanes, n, to);
}

/* Runs a tile of which the last vector has columns that y lacks. */
static void run_edge(const jf_own_loop *loop, jf_own_tile t, int rows, int64_t columns)
{
  enum { WIDE = MOST_VECTORS * JF_LANES };
  float edge[MOST_TILE * WIDE], *c = t.c;
  const size_t size = (size_t)columns * sizeof *edge;
  for (int r = 0; t.from && r < rows; r++) memcpy(edge + r * WIDE, c + r * t.c_row, size);
  if (t.from) t.from = edge;
  const int64_t c_row = t.c_row;
  t.c = edge;
  t.c_row = WIDE;
  loop->run(&t, JF_OWN_BY_ROWS, rows, jf_parts(columns, JF_LANES));
  for (int r = 0; r < rows; r++) memcpy(c + r * c_row, edge + r * WIDE, size);
}

/* Adds n products to the columns of y from r on. */
static void add_columns(const jf_quantized *p, const float *w, int64_t r, int64_t columns,
                        int64_t from, int64_t n)
{
  const jf_own_loop *loop = jf_own_loops()[0];
  for (int64_t tile = 0; tile < halves_tiles(p); tile++) {
    const int64_t first = first_row(p, tile), rows = first_row(p, tile + 1) - first;
    float *y = p->y + first * p->n + r;
    const jf_own_tile t = {
      .a = p->lines + first * lanes_up(p->k) + from * rows, .b = w, .c = y, .from = from ? y : NULL,
      .a_group = rows * JF_LANES, .a_next = 1, .b_group = JF_LANES * JF_LANES, .b_next = JF_LANES,
      .b_vec = n * JF_LANES, .c_row = p->n, .c_vec = JF_LANES, .groups = jf_parts(n, JF_LANES),
      .depth = JF_LANES, .last = (n - 1) % JF_LANES + 1
    };
    if (columns % JF_LANES) run_edge(loop, t, (int)rows, columns);
    else loop->run(&t, JF_OWN_BY_ROWS, (int)rows, (int)(columns / JF_LANES));
  }
}

static void halves_part(void *ctx, int part)
{
  const jf_quantized *p = ctx;
  const int64_t to = jf_to(part, p->span, p->n), wide = jf_own_loops()[0]->vectors * JF_LANES;
  float w[MOST_VECTORS * JF_LANES * JF_CHUNK];
  for (int64_t r = jf_from(part, p->span); r < to; r += wide)
    for (int64_t from = 0; from < p->k; from += JF_CHUNK) {
      const int64_t n = halves_least(p->k - from, JF_CHUNK), columns = halves_least(to - r, wide);
      for (int64_t v = 0; v < columns; v += JF_LANES)
        halves_turn(p, r + v, halves_least(columns - v, JF_LANES), from, n, w + v * n);
      add_columns(p, w, r, columns, from, n);
    }
}

/* ---- all ---- */

int64_t jf_halves_span(const jf_quantized *p)
{
  return p->m < MANY ? (JF_PART / p->k + SPAN) / SPAN * SPAN : MOST_VECTORS * JF_LANES;
}

size_t jf_halves_scratch(const jf_quantized *p)
{
  return p->m < MANY ? 0 : (size_t)(p->m * lanes_up(p->k)) * sizeof(float);
}

void jf_halves_run(const jf_kargs *k, jf_quantized *p)
{
  if (p->m >= MANY) jf_run_parts(k, halves_tiles(p), halves_pack, p);
  const jf_part few = p->dtype == JFL_F16 ? f16_part : bf16_part;
  jf_run_parts(k, jf_parts(p->n, p->span), p->m < MANY ? few : halves_part, p);
}

#endif
