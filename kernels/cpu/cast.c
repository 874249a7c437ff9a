/* Casts of images, in parallel. */
#include "vector.h"

typedef struct bytes { const uint8_t *x; float *y; int64_t n; } bytes;

JF_BODY void fast_cast_widen_body(void *ctx, int i)
{
  const bytes *b = ctx;
  const int64_t to = jf_to(i, JF_PART, b->n);
  for (int64_t j = jf_from(i, JF_PART); j < to; j++) b->y[j] = b->x[j];
}
JF_VARIANTS(fast_cast_widen)

static int accepts_widen(const jf_kargs *k)
{
  return k->in[0].dtype == JFL_U8 && k->out[0].dtype == JFL_F32;
}

static jfl_status widen_run(const jf_kargs *k)
{
  bytes b = { k->in[0].data, k->out[0].data, jf_numel(&k->out[0].shape) };
  jf_run_parts(k, jf_parts(b.n, JF_PART), fast_cast_widen(), &b);
  return JFL_OK;
}

JFL_CPU(vec_cast_u8_f32, .op = "cast", .accepts = accepts_widen, .run = widen_run)
