/* Elementary functions of vectors of float32. Results are within a few units in the last place of
   the library's. Polynomials are those of Cephes (Moshier), unless it is said otherwise. */
#ifndef JF_VECTOR_MATH_H
#define JF_VECTOR_MATH_H

#include "vector.h"

#include <math.h>

/* The magnitude of each lane, and its sign bit. */
#define JF_MAGNITUDE(x) ((jf_vec)((jf_ivec)(x) & INT32_MAX))
#define JF_SIGN(x) ((jf_ivec)(x) & INT32_MIN)
#define JF_WITH_SIGN(size, sign) ((jf_vec)((jf_ivec)(size) | (sign)))
/* Whether any lane of a mask is set. */
JF_BODY int jf_any(const jf_ivec *m)
{
  jf_ivec any = *m;
  any |= JF_LANES_FROM(any, 8);
  any |= JF_LANES_FROM(any, 4);
  any |= JF_LANES_FROM(any, 2);
  any |= JF_LANES_FROM(any, 1);
  return any[0] != 0;
}

/* For positive x = 2^n g with g near 1: *n, *f = g - 1, and *rest = log g - f + f^2 / 2. */
JF_BODY void jf_log_parts(const jf_vec *v, jf_vec *n, jf_vec *f, jf_vec *rest)
{
  const jf_vec x = *v;
  const jf_ivec small = x < 0x1p-126f;
  const jf_ivec y = (jf_ivec)JF_SELECT(small, x * 0x1p23f, x);
  const jf_ivec e = (jf_ivec)((jf_uvec)y - 0x3f3504f3) >> 23;   /* that of the root of 1/2 */
  const jf_vec g = (jf_vec)((jf_uvec)y - ((jf_uvec)e << 23)) - 1, z = g * g, w = z * z;
  const jf_vec a = -2.4999993993e-1f * g + 3.3333331174e-1f;
  const jf_vec b = -1.6668057665e-1f * g + 2.0000714765e-1f;
  const jf_vec c = -1.2420140846e-1f * g + 1.4249322787e-1f;
  const jf_vec d = -1.1514610310e-1f * g + 1.1676998740e-1f;
  const jf_vec p = (7.0376836292e-2f * w + (d * z + c)) * w + (b * z + a);
  *n = __builtin_convertvector(e - (small & 23), jf_vec);
  *f = g;
  *rest = p * g * z;
}

/* What a logarithm p of x is where x has none, or an infinite one. */
#define JF_LOG_ENDS(x, p)                              \
  p = JF_SELECT((x) == 0, (jf_vec){ 0 } - INFINITY, p); \
  p = JF_SELECT((x) == INFINITY, (x), p);              \
  p = JF_SELECT((x) >= 0, p, (jf_vec){ 0 } + NAN)

JF_BODY void log_vec(jf_vec *v)
{
  const jf_vec x = *v;
  jf_vec n, f, rest;
  jf_log_parts(&x, &n, &f, &rest);
  jf_vec p = rest - n * 2.12194440e-4f - f * f * 0.5f + f + n * 0.693359375f;
  JF_LOG_ENDS(x, p);
  *v = p;
}

/* The logarithm to another base: n high + (n low + factor log f), where high + low is the logarithm
   of 2. */
#define JF_LOG_TO(id, high, low, factor)                          \
  JF_BODY void id##_vec(jf_vec *v)                                \
  {                                                               \
    const jf_vec x = *v;                                          \
    jf_vec n, f, rest;                                            \
    jf_log_parts(&x, &n, &f, &rest);                              \
    jf_vec p = n * (high) + (n * (low) + (factor) * (rest - f * f * 0.5f + f)); \
    JF_LOG_ENDS(x, p);                                            \
    *v = p;                                                       \
  }
JF_LOG_TO(log2, 1, 0, 1.44269504088896341f)
JF_LOG_TO(log10, 0.30078125f, 2.48745663981195213e-4f, 0.43429448190325183f)

JF_BODY void exp_vec(jf_vec *v) { jf_exp(v); }

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
  *v = JF_SELECT(JF_MAGNITUDE(x) < 0.5f, p, *v - 1);
}

/* 2^x = 2^n 2^r for |r| <= 1/2. As in jf_exp, 2^n is applied as two factors. */
JF_BODY void exp2_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, high = none + 129, low = none - 151, magic = none + (0x1.8p23f + 254);
  jf_vec x = JF_SELECT(*v > high, high, *v);
  x = JF_SELECT(x < low, low, x);
  const jf_vec sum = x + magic, r = x - (sum - magic);
  const jf_uvec t = (jf_uvec)sum;
  jf_vec p = none + 1.535336188319500e-4f;
  p = p * r + 1.339887440266574e-3f;
  p = p * r + 9.618437357674640e-3f;
  p = p * r + 5.550332471162809e-2f;
  p = p * r + 2.402264791363012e-1f;
  p = p * r + 6.931472028550421e-1f;
  p = p * r + 1;
  *v = p * (jf_vec)((t >> 1) << 23) * (jf_vec)((t - (t >> 1)) << 23);
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

/* log(1 + x) for 0 <= x <= 1: x times a minimax polynomial, off by at most 1e-8 of it. */
JF_BODY void jf_log1p_unit(jf_vec *v)
{
  const jf_vec x = *v, z = x * x, w = z * z;
  const jf_vec a = -4.999996053e-1f * x + 1, b = -2.496352978e-1f * x + 3.333115367e-1f;
  const jf_vec c = -1.538438519e-1f * x + 1.97126676e-1f;
  const jf_vec d = -5.757864353e-2f * x + 1.069882282e-1f;
  const jf_vec e = -3.25637848e-3f * x + 2.003451661e-2f;
  *v = x * ((e * w + (d * z + c)) * w + (b * z + a));
}

JF_BODY void sigmoid_vec(jf_vec *v)
{
  *v = -*v;
  jf_exp(v);
  *v = 1 / (1 + *v);
}

/* tanh |x| = 1 - 2 / (exp(2 |x|) + 1); near 0 a polynomial. */
JF_BODY void tanh_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, x = *v, z = x * x, size = JF_MAGNITUDE(x);
  jf_vec p = none - 5.70498872745e-3f, t = size + size;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  p = p * z * x + x;
  jf_exp(&t);
  t = JF_WITH_SIGN(1 - 2 / (t + 1), JF_SIGN(x));
  *v = JF_SELECT(size < 0.625f, p, t);
}

/* exp(|x|) / 2 without overflow before that of sinh and cosh. */
JF_BODY void jf_half_exp(jf_vec *v)
{
  *v = JF_MAGNITUDE(*v) * 0.5f;
  jf_exp(v);
  *v *= 0.5f * *v;
}

JF_BODY void sinh_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, x = *v, z = x * x;
  jf_vec p = none + 2.03721912945e-4f, h = x;
  p = p * z + 8.33028376239e-3f;
  p = p * z + 1.66667160211e-1f;
  p = p * z * x + x;
  jf_half_exp(&h);
  *v = JF_SELECT(JF_MAGNITUDE(x) < 1, p, JF_WITH_SIGN(h - 0.25f / h, JF_SIGN(x)));
}

JF_BODY void cosh_vec(jf_vec *v)
{
  jf_half_exp(v);
  *v += 0.25f / *v;
}

JF_BODY void jf_sqrt(jf_vec *v)
{
  float l[JF_LANES];
  memcpy(l, v, sizeof l);
  for (int i = 0; i < JF_LANES; i++) l[i] = sqrtf(l[i]);
  memcpy(v, l, sizeof l);
}

JF_BODY void asinh_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, x = *v, z = x * x, size = JF_MAGNITUDE(x);
  const jf_ivec large = size > 1500;
  jf_vec p = none + 2.0122003309e-2f, root = z + 1;
  p = p * z - 4.2699340972e-2f;
  p = p * z + 7.4847586088e-2f;
  p = p * z - 1.6666288134e-1f;
  p = p * z * x + x;
  jf_sqrt(&root);
  jf_vec l = JF_SELECT(large, size, size + root);
  log_vec(&l);
  l += JF_SELECT(large, none + 0.69314718055994531f, none);
  *v = JF_SELECT(size < 0.5f, p, JF_WITH_SIGN(l, JF_SIGN(x)));
}

JF_BODY void acosh_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, x = *v, z = x - 1;
  const jf_ivec large = x > 1500;
  jf_vec p = none + 1.7596881071e-3f, near = z, root = z * (x + 1);
  p = p * z - 7.5272886713e-3f;
  p = p * z + 2.6454905019e-2f;
  p = p * z - 1.1784741703e-1f;
  p = p * z + 1.4142135263e0f;
  jf_sqrt(&near);
  jf_sqrt(&root);
  p *= near;
  jf_vec l = JF_SELECT(large, x, x + root);
  log_vec(&l);
  l += JF_SELECT(large, none + 0.69314718055994531f, none);
  *v = JF_SELECT(z < 0.5f, p, l);
}

JF_BODY void atanh_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, x = *v, z = x * x;
  jf_vec p = none + 1.81740078349e-1f, l = (1 + x) / (1 - x);
  p = p * z + 8.24370301058e-2f;
  p = p * z + 1.46691431730e-1f;
  p = p * z + 1.99782164500e-1f;
  p = p * z + 3.33337300303e-1f;
  p = p * z * x + x;
  log_vec(&l);
  *v = JF_SELECT(JF_MAGNITUDE(x) < 0.5f, p, l * 0.5f);
}

/* Makes of |x| <= 1/2 asin x, given x^2. */
JF_BODY void jf_asin_small(jf_vec *x, const jf_vec *square)
{
  const jf_vec none = { 0 }, z = *square;
  jf_vec p = none + 4.2163199048e-2f;
  p = p * z + 2.4181311049e-2f;
  p = p * z + 4.5470025998e-2f;
  p = p * z + 7.4953002686e-2f;
  p = p * z + 1.6666752422e-1f;
  *x += p * z * *x;
}

/* Beyond 1/2 asin x = pi / 2 - 2 asin sqrt((1 - x) / 2). */
JF_BODY void asin_vec(jf_vec *v)
{
  const jf_vec x = *v, size = JF_MAGNITUDE(x), half = (1 - size) * 0.5f;
  const jf_ivec large = size > 0.5f;
  const jf_vec z = JF_SELECT(large, half, size * size);
  jf_vec a = half;
  jf_sqrt(&a);
  a = JF_SELECT(large, a, size);
  jf_asin_small(&a, &z);
  *v = JF_WITH_SIGN(JF_SELECT(large, 1.57079632679489662f - (a + a), a), JF_SIGN(x));
  *v = JF_SELECT(size <= 1, *v, (jf_vec){ 0 } + NAN);
}

JF_BODY void acos_vec(jf_vec *v)
{
  const jf_vec x = *v, size = JF_MAGNITUDE(x), half = (1 - size) * 0.5f;
  const jf_ivec large = size > 0.5f;
  const jf_vec z = JF_SELECT(large, half, x * x);
  jf_vec a = half;
  jf_sqrt(&a);
  a = JF_SELECT(large, a, x);
  jf_asin_small(&a, &z);
  const jf_vec twice = a + a;
  *v = JF_SELECT(large, JF_SELECT(x < 0, 3.14159265358979324f - twice, twice),
                 1.57079632679489662f - a);
  *v = JF_SELECT(size <= 1, *v, (jf_vec){ 0 } + NAN);
}

/* atan x = pi / 4 + atan((x - 1) / (x + 1)) = pi / 2 - atan(1 / x). */
JF_BODY void atan_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, x = *v, size = JF_MAGNITUDE(x);
  const jf_ivec large = size > 2.414213562373095f, middle = size > 0.4142135623730950f;
  jf_vec s = JF_SELECT(middle, (size - 1) / (size + 1), size);
  s = JF_SELECT(large, -1 / size, s);
  jf_vec y = JF_SELECT(middle, none + 0.785398163397448310f, none);
  y = JF_SELECT(large, none + 1.57079632679489662f, y);
  const jf_vec z = s * s;
  jf_vec p = none + 8.05374449538e-2f;
  p = p * z - 1.38776856032e-1f;
  p = p * z + 1.99777106478e-1f;
  p = p * z - 3.33329491539e-1f;
  *v = JF_WITH_SIGN(y + (p * z * s + s), JF_SIGN(x));
}

/* sin and cos of |x| below 8192: x = j pi / 2 + r, where pi / 2 has three parts of which the first
   two times j are exact. */
JF_BODY void jf_sin_cos(const jf_vec *x, jf_vec *sine, jf_vec *cosine)
{
  const jf_vec none = { 0 }, magic = none + 0x1.8p23f;
  const jf_vec t = *x * 0.636619772367581343f + magic, j = t - magic;
  const jf_ivec quarter = (jf_ivec)((jf_uvec)t - 0x4B400000);
  const jf_vec r = ((*x - j * 1.5703125f) - j * 4.837512969970703125e-4f) - j * 7.54978995489e-8f;
  const jf_vec z = r * r;
  jf_vec s = none - 1.9515295891e-4f, c = none + 2.443315711809948e-5f;
  s = s * z + 8.3321608736e-3f;
  s = s * z - 1.6666654611e-1f;
  s = s * z * r + r;
  c = c * z - 1.388731625493765e-3f;
  c = c * z + 4.166664568298827e-2f;
  c = c * z * z - 0.5f * z + 1;
  const jf_ivec odd = -(quarter & 1);
  *sine = (jf_vec)((jf_ivec)JF_SELECT(odd, c, s) ^ ((quarter & 2) << 30));
  *cosine = (jf_vec)((jf_ivec)JF_SELECT(odd, s, c) ^ (((quarter + 1) & 2) << 30));
}

/* sin(x - h pi) for whole numbers h + half near x / pi, half being 0 or 1/2, with the sign that
   makes it sin x or -cos x. pi has three parts, of which the first two times h are exact; the
   polynomial is off by at most 1.1e-8 of the result. */
JF_BODY void jf_sin_near(const jf_vec *x, float half, jf_vec *y)
{
  const jf_vec none = { 0 }, magic = none + 0x1.8p23f;
  const jf_vec t = *x * 0.318309886183790672f - half + magic, h = t - magic + half;
  const jf_vec r = ((*x - h * 3.140625f) - h * 9.67502593994140625e-4f) - h * 1.50995799e-7f;
  const jf_vec z = r * r;
  jf_vec p = none + 2.6050929465e-6f;
  p = p * z - 1.9809924579e-4f;
  p = p * z + 8.3330839139e-3f;
  p = p * z - 1.6666661077e-1f;
  *y = (jf_vec)((jf_ivec)(p * z * r + r) ^ (jf_ivec)((jf_uvec)t << 31));
}

JF_BODY void jf_near_sin(const jf_vec *x, jf_vec *y) { jf_sin_near(x, 0, y); }
JF_BODY void jf_near_cos(const jf_vec *x, jf_vec *y)
{
  jf_sin_near(x, 0.5f, y);
  *y = -*y;
}
JF_BODY void jf_near_tan(const jf_vec *x, jf_vec *y)
{
  jf_vec s, c;
  jf_sin_cos(x, &s, &c);
  *y = s / c;
}

/* Lanes of 8192 or more are left to the library. */
#define JF_OF_ANGLE(id)                                           \
  JF_BODY void id##_vec(jf_vec *v)                                \
  {                                                               \
    const jf_vec x = *v;                                          \
    const jf_ivec far = ~(JF_MAGNITUDE(x) < 8192);                \
    jf_near_##id(&x, v);                                          \
    if (!jf_any(&far)) return;                                    \
    float from[JF_LANES], to[JF_LANES];                           \
    memcpy(from, &x, sizeof from);                                \
    memcpy(to, v, sizeof to);                                     \
    for (int i = 0; i < JF_LANES; i++)                            \
      if (!(fabsf(from[i]) < 8192)) to[i] = id##f(from[i]);       \
    memcpy(v, to, sizeof to);                                     \
  }
JF_OF_ANGLE(sin)
JF_OF_ANGLE(cos)
JF_OF_ANGLE(tan)

/* Lane j of *out is number i[j] % JF_LANES of the table. */
JF_BODY void jf_lookup(const float *table, const jf_ivec *i, jf_vec *out)
{
#ifdef __clang__
  for (int j = 0; j < JF_LANES; j++) (*out)[j] = table[(*i)[j] % JF_LANES];
#else
  *out = __builtin_shuffle(JF_LOAD(table), *i);
#endif
}

/* erf |x| from a minimax polynomial for each quarter of [0, 4), in the distance from its lower end;
   beyond it is 1. That of the first quarter is off by 4e-8 of the result, others by 6e-9. */
JF_BODY void erf_vec(jf_vec *v)
{
  static const float table[6][JF_LANES] = {
    { 0.0f, 0.276326388f, 0.520499885f, 0.711155653f, 0.842700779f, 0.92290014f, 0.966105163f,
      0.986671686f, 0.995322287f, 0.998537302f, 0.99959302f, 0.999899387f, 0.999977887f,
      0.999995708f, 0.999999285f, 0.999999881f },
    { 1.12837911f, 1.06001246f, 0.87878114f, 0.642930686f, 0.415107995f, 0.23652187f,
      0.118930787f, 0.0527751446f, 0.0206669271f, 0.00714221317f, 0.00217820657f, 0.000586237409f,
      0.000139237076f, 2.91838078e-05f, 5.39800521e-06f, 8.81104825e-07f },
    { 7.01417139e-06f, -0.264924943f, -0.439323723f, -0.482178986f, -0.415130615f, -0.295686722f,
      -0.178419292f, -0.092363596f, -0.0413314141f, -0.0160652641f, -0.00544202654f,
      -0.00161035662f, -0.000416990952f, -9.4612049e-05f, -1.88289305e-05f, -3.28939427e-06f },
    { -0.376332611f, -0.310501814f, -0.14763777f, 0.0264298022f, 0.138747022f, 0.168140292f,
      0.139169127f, 0.090290986f, 0.0481826775f, 0.0216399357f, 0.00828609336f, 0.00272695278f,
      0.00077551807f, 0.000191319079f, 4.10586035e-05f, 7.68181872e-06f },
    { 0.00202680472f, 0.137096658f, 0.19235538f, 0.15380089f, 0.0664748475f, -0.0108264703f,
      -0.047926113f, -0.0492308773f, -0.0341759771f, -0.0184316877f, -0.00811643619f,
      -0.00298970146f, -0.000934065378f, -0.000249715988f, -5.74713667e-05f, -1.14360082e-05f },
    { 0.105941519f, 0.0453047268f, -0.0269808844f, -0.0666368529f, -0.0610233322f, -0.0306492727f,
      -0.00232746452f, 0.0113086514f, 0.0124368509f, 0.0083610164f, 0.0042390679f, 0.00172979536f,
      0.00058532221f, 0.000166988437f, 4.05860228e-05f, 8.46276453e-06f }
  };
  const jf_vec none = { 0 }, x = *v, most = none + 3.9999f, magic = none + 0x1.8p23f;
  jf_vec s = JF_MAGNITUDE(x), p, c;
  s = JF_SELECT(s > most, most, s);
  const jf_vec sum = s * 4 - 0.5f + magic, d = s - (sum - magic) * 0.25f;
  const jf_ivec i = (jf_ivec)sum & (JF_LANES - 1);
  jf_lookup(table[5], &i, &p);
  for (int k = 4; k >= 0; k--) {
    jf_lookup(table[k], &i, &c);
    p = p * d + c;
  }
  *v = JF_WITH_SIGN(p, JF_SIGN(x));
}

/* erfc x = 1 - erf x for |x| < 1, else exp(-x^2) / |x| times a polynomial of 1 / x^2, or 2 minus
   that. */
JF_BODY void erfc_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, x = *v, size = JF_MAGNITUDE(x);
  const jf_vec q = 1 / JF_SELECT(size < 1, none + 1, size), y = q * q;
  jf_vec e = x, p = none + 2.326819970068386e-2f, r = none - 1.047766399936249e1f, bell = -x * x;
  p = p * y - 1.387039388740657e-1f;
  p = p * y + 3.687424674597105e-1f;
  p = p * y - 5.824733027278666e-1f;
  p = p * y + 6.210004621745983e-1f;
  p = p * y - 4.944515323274145e-1f;
  p = p * y + 3.404879937665872e-1f;
  p = p * y - 2.741127028184656e-1f;
  p = p * y + 5.638259427386472e-1f;
  r = r * y + 1.297719955372516e1f;
  r = r * y - 7.495518717768503e0f;
  r = r * y + 2.921019019210786e0f;
  r = r * y - 1.015265279202700e0f;
  r = r * y + 4.218463358204948e-1f;
  r = r * y - 2.820767439740514e-1f;
  r = r * y + 5.641895067754075e-1f;
  erf_vec(&e);
  jf_exp(&bell);
  const jf_vec far = bell * q * JF_SELECT(size < 2, p, r);
  *v = JF_SELECT(size < 1, 1 - e, JF_SELECT(x < 0, 2 - far, far));
}

JF_BODY void softplus_vec(jf_vec *v)
{
  const jf_vec none = { 0 }, x = *v;
  *v = -JF_MAGNITUDE(x);
  jf_exp_low(v);
  jf_log1p_unit(v);
  *v += JF_SELECT(x > 0, x, none);
}

#endif
