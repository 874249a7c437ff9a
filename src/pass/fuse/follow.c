/* Finds which nodes must come after which. */
#include "pass/fuse/fuse.h"

typedef struct follow_edges { int *from, *to, n, cap; } follow_edges;

static void add_edge(jf_fuser *f, follow_edges *e, int from, int to)
{
  int cap = e->cap;
  e->from = jf_grow(f->g->arena, e->from, e->n, &cap, sizeof *e->from);
  e->to = jf_grow(f->g->arena, e->to, e->n, &e->cap, sizeof *e->to);
  e->from[e->n] = from;
  e->to[e->n++] = to;
}

/* Sorts edges by their first node; edges of one node keep their order. */
static jf_lists lists_of(jf_fuser *f, const follow_edges *e, int n)
{
  jf_lists l = { jf_fuse_ints(f, n + 2), jf_fuse_ints(f, e->n) };
  for (int i = 0; i < e->n; i++) l.first[e->from[i] + 2]++;
  for (int i = 0; i < n; i++) l.first[i + 2] += l.first[i + 1];
  for (int i = 0; i < e->n; i++) l.item[l.first[e->from[i] + 1]++] = e->to[i];
  return l;
}

void jf_fuse_find_readers(jf_fuser *f)
{
  follow_edges e = { 0 };
  for (int i = 0; i < f->n; i++)
    for (int k = 0; k < f->r.old[i]->n_in; k++) add_edge(f, &e, f->r.old[i]->in[k]->id, i);
  f->readers = lists_of(f, &e, f->r.n_value);
}

void jf_fuse_find_sources(jf_fuser *f)
{
  follow_edges e = { 0 };
  for (int i = 0; i < f->n; i++)
    for (int k = 0; f->kind[i] && k < f->r.old[i]->n_in; k++) {
      jf_operand o;
      jf_operand_of(f->r.old[i], k, &o);
      if (o.v && f->maker[o.v->id] >= 0) add_edge(f, &e, i, f->maker[o.v->id]);
    }
  f->sources = lists_of(f, &e, f->n);
}

/* Node i changes variable v, so it must follow the earlier nodes that read v or a view of v. */
static void follow_readers(jf_fuser *f, follow_edges *e, const jfl_value *v, int i)
{
  for (int j = f->readers.first[v->id]; j < f->readers.first[v->id + 1]; j++) {
    const int reader = f->readers.item[j];
    const jf_node *n = f->r.old[reader];
    if (reader >= i) continue;
    add_edge(f, e, reader, i);
    if (n->op->flags & JF_VIEW) follow_readers(f, e, n->out[0], i);
  }
}

static void follow_makers(jf_fuser *f, follow_edges *e, int i)
{
  const jf_node *n = f->r.old[i];
  for (int k = 0; k < n->n_in; k++) {
    const int maker = f->maker[n->in[k]->id];
    if (maker >= 0) add_edge(f, e, maker, i);
  }
}

/* Whether node i reads a result of node `from` directly, not through views or broadcasts. */
static int reads_itself_from(const jf_fuser *f, int i, int from)
{
  const jf_node *n = f->r.old[i];
  for (int k = 0; k < n->n_in; k++)
    if (f->maker[n->in[k]->id] == from) return 1;
  return 0;
}

static void follow_sources(jf_fuser *f, follow_edges *e, int i, int only)
{
  for (int j = f->sources.first[i]; j < f->sources.first[i + 1]; j++)
    if (only || !reads_itself_from(f, i, f->sources.item[j])) add_edge(f, e, f->sources.item[j], i);
}

void jf_fuse_find_followers(jf_fuser *f, int groups_are_made)
{
  follow_edges e = { 0 };
  int together = -1;           /* the last node so far that other ranks take part in */
  for (int i = 0; i < f->n; i++) {
    const jf_node *n = f->r.old[i];
    if (n->op->flags & JF_TOGETHER) {
      if (together >= 0) add_edge(f, &e, together, i);
      together = i;
    }
    const int grouped = groups_are_made && jf_is_grouped(&f->groups, i);
    if (!grouped) follow_makers(f, &e, i);
    if (grouped || !groups_are_made) follow_sources(f, &e, i, grouped);
    for (int k = 0; k < n->n_in; k++)
      if (jf_mutates(n, k)) follow_readers(f, &e, n->in[k], i);
  }
  f->followers = lists_of(f, &e, f->n);
}
