/* Conversion of arrays between dtypes, through double in chunks. */
#include "dev/dev.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 256 };

static float bits_to_float(uint32_t u)
{
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

static uint32_t float_to_bits(float f)
{
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

static double from_bf16(uint16_t h) { return bits_to_float((uint32_t)h << 16); }

static uint16_t to_bf16(double v)
{
  uint32_t u = float_to_bits((float)v);
  if (v != v) return (uint16_t)(u >> 16 | 0x40);
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);      /* round half to even */
}

static double from_f16(uint16_t h)
{
  int exponent = h >> 10 & 31, fraction = h & 1023;
  double v = exponent == 31 ? (fraction ? NAN : INFINITY)
           : exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  return h & 0x8000 ? -v : v;
}

static uint16_t to_f16(double v)
{
  uint16_t sign = signbit(v) ? 0x8000 : 0;
  v = fabs(v);
  if (v != v) return 0x7e00;
  if (v >= 65520) return sign | 0x7c00;
  if (v == 0) return sign;
  int e;
  frexp(v, &e);                                    /* v = f 2^e, f in [0.5, 1) */
  if (e < -13) return sign | (uint16_t)nearbyint(ldexp(v, 24));      /* subnormal */
  return sign | (uint16_t)(((e + 13) << 10) + (int)nearbyint(ldexp(v, 11 - e)));
}

static double narrowed(double v, jfl_dtype t)
{
  switch (t) {
  case JFL_F64: return v;
  case JFL_F32: return (float)v;
  case JFL_F16: return from_f16(to_f16(v));
  case JFL_BF16: return from_bf16(to_bf16(v));
  default: return trunc(jf_clamp(t, v));
  }
}

#define LOAD(D, T, expr) \
  case JFL_##D: { const T *x = (const T *)src + at; for (int i = 0; i < n; i++) v[i] = (double)(expr); break; }
/* v where it lies between lo and hi, the extremes of an integer dtype; not-a-number is 0. */
static double between(double v, double lo, double hi)
{
  return v != v ? 0 : v < lo ? lo : v > hi ? hi : v;
}

#define STORE(D, T, expr) \
  case JFL_##D: { T *y = (T *)dst + at; for (int i = 0; i < n; i++) y[i] = (T)(expr); break; }

static void load(const void *src, jfl_dtype t, int64_t at, int n, double *v)
{
  switch (t) {
  LOAD(F32, float, x[i]) LOAD(F64, double, x[i]) LOAD(F16, uint16_t, from_f16(x[i]))
  LOAD(BF16, uint16_t, from_bf16(x[i])) LOAD(I8, int8_t, x[i]) LOAD(U8, uint8_t, x[i])
  LOAD(I32, int32_t, x[i]) LOAD(I64, int64_t, x[i])
  case JFL_N_DTYPE: break;
  }
}

static void store(const double *v, void *dst, jfl_dtype t, int64_t at, int n)
{
  const double lo = jf_clamp(t, -INFINITY), hi = jf_clamp(t, INFINITY);
  switch (t) {
  STORE(F32, float, v[i]) STORE(F64, double, v[i]) STORE(F16, uint16_t, to_f16(v[i]))
  STORE(BF16, uint16_t, to_bf16(v[i])) STORE(I8, int8_t, between(v[i], lo, hi))
  STORE(U8, uint8_t, between(v[i], lo, hi)) STORE(I32, int32_t, between(v[i], lo, hi))
  STORE(I64, int64_t, between(v[i], lo, hi))
  case JFL_N_DTYPE: break;
  }
}

/* Between floats rounding is no loss, overflow is; an integer must come through exactly. */
static jfl_status check(const double *v, jfl_dtype from, jfl_dtype to, int64_t at, int n)
{
  for (int i = 0; i < n; i++) {
    double w = narrowed(v[i], to);
    int lost = jf_is_float(from) && jf_is_float(to) ? isinf(w) && !isinf(v[i]) : w != v[i];
    if (lost)
      return jf_fail(JFL_EDTYPE, "value %.17g at index %lld does not fit %s", v[i],
                     (long long)(at + i), jfl_dtype_name(to));
  }
  return JFL_OK;
}

static jfl_status convert(const jfl_array *a, int lossless, jfl_array *to)
{
  double v[CHUNK];
  for (int64_t at = 0, size = jfl_array_size(a); at < size; at += CHUNK) {
    int n = size - at < CHUNK ? (int)(size - at) : CHUNK;
    load(a->data, a->dtype, at, n, v);
    if (lossless) JF_TRY(check(v, a->dtype, to->dtype, at, n));
    store(v, to->data, to->dtype, at, n);
  }
  return JFL_OK;
}

jfl_status jfl_array_cast(const jfl_array *a, jfl_dtype t, int lossless, jfl_array **out)
{
  jfl_array *to;
  JF_TRY(jf_array_new_raw(t, &a->shape, &to));
  jfl_status s = JFL_OK;
  if (t == a->dtype) memcpy(to->data, a->data, (size_t)jfl_array_size(a) * jfl_dtype_size(t));
  else s = convert(a, lossless, to);
  if (s) jfl_array_unref(to);
  else *out = to;
  return s;
}
