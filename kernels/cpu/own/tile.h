/* The innermost loops of products and convolutions: small blocks of sums that stay in registers,
   and how operands are packed for them. Panels of b have JF_LANES columns, side by side. */
#ifndef JF_OWN_TILE_H
#define JF_OWN_TILE_H

#include "cpu/vector.h"

/* How a's elements lie. BY_ROWS: each row has up to JF_LANES elements beside each other, and rows
   follow each other; BY_STEPS: the rows' elements for one step of the sum lie beside each other. */
typedef enum jf_own_order { JF_OWN_BY_ROWS, JF_OWN_BY_STEPS } jf_own_order;

/* c[r, v] = start + sum over g < groups and k < depth of a[g, k, r] b[g, k, v], where r counts rows
   and v vectors; the last group has `last` steps instead of depth. Element (g, k, r) of a is at
   g * a_group, or at a_at[g], + k * a_next + r * JF_LANES (a_next is 1) or, by steps, + r. The
   start is 0, or `from`, which lies as c does, plus `bias`. */
typedef struct jf_own_tile {
  const float *a, *b, *from, *bias;
  float *c;
  const int64_t *a_at;         /* or NULL */
  int64_t a_group, a_next, b_group, b_next, b_vec, c_row, c_vec, groups, depth, last;
} jf_own_tile;

/* to[r] = start + sum over t < taps of w[t] from[r], for JF_LANES channels of cells r. Cell r lies
   at r * to_next, and tap t reads what is at tap[t].from + r * from_next and has the factors at
   tap[t].w. The start is 0, or `bias`, plus `residual`, which lies as `to` does. */
typedef struct jf_own_tap { int64_t from, w; } jf_own_tap;
typedef struct jf_own_cells {
  const float *from, *w, *bias, *residual;
  float *to;
  int64_t to_next, from_next, taps;
  const jf_own_tap *tap;
} jf_own_cells;

/* The largest tile: how many rows and vectors; and what computes one of at most that many, or at
   most as many cells as rows. */
typedef struct jf_own_loop {
  int rows, vectors;
  void (*run)(const jf_own_tile *t, jf_own_order order, int rows, int vectors);
  void (*cells)(const jf_own_cells *c, int rows);
} jf_own_loop;
/* The loops that this processor can run, the fastest first, ended by NULL. */
const jf_own_loop *const *jf_own_loops(void);

/* Copies n vectors, times `scale`: lanes from `lanes` on become 0. Nothing is read at or beyond
   `end`, but whole vectors are written. */
typedef struct jf_own_copy {
  const float *from, *end;
  float *to;
  int64_t from_step, to_step, n, lanes;
  float scale;
} jf_own_copy;
void jf_own_copy_vectors(const jf_own_copy *c);

/* to[c * JF_LANES + r] = from[r * from_row + c] for r < rows <= JF_LANES and c < columns; up to
   JF_LANES rows become 0. */
void jf_own_turn(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to);

#endif
