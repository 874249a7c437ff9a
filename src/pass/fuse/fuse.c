/* Joins elementwise nodes, and sums at their ends, into programs that sweep over memory once. A
   group of nodes can be one if no value that leaves it comes back through a node outside. */
#include "pass/fuse/draft.h"

#include <string.h>

/* Lists of nodes by node, or by value: those of i are item[first[i]] up to item[first[i + 1]]. */
typedef struct lists { int *first, *item; } lists;

typedef struct fuser {
  jfl_graph *g;
  jf_rewrite r;
  int n;                       /* nodes of the graph as it was */
  int *maker;                  /* of a value: the node, or -1 */
  jf_member *kind;             /* of nodes */
  char *result;                /* of values: results of the job */
  lists readers;               /* of values */
  lists followers;             /* of nodes: those that must come after */
  int *group, *next;           /* of nodes: the first one of the group; the next one there, or -1 */
  int *last;                   /* of first nodes: the last one of the group */
  int *mark, stamp;            /* of nodes: mark[i] == stamp says that i is in the set at hand */
  int *seen, *stack, end;      /* of a search, which goes no further than end */
  jf_draft d;
} fuser;

static int *ints(fuser *f, int n) { return jf_alloc(f->g->arena, (size_t)n * sizeof(int)); }

/* ---- what depends on what ---- */

typedef struct edges { int *from, *to, n, cap; } edges;

static void add_edge(fuser *f, edges *e, int from, int to)
{
  int cap = e->cap;
  e->from = jf_grow(f->g->arena, e->from, e->n, &cap, sizeof *e->from);
  e->to = jf_grow(f->g->arena, e->to, e->n, &e->cap, sizeof *e->to);
  e->from[e->n] = from;
  e->to[e->n++] = to;
}

static lists lists_of(fuser *f, const edges *e, int n)
{
  lists l = { jf_alloc(f->g->arena, ((size_t)n + 2) * sizeof(int)),
              jf_alloc(f->g->arena, (size_t)e->n * sizeof(int)) };
  for (int i = 0; i < e->n; i++) l.first[e->from[i] + 2]++;
  for (int i = 0; i < n; i++) l.first[i + 2] += l.first[i + 1];
  for (int i = 0; i < e->n; i++) l.item[l.first[e->from[i] + 1]++] = e->to[i];
  return l;
}

static void find_readers(fuser *f)
{
  edges e = { 0 };
  for (int i = 0; i < f->n; i++)
    for (int k = 0; k < f->r.old[i]->n_in; k++) add_edge(f, &e, f->r.old[i]->in[k]->id, i);
  f->readers = lists_of(f, &e, f->r.n_value);
}

/* What changes variable v, node i, comes after those that read it so far, under any shape. */
static void follow_readers(fuser *f, edges *e, const jfl_value *v, int i)
{
  for (int j = f->readers.first[v->id]; j < f->readers.first[v->id + 1]; j++) {
    const int reader = f->readers.item[j];
    const jf_node *n = f->r.old[reader];
    if (reader >= i) continue;
    add_edge(f, e, reader, i);
    if (n->op->flags & JF_VIEW) follow_readers(f, e, n->out[0], i);
  }
}

static int grouped(const fuser *f, int i) { return f->group[i] != i || f->next[i] >= 0; }

/* Node i follows those that make what it reads. As a member it reads past views and broadcasts:
   before groups are made it may come to either. */
static void order_node(fuser *f, edges *e, int i, int made)
{
  const jf_node *n = f->r.old[i];
  const int as_member = made ? grouped(f, i) : f->kind[i] != JF_NO_MEMBER;
  const int as_itself = !(made && grouped(f, i));
  for (int k = 0; k < n->n_in; k++) {
    jf_operand o = { 0 };
    if (as_member) jf_operand_of(n, k, &o);
    const int direct = f->maker[n->in[k]->id], source = o.v ? f->maker[o.v->id] : -1;
    if (as_itself && direct >= 0) add_edge(f, e, direct, i);
    if (source >= 0 && !(as_itself && source == direct)) add_edge(f, e, source, i);
  }
  for (int k = 0; k < n->n_in; k++)
    if (jf_mutates(n, k)) follow_readers(f, e, n->in[k], i);
}

static void find_followers(fuser *f, int made)
{
  edges e = { 0 };
  for (int i = 0; i < f->n; i++) order_node(f, &e, i, made);
  f->followers = lists_of(f, &e, f->n);
}

/* ---- values that leave ---- */

static int in_set(const fuser *f, int i) { return i >= 0 && f->mark[i] == f->stamp; }

/* Whether node i, of the set at hand, reads v itself rather than what it stands for. */
static int reads_itself(const fuser *f, int i, const jfl_value *v)
{
  const jf_node *n = f->r.old[i];
  for (int k = 0; k < n->n_in; k++) {
    jf_operand o;
    jf_operand_of(n, k, &o);
    if (n->in[k] == v && o.v == v && !in_set(f, f->maker[v->id])) return 1;
  }
  return 0;
}

/* Whether v is needed outside the set at hand, itself or as what stands for it. */
static int needed(const fuser *f, const jfl_value *v)
{
  if (f->result[v->id]) return 1;
  for (int j = f->readers.first[v->id]; j < f->readers.first[v->id + 1]; j++) {
    const int i = f->readers.item[j];
    const jf_node *n = f->r.old[i];
    const int outside = !in_set(f, i);
    if (outside ? !jf_is_seen_through(n) || needed(f, n->out[0]) : reads_itself(f, i, v)) return 1;
  }
  return 0;
}

static int leaves(void *ctx, const jfl_value *v) { return needed(ctx, v); }

/* ---- groups ---- */

/* Makes the members of groups a and b the set at hand, in order; 0 where they are too many. */
static int fuse_gather(fuser *f, int a, int b)
{
  f->stamp++;
  f->d.n_member = 0;
  while (a >= 0 || b >= 0) {
    int *least = b < 0 || (a >= 0 && a < b) ? &a : &b;
    if (f->d.n_member == f->d.limits->instrs) return 0;
    f->d.member[f->d.n_member++] = f->r.old[*least];
    f->mark[*least] = f->stamp;
    *least = f->next[*least];
  }
  return 1;
}

/* Whether node i, as a member, reads what node `from` makes. */
static int reads_from(const fuser *f, int i, int from)
{
  for (int k = 0; k < f->r.old[i]->n_in; k++) {
    jf_operand o;
    jf_operand_of(f->r.old[i], k, &o);
    if (o.v && f->maker[o.v->id] == from) return 1;
  }
  return 0;
}

/* No way back leads over nodes after this one: the last that groups a and b have, or groups that
   begin before that, and so on. */
static int horizon(const fuser *f, int a, int b)
{
  int end = f->last[a] > f->last[b] ? f->last[a] : f->last[b];
  for (int i = 0; i <= end; i++)
    if (f->last[f->group[i]] > end) end = f->last[f->group[i]];
  return end;
}

/* Puts followers of node i on the stack; 1 where i is outside the set and one inside reads it. */
static int push_followers(fuser *f, int i, int *n, int outside)
{
  for (int j = f->followers.first[i]; j < f->followers.first[i + 1]; j++) {
    const int to = f->followers.item[j], id = f->group[to];
    if (to > f->end) continue;
    if (in_set(f, to)) {
      if (outside && reads_from(f, to, i)) return 1;
    } else if (f->seen[id] != f->stamp) {
      f->seen[id] = f->stamp;
      f->stack[(*n)++] = id;
    }
  }
  return 0;
}

/* Whether a way leads out of the set at hand, of groups a and b, and back. */
static int comes_back(fuser *f, int a, int b)
{
  int n = 0;
  f->end = horizon(f, a, b);
  for (int i = a; i >= 0; i = f->next[i]) push_followers(f, i, &n, 0);
  for (int i = b; i >= 0; i = f->next[i]) push_followers(f, i, &n, 0);
  while (n > 0)
    for (int i = f->stack[--n]; i >= 0; i = f->next[i])
      if (push_followers(f, i, &n, 1)) return 1;
  return 0;
}

static void fuse_merge(fuser *f, int a, int b)
{
  const int first = a < b ? a : b;
  int *link = NULL;
  f->last[first] = f->last[a] > f->last[b] ? f->last[a] : f->last[b];
  while (a >= 0 || b >= 0) {
    int *least = b < 0 || (a >= 0 && a < b) ? &a : &b, i = *least;
    *least = f->next[i];
    if (link) *link = i;
    f->group[i] = first;
    link = &f->next[i];
  }
}

static void try_join(fuser *f, int a, int b)
{
  a = f->group[a];
  b = f->group[b];
  if (a == b || !fuse_gather(f, a, b) || !jf_draft_make(&f->d) || comes_back(f, a, b)) return;
  fuse_merge(f, a, b);
}

/* Joins nodes with those that make what they read. */
static void join_makers(fuser *f)
{
  for (int i = 0; i < f->n; i++)
    for (int k = 0; f->kind[i] && k < f->r.old[i]->n_in; k++) {
      jf_operand o;
      jf_operand_of(f->r.old[i], k, &o);
      const int from = o.v ? f->maker[o.v->id] : -1;
      if (from >= 0 && f->kind[from]) try_join(f, from, i);
    }
}

/* Joins nodes that read the same large value in the same order, so that it is read once. */
static void join_readers(fuser *f)
{
  enum { LARGE = 1 << 12 };
  int *last = jf_alloc(f->g->arena, (size_t)f->r.n_value * sizeof *last);
  for (int i = 0; i < f->n; i++)
    for (int k = 0; f->kind[i] && k < f->r.old[i]->n_in; k++) {
      jf_operand o;
      jf_operand_of(f->r.old[i], k, &o);
      const int64_t size = o.v ? jf_numel(&o.v->shape) : 0;
      if (size < LARGE || size != jf_numel(jf_member_shape(f->r.old[i]))) continue;
      if (last[o.v->id]) try_join(f, last[o.v->id] - 1, i);
      last[o.v->id] = i + 1;
    }
}

/* ---- the new order ---- */

/* Units, which are groups by their first node, one after another: each time the first of those that
   nothing holds back, effects when nothing else is left. */
static int *fuse_order(fuser *f, int *n_unit)
{
  int *waits = ints(f, f->n), *to = ints(f, f->n);
  char *done = jf_alloc(f->g->arena, (size_t)f->n);
  int n = 0, at = 0, effects = 0;
  for (int i = 0; i < f->n; i++)
    for (int j = f->followers.first[i]; j < f->followers.first[i + 1]; j++) {
      const int id = f->group[f->followers.item[j]];
      waits[id] += id != f->group[i];
    }
  while (at < f->n || !effects) {
    if (at == f->n) effects = 1, at = 0;
    const int i = at++;
    if (i >= f->n || f->group[i] != i || done[i] || waits[i]) continue;
    if (!effects && f->r.old[i]->op->flags & JF_EFFECT) continue;
    done[to[n++] = i] = 1;
    for (int m = i; m >= 0; m = f->next[m])
      for (int j = f->followers.first[m]; j < f->followers.first[m + 1]; j++) {
        const int id = f->group[f->followers.item[j]];
        if (id != i && --waits[id] == 0 && id < at) at = id;
      }
    if (effects) effects = 0, at = 0;
  }
  *n_unit = n;
  return to;
}

/* Marks what unit i reads as wanted, where anything it makes is. */
static int fuse_want(fuser *f, int i, char *wanted)
{
  int any = 0;
  for (int m = i; m >= 0; m = f->next[m]) {
    any |= (f->r.old[m]->op->flags & JF_EFFECT) != 0;
    for (int k = 0; k < f->r.old[m]->n_out; k++) any |= wanted[f->r.old[m]->out[k]->id];
  }
  for (int m = i; any && m >= 0; m = f->next[m])
    for (int k = 0; k < f->r.old[m]->n_in; k++) {
      jf_operand o = { .v = f->r.old[m]->in[k] };
      if (grouped(f, i)) jf_operand_of(f->r.old[m], k, &o);
      if (o.v) wanted[o.v->id] = 1;
    }
  return any;
}

/* The node that gives the group its name: one that draws by it, else the last. */
static const jf_node *lead(const jf_draft *d)
{
  for (int i = 0; i < d->n_member; i++)
    if (d->member[i]->op->flags & JF_RANDOM) return d->member[i];
  return d->member[d->n_member - 1];
}

static jfl_status emit_group(fuser *f, int first)
{
  jf_node *node;
    fuse_gather(f, first, -1);
  if (!jf_draft_make(&f->d)) return jf_fail(JFL_ESTATE, "fuse: a group that was a program is none");
  jfl_value **in = jf_alloc(f->g->arena, (size_t)f->d.f.n_in * sizeof *in);
  for (int i = 0; i < f->d.f.n_in; i++) in[i] = jf_current(&f->r, f->d.input[i]);
  JF_TRY(jf_graph_node(f->g, &jf_op_fused, jf_draft_keep(&f->d, f->g->arena), in,
                       (size_t)f->d.f.n_in, NULL, &node));
  node->name = lead(&f->d)->name;
  node->serves = lead(&f->d)->serves;
  for (int i = 0; i < node->n_out; i++) {
    node->out[i]->name = f->d.output[i]->name;
    node->out[i]->plain = f->d.output[i]->plain;
    node->out[i]->packing = f->d.output[i]->packing;
    jf_replace(&f->r, f->d.output[i], node->out[i]);
  }
  return JFL_OK;
}

static jfl_status rebuild(fuser *f)
{
  int n;
  find_followers(f, 1);
  int *unit = fuse_order(f, &n);
  const size_t n_value = (size_t)f->r.n_value;
  char *wanted = memcpy(jf_alloc(f->g->arena, n_value), f->result, n_value);
  for (int i = n - 1; i >= 0; i--)
    if (!fuse_want(f, unit[i], wanted)) unit[i] = -1;
  for (int i = 0; i < n; i++) {
    if (unit[i] < 0) continue;
    if (grouped(f, unit[i])) JF_TRY(emit_group(f, unit[i]));
    else jf_rewrite_keep(&f->r, f->r.old[unit[i]]);
  }
  jf_rewrite_end(&f->r);
  return JFL_OK;
}

static void fuse_look(fuser *f, const jf_fused_limits *limits)
{
  f->n = f->r.n_old;
  f->maker = ints(f, f->r.n_value);
  f->group = ints(f, f->n);
  f->next = ints(f, f->n);
  f->last = ints(f, f->n);
  f->mark = ints(f, f->n);
  f->seen = ints(f, f->n);
  f->stack = ints(f, f->n);
  f->kind = jf_alloc(f->g->arena, (size_t)f->n * sizeof *f->kind);
  f->result = jf_alloc(f->g->arena, (size_t)f->r.n_value);
  f->d = jf_draft_new(f->g->arena, limits);
  f->d.leaves = leaves;
  f->d.ctx = f;
  for (int i = 0; i < f->r.n_value; i++) f->maker[i] = -1;
  for (int i = 0; i < f->n; i++) {
    f->kind[i] = jf_member_kind(f->r.old[i]);
    f->group[i] = f->last[i] = i;
    f->next[i] = -1;
    for (int k = 0; k < f->r.old[i]->n_out; k++) f->maker[f->r.old[i]->out[k]->id] = i;
  }
  for (int i = 0; i < f->g->n_output; i++) f->result[f->g->output[i]->id] = 1;
}

jfl_status jf_pass_fuse(jfl_graph *g, const jf_target *target)
{
  if (!target->device->fused) return JFL_OK;
  fuser *f = jf_alloc(g->arena, sizeof *f);
  f->g = g;
  jf_rewrite_begin(g, &f->r);
  fuse_look(f, target->device->fused);
  find_readers(f);
  find_followers(f, 0);
  join_makers(f);
  join_readers(f);
  return rebuild(f);
}
