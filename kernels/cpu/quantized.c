/* Products with weights that are stored in few bits. Rows of x are rounded to int8, 32 numbers with
   a scale of their own, so that the products are those of bytes (quantized_vnni.c,
   quantized_avx2.c). For one row of x the speed is that of memory.

   An x becomes d q with |x - d q| <= d / 2, where d is the largest magnitude of its 32 over 127. So
   a result differs from the exact product by at most the sum of |w| d / 2. Weights in floats of 16
   bits are multiplied in float32, and nothing is rounded. */
#include "quantized.h"

#include <math.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { MOST_ROWS = 4, SPAN = 16 };

enum { HALF = JF_GROUP / 2 };

/* The largest magnitude of a group; infinity, where a number is not finite. */
JF_BODY float most_of(const float *x)
{
  uint32_t most = 0;
  for (int i = 0; i < JF_GROUP; i++) {
    uint32_t bits;
    memcpy(&bits, x + i, sizeof bits);
    bits &= 0x7fffffff;
    most = bits > most ? bits : most;
  }
  most = most < 0x7f800000 ? most : 0x7f800000;
  float m;
  memcpy(&m, &most, sizeof m);
  return m;
}

/* Rounds half a group, gives its sum. */
JF_BODY int round_half(const float *x, float by, int8_t *q)
{
  int sum = 0;
  for (int i = 0; i < HALF; i++) {
    /* Adding 1.5 x 2^23 leaves the nearest whole number in the low bits. */
    const float v = x[i] * by + 0x1.8p23f;
    int32_t bits;
    memcpy(&bits, &v, sizeof bits);
    q[i] = (int8_t)bits;
    sum += q[i];
  }
  return sum;
}

/* A group with a number that is not finite gets a scale that is none, which all results show. */
JF_BODY void rounded_body(void *ctx, int row)
{
  const jf_quantized *p = ctx;
  const int64_t n_per = p->width / p->per;
  const float *x = p->x + row * p->k;
  int8_t *q = p->q + row * p->width;
  float *d = p->d + row * n_per, *sum = p->sum + row * n_per;
  for (int64_t j = 0; j < p->k; j += JF_GROUP) {
    const float most = most_of(x + j), by = most > 1e-30f && most < INFINITY ? 127 / most : 0;
    const float scale = most == INFINITY ? NAN : by > 0 ? most / 127 : 0;
    const int first = round_half(x + j, by, q + j), second = round_half(x + j + HALF, by,
                                                                        q + j + HALF);
    *d++ = scale;
    if (p->per == HALF) {
      *d++ = scale;
      *sum++ = scale * (float)first;
      *sum++ = scale * (float)second;
    } else {
      *sum++ = scale * (float)(first + second);
    }
  }
  const int64_t rest = p->width - p->k, n_rest = rest / p->per;
  memset(q + p->k, 0, (size_t)rest);
  memset(d, 0, (size_t)n_rest * sizeof *d);
  memset(sum, 0, (size_t)n_rest * sizeof *sum);
}
JF_VECTOR_VARIANTS(rounded)

/* ---- floats of 16 bits ---- */

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

/* MANY rows of x go over tiles of 16 rows of w, which become float32 first: w[j] has number j of
   each. Sums of LINES rows of x stay in registers. */
enum { MANY = 16, LINES = 6 };
typedef struct wide_tile { jf_vec w[JF_CHUNK]; } wide_tile;

AVX2 static void widen(const uint16_t *w, int64_t n, int is_f16, float *to)
{
  int64_t j = 0;
  for (; j + 8 <= n; j += 8) _mm256_storeu_ps(to + j, eight_halves(w + j, is_f16));
  for (; j < n; j++) to[j] = one_half(w + j, is_f16);
}

JF_BODY void widen_tile(const jf_quantized *p, int64_t r, int64_t from, int64_t n, wide_tile *to)
{
  float row[JF_CHUNK];
  for (int l = 0; l < JF_LANES; l++) {
    const int64_t at = r + l < p->n ? r + l : p->n - 1;
    widen((const uint16_t *)p->w + at * p->k + from, n, p->dtype == JFL_F16, row);
    for (int64_t j = 0; j < n; j++) ((float *)(void *)(to->w + j))[l] = row[j];
  }
}

/* Adds n numbers of so many rows of x times those of the tile, to the first `columns` of y. */
JF_BODY void add_lines(const jf_quantized *p, const wide_tile *w, const float *x, int64_t n,
                       int lines, float *y, int64_t columns, int adds)
{
  jf_vec s[LINES];
  for (int i = 0; i < lines; i++)
    if (adds) jf_load_part(y + i * p->n, columns, 0, &s[i]);
    else s[i] = (jf_vec){ 0 };
  for (int64_t j = 0; j < n; j++)
    _Pragma("GCC unroll 6") for (int i = 0; i < lines; i++) s[i] += x[i * p->k + j] * w->w[j];
  for (int i = 0; i < lines; i++) jf_store_part(y + i * p->n, columns, &s[i]);
}

JF_BODY void halves_body(void *ctx, int part)
{
  const jf_quantized *p = ctx;
  const int64_t to = jf_to(part, p->span, p->n);
  wide_tile w;
  for (int64_t r = jf_from(part, p->span); r < to; r += JF_LANES)
    for (int64_t from = 0; from < p->k; from += JF_CHUNK) {
      const int64_t n = p->k - from < JF_CHUNK ? p->k - from : JF_CHUNK;
      const int64_t columns = to - r < JF_LANES ? to - r : JF_LANES;
      const float *x = p->x + from;
      float *y = p->y + r;
      int64_t i = 0;
      widen_tile(p, r, from, n, &w);
      for (; i + LINES <= p->m; i += LINES)
        add_lines(p, &w, x + i * p->k, n, LINES, y + i * p->n, columns, from > 0);
      for (; i + 2 <= p->m; i += 2)
        add_lines(p, &w, x + i * p->k, n, 2, y + i * p->n, columns, from > 0);
      for (; i < p->m; i++) add_lines(p, &w, x + i * p->k, n, 1, y + i * p->n, columns, from > 0);
    }
}
JF_VECTOR_VARIANTS(halves)

/* ---- the row ---- */

/* What has AVX2 has conversions of float16, too. */
static int quantized_accepts(const jf_kargs *k)
{
  (void)k;
  return jf_has_avx2();
}

static jf_quantized quantized_measure(const jf_kargs *k)
{
  const jf_tensor *w = &k->in[1];
  jf_quantized p = { .x = k->in[0].data, .w = w->data, .y = k->out[0].data, .n = w->shape.d[0],
                     .k = jf_stored_width(w), .blocks = w->shape.d[1], .dtype = w->dtype };
  p.m = jf_numel(&k->out[0].shape) / p.n;
  p.is_packed = w->layout.kind == JF_LAYOUT_PACKED;
  p.span = (JF_PART / p.k + SPAN) / SPAN * SPAN;
  p.per = p.dtype == JFL_Q6_K && jf_has_vnni() ? HALF : JF_GROUP;
  p.width = (p.k + JF_CHUNK - 1) / JF_CHUNK * JF_CHUNK;
  p.q = k->scratch;
  p.d = (float *)(void *)(p.q + p.m * p.width);
  p.sum = p.d + p.m * p.width / p.per;
  return p;
}

static jfl_status quantized_prepare(jf_kargs *k, size_t *scratch)
{
  const jf_quantized p = quantized_measure(k);
  const size_t numbers = (size_t)(p.m * p.width);
  if (jf_is_block(p.dtype)) *scratch = numbers + 2 * sizeof(float) * numbers / (size_t)p.per;
  if (p.dtype != JFL_Q4_0 || k->in[1].layout.kind != JF_LAYOUT_ANY || !jf_has_vnni()) return JFL_OK;
  k->in[1].layout.kind = JF_LAYOUT_PACKED;
  k->in[1].layout.size = jf_quantized_pack_size(&p);
  k->in[1].layout.form = jf_hash_str(1, "q4_0");
  return JFL_OK;
}

static jfl_status quantized_pack(const jf_kargs *k)
{
  const jf_tensor *w = &k->in[0];
  jf_quantized p = { .w = w->data, .packed = k->out[0].data, .n = w->shape.d[0], .span = SPAN,
                     .blocks = w->shape.d[1] };
  jf_run_parts(k, jf_parts(p.n, p.span), jf_quantized_pack(), &p);
  return JFL_OK;
}

static jf_part quantized_part(const jf_quantized *p)
{
  if (!jf_is_block(p->dtype) && p->m >= MANY) return halves();
  if (p->dtype == JFL_F16) return f16_part;
  if (p->dtype == JFL_BF16) return bf16_part;
  return jf_has_vnni() ? jf_quantized_vnni(p) : jf_quantized_avx2(p);
}

static jfl_status quantized_run(const jf_kargs *k)
{
  jf_quantized p = quantized_measure(k);
  if (jf_is_block(p.dtype)) jf_run_parts(k, (int)p.m, rounded(), &p);
  jf_run_parts(k, jf_parts(p.n, p.span), quantized_part(&p), &p);
  return JFL_OK;
}

#else

static int quantized_accepts(const jf_kargs *k) { (void)k; return 0; }
#define quantized_prepare NULL
#define quantized_pack NULL
#define quantized_run NULL

#endif

JFL_CPU(vec_quantized, .op = "quantized_matmul", .accepts = quantized_accepts,
        .prepare = quantized_prepare, .pack = quantized_pack, .run = quantized_run,
        .priority = JF_SHAPED)
