/* Products with weights that are stored in few bits. Rows of x are rounded to int8, 32 numbers with
   a scale of their own, so that the products are those of bytes; rows of weights are read once for
   up to four rows of x. For one row of x the speed is that of memory.

   An x becomes d q with |x - d q| <= d / 2, where d is the largest magnitude of its 32 over 127. So
   a result differs from the exact product by at most the sum of |w| d / 2. Weights in floats of 16
   bits are multiplied in float32, and nothing is rounded. */
#include "op/quantized.h"
#include "vector.h"

#include <math.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { GROUP = 32, MOST_ROWS = 4, MOST_LINES = 8 };

/* Some rows of x: of each group its bytes, scale, and scale times the bytes' sum; and where the
   results of the first row go. */
typedef struct rows { const int8_t *q; const float *d, *sum; int64_t groups; float *y; } rows;

/* y (m, n) = x (m, k) w^T: w has n rows of so many blocks. Parts are `span` rows of w. */
typedef struct product {
  const float *x;
  const void *w;
  float *y;
  int64_t m, n, k, blocks, span;
  int8_t *q;
  float *d, *sum;
  jfl_dtype dtype;
} product;

static inline rows rows_from(const product *p, int64_t i)
{
  const int64_t g = p->k / GROUP;
  return (rows){ p->q + i * p->k, p->d + i * g, p->sum + i * g, g, p->y + i * p->n };
}

/* A group with a number that is not finite gets a scale that is none, which all results show. */
JF_BODY void rounded_body(void *ctx, int row)
{
  const product *p = ctx;
  const int64_t groups = p->k / GROUP;
  for (int64_t j = 0; j < groups; j++) {
    const float *x = p->x + row * p->k + j * GROUP;
    int8_t *q = p->q + row * p->k + j * GROUP;
    float most = 0, strange = 0;
    int sum = 0;
    for (int i = 0; i < GROUP; i++) {
      most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
      strange += x[i] * 0;
    }
    const float by = strange == 0 && most > 1e-30f ? 127 / most : 0;
    for (int i = 0; i < GROUP; i++) {
      /* Adding 1.5 x 2^23 leaves the nearest whole number in the low bits. */
      const float v = (strange == 0 ? x[i] : 0) * by + 0x1.8p23f;
      int32_t bits;
      memcpy(&bits, &v, sizeof bits);
      q[i] = (int8_t)bits;
      sum += q[i];
    }
    const float d = strange != 0 ? NAN : by > 0 ? most / 127 : 0;
    p->d[row * groups + j] = d;
    p->sum[row * groups + j] = d * (float)sum;
  }
}
JF_WIDE_VARIANTS(rounded)

/* Unrolled, so that sums stay in registers. */
#define EACH_ROW _Pragma("GCC unroll 4") for (int i = 0; i < n; i++)
#define EACH_LINE _Pragma("GCC unroll 8") for (int l = 0; l < lines; l++)

/* Asks for a block of lines to come: rows are so short that the processor does not see them coming.
   Behind the last row nothing is read. */
static inline __attribute__((always_inline)) void fetch(const void *p, size_t size)
{
  __builtin_prefetch(p);
  if (size > 64) __builtin_prefetch((const char *)p + 64);
  if (size > 128) __builtin_prefetch((const char *)p + 128);
}

#define AVX2 "avx2,fma,f16c"
#define VNNI AVX2 ",avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"

#define NAME(x) x##_avx2
#define TARGET __attribute__((target(AVX2)))
#define IN static inline __attribute__((always_inline, target(AVX2)))
#define DOTS(u, s) _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), _mm256_set1_epi16(1))
#include "quantized_loops.h"
#undef NAME
#undef TARGET
#undef IN
#undef DOTS

#define NAME(x) x##_vnni
#define TARGET __attribute__((target(VNNI)))
#define IN static inline __attribute__((always_inline, target(VNNI)))
#define DOTS(u, s) _mm256_dpbusd_epi32(_mm256_setzero_si256(), u, s)
#include "quantized_loops.h"
#undef NAME
#undef TARGET
#undef IN
#undef DOTS

/* ---- floats of 16 bits ---- */

#define HALF_IN static inline __attribute__((always_inline, target(AVX2)))
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

/* y[row + i, r] for n rows of x. */
HALF_IN void half_line(const product *p, int64_t row, int n, int64_t r, int is_f16)
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
  EACH_ROW p->y[(row + i) * p->n + r] = total_avx2(_mm256_add_ps(sum[0][i], sum[1][i])) + rest[i];
}

HALF_IN void half_part(const product *p, int part, int is_f16)
{
  const int64_t from = jf_from(part, p->span), to = jf_to(part, p->span, p->n);
  int64_t i = 0;
  for (; i + MOST_ROWS <= p->m; i += MOST_ROWS)
    for (int64_t r = from; r < to; r++) half_line(p, i, MOST_ROWS, r, is_f16);
  for (; i < p->m; i++)
    for (int64_t r = from; r < to; r++) half_line(p, i, 1, r, is_f16);
}

__attribute__((target(AVX2))) static void f16_part(void *ctx, int i) { half_part(ctx, i, 1); }
__attribute__((target(AVX2))) static void bf16_part(void *ctx, int i) { half_part(ctx, i, 0); }

/* ---- the row ---- */

/* What has AVX2 has conversions of float16, too. */
static int quantized_accepts(const jf_kargs *k)
{
  (void)k;
  return jf_has_avx2();
}

static product quantized_measure(const jf_kargs *k)
{
  const jf_tensor *w = &k->in[1];
  product p = { .x = k->in[0].data, .w = w->data, .y = k->out[0].data, .n = w->shape.d[0],
                .k = jf_stored_width(w), .blocks = w->shape.d[1], .dtype = w->dtype };
  p.m = jf_numel(&k->out[0].shape) / p.n;
  p.span = (JF_PART / p.k + MOST_LINES) / MOST_LINES * MOST_LINES;
  p.d = k->scratch;
  p.sum = p.d + p.m * p.k / GROUP;
  p.q = (int8_t *)(p.sum + p.m * p.k / GROUP);
  return p;
}

static jfl_status quantized_prepare(jf_kargs *k, size_t *scratch)
{
  const product p = quantized_measure(k);
  const size_t groups = (size_t)(p.m * p.k / GROUP);
  if (jf_is_block(p.dtype)) *scratch = groups * (GROUP + 2 * sizeof(float));
  return JFL_OK;
}

static jf_part quantized_part(jfl_dtype t)
{
  const int has_vnni = jf_has_avx512() && __builtin_cpu_supports("avx512vnni");
  if (t == JFL_F16) return f16_part;
  if (t == JFL_BF16) return bf16_part;
  return has_vnni ? part_for_vnni(t) : part_for_avx2(t);
}

static jfl_status quantized_run(const jf_kargs *k)
{
  product p = quantized_measure(k);
  if (jf_is_block(p.dtype)) jf_run_parts(k, (int)p.m, rounded(), &p);
  jf_run_parts(k, jf_parts(p.n, p.span), quantized_part(p.dtype), &p);
  return JFL_OK;
}

#else

static int quantized_accepts(const jf_kargs *k) { (void)k; return 0; }
#define quantized_prepare NULL
#define quantized_run NULL

#endif

JFL_CPU(vec_quantized, .op = "quantized_matmul", .accepts = quantized_accepts,
        .prepare = quantized_prepare, .run = quantized_run, .priority = 30)
