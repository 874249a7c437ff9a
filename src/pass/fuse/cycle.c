/* Whether two groups can become one node. They cannot if a value of theirs reaches a node outside
   whose result they read in turn: that node would have to run both after and before them. A forest
   answers most questions: each node hangs below the last of the nodes that it must follow, so
   everything below a node depends on it. The others take a search, which looks at a limited number
   of nodes. */
#include "pass/fuse/fuse.h"

#include <stdlib.h>

/* The most nodes that one search looks at. */
enum { STEPS = 2048 };

typedef struct jf_search {
  int *place, *below;          /* by node: its place in the forest's preorder; how many nodes hang
                                  below it, itself included */
  int *target, n_target;       /* places of the nodes that the set reads, ascending */
  int *is_target;              /* by node: the stamp of the last set that reads it */
  int *seen, *stack, n_stack;  /* by group: the stamp of the last set that reached it */
  int end, steps;              /* end: searches need not look at nodes after it */
} jf_search;

/* For each node, the last node that it must follow, or -1. */
static int *find_parents(const jf_fuser *f)
{
  int *parent = jf_fuse_ints(f, f->n);
  for (int i = 0; i < f->n; i++) parent[i] = -1;
  for (int i = 0; i < f->n; i++)
    for (int j = f->followers.first[i]; j < f->followers.first[i + 1]; j++)
      parent[f->followers.item[j]] = i;
  return parent;
}

void jf_search_begin(jf_fuser *f)
{
  jf_search *s = f->search = jf_alloc(f->g->arena, sizeof *s);
  const int *parent = find_parents(f);
  int *free = jf_fuse_ints(f, f->n), top = 0;      /* free: the next place below each node */
  s->place = jf_fuse_ints(f, f->n);
  s->below = jf_fuse_ints(f, f->n);
  s->target = jf_fuse_ints(f, 3 * f->d.limits->instrs);
  s->is_target = jf_fuse_ints(f, f->n);
  s->seen = jf_fuse_ints(f, f->n);
  s->stack = jf_fuse_ints(f, f->n);
  for (int i = f->n - 1; i >= 0; i--) {
    s->below[i]++;
    if (parent[i] >= 0) s->below[parent[i]] += s->below[i];
  }
  for (int i = 0; i < f->n; i++) {
    int *next = parent[i] >= 0 ? &free[parent[i]] : &top;
    s->place[i] = *next;
    *next += s->below[i];
    free[i] = s->place[i] + 1;
  }
}

static int compare_places(const void *a, const void *b)
{
  return *(const int *)a - *(const int *)b;
}

/* Finds the nodes outside the set that nodes of group a read. */
static void add_targets(jf_fuser *f, int a)
{
  jf_search *s = f->search;
  for (int i = a; i >= 0; i = f->groups.next[i])
    for (int j = f->sources.first[i]; j < f->sources.first[i + 1]; j++) {
      const int from = f->sources.item[j];
      if (jf_in_set(&f->groups, from) || s->is_target[from] == f->groups.stamp) continue;
      s->is_target[from] = f->groups.stamp;
      s->target[s->n_target++] = s->place[from];
      if (from > s->end) s->end = from;
    }
}

/* Whether one of the targets hangs below node i in the forest. */
static int is_above_target(const jf_search *s, int i)
{
  int lo = 0, hi = s->n_target;
  while (lo < hi) {
    const int mid = lo + (hi - lo) / 2;
    if (s->target[mid] < s->place[i]) lo = mid + 1;
    else hi = mid;
  }
  return lo < s->n_target && s->target[lo] < s->place[i] + s->below[i];
}

/* Adds to the search the groups outside the set that follow node i. Returns 1 if one of them is
   known to lead back into the set, or if the search takes too long. */
static int go_on_from(jf_fuser *f, int i)
{
  jf_search *s = f->search;
  for (int j = f->followers.first[i]; j < f->followers.first[i + 1]; j++) {
    const int to = f->followers.item[j], group = f->groups.of[to];
    if (to > s->end) break;
    if (++s->steps > STEPS) return 1;
    if (jf_in_set(&f->groups, to) || s->seen[group] == f->groups.stamp) continue;
    if (is_above_target(s, to)) return 1;
    s->seen[group] = f->groups.stamp;
    s->stack[s->n_stack++] = group;
  }
  return 0;
}

int jf_comes_back(jf_fuser *f, int a, int b)
{
  jf_search *s = f->search;
  s->n_target = s->n_stack = s->steps = 0;
  s->end = -1;
  add_targets(f, a);
  add_targets(f, b);
  if (!s->n_target) return 0;
  qsort(s->target, (size_t)s->n_target, sizeof *s->target, compare_places);
  s->end = jf_groups_end(&f->groups, f->n, s->end);
  for (int i = a; i >= 0; i = f->groups.next[i])
    if (go_on_from(f, i)) return 1;
  for (int i = b; i >= 0; i = f->groups.next[i])
    if (go_on_from(f, i)) return 1;
  while (s->n_stack > 0)
    for (int i = s->stack[--s->n_stack]; i >= 0; i = f->groups.next[i])
      if (s->is_target[i] == f->groups.stamp || go_on_from(f, i)) return 1;
  return 0;
}
