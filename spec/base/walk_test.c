/* Nests of axes: a walk meets the same offsets in the same order, whether axes are joined or
   not. */
#include "base/walk.h"
#include "test.h"

#include <stdlib.h>

enum { MOST = 4096 };

static int64_t count(const jf_nest *w)
{
  int64_t n = 1;
  for (int i = 0; i < w->n; i++) n *= w->d[i];
  return n;
}

/* Lists all offsets of operand j. */
static void list_offsets(const jf_nest *w, int j, int64_t *out)
{
  jf_walk k = jf_walk_at(w, w->n, 0);
  int64_t n = 0;
  do out[n++] = k.off[j];
  while (jf_walk_next(&k));
  CHECK_MSG(n == count(w), "%lld", (long long)n);
  CHECK(k.off[0] == 0 && k.off[1] == 0);
}

/* Makes a random shape and one that broadcasts to it. */
static void random_shapes(jfl_shape *to, jfl_shape *from)
{
  to->n = rand() % 5;
  for (int i = 0; i < to->n; i++) to->d[i] = 1 + rand() % 5;
  from->n = to->n ? rand() % (to->n + 1) : 0;
  for (int i = 0; i < from->n; i++)
    from->d[i] = rand() % 2 ? to->d[to->n - from->n + i] : 1;
}

static void joining_changes_no_offset(void)
{
  static int64_t before[2][MOST], after[MOST];
  srand(3);
  for (int round = 0; round < 2000; round++) {
    int64_t step[2][JFL_MAXDIM];
    jfl_shape to, from;
    random_shapes(&to, &from);
    jf_nest w = { .n = to.n, .n_op = 2, .step = step };
    for (int i = 0; i < to.n; i++) w.d[i] = to.d[i];
    jf_dense_steps(to.n, to.d, 1, step[0]);
    jf_broadcast_steps(&from, &to, 4, step[1]);
    const int64_t size = count(&w);
    for (int j = 0; j < 2; j++) list_offsets(&w, j, before[j]);
    for (int i = 0; i < size; i++) CHECK(before[0][i] == i);
    jf_nest_join(&w, 0);
    CHECK(w.n >= 1 && count(&w) == size);
    for (int j = 0; j < 2; j++) {
      list_offsets(&w, j, after);
      for (int i = 0; i < size; i++) CHECK(after[i] == before[j][i]);
      for (int i = 0; i < size; i++) CHECK(jf_nest_offset(&w, j, w.n, i) == before[j][i]);
    }
  }
}

static void a_walk_may_begin_anywhere(void)
{
  int64_t step[1][JFL_MAXDIM] = { { 100, 10, 1 } };
  const jf_nest w = { .n = 3, .n_op = 1, .d = { 2, 3, 4 }, .step = step };
  jf_walk k = jf_walk_at(&w, 2, 4);
  CHECK(k.off[0] == 110 && k.at[0] == 1 && k.at[1] == 1);
  CHECK(jf_walk_next(&k) && k.off[0] == 120);
  CHECK(!jf_walk_next(&k) && k.off[0] == 0);
}

static void dense_axes_become_one(void)
{
  int64_t step[2][JFL_MAXDIM] = { { 24, 12, 4, 1 }, { 24, 12, 4, 1 } };
  jf_nest w = { .n = 4, .n_op = 2, .d = { 5, 2, 3, 4 }, .step = step };
  jf_nest_join(&w, 0);
  CHECK(w.n == 1 && w.d[0] == 120 && step[0][0] == 1 && step[1][0] == 1);
}

static void no_axis_crosses_a_border(void)
{
  int64_t step[1][JFL_MAXDIM] = { { 24, 12, 4, 1 } };
  jf_nest w = { .n = 4, .n_op = 1, .d = { 5, 2, 3, 4 }, .step = step };
  jf_nest_join(&w, 12);
  CHECK(w.n == 2 && w.d[0] == 10 && w.d[1] == 12 && step[0][0] == 12 && step[0][1] == 1);
}

int main(void)
{
  RUN(joining_changes_no_offset);
  RUN(a_walk_may_begin_anywhere);
  RUN(dense_axes_become_one);
  RUN(no_axis_crosses_a_border);
  return test_done();
}
