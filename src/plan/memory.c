/* Packing buffers with known lifetimes into one block of memory. */
#include "plan/plan.h"

#include <stdlib.h>

enum { ALIGN = 64 };

static size_t padded(size_t n) { return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

/* Bigger first, then earlier; the address settles ties, so the order is total. */
static int by_size(const void *a, const void *b)
{
  const jf_life *x = *(jf_life *const *)a, *y = *(jf_life *const *)b;
  if (x->size != y->size) return x->size < y->size ? 1 : -1;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return x < y ? -1 : x > y;
}

static int overlaps(const jf_life *a, const jf_life *b)
{
  return a->first <= b->last && b->first <= a->last;
}

/* Lowest offset at which l fits beside those of placed (sorted by offset) that are alive with it. */
static size_t lowest_fit(const jf_life *l, jf_life *const *placed, int n)
{
  size_t at = 0;
  for (int i = 0; i < n; i++) {
    if (!overlaps(l, placed[i])) continue;
    if (placed[i]->offset >= at + padded(l->size)) break;
    size_t end = placed[i]->offset + padded(placed[i]->size);
    if (end > at) at = end;
  }
  return at;
}

size_t jf_pack(jf_arena *a, jf_life *life, int n)
{
  size_t total = 0;
  jf_life **order = jf_alloc(a, (size_t)n * sizeof *order);
  jf_life **placed = jf_alloc(a, (size_t)n * sizeof *placed);
  for (int i = 0; i < n; i++) order[i] = &life[i];
  if (n) qsort(order, (size_t)n, sizeof *order, by_size);
  for (int i = 0; i < n; i++) {
    jf_life *l = order[i];
    l->offset = lowest_fit(l, placed, i);
    int k = i;
    for (; k > 0 && placed[k - 1]->offset > l->offset; k--) placed[k] = placed[k - 1];
    placed[k] = l;
    if (l->offset + padded(l->size) > total) total = l->offset + padded(l->size);
  }
  return total;
}

size_t jf_pack_bound(jf_arena *a, const jf_life *life, int n)
{
  int last = 0;
  for (int i = 0; i < n; i++) last = life[i].last > last ? life[i].last : last;
  size_t *live = jf_alloc(a, ((size_t)last + 1) * sizeof *live), most = 0;
  for (int i = 0; i < n; i++)
    for (int s = life[i].first; s <= life[i].last; s++) live[s] += padded(life[i].size);
  for (int s = 0; s <= last; s++) most = live[s] > most ? live[s] : most;
  return most;
}
