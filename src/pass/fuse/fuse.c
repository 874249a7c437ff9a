/* Joins elementwise nodes and sums into fused programs, which go through memory once. README.md
   shows by an example how a graph becomes programs. */
#include "dev/half.h"
#include "pass/fuse/fuse.h"

/* ---- values that a set of nodes must write to memory ---- */

/* Whether node i of the current set needs v in memory: no node of the set makes v, and i reads v
   itself, not a value that v is a view or broadcast of. */
static int reads_itself(const jf_fuser *f, int i, const jfl_value *v)
{
  const jf_node *n = f->r.old[i];
  for (int k = 0; k < n->n_in; k++) {
    jf_operand o;
    jf_operand_of(n, k, &o);
    if (n->in[k] == v && o.v == v && !jf_in_set(&f->groups, f->maker[v->id])) return 1;
  }
  return 0;
}

/* Whether nodes outside the current set, or the job's caller, read v directly or through views and
   broadcasts. */
static int leaves(const jf_fuser *f, const jfl_value *v)
{
  if (f->result[v->id]) return 1;
  for (int j = f->readers.first[v->id]; j < f->readers.first[v->id + 1]; j++) {
    const int i = f->readers.item[j];
    const jf_node *n = f->r.old[i];
    if (jf_in_set(&f->groups, i)) {
      if (reads_itself(f, i, v)) return 1;
    } else if (!jf_is_seen_through(n) || leaves(f, n->out[0])) {
      return 1;
    }
  }
  return 0;
}

static int fuse_leaves(void *ctx, const jfl_value *v) { return leaves(ctx, v); }

/* ---- joining ---- */

/* The limits of programs on the device at a place; NULL: it runs no programs. */
static const jf_fused_limits *limits_at(const jf_fuser *f, int place)
{
  return f->target->device[place]->kind->fused;
}

/* Tries to make a program of groups a and b. If b is a single node after the group of the last
   draft, that draft is extended. */
static int make_draft(jf_fuser *f, int a, int b)
{
  jf_groups *s = &f->groups;
  const int grows = f->drafted == a && s->size[b] == 1 && b > s->last[a]
                 && jf_draft_can_extend(&f->d, f->r.old[b]);
  jf_groups_gather(f, a, b);
  if (grows) return jf_draft_extend(&f->d);
  f->drafted = -1;
  return jf_draft_make(&f->d);
}

/* Whether each node of group a may be in one program with each of group b. */
static int fuse_may_join(const jf_fuser *f, int a, int b)
{
  const jf_groups *s = &f->groups;
  if (!f->g->n_region && f->g->turns < 2) return 1;
  for (int i = a; i >= 0; i = s->next[i])
    for (int j = b; j >= 0; j = s->next[j])
      if (!jf_may_join(f->r.old[i], f->r.old[j])) return 0;
  return 1;
}

/* Joins the groups of nodes a and b if they make a program. */
static void try_join(jf_fuser *f, int a, int b)
{
  jf_groups *s = &f->groups;
  const int place = f->r.old[a]->place;
  jf_arena_ask(f->g->arena);
  a = s->of[a];
  b = s->of[b];
  if (a == b || place != f->r.old[b]->place || !fuse_may_join(f, a, b)) return;
  f->d.limits = limits_at(f, place);
  if (s->size[a] + s->size[b] > f->d.limits->instrs || !make_draft(f, a, b)) return;
  if (!jf_comes_back(f, a, b)) {
    jf_groups_merge(s, f->n, a, b);
    f->drafted = a < b ? a : b;
  } else if (f->drafted >= 0) {
    jf_draft_shrink(&f->d);
  }
}

/* Whether node i belongs to its readers more than to what it is made of, which else would write it,
   too: what gradients make of the body's values alone, by elementwise nodes (looks[k]: node k is
   so), and what was in 16 bits. */
static char fuse_is_late(const jf_fuser *f, int i, char *looks)
{
  const jf_node *n = f->r.old[i];
  looks[i] = n->source.purpose == JF_BACKWARD &&
             (f->kind[i] == JF_MEMBER_LOOP || jf_is_seen_through(n));
  for (int k = 0; looks[i] && k < n->n_in; k++) {
    const int from = f->maker[n->in[k]->id];
    looks[i] = from < 0 || f->r.old[from]->source.purpose != JF_BACKWARD || looks[from];
  }
  return looks[i] || (n->n_in == 1 && n->n_out == 1 && jf_is_half(n->in[0]->dtype)
                      && !jf_is_half(n->out[0]->dtype));
}

static void join_sources(jf_fuser *f, int i)
{
  for (int j = f->sources.first[i]; j < f->sources.first[i + 1]; j++)
    if (f->kind[f->sources.item[j]]) try_join(f, f->sources.item[j], i);
}

/* Joins members with those that make what they read. On devices where norms are among them, late
   ones come last and backwards, so that one of them is with its reader before it could join what it
   reads. */
static void join_all(jf_fuser *f)
{
  char *late = jf_alloc(f->g->arena, (size_t)f->n), *looks = jf_alloc(f->g->arena, (size_t)f->n);
  for (int i = 0; i < f->n; i++) {
    const jf_fused_limits *limits = limits_at(f, f->r.old[i]->place);
    late[i] = (char)(fuse_is_late(f, i, looks) && limits && limits->expands);
    if (!late[i]) join_sources(f, i);
  }
  for (int i = f->n - 1; i >= 0; i--)
    if (late[i]) join_sources(f, i);
}

/* Joins nodes that read the same large value in the same order, so that it is read only once. */
static void join_readers(jf_fuser *f)
{
  enum { LARGE = 1 << 12 };
  int *last = jf_fuse_ints(f, f->r.n_value);       /* by value: 1 + the last node that read it */
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

/* ---- the new graph ---- */

/* The node whose name the program gets: one that draws random numbers, as its name seeds them, else
   the last. */
static const jf_node *name_giver(const jf_draft *d)
{
  for (int i = 0; i < d->n_member; i++)
    if (d->member[i]->op->flags & JF_RANDOM) return d->member[i];
  return d->member[d->n_member - 1];
}

static jfl_status emit_group(jf_fuser *f, int group)
{
  jf_draft *d = &f->d;
  jf_node *node;
  d->limits = limits_at(f, f->r.old[group]->place);
  jf_groups_gather(f, group, -1);
  if (!jf_draft_make(d)) return jf_fail(JFL_ESTATE, "fuse: a group that was a program is none");
  jfl_value **in = jf_alloc(f->g->arena, (size_t)d->f.n_in * sizeof *in);
  for (int i = 0; i < d->f.n_in; i++) in[i] = jf_current(&f->r, d->input[i]);
  JF_TRY(jf_graph_node(f->g, &jf_op_fused, jf_draft_keep(d, f->g->arena), in, (size_t)d->f.n_in,
                       NULL, &node));
  jf_stand_for(node, name_giver(d));
  node->place = name_giver(d)->place;
  for (int i = 0; i < node->n_out; i++) {
    node->out[i]->place = node->place;
    node->out[i]->name = d->output[i]->name;
    node->out[i]->plain = d->output[i]->plain;
    node->out[i]->packing = d->output[i]->packing;
    jf_replace(&f->r, d->output[i], node->out[i]);
  }
  return JFL_OK;
}

/* The largest limits over all devices, but for what no program of so many nodes needs: a node is
   one instruction. */
static jf_fused_limits widest_limits(const jf_target *t, int n_node)
{
  jf_fused_limits most = { 0 };
  for (int i = 0; i < t->n_device; i++) {
    const jf_fused_limits *l = t->device[i]->kind->fused;
    if (l && l->slots > most.slots) most.slots = l->slots;
    if (l && l->instrs > most.instrs) most.instrs = l->instrs;
  }
  if (most.slots / JF_DRAFT_SLOTS > n_node) most.slots = n_node * JF_DRAFT_SLOTS;
  if (most.instrs > n_node) most.instrs = n_node;
  return most;
}

jfl_status jf_pass_fuse(jfl_graph *g, const jf_target *target)
{
  JF_TRY(jf_fuse_expand(g, target));
  jf_fuser *f = jf_alloc(g->arena, sizeof *f);
  f->g = g;
  f->target = target;
  jf_rewrite_begin(g, &f->r);
  f->n = f->r.n_old;
  const jf_fused_limits most = widest_limits(target, f->n);
  f->d = jf_draft_new(g->arena, &most);
  f->d.leaves = fuse_leaves;
  f->d.ctx = f;
  f->drafted = -1;
  f->maker = jf_fuse_ints(f, f->r.n_value);
  f->kind = jf_alloc(f->g->arena, (size_t)f->n * sizeof *f->kind);
  f->result = jf_alloc(f->g->arena, (size_t)f->r.n_value);
  for (int i = 0; i < f->r.n_value; i++) f->maker[i] = -1;
  for (int i = 0; i < f->n; i++) {
    if (limits_at(f, f->r.old[i]->place)) f->kind[i] = jf_member_kind(f->r.old[i]);
    for (int k = 0; k < f->r.old[i]->n_out; k++) f->maker[f->r.old[i]->out[k]->id] = i;
  }
  for (int i = 0; i < f->g->n_output; i++) f->result[f->g->output[i]->id] = 1;
  jf_fuse_find_readers(f);
  jf_fuse_find_sources(f);
  jf_fuse_find_followers(f, 0);
  jf_groups_begin(f);
  jf_search_begin(f);
  join_all(f);
  join_readers(f);
  int n;
  jf_fuse_find_followers(f, 1);
  const int *order = jf_fuse_order(f, &n);
  for (int i = 0; i < n; i++) {
    if (jf_is_grouped(&f->groups, order[i])) JF_TRY(emit_group(f, order[i]));
    else jf_rewrite_keep(&f->r, f->r.old[order[i]]);
  }
  jf_rewrite_end(&f->r);
  return JFL_OK;
}
