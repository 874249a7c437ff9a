/* Numbers as elements of each dtype, one by one and in loops that become vector code. */
#include "dev/number.h"
#include "base/need.h"
#include "dev/half.h"
#include "dev/variants.h"

#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
  X(F16, uint16_t, jf_from_f16(x), jf_double_to_f16(v)   )                               \
  X(BF16, uint16_t, jf_from_bf16(x), jf_to_bf16((float)v))                               \
  X(I8, int8_t, x, to_I8(v)) X(U8, uint8_t, x, to_U8(v))                                 \
  X(I32, int32_t, x, to_I32(v)) X(I64, int64_t, x, to_I64(v))

double jfl_number_get(jfl_dtype t, const void *data, int64_t i)
{
  if (!data) return jf_need_pointer(__func__, "data", data), 0;
  switch ((int)t) {
#define GET(D, T, number, element) \
  case JFL_##D: { const T x = ((const T *)data)[i]; return (double)(number); }
  EACH_DTYPE(GET)
  }
  return jf_need_below(__func__, "t", t, JFL_Q8_0), 0;
}

jfl_status jfl_number_put(jfl_dtype t, void *data, int64_t i, double v)
{
  JF_NEED_POINTER(data);
  switch ((int)t) {
#define PUT(D, T, number, element) case JFL_##D: ((T *)data)[i] = (T)(element); return JFL_OK;
  EACH_DTYPE(PUT)
  }
  return jf_need_below(__func__, "t", t, JFL_Q8_0);
}

int jfl_number_fits(jfl_dtype t, double v)
{
  /* The least numbers that round to infinity. */
  static const double infinite[JFL_N_DTYPE] = {
    [JFL_F32] = 0x1.ffffffp127, [JFL_F64] = INFINITY, [JFL_F16] = 65520, [JFL_BF16] = 0x1.ffp127,
  };
  if ((unsigned)t >= JFL_Q8_0) return jf_need_below(__func__, "t", t, JFL_Q8_0), 0;
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
  switch ((int)t) {
  EACH_DTYPE(GET_ALL)
  }
}
JF_DISPATCH_FEW(get_all, (jfl_dtype t, const void *data, int64_t at, int n, double *to),
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
  switch ((int)t) {
  EACH_DTYPE(PUT_ALL)
  }
}
JF_DISPATCH_FEW(put_all, (jfl_dtype t, void *data, int64_t at, int n, const double *from),
            (t, data, at, n, from))

void jf_numbers_get(jfl_dtype t, const void *data, int64_t at, int n, double *v)
{
  get_all(t, data, at, n, v);
}

void jf_numbers_put(jfl_dtype t, void *data, int64_t at, int n, const double *v)
{
  put_all(t, data, at, n, v);
}

/* Converts the first floats of 16 bits where the processor has an instruction for that; gives how
   many. */
#if defined(__x86_64__)
__attribute__((target("avx2,f16c")))
static int64_t halves_get_first(const uint16_t *from, float *to, int64_t n)
{
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + i))));
  return i;
}
static int64_t halves_first(jfl_dtype t, const uint16_t *from, float *to, int64_t n)
{
  return t == JFL_F16 && jf_has_avx2() ? halves_get_first(from, to, n) : 0;
}
#else
static int64_t halves_first(jfl_dtype t, const uint16_t *from, float *to, int64_t n)
{
  (void)t, (void)from, (void)to, (void)n;
  return 0;
}
#endif

JF_BODY void halves_get_body(jfl_dtype t, const uint16_t *from, float *to, int64_t n)
{
  if (t == JFL_F16) {
    JF_EACH_ALONE for (int64_t i = 0; i < n; i++) to[i] = jf_from_f16(from[i]);
  } else {
    JF_EACH_ALONE for (int64_t i = 0; i < n; i++) to[i] = jf_from_bf16(from[i]);
  }
}
JF_DISPATCH(halves_get, (jfl_dtype t, const uint16_t *from, float *to, int64_t n), (t, from, to, n))

JF_BODY void halves_put_body(jfl_dtype t, uint16_t *to, const float *from, int64_t n)
{
  if (t == JFL_F16) {
    JF_EACH_ALONE for (int64_t i = 0; i < n; i++) to[i] = jf_to_f16(from[i]);
  } else {
    JF_EACH_ALONE for (int64_t i = 0; i < n; i++) to[i] = jf_to_bf16(from[i]);
  }
}
JF_DISPATCH(halves_put, (jfl_dtype t, uint16_t *to, const float *from, int64_t n), (t, to, from, n))

void jf_halves_get(jfl_dtype t, const uint16_t *from, float *to, int64_t n)
{
  const int64_t i = halves_first(t, from, to, n);
  if (i < n) halves_get(t, from + i, to + i, n - i);
}

void jf_halves_put(jfl_dtype t, uint16_t *to, const float *from, int64_t n)
{
  halves_put(t, to, from, n);
}
