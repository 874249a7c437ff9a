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
typedef int8_t bytes __attribute__((vector_size(16)));
typedef int8_t bytes_in_memory __attribute__((vector_size(16), aligned(1), may_alias));
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
  int64_t j = 0;
  for (; j + JF_LANES <= n; j += JF_LANES) {
    const bytes b = *(const bytes_in_memory *)(m + j);
    const jf_ivec kept = __builtin_convertvector(b, jf_ivec) != 0;
    JF_STORE(y + j, (jf_vec)((jf_ivec)(keep * JF_LOAD(x + j)) & kept));
  }
  for (; j < n; j++) y[j] = m[j] ? keep * x[j] : 0;
}

JF_BODY void dropout_body(void *ctx, int i)
{
  const drop *d = ctx;
  const int64_t to = jf_to(i, JF_PART, d->n);
  for (int64_t j = jf_from(i, JF_PART); j < to; j += GROUP) {
    int8_t m[GROUP];
    masks(d, j, m);
    const int64_t n = to - j < GROUP ? to - j : GROUP;
    memcpy(d->mask + j, m, (size_t)n);
    apply(m, d->x + j, d->y + j, d->keep, n);
  }
}
JF_VARIANTS(dropout)

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
  jf_run_parts(k, jf_parts(d.n, JF_PART), dropout(), &d);
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
