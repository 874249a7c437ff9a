/* Numbers as elements of each dtype, one by one and in loops that become vector code. */
#include "dev/number.h"
#include "base/need.h"
#include "dev/variants.h"

#include <math.h>
#include <string.h>

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

/* Conversions of half floats have no branches or calls, so that the loops below become vector
   code. */
static inline double from_bf16(uint16_t h) { return bits_to_float((uint32_t)h << 16); }

static inline uint16_t to_bf16(double v)
{
  uint32_t u = float_to_bits((float)v);
  uint32_t even = (u + 0x7fff + (u >> 16 & 1)) >> 16;         /* round halfway cases to even */
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
  uint64_t small = double_to_bits(size + 0x1p28) & 0x7ff;     /* its last place is 2^-24 */
  uint64_t h = size < 0x1p-14 ? small : size < 65520 ? normal : v != v ? 0x7e00 : 0x7c00;
  return (uint16_t)(v != v ? h : sign | h);
}

/* The bounds lo and hi are doubles: the first double that int64 cannot hold is 2^63, so v is
   compared with that. */
#define FROM_DOUBLE(D, T, lo, hi)                                                   \
  static inline T to_##D(double v)                                                  \
  {                                                                                 \
    return v != v ? 0 : v <= (double)(lo) ? lo : v >= (double)(hi) ? hi : (T)v;     \
  }
FROM_DOUBLE(I8, int8_t, INT8_MIN, INT8_MAX)
FROM_DOUBLE(U8, uint8_t, 0, UINT8_MAX)
FROM_DOUBLE(I32, int32_t, INT32_MIN, INT32_MAX)
FROM_DOUBLE(I64, int64_t, INT64_MIN, INT64_MAX)

/* X(dtype, C type, an element x as a number, a number v as an element) */
#define EACH_DTYPE(X)                                                                    \
  X(F32, float, x, v) X(F64, double, x, v)                                               \
  X(F16, uint16_t, from_f16(x), to_f16(v)) X(BF16, uint16_t, from_bf16(x), to_bf16(v))   \
  X(I8, int8_t, x, to_I8(v)) X(U8, uint8_t, x, to_U8(v))                                 \
  X(I32, int32_t, x, to_I32(v)) X(I64, int64_t, x, to_I64(v))

double jfl_number_get(jfl_dtype t, const void *data, int64_t i)
{
  if (!data) return jf_need_pointer(__func__, "data", data), 0;
  switch (t) {
#define GET(D, T, number, element) \
  case JFL_##D: { const T x = ((const T *)data)[i]; return (double)(number); }
  EACH_DTYPE(GET)
  case JFL_N_DTYPE: break;
  }
  return jf_need_below(__func__, "t", t, JFL_N_DTYPE), 0;
}

jfl_status jfl_number_put(jfl_dtype t, void *data, int64_t i, double v)
{
  JF_NEED_POINTER(data);
  switch (t) {
#define PUT(D, T, number, element) case JFL_##D: ((T *)data)[i] = (T)(element); return JFL_OK;
  EACH_DTYPE(PUT)
  case JFL_N_DTYPE: break;
  }
  return jf_need_below(__func__, "t", t, JFL_N_DTYPE);
}

int jfl_number_fits(jfl_dtype t, double v)
{
  /* The least numbers that round to infinity. */
  static const double infinite[JFL_N_DTYPE] = {
    [JFL_F32] = 0x1.ffffffp127, [JFL_F64] = INFINITY, [JFL_F16] = 65520, [JFL_BF16] = 0x1.ffp127,
  };
  if ((unsigned)t >= JFL_N_DTYPE) return jf_need_below(__func__, "t", t, JFL_N_DTYPE), 0;
  return infinite[t] > 0 ? fabs(v) < infinite[t] || !isfinite(v) : jf_holds(t, v);
}

#define GET_ALL(D, T, number, element)                                                   \
  case JFL_##D:                                                                          \
    for (int i = 0; i < n; i++) {                                                        \
      const T x = ((const T *)data)[at + i];                                             \
      to[i] = (double)(number);                                                          \
    }                                                                                    \
    break;
JF_BODY void get_all_body(jfl_dtype t, const void *data, int64_t at, int n, double *to)
{
  switch (t) {
  EACH_DTYPE(GET_ALL)
  case JFL_N_DTYPE: break;
  }
}
JF_DISPATCH(get_all, (jfl_dtype t, const void *data, int64_t at, int n, double *to),
            (t, data, at, n, to))

#define PUT_ALL(D, T, number, element)                                                   \
  case JFL_##D:                                                                          \
    for (int i = 0; i < n; i++) {                                                        \
      const double v = from[i];                                                          \
      ((T *)data)[at + i] = (T)(element);                                                \
    }                                                                                    \
    break;
JF_BODY void put_all_body(jfl_dtype t, void *data, int64_t at, int n, const double *from)
{
  switch (t) {
  EACH_DTYPE(PUT_ALL)
  case JFL_N_DTYPE: break;
  }
}
JF_DISPATCH(put_all, (jfl_dtype t, void *data, int64_t at, int n, const double *from),
            (t, data, at, n, from))

void jf_numbers_get(jfl_dtype t, const void *data, int64_t at, int n, double *v)
{
  get_all(t, data, at, n, v);
}

void jf_numbers_put(jfl_dtype t, void *data, int64_t at, int n, const double *v)
{
  put_all(t, data, at, n, v);
}
