/* Conversion of arrays between dtypes, through double in chunks. */
#include "dev/dev.h"
#include "dev/variants.h"

#include <math.h>
#include <stdio.h>
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

static uint64_t double_to_bits(double v)
{
  uint64_t u;
  memcpy(&u, &v, sizeof u);
  return u;
}

/* Halves are taken apart without branches and calls, so that the loops below become vector code. */
static inline double from_bf16(uint16_t h) { return bits_to_float((uint32_t)h << 16); }

static inline uint16_t to_bf16(double v)
{
  uint32_t u = float_to_bits((float)v);
  uint32_t even = (u + 0x7fff + (u >> 16 & 1)) >> 16;         /* round half to even */
  return (uint16_t)(v != v ? u >> 16 | 0x40 : even);
}

static inline double from_f16(uint16_t h)
{
  uint32_t magnitude = h & 0x7fff, widen = magnitude < 0x7c00 ? 112u << 23 : 224u << 23;
  float normal = bits_to_float((magnitude << 13) + widen), small = (float)(int)magnitude * 0x1p-24f;
  float v = magnitude < 0x400 ? small : normal;
  return h & 0x8000 ? -v : v;
}

static inline uint16_t to_f16(double v)
{
  uint64_t u = double_to_bits(v), sign = u >> 48 & 0x8000, magnitude = u & INT64_MAX;
  double size = fabs(v);
  uint64_t normal = ((magnitude + 0x1ffffffffff + (u >> 42 & 1)) >> 42) - (1008 << 10);
  uint64_t small = double_to_bits(size + 0x1p28) & 0x7ff;     /* its last place counts 2^-24 */
  uint64_t h = size < 0x1p-14 ? small : size < 65520 ? normal : v != v ? 0x7e00 : 0x7c00;
  return (uint16_t)(v != v ? h : sign | h);
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

/* v where it lies between lo and hi, the extremes of an integer dtype; not-a-number is 0. */
static inline double between(double v, double lo, double hi)
{
  return v != v ? 0 : v < lo ? lo : v > hi ? hi : v;
}

#define LOAD(D, T, expr)                                                      \
  case JFL_##D: {                                                             \
    const T *x = (const T *)src + at;                                         \
    for (int i = 0; i < n; i++) v[i] = (double)(expr);                        \
    break;                                                                    \
  }
#define STORE(D, T, expr) \
  case JFL_##D: { T *y = (T *)dst + at; for (int i = 0; i < n; i++) y[i] = (T)(expr); break; }

JF_BODY void dev_cast_load_body(const void *src, jfl_dtype t, int64_t at, int n, double *v)
{
  switch (t) {
  LOAD(F32, float, x[i]) LOAD(F64, double, x[i]) LOAD(F16, uint16_t, from_f16(x[i]))
  LOAD(BF16, uint16_t, from_bf16(x[i])) LOAD(I8, int8_t, x[i]) LOAD(U8, uint8_t, x[i])
  LOAD(I32, int32_t, x[i]) LOAD(I64, int64_t, x[i])
  case JFL_N_DTYPE: break;
  }
}
JF_DISPATCH(dev_cast_load, (const void *src, jfl_dtype t, int64_t at, int n, double *v),
            (src, t, at, n, v))

JF_BODY void dev_cast_store_body(const double *v, void *dst, jfl_dtype t, int64_t at, int n)
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
JF_DISPATCH(dev_cast_store, (const double *v, void *dst, jfl_dtype t, int64_t at, int n),
            (v, dst, t, at, n))

/* Whether element `at` came through the double v exactly: integers beyond 2^53 may not. */
static int is_exact(const jfl_array *a, int64_t at, double v)
{
  return a->dtype != JFL_I64 || (v < 0x1p63 && (int64_t)v == ((const int64_t *)a->data)[at]);
}

/* Fails for element `at`, told as an element of nested lists that count from 1: "[2][1]". */
static jfl_status misfit(const jfl_array *a, int64_t at, double v, jfl_dtype to)
{
  char path[JFL_MAXDIM * 24] = "", value[32];
  size_t n = 0;
  if (a->dtype == JFL_I64)
    snprintf(value, sizeof value, "%lld", (long long)((const int64_t *)a->data)[at]);
  else snprintf(value, sizeof value, "%.16g", v);
  int64_t inner = jfl_array_size(a);
  for (int k = 0; k < a->shape.n; k++) {
    inner /= a->shape.d[k];
    n += (size_t)snprintf(path + n, sizeof path - n, "[%lld]", (long long)(at / inner + 1));
    at %= inner;
  }
  return jf_fail_argument(JFL_EDTYPE, path, "must fit %s, got %s", jfl_dtype_name(to), value);
}

/* Between floats rounding is no loss, overflow is; an integer must come through exactly. */
static jfl_status dev_cast_check(const jfl_array *a, const double *v, jfl_dtype to, int64_t at,
                                 int n)
{
  int floats = jf_is_float(a->dtype) && jf_is_float(to);
  for (int i = 0; i < n; i++) {
    double w = narrowed(v[i], to);
    if (!is_exact(a, at + i, v[i])) return misfit(a, at + i, v[i], to);
    if (floats ? isinf(w) && !isinf(v[i]) : w != v[i]) return misfit(a, at + i, v[i], to);
  }
  return JFL_OK;
}

static jfl_status dev_cast_convert(const jfl_array *a, int lossless, jfl_array *to)
{
  double v[CHUNK];
  for (int64_t at = 0, size = jfl_array_size(a); at < size; at += CHUNK) {
    int n = size - at < CHUNK ? (int)(size - at) : CHUNK;
    dev_cast_load(a->data, a->dtype, at, n, v);
    if (lossless) JF_TRY(dev_cast_check(a, v, to->dtype, at, n));
    dev_cast_store(v, to->data, to->dtype, at, n);
  }
  return JFL_OK;
}

jfl_status jfl_array_cast(const jfl_array *a, jfl_dtype t, int lossless, jfl_array **out)
{
  jfl_array *to;
  JF_TRY(jf_array_new_raw(t, &a->shape, &to));
  jfl_status s = JFL_OK;
  if (t == a->dtype) memcpy(to->data, a->data, (size_t)jfl_array_size(a) * jfl_dtype_size(t));
  else s = dev_cast_convert(a, lossless, to);
  if (s) jfl_array_unref(to);
  else *out = to;
  return s;
}
