/* Products of small matrices that lie in caches. */
#ifndef JF_VEC_TILES_H
#define JF_VEC_TILES_H

#include "vector.h"

/* c (+)= a b, where row r of a has its elements `a_next` apart and begins at r * a_row; rows of b
   and c are vectors side by side, b_row and c_row floats apart. `depth` is the length of a's
   rows. */
typedef struct jf_tile {
  const float *a, *b;
  float *c;
  int64_t a_row, a_next, b_row, c_row, depth;
  int add;
} jf_tile;

enum { JF_TILE_ROWS = 8 };

/* `rows` rows and `vectors` vectors, both constants, so that sums stay in registers. */
JF_BODY void jf_tile_block(const jf_tile *t, int64_t row, int64_t column, int rows, int vectors)
{
  const float *a = t->a + row * t->a_row, *b = t->b + column;
  float *c = t->c + row * t->c_row + column;
  jf_vec sum[JF_TILE_ROWS][2];
  _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++)
    _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++)
      sum[r][v] = t->add ? JF_LOAD(c + r * t->c_row + v * JF_LANES) : (jf_vec){ 0 };
  for (int64_t k = 0; k < t->depth; k++, a += t->a_next, b += t->b_row)
    _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++)
      _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++)
        sum[r][v] += a[r * t->a_row] * JF_LOAD(b + v * JF_LANES);
  _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++)
    _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++)
      JF_STORE(c + r * t->c_row + v * JF_LANES, sum[r][v]);
}

JF_BODY void jf_tile_lines(const jf_tile *t, int64_t row, int64_t vectors, int rows)
{
  int64_t v = 0;
  for (; v + 2 <= vectors; v += 2) jf_tile_block(t, row, v * JF_LANES, rows, 2);
  if (v < vectors) jf_tile_block(t, row, v * JF_LANES, rows, 1);
}

/* The product of `rows` rows and so many vectors. */
JF_BODY void jf_tile_product(const jf_tile *t, int64_t rows, int64_t vectors)
{
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) jf_tile_lines(t, r, vectors, 8);
  for (; r + 4 <= rows; r += 4) jf_tile_lines(t, r, vectors, 4);
  for (; r < rows; r++) jf_tile_lines(t, r, vectors, 1);
}

/* to[c * to_row + r] = scale * from[r * from_row + c] for r < rows and c < columns; rows up to a
   multiple of JF_LANES become 0. */
JF_BODY void jf_tile_turn(const float *from, int64_t from_row, int64_t rows, int64_t columns,
                          float scale, float *to, int64_t to_row)
{
  const int64_t padded = (rows + JF_LANES - 1) / JF_LANES * JF_LANES;
  for (int64_t c = 0; c < columns; c++) {
    float *line = to + c * to_row;
    for (int64_t r = 0; r < rows; r++) line[r] = scale * from[r * from_row + c];
    for (int64_t r = rows; r < padded; r++) line[r] = 0;
  }
}

#endif
