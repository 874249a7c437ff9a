/* Loops that sum and that copy numbers to many elements, compiled for each instruction set. */
#include "loops.h"

#include "dev/variants.h"
#include "op/elementwise.h"

/* ---- sums ---- */

enum { LANES = 32, LONG = 1024 };

/* Adds n numbers to *to, which has type A. Blocks of up to LONG numbers are first added up in lanes
   of type L. */
#define SUM(D, T, L, A)                                                         \
  JF_BODY void sum_##D##_body(const void *from, int64_t n, void *to)            \
  {                                                                             \
    const T *x = from;                                                          \
    for (; n > 0; x += LONG, n -= LONG) {                                       \
      const int64_t some = n < LONG ? n : LONG;                                 \
      L lane[LANES] = { 0 };                                                    \
      int64_t i = 0;                                                            \
      for (; i + LANES <= some; i += LANES)                                     \
        for (int j = 0; j < LANES; j++) lane[j] += (L)x[i + j];                 \
      for (int j = 0; i + j < some; j++) lane[j] += (L)x[i + j];                \
      for (int w = LANES / 2; w; w /= 2)                                        \
        for (int j = 0; j < w; j++) lane[j] += lane[j + w];                     \
      *(A *)to += (A)lane[0];                                                   \
    }                                                                           \
  }                                                                             \
  JF_DISPATCH_OF(D)(sum_##D, (const void *from, int64_t n, void *to), (from, n, to))

enum { WIDE = 16, TALL = 32 };

/* Adds each of n columns of `rows` rows to its number at `to`, of type A. Blocks of up to TALL rows
   are first added up in type L. */
#define COLUMNS(D, T, L, A)                                                     \
  JF_BODY void tall_##D(const T *x, int64_t rows, int64_t n, int wide, A *y)    \
  {                                                                             \
    for (; rows > 0; x += TALL * n, rows -= TALL) {                             \
      const int64_t some = rows < TALL ? rows : TALL;                           \
      L lane[WIDE] = { 0 };                                                     \
      for (int64_t r = 0; r < some; r++)                                        \
        for (int j = 0; j < wide; j++) lane[j] += (L)x[r * n + j];              \
      for (int j = 0; j < wide; j++) y[j] += (A)lane[j];                        \
    }                                                                           \
  }                                                                             \
  JF_BODY void columns_##D##_body(const void *from, int64_t rows, int64_t n, void *to) \
  {                                                                             \
    const T *x = from;                                                          \
    A *y = to;                                                                  \
    int64_t j = 0;                                                              \
    if (rows == 1) {                                                            \
      for (; j < n; j++) y[j] += (A)x[j];                                       \
      return;                                                                   \
    }                                                                           \
    for (; j + WIDE <= n; j += WIDE) tall_##D(x + j, rows, n, WIDE, y + j);     \
    if (j < n) tall_##D(x + j, rows, n, (int)(n - j), y + j);                   \
  }                                                                             \
  JF_DISPATCH_OF(D)(columns_##D, (const void *from, int64_t rows, int64_t n, void *to),   \
              (from, rows, n, to))

/* Two loops. The first: y[r] = the sum of row r, divided by count. The second: y[i] = the sum over
   all parts of their total i, divided by count; totals of neighbouring parts are `step` apart. */
#define QUOTIENTS(D, T, A, QUOTIENT)                                            \
  JF_BODY void rows_##D##_body(const void *from, int64_t rows, int64_t n, double count, void *to) \
  {                                                                             \
    (void)count;                                                                \
    for (int64_t r = 0; r < rows; r++) {                                        \
      A s = 0;                                                                  \
      sum_##D##_body((const T *)from + r * n, n, &s);                           \
      ((T *)to)[r] = (T)(QUOTIENT);                                             \
    }                                                                           \
  }                                                                             \
  JF_DISPATCH_OF(D)(rows_##D, (const void *from, int64_t rows, int64_t n, double count, void *to), \
              (from, rows, n, count, to))                                       \
  JF_BODY void finish_##D##_body(void *from, int64_t n, int64_t step, int parts, double count,  \
                                 void *to)                                      \
  {                                                                             \
    A *restrict sum = from;                                                     \
    T *restrict y = to;                                                         \
    (void)count;                                                                \
    for (int p = 1; p < parts; p++)                                             \
      JF_EACH_ALONE for (int64_t i = 0; i < n; i++) sum[i] += sum[p * step + i]; \
    for (int64_t i = 0; i < n; i++) {                                           \
      const A s = sum[i];                                                       \
      y[i] = (T)(QUOTIENT);                                                     \
    }                                                                           \
  }                                                                             \
  JF_DISPATCH_OF(D)(finish_##D,                                                 \
                    (void *from, int64_t n, int64_t step, int parts, double count, void *to), \
                    (from, n, step, parts, count, to))
#define SUMS(D, T, L, A, QUOTIENT) SUM(D, T, L, A) COLUMNS(D, T, L, A) QUOTIENTS(D, T, A, QUOTIENT)
SUMS(F32, float, float, double, s / count)
SUMS(F64, double, double, double, s / count)
SUMS(I32, int32_t, uint64_t, uint64_t, s)
SUMS(I64, int64_t, uint64_t, uint64_t, s)

const jf_adder jf_adders[JFL_N_DTYPE] = {
#define ADDER(D, T) [JFL_##D] = { sum_##D, columns_##D, rows_##D, finish_##D },
  JF_EACH_NUM(ADDER)
};

/* ---- spreading ---- */

/* Writes `rows` rows of n elements. Row r is read from x + r * row_step: n numbers, or the same
   number n times. */
#define SPREAD(B, T)                                                                         \
  JF_BODY void spread_##B##_body(const T *x, T *y, int64_t rows, int64_t row_step, int64_t n,  \
                                 int step)                                                   \
  {                                                                                          \
    for (int64_t r = 0; r < rows; r++, x += row_step, y += n) {                              \
      if (step)                                                                              \
        for (int64_t j = 0; j < n; j++) y[j] = x[j];                                         \
      else                                                                                   \
        for (int64_t j = 0; j < n; j++) y[j] = *x;                                           \
    }                                                                                        \
  }                                                                                          \
  JF_DISPATCH(spread_##B, (const T *restrict x, T *restrict y, int64_t rows, int64_t row_step, \
                           int64_t n, int step), (x, y, rows, row_step, n, step))
SPREAD(1, uint8_t)
SPREAD(2, uint16_t)
SPREAD(4, uint32_t)
SPREAD(8, uint64_t)

void jf_spread_run(const jf_spread *s, size_t size)
{
#define CASE(B, T)                                                               \
  case B:                                                                        \
    spread_##B((const T *)s->x + s->off, (T *)s->y + s->at, s->rows, s->row_step, s->n, s->step); \
    break;
  switch (size) {
  CASE(1, uint8_t)
  CASE(2, uint16_t)
  CASE(4, uint32_t)
  CASE(8, uint64_t)
  default: break;
  }
}
