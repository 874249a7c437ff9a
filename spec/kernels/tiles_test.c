/* The tiles of own products for every instruction set that this processor has: of each height and
   width and in both orders they sum what they are given. */
#include "cpu/own/tile.h"
#include "test.h"

enum { MOST_ROWS = 14, VECTORS = 2, COLUMNS = VECTORS * JF_LANES, STEPS = 37, GROUPS = 3 };

/* Whole numbers, whose sums of products are exact. */
static float number(int64_t i) { return (float)(i * 7919 % 13 - 6); }

static float a[GROUPS * JF_LANES * MOST_ROWS], b[GROUPS * JF_LANES * COLUMNS];
static float from[MOST_ROWS * COLUMNS], bias[COLUMNS], c[MOST_ROWS * COLUMNS];

/* What element (r, j) should be. */
static float expected(jf_own_order order, int rows, int r, int j)
{
  float sum = from[r * COLUMNS + j] + bias[j];
  for (int k = 0; k < STEPS; k++) {
    const int at = order == JF_OWN_BY_ROWS ? (k / JF_LANES * rows + r) * JF_LANES + k % JF_LANES
                                           : k * rows + r;
    sum += a[at] * b[(j / JF_LANES * GROUPS * JF_LANES + k) * JF_LANES + j % JF_LANES];
  }
  return sum;
}

/* Counts the elements of a tile that are wrong, those beside it included. */
static int wrong(const jf_own_loop *loop, jf_own_order order, int rows, int vectors)
{
  jf_own_tile t = { .a = a, .b = b, .from = from, .bias = bias, .c = c,
                    .a_next = order == JF_OWN_BY_ROWS ? 1 : rows, .a_group = rows * JF_LANES,
                    .b_next = JF_LANES, .b_group = JF_LANES * JF_LANES,
                    .b_vec = GROUPS * JF_LANES * JF_LANES, .c_row = COLUMNS, .c_vec = JF_LANES,
                    .groups = 1, .depth = JF_LANES, .last = STEPS };
  if (order == JF_OWN_BY_ROWS) {
    t.groups = GROUPS;
    t.last = STEPS - (GROUPS - 1) * JF_LANES;
  }
  for (int i = 0; i < MOST_ROWS * COLUMNS; i++) c[i] = -1;
  loop->run(&t, order, rows, vectors);
  int n = 0;
  for (int r = 0; r < MOST_ROWS; r++)
    for (int j = 0; j < COLUMNS; j++) {
      const int inside = r < rows && j < vectors * JF_LANES;
      n += c[r * COLUMNS + j] != (inside ? expected(order, rows, r, j) : -1);
    }
  return n;
}

static void tiles_sum_what_they_are_given(void)
{
  for (const jf_own_loop *const *l = jf_own_loops(); *l; l++)
    for (int rows = 1; rows <= (*l)->rows; rows++)
      for (int vectors = 1; vectors <= (*l)->vectors; vectors++)
        for (int order = 0; order < 2; order++)
          CHECK(wrong(*l, (jf_own_order)order, rows, vectors) == 0);
}

int main(void)
{
  for (size_t i = 0; i < sizeof a / sizeof *a; i++) a[i] = number((int64_t)i);
  for (size_t i = 0; i < sizeof b / sizeof *b; i++) b[i] = number((int64_t)i + 5);
  for (int i = 0; i < MOST_ROWS * COLUMNS; i++) from[i] = number(i + 3);
  for (int i = 0; i < COLUMNS; i++) bias[i] = number(i + 9);
  RUN(tiles_sum_what_they_are_given);
  return test_done();
}
