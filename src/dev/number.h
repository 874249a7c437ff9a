/* Numbers as elements of the dtypes. Floats are rounded to the nearest, halfway to the even one;
   integers drop the fraction and saturate, and not-a-number becomes 0. */
#ifndef JF_NUMBER_H
#define JF_NUMBER_H

#include "base/base.h"

/* Conversions to integer types. The first double that int64 cannot hold is 2^63, as which its
   largest number is compared. */
#define JF_FROM_DOUBLE(D, T, lo, hi)                                                \
  static inline T jf_double_to_##D(double v)                                        \
  {                                                                                 \
    return v != v ? 0 : v <= (double)(lo) ? lo : v >= (double)(hi) ? hi : (T)v;     \
  }
#define JF_FROM_INT(D, T, lo, hi) \
  static inline T jf_int_to_##D(int64_t v) { return v < (lo) ? lo : v > (hi) ? hi : (T)v; }
JF_FROM_DOUBLE(I8, int8_t, INT8_MIN, INT8_MAX)
JF_FROM_DOUBLE(U8, uint8_t, 0, UINT8_MAX)
JF_FROM_DOUBLE(I32, int32_t, INT32_MIN, INT32_MAX)
JF_FROM_DOUBLE(I64, int64_t, INT64_MIN, INT64_MAX)
JF_FROM_INT(I8, int8_t, INT8_MIN, INT8_MAX)
JF_FROM_INT(U8, uint8_t, 0, UINT8_MAX)
JF_FROM_INT(I32, int32_t, INT32_MIN, INT32_MAX)

/* Elements at .. at + n - 1 of data as numbers, and numbers as these elements. */
void jf_numbers_get(jfl_dtype t, const void *data, int64_t at, int n, double *v);
void jf_numbers_put(jfl_dtype t, void *data, int64_t at, int n, const double *v);

#endif
