/* Vectorized float32 loops for ops whose formulas call the mathematical library. Results are within
   a few units in the last place of the library's. */
#include "functions.h"
#include "op/attrs.h"
#include "op/op.h"

#include "vector_math.h"

#include <string.h>

/* ---- activations ---- */

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
  jf_exp_low(&bell);
  *v = (1 + *v) / 2 + x * bell * 0.39894228040143267794f;
}

/* gelu_tanh x = x sigmoid(2 u), as (1 + tanh u) / 2 = sigmoid(2 u); this makes 2 u of x. */
JF_BODY void gelu_tanh_twice(jf_vec *x)
{
  *x *= 1.59576912160573072f * (1 + 0.044715f * *x * *x);
}

JF_BODY void gelu_tanh_vec(jf_vec *v)
{
  const jf_vec x = *v;
  gelu_tanh_twice(v);
  *v = -*v;
  jf_exp(v);
  *v = x / (1 + *v);
}

JF_BODY void gelu_tanh_slope_vec(jf_vec *v)
{
  const jf_vec ten = (jf_vec){ 0 } + 10;
  jf_vec x = JF_SELECT(*v > ten, ten, *v);
  x = JF_SELECT(x < -ten, -ten, x);
  *v = x;
  gelu_tanh_twice(v);
  sigmoid_vec(v);
  *v += x * *v * (1 - *v) * 1.59576912160573072f * (1 + 0.134145f * x * x);
}

/* x sigmoid(beta x) */
JF_BODY void swish_with(jf_vec *v, float beta)
{
  const jf_vec x = *v;
  *v *= -beta;
  jf_exp(v);
  *v = x / (1 + *v);
}

/* With s = sigmoid(z), z = beta x, the slope is s + z s (1 - s); 1 - s = sigmoid(-z). */
JF_BODY void swish_slope_with(jf_vec *v, float beta)
{
  const jf_vec z = *v * beta;
  jf_vec s = z, rest = -z;
  sigmoid_vec(&s);
  sigmoid_vec(&rest);
  *v = s + s * (z * rest);
}

JF_BODY void silu_vec(jf_vec *v) { swish_with(v, 1); }
JF_BODY void silu_slope_vec(jf_vec *v) { swish_slope_with(v, 1); }

/* With u = exp(-|x|) and n, d as below tanh(softplus(x)) = n / (n + d). */
JF_BODY void mish_parts(const jf_vec *x, jf_vec *u, jf_vec *n, jf_vec *d)
{
  const jf_vec none = { 0 };
  const jf_ivec above = *x > 0;
  *u = -JF_MAGNITUDE(*x);
  jf_exp_below(u);                       /* x times a denormal one need not be one */
  *n = JF_SELECT(above, 1 + 2 * *u, *u * (*u + 2));
  *d = JF_SELECT(above, 2 * *u * *u, none + 2);
}

JF_BODY void mish_vec(jf_vec *v)
{
  const jf_vec x = *v;
  jf_vec u, n, d;
  mish_parts(&x, &u, &n, &d);
  *v = x * (n / (n + d));
}

JF_BODY void mish_slope_vec(jf_vec *v)
{
  const jf_vec x = *v;
  jf_vec u, n, d;
  mish_parts(&x, &u, &n, &d);
  const jf_vec t = n / (n + d), sigmoid = JF_SELECT(x > 0, u * 0 + 1, u);    /* times 1 + u */
  *v = t + x * (d * sigmoid / ((n + d) * (1 + u))) * (1 + t);
}

JF_BODY void log_sigmoid_vec(jf_vec *v)
{
  *v = -*v;
  softplus_vec(v);
  *v = -*v;
}

/* x, or below 0 alpha (exp(x) - 1) */
JF_BODY void elu_with(jf_vec *v, float alpha)
{
  const jf_vec x = *v;
  expm1_vec(v);
  *v = JF_SELECT(x > 0, x, *v * alpha);
}

JF_BODY void selu_vec(jf_vec *v)
{
  elu_with(v, 1.6732632423543772848f);
  *v *= 1.0507009873554804934f;
}

/* ---- functions of two numbers ---- */

/* The cross entropy of label a and sigmoid(b). */
JF_BODY void sigmoid_cross_entropy_with_logits_vec(const jf_vec *a, const jf_vec *b, jf_vec *y)
{
  jf_vec v = -JF_MAGNITUDE(*b);
  jf_exp_low(&v);
  jf_log1p_unit(&v);
  *y = JF_SELECT(*b > 0, *b, (jf_vec){ 0 }) - *b * *a + v;
}

/* 0 where a is, unless b is not a number. */
JF_BODY void xlogy_vec(const jf_vec *a, const jf_vec *b, jf_vec *y)
{
  const jf_ivec bits = (jf_ivec)*b, nan = (bits & INT32_MAX) > 0x7f800000;
  *y = JF_SELECT(*a == 0, (jf_vec){ 0 } + 1, *b);
  log_vec(y);
  *y = *a * *y + (jf_vec)(bits & nan);
}

typedef double pow_wide __attribute__((vector_size(JF_LANES * 8)));
typedef int64_t pow_mask __attribute__((vector_size(JF_LANES * 8)));
#define POW_SELECT(m, a, b) ((pow_wide)(((pow_mask)(a) & (m)) | ((pow_mask)(b) & ~(m))))

/* a^b = exp(b log a) for positive finite a that are no denormals. The logarithm is in double, by
   the series of atanh, since b multiplies its error. */
JF_BODY void pow_positive(const jf_vec *a, const jf_vec *b, jf_vec *power)
{
  jf_vec n, f, rest;
  jf_log_parts(a, &n, &f, &rest);
  const pow_wide g = __builtin_convertvector(f, pow_wide), s = g / (g + 2), z = s * s;
  pow_wide l = (pow_wide){ 0 } + 1.0 / 15;
  for (int k = 13; k > 0; k -= 2) l = l * z + 1.0 / k;
  l = 2 * s * l + __builtin_convertvector(n, pow_wide) * 0.69314718055994530942;
  pow_wide y = l * __builtin_convertvector(*b, pow_wide) * 1.44269504088896340736;
  const pow_wide most = (pow_wide){ 0 } + 300;
  y = POW_SELECT(y > most, most, y);
  y = POW_SELECT(y < -most, -most, y);
  const pow_wide magic = (pow_wide){ 0 } + 0x1.8p52, whole = (y + magic) - magic;
  jf_vec e = __builtin_convertvector(whole, jf_vec);
  jf_vec r = __builtin_convertvector(y - whole, jf_vec);
  exp2_vec(&r);
  const jf_ivec i = __builtin_convertvector(e, jf_ivec), third = i / 3;
  const jf_vec scale = (jf_vec)((third + 127) << 23);
  *power = r * scale * scale * (jf_vec)((i - 2 * third + 127) << 23);
}

/* Lanes that are not simple are left to the library. */
JF_BODY void pow_vec(const jf_vec *a, const jf_vec *b, jf_vec *power)
{
  const jf_vec least = JF_SELECT(*a >= 0x1p-126f, *a, (jf_vec){ 0 } + NAN);
  const jf_vec odd = (least - *a) + (*b - *b);            /* 0 where all is simple, else a nan */
  const jf_ivec other = ~(odd == 0);
  const jf_vec squared = *a * *a;
  jf_vec y;
  pow_positive(a, b, &y);
  if (jf_any(&other)) {
    float x[JF_LANES], p[JF_LANES], z[JF_LANES];
    int32_t hard[JF_LANES];
    memcpy(x, a, sizeof x);
    memcpy(p, b, sizeof p);
    memcpy(z, &y, sizeof z);
    memcpy(hard, &other, sizeof hard);
    for (int i = 0; i < JF_LANES; i++)
      if (hard[i]) z[i] = powf(x[i], p[i]);
    memcpy(&y, z, sizeof y);
  }
  *power = JF_SELECT(*b == 2, squared, JF_SELECT(*b == 1, *a, y));
}

/* ---- loops ---- */

/* Loops of functions of one number, without attributes and with one. */
#define LOOP(id) LOOP_AS(id, id##_vec(&v))
#define SWISH_LOOP(id) LOOP_AS(id, id##_with(&v, (float)((const jf_swish *)t->attr)->beta))
#define LOOP_AS(id, CALL)                                                     \
  JF_BODY void id##_loop_body(const jf_loop_args *t)                          \
  {                                                                           \
    const float *x = t->in[0];                                                \
    float *y = t->out;                                                        \
    const int64_t n = t->step[0] ? t->n : 1;                                  \
    jf_vec v;                                                                 \
    for (int64_t i = 0; i < n; i += JF_LANES) {                               \
      const int64_t some = n - i < JF_LANES ? n - i : JF_LANES;               \
      jf_load_part(x + i, some, 0, &v);                                       \
      CALL;                                                                   \
      jf_store_part(y + i, some, &v);                                         \
    }                                                                         \
    for (int64_t i = n; i < t->n; i++) y[i] = y[0];                           \
  }                                                                           \
  JF_DISPATCH_VECTOR(id##_loop, (const jf_loop_args *t), (t))

#define EACH_PLAIN(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sigmoid) X(tanh) X(erf) X(erfc) \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) \
  X(gelu) X(gelu_slope) X(gelu_tanh) X(gelu_tanh_slope) X(softplus) X(log_sigmoid) X(silu) \
  X(silu_slope) X(mish) X(mish_slope) X(selu)
#define EACH(X) EACH_PLAIN(X) X(swish) X(swish_slope) X(elu)
EACH_PLAIN(LOOP)
SWISH_LOOP(swish)
SWISH_LOOP(swish_slope)
LOOP_AS(elu, elu_with(&v, (float)((const jf_leaky *)t->attr)->alpha))

/* Loops of functions of two numbers, of which either may be one for all. */
#define LOOP_OF_TWO(id)                                                       \
  JF_BODY void id##_loop_body(const jf_loop_args *t)                          \
  {                                                                           \
    const float *a = t->in[0], *b = t->in[1];                                 \
    float *y = t->out;                                                        \
    jf_vec u = (jf_vec){ 0 } + a[0], v = (jf_vec){ 0 } + b[0];                \
    for (int64_t i = 0; i < t->n; i += JF_LANES) {                            \
      const int64_t some = t->n - i < JF_LANES ? t->n - i : JF_LANES;         \
      if (t->step[0]) jf_load_part(a + i, some, 1, &u);                       \
      if (t->step[1]) jf_load_part(b + i, some, 1, &v);                       \
      jf_vec z;                                                               \
      id##_vec(&u, &v, &z);                                                   \
      jf_store_part(y + i, some, &z);                                         \
    }                                                                         \
  }                                                                           \
  JF_DISPATCH_VECTOR(id##_loop, (const jf_loop_args *t), (t))
#define EACH_OF_TWO(X) X(sigmoid_cross_entropy_with_logits) X(xlogy) X(pow)
EACH_OF_TWO(LOOP_OF_TWO)

/* The ops of these loops, of which the first ones' do without vectors. */
typedef struct functions_of { const char *op; jf_loop loop; } functions_of;
static const functions_of functions_list[] = {
#define ENTRY(id) { #id, id##_loop },
  { "dropout", jf_dropout_loop }, { "dropout_grad", jf_dropout_grad_loop },
  EACH(ENTRY) EACH_OF_TWO(ENTRY)
};

static const functions_of *functions_find(const char *op)
{
  const size_t n = jf_has_vectors() ? sizeof functions_list / sizeof *functions_list : 2;
  for (size_t i = 0; i < n; i++)
    if (!strcmp(functions_list[i].op, op)) return &functions_list[i];
  return NULL;
}

jf_loop jf_vec_loop(const char *op, jfl_dtype t)
{
  const functions_of *f = t == JFL_F32 ? functions_find(op) : NULL;
  return f ? f->loop : NULL;
}

/* ---- the row that runs one such op ---- */

static void *functions_element(const jf_tensor *t, int64_t i)
{
  return (char *)t->data + i * (int64_t)jfl_dtype_size(t->dtype);
}

/* An input of one element is that for all. */
static void functions_run_part(void *ctx, int i)
{
  const jf_kargs *k = ctx;
  const int64_t n = jf_numel(&k->out[0].shape), at = jf_from(i, JF_PART);
  jf_loop_args t = { .n = jf_to(i, JF_PART, n) - at, .attr = k->attr, .at = at,
                     .random = k->random, .out = functions_element(&k->out[0], at) };
  if (k->n_out > 1) t.second = functions_element(&k->out[1], at);
  for (int j = 0; j < k->n_in; j++) {
    t.step[j] = k->n_in == 1 || jf_numel(&k->in[j].shape) == n;
    t.in[j] = functions_element(&k->in[j], t.step[j] * at);
  }
  ((const functions_of *)k->state)->loop(&t);
}

static jfl_status functions_run(const jf_kargs *k)
{
  jf_run_parts(k, jf_parts(jf_numel(&k->out[0].shape), JF_PART), functions_run_part, (void *)k);
  return JFL_OK;
}

/* Inputs have the shape of the result, or one element. */
static int functions_accepts(const jf_kargs *k)
{
  if (!k->n_in || k->in[0].dtype != JFL_F32 || !functions_find(k->op->name)) return 0;
  const int64_t n = jf_numel(&k->out[0].shape);
  int fit = 1;
  for (int j = 0; j < k->n_in; j++) {
    const int64_t own = jf_numel(&k->in[j].shape);
    fit = fit && (own == n || own == 1);
  }
  return fit;
}

static jfl_status functions_prepare(jf_kargs *k)
{
  k->state = (void *)functions_find(k->op->name);
  return JFL_OK;
}

JFL_CPU(vec_function, .accepts = functions_accepts, .prepare = functions_prepare,
  .run = functions_run, .priority = JF_BY_RECORD)
