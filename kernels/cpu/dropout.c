/* Dropout in parallel: the plain kernel's mask, drawn several counters at a time. */
#include "op/dropout.h"

#include "vector.h"

typedef struct drop {
  const float *x;
  float *y, keep;              /* keep: what kept elements are multiplied by */
  int8_t *mask;
  uint32_t threshold;
  jf_stream random;
  int64_t n;
} drop;

/* Eight counters' words, each in a lane of 64 bits, so that products need no unpacking. */
typedef uint64_t words __attribute__((vector_size(64)));
typedef uint32_t halves __attribute__((vector_size(32)));
/* Several such vectors are drawn together, since each round waits for the products of the last. */
enum { CHAINS = 4, GROUP = CHAINS * 32 };     /* elements drawn together */

/* Philox 4x32-10 at counters `first` to `first` + 8 CHAINS - 1: word i of each in w[i]. */
JF_BODY void draw(const jf_stream *r, uint64_t first, words w[4][CHAINS])
{
  const words none = { 0 };
  for (int q = 0; q < CHAINS; q++) {
    const words at = first + 8u * (uint64_t)q + (words){ 0, 1, 2, 3, 4, 5, 6, 7 };
    w[0][q] = at & UINT32_MAX;
    w[1][q] = at >> 32;
    w[2][q] = none + (r->run & UINT32_MAX);
    w[3][q] = none + (r->run >> 32);
  }
  uint32_t k0 = (uint32_t)r->key, k1 = (uint32_t)(r->key >> 32);
  for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
    for (int q = 0; q < CHAINS; q++) {
      const words x = w[0][q] * 0xD2511F53u, y = w[2][q] * 0xCD9E8D57u;
      w[0][q] = y >> 32 ^ w[1][q] ^ k0;
      w[2][q] = x >> 32 ^ w[3][q] ^ k1;
      w[1][q] = y & UINT32_MAX;
      w[3][q] = x & UINT32_MAX;
    }
}

/* The masks of elements j to j + GROUP; the last ones of a tensor may not be wanted. A counter's
   four masks are the bytes of one half word, lowest first. */
JF_BODY void masks(const drop *p, int64_t j, int8_t out[GROUP])
{
  words w[4][CHAINS];
  draw(&p->random, (uint64_t)j / 4, w);
  for (int q = 0; q < CHAINS; q++) {
    words m = { 0 };
    for (int i = 0; i < 4; i++) m |= ((words)(w[i][q] >> 8 >= p->threshold) & 1) << 8 * i;
    const halves h = __builtin_convertvector(m, halves);
    memcpy(out + 32 * q, &h, sizeof h);
  }
}

/* y = keep x where m is 1, else 0, for n elements. x may be y. */
JF_BODY void apply(const int8_t *m, const float *x, float *y, float keep, int64_t n)
{
  JF_ALONE for (int64_t j = 0; j < n; j++) y[j] = m[j] ? keep * x[j] : 0;
}

JF_BODY void drop_part(const drop *d, int i, void (*draw_masks)(const drop *, int64_t, int8_t *))
{
  const int64_t to = jf_to(i, JF_PART, d->n);
  for (int64_t j = jf_from(i, JF_PART); j < to; j += GROUP) {
    int8_t m[GROUP];
    draw_masks(d, j, m);
    const int64_t n = to - j < GROUP ? to - j : GROUP;
    memcpy(d->mask + j, m, (size_t)n);
    apply(m, d->x + j, d->y + j, d->keep, n);
  }
}

JF_BODY void dropout_body(void *ctx, int i) { drop_part(ctx, i, masks); }
JF_VARIANTS(dropout)

#if defined(__x86_64__)
#include <immintrin.h>

/* The same by hand. Compilers take the product of 64-bit lanes for one of 64 by 64 bits, which is
   several times as slow as that of their lower halves, which is all that is wanted and looked at
   here. */
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
static void wide_masks(const drop *p, int64_t j, int8_t *out)
{
  const __m512i m0 = _mm512_set1_epi64(0xD2511F53), m1 = _mm512_set1_epi64(0xCD9E8D57);
  const __m512i low = _mm512_set1_epi64(UINT32_MAX);
  const __m512i step = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i least = _mm512_set1_epi64((int64_t)p->threshold << 8);
  const uint64_t key = p->random.key, run = p->random.run;
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

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
static void wide_dropout(void *ctx, int i) { drop_part(ctx, i, wide_masks); }

static jf_part best_dropout(void) { return jf_has_avx512() ? wide_dropout : dropout(); }
#else
#define best_dropout dropout
#endif

JF_BODY void grad_body(void *ctx, int i)
{
  const drop *d = ctx;
  const int64_t from = jf_from(i, JF_PART), to = jf_to(i, JF_PART, d->n);
  apply(d->mask + from, d->x + from, d->y + from, d->keep, to - from);
}
JF_VARIANTS(grad)

/* Masks are cut from words as bytes lie in them here. */
static int accepts(const jf_kargs *k)
{
  return k->in[0].dtype == JFL_F32 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

static drop describe(const jf_kargs *k)
{
  const jf_dropout *a = k->attr;
  return (drop){
    .x = k->in[0].data, .y = k->out[0].data, .keep = (float)(1 / (1 - a->rate)),
    .threshold = jf_dropout_threshold(a->rate), .random = k->random,
    .n = jf_numel(&k->out[0].shape)
  };
}

static jfl_status dropout_run(const jf_kargs *k)
{
  drop d = describe(k);
  d.mask = k->out[1].data;
  jf_run_parts(k, jf_parts(d.n, JF_PART), best_dropout(), &d);
  return JFL_OK;
}

static jfl_status grad_run(const jf_kargs *k)
{
  drop d = describe(k);
  d.mask = k->in[1].data;
  jf_run_parts(k, jf_parts(d.n, JF_PART), grad(), &d);
  return JFL_OK;
}

JFL_CPU(vec_dropout, .op = "dropout", .accepts = accepts, .run = dropout_run, .priority = 10)
JFL_CPU(vec_dropout_grad, .op = "dropout_grad", .accepts = accepts, .run = grad_run, .priority = 10)
