/* Products with weights in blocks where the processor has AVX2 and no products of bytes. Rows of
   weights are read once for up to four rows of x. */
#include "quantized.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma,f16c")))
#define IN static inline __attribute__((always_inline)) TARGET

enum { MOST_ROWS = 4, MOST_LINES = 8 };

/* Some rows of x, and where the results of the first of them go. */
typedef struct rows {
  const int8_t *q;
  const float *d, *sum;
  int64_t width, groups;
  float *y;
} rows;

static inline rows rows_from(const jf_quantized *p, int64_t i)
{
  const int64_t g = p->width / JF_GROUP;
  return (rows){ p->q + i * p->width, p->d + i * g, p->sum + i * g, p->width, g, p->y + i * p->n };
}

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

IN __m256i load(const void *p) { return _mm256_loadu_si256(p); }

/* Sums of products of two times 32 bytes with signs; that of -128 is right as a w. */
IN __m256 signed_dots(__m256i w, __m256i x)
{
  return _mm256_cvtepi32_ps(_mm256_madd_epi16(
    _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w)), _mm256_set1_epi16(1)));
}

/* The low four bits of 16 bytes, then the high ones. */
IN __m256i nibbles(const uint8_t *p)
{
  const __m128i v = _mm_loadu_si128((const void *)p);
  return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(v, 4), v), _mm256_set1_epi8(15));
}

IN __m256 scale_of(uint16_t d) { return _mm256_set1_ps(_cvtsh_ss(d)); }

/* Adds to sum[i] the products of group j of row i of x and the 32 numbers w times `scale`. */
IN void add(const rows *x, int n, int64_t j, __m256i w, __m256 scale, __m256 *sum)
{
  EACH_ROW {
    const __m256 s = _mm256_mul_ps(scale, _mm256_set1_ps(x->d[i * x->groups + j]));
    const __m256 p = signed_dots(w, load(x->q + i * x->width + j * JF_GROUP));
    sum[i] = _mm256_fmadd_ps(s, p, sum[i]);
  }
}

IN void q8_0(const jf_q8_0 *b, const rows *x, int n, int64_t j, __m256 *sum)
{
  add(x, n, j, load(b->q), scale_of(b->d), sum);
}

IN void q4_0(const jf_q4_0 *b, const rows *x, int n, int64_t j, __m256 *sum)
{
  const __m256i w = _mm256_sub_epi8(nibbles(b->q), _mm256_set1_epi8(8));
  add(x, n, j, w, scale_of(b->d), sum);
}

/* Eight bytes as floats times d. */
IN __m256 eight(const uint32_t *p, uint16_t d)
{
  const __m128i v = _mm_loadl_epi64((const void *)p);
  return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(v)), scale_of(d));
}

/* The leasts are taken times the sums of the groups of x. */
IN void q4_k(const jf_q4_k *b, const rows *x, int n, int64_t j, __m256 *sum)
{
  const uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x30303030;
  uint32_t p[3];
  memcpy(p, b->part, sizeof p);
  const uint32_t s[2] = { p[0] & six, (p[2] & four) | (p[0] >> 2 & two) };
  const uint32_t m[2] = { p[1] & six, (p[2] >> 4 & four) | (p[1] >> 2 & two) };
  const __m256 least = eight(m, b->dmin);
  float scale[8];
  _mm256_storeu_ps(scale, eight(s, b->d));
  EACH_ROW sum[i] = _mm256_fnmadd_ps(least,
    _mm256_loadu_ps(x->sum + i * x->groups + j), sum[i]);
  _Pragma("GCC unroll 4") for (int g = 0; g < 4; g++) {
    const __m256i v = load(b->q + 32 * g), mask = _mm256_set1_epi8(15);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), mask);
    add(x, n, j + 2 * g, _mm256_and_si256(v, mask), _mm256_set1_ps(scale[2 * g]), sum);
    add(x, n, j + 2 * g + 1, high, _mm256_set1_ps(scale[2 * g + 1]), sum);
  }
}

/* Part g of the 32 numbers of a q6_k. */
IN __m256i six(const jf_q6_k *b, int g)
{
  const __m256i low = load(b->low + g / 4 * 64 + g % 2 * 32);
  const __m256i high = load(b->high + g / 4 * 32);
  const __m256i four = _mm256_srli_epi16(low, g % 4 / 2 * 4);
  const __m256i two = _mm256_srli_epi16(high, g % 4 * 2);
  const __m256i up = _mm256_slli_epi16(_mm256_and_si256(two, _mm256_set1_epi8(3)), 4);
  const __m256i q = _mm256_or_si256(_mm256_and_si256(four, _mm256_set1_epi8(15)), up);
  return _mm256_sub_epi8(q, _mm256_set1_epi8(32));
}

/* A scale belongs to 16 numbers, which are four of the eight sums. */
IN void q6_k(const jf_q6_k *b, const rows *x, int n, int64_t j, __m256 *sum)
{
  const float d = _cvtsh_ss(b->d);
  _Pragma("GCC unroll 8") for (int g = 0; g < 8; g++) {
    const __m128 first = _mm_set1_ps(d * (float)b->scale[2 * g]);
    const __m128 second = _mm_set1_ps(d * (float)b->scale[2 * g + 1]);
    add(x, n, j + g, six(b, g), _mm256_set_m128(second, first), sum);
  }
}

IN float total(__m256 v)
{
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* Adds the products of block b of w, whose first group is j, and n rows of x. t is constant where
   this is inlined. */
IN void add_form(jfl_dtype t, const void *b, const rows *x, int n, int64_t j, __m256 *sum)
{
  if (t == JFL_Q8_0) q8_0(b, x, n, j, sum);
  if (t == JFL_Q4_0) q4_0(b, x, n, j, sum);
  if (t == JFL_Q4_K) q4_k(b, x, n, j, sum);
  if (t == JFL_Q6_K) q6_k(b, x, n, j, sum);
}

IN size_t block_of(jfl_dtype t)
{
  return t == JFL_Q8_0 ? sizeof(jf_q8_0) : t == JFL_Q4_0 ? sizeof(jf_q4_0)
       : t == JFL_Q4_K ? sizeof(jf_q4_k) : sizeof(jf_q6_k);
}

/* y[i, r + l] of n rows of x and `lines` rows of w. */
IN void lines_tile(const jf_quantized *p, jfl_dtype t, const rows *x, int n, int64_t r, int lines)
{
  const size_t size = block_of(t), row = size * (size_t)p->blocks;
  const char *w = (const char *)p->w + (size_t)r * row;
  const int64_t each = t == JFL_Q4_K || t == JFL_Q6_K ? JF_CHUNK / JF_GROUP : 1;
  __m256 sum[MOST_LINES][MOST_ROWS] = { { { 0 } } };
  for (int64_t b = 0; b < p->blocks; b++)
    EACH_LINE {
      const char *at = w + (size_t)l * row + (size_t)b * size;
      fetch(at + (size_t)lines * row, size);
      add_form(t, at, x, n, b * each, sum[l]);
    }
  EACH_LINE
    EACH_ROW x->y[i * p->n + r + l] = total(sum[l][i]);
}

IN void tiles(const jf_quantized *p, jfl_dtype t, const rows *x, int n, int64_t r, int64_t end)
{
  const int most = n > 1 ? 2 : MOST_LINES;
  for (; r + most <= end; r += most) lines_tile(p, t, x, n, r, most);
  for (; r < end; r++) lines_tile(p, t, x, n, r, 1);
}

IN void avx2_tiles(const jf_quantized *p, jfl_dtype t, int part)
{
  const int64_t from = jf_from(part, p->span), to = jf_to(part, p->span, p->n);
  int64_t i = 0;
  for (; i + MOST_ROWS <= p->m; i += MOST_ROWS) {
    const rows x = rows_from(p, i);
    tiles(p, t, &x, MOST_ROWS, from, to);
  }
  for (; i < p->m; i++) {
    const rows x = rows_from(p, i);
    tiles(p, t, &x, 1, from, to);
  }
}

TARGET static void q8_0_part(void *ctx, int i) { avx2_tiles(ctx, JFL_Q8_0, i); }
TARGET static void q4_0_part(void *ctx, int i) { avx2_tiles(ctx, JFL_Q4_0, i); }
TARGET static void q4_k_part(void *ctx, int i) { avx2_tiles(ctx, JFL_Q4_K, i); }
TARGET static void q6_k_part(void *ctx, int i) { avx2_tiles(ctx, JFL_Q6_K, i); }

jf_part jf_quantized_avx2(const jf_quantized *p)
{
  return p->dtype == JFL_Q8_0 ? q8_0_part : p->dtype == JFL_Q4_0 ? q4_0_part
       : p->dtype == JFL_Q4_K ? q4_k_part : q6_k_part;
}

#endif
