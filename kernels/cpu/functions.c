/* Vectorized float32 loops for ops whose formulas call the mathematical library. Results are within
   a few units in the last place of the library's. */
#include "functions.h"

#include "vector.h"

#include <math.h>
#include <string.h>

/* log of each lane: x = 2^e f with f near 1; for log f the polynomial of Cephes' logf (Moshier). */
JF_BODY void log_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, x = *v;
  const jf_ivec small = x < 0x1p-126f;
  const jf_vec y = JF_SELECT(small, x * 0x1p23f, x);
  jf_ivec e = (((jf_ivec)y >> 23) & 0xff) - 126 - (small & 23);
  jf_vec f = (jf_vec)(((jf_ivec)y & 0x7fffff) | 0x3f000000);     /* in [0.5, 1) */
  const jf_ivec low = f < 0.707106781186547524f;
  e += low;                                                      /* subtracts 1 where low is -1 */
  f = JF_SELECT(low, f + f, f) - 1;
  const jf_vec n = __builtin_convertvector(e, jf_vec), z = f * f;
  jf_vec p = none + 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  p = p * f * z - n * 2.12194440e-4f - z * 0.5f + f + n * 0.693359375f;
  p = JF_SELECT(x == 0, none - INFINITY, p);
  p = JF_SELECT(x == INFINITY, x, p);
  *v = JF_SELECT(x >= 0, p, none + NAN);
}

/* exp(x) - 1; for |x| < 0.5 its series up to x^8. */
JF_BODY void expm1_vec(jf_vec *v)
{
  const jf_vec x = *v, none = { 0 };
  jf_vec p = none + 1.0f / 40320;
  p = p * x + 1.0f / 5040;
  p = p * x + 1.0f / 720;
  p = p * x + 1.0f / 120;
  p = p * x + 1.0f / 24;
  p = p * x + 1.0f / 6;
  p = p * x + 0.5f;
  p = p * x * x + x;
  jf_exp(v);
  *v = JF_SELECT((jf_vec)((jf_ivec)x & INT32_MAX) < 0.5f, p, *v - 1);
}

/* log(1 + x) = log(u) x / (u - 1), where u is 1 + x after rounding. */
JF_BODY void log1p_vec(jf_vec *v)
{
  const jf_vec x = *v, u = x + 1, d = u - 1;
  jf_vec l = u;
  log_vec(&l);
  *v = JF_SELECT(u == INFINITY, l, l * (x / d));
  *v = JF_SELECT(d == 0, x, *v);
}

JF_BODY void sigmoid_vec(jf_vec *v)
{
  *v = -*v;
  jf_exp(v);
  *v = 1 / (1 + *v);
}

/* tanh |x| = 1 - 2 / (exp(2 |x|) + 1); near 0 the polynomial of Cephes' tanhf (Moshier). */
JF_BODY void tanh_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, x = *v, z = x * x;
  const jf_ivec sign = (jf_ivec)x & INT32_MIN;
  const jf_vec size = (jf_vec)((jf_ivec)x ^ sign);
  jf_vec p = none - 5.70498872745e-3f, t = size + size;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  p = p * z * x + x;
  jf_exp(&t);
  t = (jf_vec)((jf_ivec)(1 - 2 / (t + 1)) | sign);
  *v = JF_SELECT(size < 0.625f, p, t);
}

/* erf: x P(x^2) for |x| < 1, else 1 - exp(-Q(|x|)), with the sign of x. P and Q are minimax
   polynomials with errors of 4e-8 and 1e-9. */
JF_BODY void erf_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, x = *v, z = x * x;
  const jf_ivec sign = (jf_ivec)x & INT32_MIN;
  const jf_vec size = (jf_vec)((jf_ivec)x ^ sign), s = JF_SELECT(size > 4, none + 4, size);
  jf_vec p = none - 0.00056314195f, q = none + 0.00018638036f;
  p = p * z + 0.004917551f;
  p = p * z - 0.026711311f;
  p = p * z + 0.1128018f;
  p = p * z - 0.37612325f;
  p = p * z + 1.1283791f;
  q = q * s - 0.0029476697f;
  q = q * s + 0.021838108f;
  q = q * s - 0.10310685f;
  q = q * s - 0.63814473f;
  q = q * s - 1.1270893f;
  q = q * s - 0.00034150775f;
  jf_exp(&q);
  *v = JF_SELECT(size < 1, p * x, (jf_vec)((jf_ivec)(1 - q) | sign));
}

JF_BODY void gelu_vec(jf_vec *v)
{
  const jf_vec x = *v;
  *v *= 0.70710678118654752440f;
  erf_vec(v);
  *v = x * ((1 + *v) / 2);
}

JF_BODY void gelu_slope_vec(jf_vec *v)
{
  const jf_vec x = *v;
  jf_vec bell = x * x / -2;
  *v *= 0.70710678118654752440f;
  erf_vec(v);
  jf_exp(&bell);
  *v = (1 + *v) / 2 + x * bell * 0.39894228040143267794f;
}

JF_BODY void softplus_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, x = *v;
  *v = -(jf_vec)((jf_ivec)x & INT32_MAX);
  jf_exp(v);
  log1p_vec(v);
  *v += JF_SELECT(x > 0, x, none);
}

JF_BODY void exp_vec(jf_vec *v) { jf_exp(v); }

#define LOOP(id)                                                              \
  JF_BODY void id##_loop_body(const jf_loop_args *t)                          \
  {                                                                           \
    const float *x = t->in[0];                                                \
    float *y = t->out;                                                        \
    const int64_t n = t->step[0] ? t->n : 1;                                  \
    jf_vec v;                                                                 \
    for (int64_t i = 0; i < n; i += JF_LANES) {                               \
      const int64_t some = n - i < JF_LANES ? n - i : JF_LANES;               \
      jf_load_part(x + i, some, 0, &v);                                       \
      id##_vec(&v);                                                           \
      jf_store_part(y + i, some, &v);                                         \
    }                                                                         \
    for (int64_t i = n; i < t->n; i++) y[i] = y[0];                           \
  }                                                                           \
  JF_DISPATCH(id##_loop, (const jf_loop_args *t), (t))

#define EACH(X) \
  X(exp) X(expm1) X(log) X(log1p) X(sigmoid) X(tanh) X(erf) X(gelu) X(gelu_slope) X(softplus)
EACH(LOOP)

jf_loop jf_vec_loop(const char *op, jfl_dtype t)
{
#define ENTRY(id) { #id, id##_loop },
  static const struct { const char *op; jf_loop loop; } list[] = {
    EACH(ENTRY)
    { "dropout", jf_dropout_loop }, { "dropout_grad", jf_dropout_grad_loop },
  };
  for (size_t i = 0; i < sizeof list / sizeof *list && t == JFL_F32; i++)
    if (!strcmp(list[i].op, op)) return list[i].loop;
  return NULL;
}

/* ---- rows that run one such op ---- */

typedef struct functions_whole {
  const float *x;
  float *y;
  int64_t n;
  jf_loop loop;
} functions_whole;

static void functions_run_part(void *ctx, int i)
{
  const functions_whole *w = ctx;
  const int64_t at = jf_from(i, JF_PART);
  w->loop(&(jf_loop_args){ .n = jf_to(i, JF_PART, w->n) - at, .in = { w->x + at }, .step = { 1 },
                           .out = w->y + at });
}

static jfl_status functions_run(const jf_kargs *k, jf_loop loop)
{
  functions_whole w = { k->in[0].data, k->out[0].data, jf_numel(&k->out[0].shape), loop };
  jf_run_parts(k, jf_parts(w.n, JF_PART), functions_run_part, &w);
  return JFL_OK;
}

static int functions_accepts(const jf_kargs *k) { return k->in[0].dtype == JFL_F32; }

#define RUN(id) \
  static jfl_status id##_run(const jf_kargs *k) { return functions_run(k, id##_loop); }
EACH(RUN)
#define ROW(id) .op = #id, .accepts = functions_accepts, .run = id##_run, .priority = 10
JFL_CPU(vec_exp, ROW(exp))
JFL_CPU(vec_expm1, ROW(expm1))
JFL_CPU(vec_log, ROW(log))
JFL_CPU(vec_log1p, ROW(log1p))
JFL_CPU(vec_sigmoid, ROW(sigmoid))
JFL_CPU(vec_tanh, ROW(tanh))
JFL_CPU(vec_erf, ROW(erf))
JFL_CPU(vec_gelu, ROW(gelu))
JFL_CPU(vec_gelu_slope, ROW(gelu_slope))
JFL_CPU(vec_softplus, ROW(softplus))
