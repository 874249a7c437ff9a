/* Groups of nodes, and the current set, which is one or two of them. */
#include "pass/fuse/fuse.h"

void jf_groups_begin(jf_fuser *f)
{
  jf_groups *s = &f->groups;
  s->of = jf_fuse_ints(f, f->n);
  s->next = jf_fuse_ints(f, f->n);
  s->last = jf_fuse_ints(f, f->n);
  s->size = jf_fuse_ints(f, f->n);
  s->mark = jf_fuse_ints(f, f->n);
  s->last_until = jf_fuse_ints(f, f->n + 1);
  for (int i = 0; i < f->n; i++) {
    s->of[i] = s->last[i] = i;
    s->next[i] = -1;
    s->size[i] = 1;
    s->last_until[i + 1] = i;
  }
}

/* Removes the least node of two ascending lists and returns it; -1 if both are empty. */
static int take_least(const jf_groups *s, int *a, int *b)
{
  int *least = *b < 0 || (*a >= 0 && *a < *b) ? a : b, i = *least;
  if (i >= 0) *least = s->next[i];
  return i;
}

void jf_groups_gather(jf_fuser *f, int a, int b)
{
  jf_groups *s = &f->groups;
  s->stamp++;
  f->d.n_member = 0;
  for (int i; (i = take_least(s, &a, &b)) >= 0;) {
    f->d.member[f->d.n_member++] = f->r.old[i];
    s->mark[i] = s->stamp;
  }
}

void jf_groups_merge(jf_groups *s, int n, int a, int b)
{
  const int first = a < b ? a : b;
  int *link = NULL;
  s->size[first] = s->size[a] + s->size[b];
  const int last = s->last[first] = s->last[a] > s->last[b] ? s->last[a] : s->last[b];
  for (int i = first + 1; i <= n; i += i & -i)
    if (s->last_until[i] < last) s->last_until[i] = last;
  for (int i; (i = take_least(s, &a, &b)) >= 0;) {
    if (link) *link = i;
    s->of[i] = first;
    link = &s->next[i];
  }
}

static int last_until(const jf_groups *s, int node)
{
  int last = node;
  for (int i = node + 1; i > 0; i -= i & -i)
    if (s->last_until[i] > last) last = s->last_until[i];
  return last;
}

int jf_groups_end(const jf_groups *s, int n, int i)
{
  enum { TURNS = 64 };
  for (int turn = 0; turn < TURNS; turn++) {
    const int last = last_until(s, i);
    if (last == i) return i;
    i = last;
  }
  return n - 1;
}
