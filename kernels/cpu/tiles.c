/* Products of small matrices, compiled once for all kernels that work in tiles. */
#include "tiles.h"

enum { TILE_ROWS = 8 };

/* `rows` rows and `vectors` vectors, both constants, so that sums stay in registers. */
JF_BODY void tiles_block(const jf_tile *t, int64_t row, int64_t column, int rows, int vectors)
{
  const float *a = t->a + row * t->a_row, *b = t->b + column;
  float *c = t->c + row * t->c_row + column;
  jf_vec sum[TILE_ROWS][2];
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

JF_BODY void tiles_lines(const jf_tile *t, int64_t row, int64_t vectors, int rows)
{
  int64_t v = 0;
  for (; v + 2 <= vectors; v += 2) tiles_block(t, row, v * JF_LANES, rows, 2);
  if (v < vectors) tiles_block(t, row, v * JF_LANES, rows, 1);
}

JF_BODY void tiles_product_body(const jf_tile *t, int64_t rows, int64_t vectors)
{
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) tiles_lines(t, r, vectors, 8);
  for (; r + 4 <= rows; r += 4) tiles_lines(t, r, vectors, 4);
  for (; r < rows; r++) tiles_lines(t, r, vectors, 1);
}
JF_DISPATCH_VECTOR(tiles_product, (const jf_tile *t, int64_t rows, int64_t vectors),
                 (t, rows, vectors))

JF_BODY void tiles_careful_body(const jf_tile *t, int64_t rows, int64_t vectors)
{
  const jf_vec none = { 0 };
  for (int64_t i = 0; i < rows * vectors; i++) {
    const float *a = t->a + i / vectors * t->a_row, *b = t->b + i % vectors * JF_LANES;
    float *c = t->c + i / vectors * t->c_row + i % vectors * JF_LANES;
    jf_vec sum = t->add ? JF_LOAD(c) : none;
    for (int64_t k = 0; k < t->depth; k++, a += t->a_next, b += t->b_row) {
      const jf_vec x = none + *a, y = JF_LOAD(b), zero = t->zeros == JF_ZEROS_OF_A ? x : y;
      sum += JF_SELECT(zero == 0, none, x * y);
    }
    JF_STORE(c, sum);
  }
}
JF_DISPATCH_VECTOR(tiles_careful, (const jf_tile *t, int64_t rows, int64_t vectors),
                 (t, rows, vectors))

void jf_tile_product(const jf_tile *t, int64_t rows, int64_t vectors)
{
  if (t->zeros) tiles_careful(t, rows, vectors);
  else tiles_product(t, rows, vectors);
}
