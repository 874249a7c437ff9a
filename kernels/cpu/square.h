/* Transposing squares of JF_SQUARE rows and columns in registers. */
#ifndef JF_VEC_SQUARE_H
#define JF_VEC_SQUARE_H

#include "dev/variants.h"

#include <stdint.h>

enum { JF_SQUARE = 16 };

#define JF_SQUARE_LOW(a, b) \
  __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define JF_SQUARE_HIGH(a, b) \
  __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define JF_SQUARE_STEP(to, from)                          \
  for (int i = 0; i < JF_SQUARE / 2; i++) {               \
    to[2 * i] = JF_SQUARE_LOW(from[i], from[i + 8]);      \
    to[2 * i + 1] = JF_SQUARE_HIGH(from[i], from[i + 8]); \
  }

/* Defines square_T, which transposes a square: rows i and i + 8 are interleaved, four times in a
   row. The steps of rows are in bytes; elements may lie anywhere. */
#define JF_SQUARE_OF(T)                                                                 \
  typedef T jf_row_##T __attribute__((vector_size(JF_SQUARE * sizeof(T))));             \
  typedef T jf_line_##T                                                                 \
    __attribute__((vector_size(JF_SQUARE * sizeof(T)), aligned(1), may_alias));         \
  JF_BODY void square_##T(const char *x, int64_t from, char *y, int64_t to)             \
  {                                                                                     \
    jf_row_##T a[JF_SQUARE], b[JF_SQUARE];                                              \
    for (int i = 0; i < JF_SQUARE; i++)                                                 \
      a[i] = (jf_row_##T)*(const jf_line_##T *)(x + i * from);                          \
    JF_SQUARE_STEP(b, a) JF_SQUARE_STEP(a, b) JF_SQUARE_STEP(b, a) JF_SQUARE_STEP(a, b) \
    for (int i = 0; i < JF_SQUARE; i++)                                                 \
      *(jf_line_##T *)(y + i * to) = (jf_line_##T)a[i];                                 \
  }

#endif
