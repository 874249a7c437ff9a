/* Loops of dropout. They draw the plain kernel's mask, several counters at a time. */
#include "op/dropout.h"

#include "functions.h"
#include "philox.h"
#include "vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LITTLE_ENDIAN_HOST = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };
enum { CHAINS = JF_PHILOX_CHAINS, GROUP = CHAINS * 32 };     /* elements drawn together */
typedef jf_philox_words words;
typedef jf_philox_halves halves;

/* The masks of elements j to j + GROUP - 1, of which a tensor's last ones may not be needed. The
   four masks of a counter are the bytes of one 32-bit word, the lowest first. */
JF_BODY void masks(const jf_loop_args *t, uint32_t threshold, int64_t j, int8_t out[GROUP])
{
  words w[4][CHAINS];
  jf_philox_draw(&t->random, (uint64_t)j / 4, w);
  for (int q = 0; q < CHAINS; q++) {
    words m = { 0 };
    for (int i = 0; i < 4; i++)
      m |= ((words)(w[i][q] >> 8 >= threshold) & 1) << 8 * (LITTLE_ENDIAN_HOST ? i : 3 - i);
    const halves h = __builtin_convertvector(m, halves);
    memcpy(out + 32 * q, &h, sizeof h);
  }
}

/* y = keep x where m is 1, else 0, for n elements. x and y may be the same memory. */
JF_BODY void fast_dropout_apply(const int8_t *m, const float *x, float *y, float keep, int64_t n)
{
  JF_EACH_ALONE for (int64_t j = 0; j < n; j++) y[j] = m[j] ? keep * x[j] : 0;
}

static float keep_of(const jf_loop_args *t)
{
  return (float)(1 / (1 - ((const jf_dropout *)t->attr)->rate));
}

/* Draws masks and applies them. The first group may begin between the elements of one counter. */
JF_BODY void draw_and_apply(const jf_loop_args *t, void (*draw_masks)(const jf_loop_args *t,
                            uint32_t threshold, int64_t j, int8_t *out))
{
  const uint32_t threshold = jf_dropout_threshold(((const jf_dropout *)t->attr)->rate);
  const float *x = t->in[0], keep = keep_of(t);
  float *y = t->out;
  int8_t *mask = t->second;
  for (int64_t i = 0; i < t->n && !t->step[0]; i++) y[i] = *x;
  if (!t->step[0]) x = y;
  for (int64_t i = 0, some; i < t->n; i += some) {
    const int64_t at = t->random.first + t->at + i, skip = at % 4;
    int8_t m[GROUP];
    draw_masks(t, threshold, at - skip, m);
    some = t->n - i < GROUP - skip ? t->n - i : GROUP - skip;
    memcpy(mask + i, m + skip, (size_t)some);
    fast_dropout_apply(m + skip, x + i, y + i, keep, some);
  }
}

JF_BODY void any_forward_body(const jf_loop_args *t) { draw_and_apply(t, masks); }
JF_DISPATCH(any_forward, (const jf_loop_args *t), (t))

#if defined(__x86_64__)
/* `masks` with intrinsics. Compilers compute the whole product of two 64-bit lanes, which is
   several times slower than the product of their lower halves, which is all that is needed here. */
JF_AVX512 static void wide_masks(const jf_loop_args *t, uint32_t threshold, int64_t j, int8_t *out)
{
  const __m512i m0 = _mm512_set1_epi64(0xD2511F53), m1 = _mm512_set1_epi64(0xCD9E8D57);
  const __m512i low = _mm512_set1_epi64(UINT32_MAX);
  const __m512i step = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i least = _mm512_set1_epi64((int64_t)threshold << 8);
  const uint64_t key = t->random.key, run = t->random.run;
  __m512i w[4][CHAINS];
  for (int q = 0; q < CHAINS; q++) {
    w[0][q] = _mm512_add_epi64(_mm512_set1_epi64(j / 4 + 8 * q), step);
    w[1][q] = _mm512_srli_epi64(w[0][q], 32);
    w[2][q] = _mm512_set1_epi64((int64_t)run);
    w[3][q] = _mm512_set1_epi64((int64_t)(run >> 32));
  }
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
    for (int q = 0; q < CHAINS; q++) {
      const __m512i x = _mm512_mul_epu32(w[0][q], m0), y = _mm512_mul_epu32(w[2][q], m1);
      const __m512i high_x = _mm512_srli_epi64(x, 32), high_y = _mm512_srli_epi64(y, 32);
      w[0][q] = _mm512_xor_si512(_mm512_xor_si512(high_y, w[1][q]), _mm512_set1_epi64(k0));
      w[2][q] = _mm512_xor_si512(_mm512_xor_si512(high_x, w[3][q]), _mm512_set1_epi64(k1));
      w[1][q] = y;
      w[3][q] = x;
    }
  for (int q = 0; q < CHAINS; q++) {
    __m512i m = _mm512_setzero_si512();
    for (int i = 0; i < 4; i++) {
      const __mmask8 kept = _mm512_cmpge_epu64_mask(_mm512_and_si512(w[i][q], low), least);
      m = _mm512_mask_or_epi64(m, kept, m, _mm512_set1_epi64(1 << 8 * i));
    }
    const __m256i bytes = _mm512_cvtepi64_epi32(m);
    memcpy(out + 32 * q, &bytes, sizeof bytes);
  }
}

JF_AVX512 static void wide_forward(const jf_loop_args *t) { draw_and_apply(t, wide_masks); }

void jf_dropout_loop(const jf_loop_args *t)
{
  if (jf_has_avx512()) wide_forward(t);
  else any_forward(t);
}
#else
void jf_dropout_loop(const jf_loop_args *t) { any_forward(t); }
#endif

JF_BODY void fast_dropout_backward_body(const jf_loop_args *t)
{
  const float *x = t->in[0];
  float *y = t->out;
  for (int64_t i = 0; i < t->n && !t->step[0]; i++) y[i] = *x;
  fast_dropout_apply(t->in[1], t->step[0] ? x : y, y, keep_of(t), t->n);
}
JF_DISPATCH(fast_dropout_backward, (const jf_loop_args *t), (t))

void jf_dropout_grad_loop(const jf_loop_args *t) { fast_dropout_backward(t); }
