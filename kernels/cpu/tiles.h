/* Products of small matrices that lie in caches. */
#ifndef JF_VEC_TILES_H
#define JF_VEC_TILES_H

#include "vector.h"

/* Whose zeros count for nothing where they meet what is not finite. Products that see to that are
   slow. */
typedef enum jf_tile_zeros { JF_ZEROS_USUAL, JF_ZEROS_OF_A, JF_ZEROS_OF_B } jf_tile_zeros;

/* c (+)= a b, where row r of a has its elements `a_next` apart and begins at r * a_row; rows of b
   and c are vectors side by side, b_row and c_row floats apart. `depth` is the length of a's
   rows. */
typedef struct jf_tile {
  const float *a, *b;
  float *c;
  int64_t a_row, a_next, b_row, c_row, depth;
  int add;
  jf_tile_zeros zeros;
} jf_tile;

/* The product of `rows` rows and so many vectors. It may be called only where jf_has_vectors(). */
void jf_tile_product(const jf_tile *t, int64_t rows, int64_t vectors);

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
