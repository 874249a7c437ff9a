/* Packs n buffers in time n log n. Buffers are taken in the order of their birth: each gets the
   lowest gap in which it fits, and its bytes become a gap again when it dies. */
#include "plan/plan.h"

#include <stdlib.h>

enum { ALIGN = 64 };

size_t jf_life_bytes(const jf_life *l) { return (l->size + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

/* When a buffer is born and dies. A backward sweep negates the times, so that the last step comes
   first. */
typedef struct passage { int born, dies; jf_life *life; } passage;

static int sweep_by_birth(const void *a, const void *b)
{
  const passage *x = a, *y = b;
  if (x->born != y->born) return x->born < y->born ? -1 : 1;
  if (x->dies != y->dies) return x->dies > y->dies ? -1 : 1;
  return x->life < y->life ? -1 : x->life > y->life;
}

static int sweep_by_death(const void *a, const void *b)
{
  const passage *x = a, *y = b;
  if (x->dies != y->dies) return x->dies < y->dies ? -1 : 1;
  return x->life < y->life ? -1 : x->life > y->life;
}

/* A gap in memory; it may be empty. Gaps form a binary search tree by address. To keep the tree
   balanced, each gap has a hash as its rank, which is below the ranks in its subtrees. Index 0
   stands for no gap. */
typedef struct gap {
  size_t at, size;
  size_t most;                 /* the largest size in this subtree */
  int left, right;
  uint64_t rank;
} gap;
typedef struct gaps { gap *v; int n, root; } gaps;

static void find_largest(gaps *g, int i)
{
  gap *p = &g->v[i];
  const size_t left = g->v[p->left].most, right = g->v[p->right].most;
  p->most = left > right ? left : right;
  if (p->size > p->most) p->most = p->size;
}

/* Splits tree i into the gaps below address `at` and the rest. */
static void split_gaps(gaps *g, int i, size_t at, int *low, int *high)
{
  if (!i) {
    *low = *high = 0;
  } else if (g->v[i].at < at) {
    split_gaps(g, g->v[i].right, at, &g->v[i].right, high);
    find_largest(g, *low = i);
  } else {
    split_gaps(g, g->v[i].left, at, low, &g->v[i].left);
    find_largest(g, *high = i);
  }
}

/* Joins two trees; all gaps of `low` must lie below those of `high`. */
static int join_gaps(gaps *g, int low, int high)
{
  if (!low || !high) return low + high;
  if (g->v[low].rank < g->v[high].rank) {
    g->v[low].right = join_gaps(g, g->v[low].right, high);
    find_largest(g, low);
    return low;
  }
  g->v[high].left = join_gaps(g, low, g->v[high].left);
  find_largest(g, high);
  return high;
}

static int add_gap(gaps *g, size_t at, size_t size)
{
  const int i = ++g->n;
  g->v[i] = (gap){ .at = at, .size = size, .most = size, .rank = jf_hash(0, &i, sizeof i) };
  return i;
}

/* Takes `size` bytes from the lowest gap of tree i that has as many, and returns their address.
   There always is one, as the last gap is endless. */
static size_t take_lowest(gaps *g, int i, size_t size)
{
  gap *p = &g->v[i];
  size_t at = p->at;
  if (p->left && g->v[p->left].most >= size) {
    at = take_lowest(g, p->left, size);
  } else if (p->size >= size) {
    p->at += size;
    p->size -= size;
  } else {
    at = take_lowest(g, p->right, size);
  }
  find_largest(g, i);
  return at;
}

/* If the last gap of tree i ends at address `at`, adds `size` bytes to it and returns 1. */
static int extend_last(gaps *g, int i, size_t at, size_t size)
{
  int given = 0;
  if (!i) return 0;
  gap *p = &g->v[i];
  if (p->right) given = extend_last(g, p->right, at, size);
  else if ((given = p->at + p->size == at)) p->size += size;
  find_largest(g, i);
  return given;
}

/* If the first gap of tree i begins at address `at`, empties it and returns its bytes; else returns
   0. */
static size_t take_first(gaps *g, int i, size_t at)
{
  size_t size = 0;
  if (!i) return 0;
  gap *p = &g->v[i];
  if (p->left) {
    size = take_first(g, p->left, at);
  } else if (p->at == at) {
    size = p->size;
    p->at += size;
    p->size = 0;
  }
  find_largest(g, i);
  return size;
}

static void give_back(gaps *g, size_t at, size_t size)
{
  int low, high;
  split_gaps(g, g->root, at, &low, &high);
  size += take_first(g, high, at + size);
  if (!extend_last(g, low, at, size)) low = join_gaps(g, low, add_gap(g, at, size));
  g->root = join_gaps(g, low, high);
}

size_t jf_sweep(jf_arena *a, jf_life *life, int n, int backward)
{
  passage *birth = jf_alloc(a, (size_t)n * sizeof *birth);
  passage *death = jf_alloc(a, (size_t)n * sizeof *death);
  gaps g = { .v = jf_alloc(a, ((size_t)n + 2) * sizeof *g.v) };
  size_t total = 0;
  g.root = add_gap(&g, 0, SIZE_MAX / 2);
  for (int i = 0; i < n; i++)
    birth[i] = death[i] = backward ? (passage){ -life[i].last, -life[i].first, &life[i] }
                                   : (passage){ life[i].first, life[i].last, &life[i] };
  qsort(birth, (size_t)n, sizeof *birth, sweep_by_birth);
  qsort(death, (size_t)n, sizeof *death, sweep_by_death);
  for (int i = 0, dead = 0; i < n; i++) {
    if (i % 64 == 0) jf_arena_ask(a);
    for (; death[dead].dies < birth[i].born; dead++)
      give_back(&g, death[dead].life->offset, jf_life_bytes(death[dead].life));
    jf_life *l = birth[i].life;
    l->offset = take_lowest(&g, g.root, jf_life_bytes(l));
    if (l->offset + jf_life_bytes(l) > total) total = l->offset + jf_life_bytes(l);
  }
  return total;
}
