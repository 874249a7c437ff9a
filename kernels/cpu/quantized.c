/* Products with weights that are stored in few bits. Rows of x are rounded to int8, 32 numbers with
   a scale of their own, so that the products are those of bytes (quantized_vnni.c,
   quantized_avx2.c). For one row of x the speed is that of memory.

   An x becomes d q with |x - d q| <= d / 2, where d is the largest magnitude of its 32 over 127. So
   a result differs from the exact product by at most the sum of |w| d / 2. With weights of 16 bits
   nothing is rounded (halves.c). */
#include "quantized.h"

#include <math.h>

#if defined(__x86_64__)

enum { SPAN = 16, HALF = JF_GROUP / 2 };

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
  if (!jf_is_block(p.dtype)) {
    p.lines = k->scratch;
    p.span = jf_halves_span(&p);
    return p;
  }
  p.q = k->scratch;
  p.d = (float *)(void *)(p.q + p.m * p.width);
  p.sum = p.d + p.m * p.width / p.per;
  return p;
}

static jfl_status quantized_prepare(jf_kargs *k)
{
  const jf_quantized p = quantized_measure(k);
  const size_t numbers = (size_t)(p.m * p.width);
  if (jf_is_block(p.dtype)) k->scratch_size = numbers + 2 * sizeof(float) * numbers / (size_t)p.per;
  else k->scratch_size = jf_halves_scratch(&p);
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

static jfl_status quantized_run(const jf_kargs *k)
{
  jf_quantized p = quantized_measure(k);
  if (!jf_is_block(p.dtype)) {
    jf_halves_run(k, &p);
    return JFL_OK;
  }
  jf_run_parts(k, (int)p.m, rounded(), &p);
  const jf_part part = jf_has_vnni() ? jf_quantized_vnni(&p) : jf_quantized_avx2(&p);
  jf_run_parts(k, jf_parts(p.n, p.span), part, &p);
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
        .runs_plain = 1, .priority = JF_SHAPED)
