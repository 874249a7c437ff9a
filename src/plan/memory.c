/* Packing buffers of known lifetimes into one block of memory. */
#include "plan/plan.h"

#include <stdlib.h>

/* TRIES: how often an order is improved. WORK: how many comparisons are worth spending on a better
   layout; MOST_WORK: how many if the fast sweeps gave a poor one. */
enum { TRIES = 32, WORK = 1 << 23, MOST_WORK = 8 * WORK };

/* The orders to try: larger buffers first, larger and longer-lived first, and by birth. Addresses
   settle ties, so that each order is total. */
static int by_address(const jf_life *x, const jf_life *y) { return x < y ? -1 : x > y; }

static int by_size(const void *a, const void *b)
{
  const jf_life *x = *(jf_life *const *)a, *y = *(jf_life *const *)b;
  if (x->size != y->size) return x->size < y->size ? 1 : -1;
  return x->first != y->first ? (x->first < y->first ? -1 : 1) : by_address(x, y);
}

static double plan_memory_area(const jf_life *l)
{
  return (double)l->size * (l->last - l->first + 1);
}

static int by_area(const void *a, const void *b)
{
  const jf_life *x = *(jf_life *const *)a, *y = *(jf_life *const *)b;
  return plan_memory_area(x) != plan_memory_area(y)
             ? (plan_memory_area(x) < plan_memory_area(y) ? 1 : -1)
             : by_address(x, y);
}

static int by_birth(const void *a, const void *b)
{
  const jf_life *x = *(jf_life *const *)a, *y = *(jf_life *const *)b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return x->size != y->size ? (x->size < y->size ? 1 : -1) : by_address(x, y);
}

static int overlaps(const jf_life *a, const jf_life *b)
{
  return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset at which l fits beside those buffers of `placed` (sorted by offset) that live
   at the same time. */
static size_t lowest_fit(const jf_life *l, jf_life *const *placed, int n)
{
  size_t at = 0;
  for (int i = 0; i < n; i++) {
    if (!overlaps(l, placed[i])) continue;
    if (placed[i]->offset >= at + jf_life_bytes(l)) break;
    size_t end = placed[i]->offset + jf_life_bytes(placed[i]);
    if (end > at) at = end;
  }
  return at;
}

static size_t end_of(const jf_life *l) { return l->offset + jf_life_bytes(l); }

/* Places the buffers in this order; returns the bytes needed. */
static size_t lay(jf_life *const *order, jf_life **placed, int n)
{
  size_t total = 0;
  for (int i = 0; i < n; i++) {
    jf_life *l = order[i];
    l->offset = lowest_fit(l, placed, i);
    int k = i;
    for (; k > 0 && placed[k - 1]->offset > l->offset; k--) placed[k] = placed[k - 1];
    placed[k] = l;
    if (end_of(l) > total) total = end_of(l);
  }
  return total;
}

/* Moves the buffer that reaches highest to the front of the order: it found no room below
   others. */
static void promote_highest(jf_life **order, int n)
{
  int top = 0;
  for (int i = 1; i < n; i++)
    if (end_of(order[i]) >= end_of(order[top])) top = i;
  jf_life *l = order[top];
  for (; top > 0; top--) order[top] = order[top - 1];
  order[0] = l;
}

/* The best layout so far; plan_memory_keep replaces it by a better one. */
typedef struct best { size_t total, *offset; } best;

static void plan_memory_keep(best *b, const jf_life *life, int n, size_t total)
{
  if (total >= b->total) return;
  b->total = total;
  for (int i = 0; i < n; i++) b->offset[i] = life[i].offset;
}

/* Tries several orders, and improves each of them several times. */
static void pack_carefully(jf_arena *a, jf_life *life, int n, size_t enough, best *b)
{
  static int (*const orders[])(const void *, const void *) = { by_size, by_area, by_birth };
  enum { N_ORDERS = 3 };
  const int most = WORK / ((int64_t)n * n + 1) < TRIES ? (int)(WORK / ((int64_t)n * n + 1)) : TRIES;
  jf_life **order = jf_alloc(a, (size_t)n * sizeof *order);
  jf_life **placed = jf_alloc(a, (size_t)n * sizeof *placed);
  for (int i = 0; i < n; i++) order[i] = &life[i];
  for (int o = 0; o < N_ORDERS && b->total > enough; o++) {
    qsort(order, (size_t)n, sizeof *order, orders[o]);
    plan_memory_keep(b, life, n, lay(order, placed, n));
    for (int i = 0; i < most && b->total > enough; i++) {
      jf_arena_ask(a);
      promote_highest(order, n);
      plan_memory_keep(b, life, n, lay(order, placed, n));
    }
  }
}

size_t jf_pack(jf_arena *a, jf_life *life, int n)
{
  const size_t bound = jf_pack_bound(a, life, n), enough = bound + bound / 64;
  best b = { SIZE_MAX, jf_alloc(a, (size_t)n * sizeof *b.offset) };
  if (!n) return 0;
  const int64_t pairs = (int64_t)n * n;
  for (int backward = 0; backward < 2 && pairs > WORK; backward++)
    plan_memory_keep(&b, life, n, jf_sweep(a, life, n, backward));
  if (pairs <= MOST_WORK) pack_carefully(a, life, n, enough, &b);
  for (int i = 0; i < n; i++) life[i].offset = b.offset[i];
  return b.total;
}

size_t jf_pack_bound(jf_arena *a, const jf_life *life, int n)
{
  int last = 0;
  for (int i = 0; i < n; i++) last = life[i].last > last ? life[i].last : last;
  size_t *change = jf_alloc(a, ((size_t)last + 2) * sizeof *change), live = 0, most = 0;
  for (int i = 0; i < n; i++) {
    change[life[i].first] += jf_life_bytes(&life[i]);
    change[life[i].last + 1] -= jf_life_bytes(&life[i]);
  }
  for (int s = 0; s <= last; s++) {
    live += change[s];
    if (live > most) most = live;
  }
  return most;
}
