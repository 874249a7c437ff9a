/* Merges updates by the same optimizer, options and scalars into one node for each dtype, at the
   place of the last of them. */
#include "pass/pass.h"

/* Updates that become one node. */
typedef struct update_group {
  const jf_node *first;
  int last;                    /* its position in the old graph */
  int n_in;                    /* tensors of parameters that the new node has */
} update_group;

typedef struct merge {
  jf_rewrite r;
  update_group *group; int n_group, cap_group;
  int *of;                     /* by position in the old graph: the node's group, or -1 */
} merge;

/* An update whose gradient is itself a variable stays alone, since another update may change that
   variable. */
static int mergeable(const jf_node *n)
{
  const jf_update *a = jf_update_of(n);
  if (!a) return 0;
  for (int i = JF_GRAD; i < a->n * a->stride; i += a->stride)
    if (jf_root(n->in[i])->origin == JF_VARIABLE) return 0;
  return 1;
}

/* How many inputs of n are tensors of parameters. */
static int n_tensors(const jf_node *n) { return n->n_in - jf_update_rest(n->attr); }

static int alike(const jf_node *a, const jf_node *b)
{
  if (a->place != b->place || a->in[0]->dtype != b->in[0]->dtype ||
      !jf_attr_same(a->op->attr, 0, a->attr, b->attr))
    return 0;
  for (int i = 1; i <= a->n_in - n_tensors(a); i++)
    if (a->in[a->n_in - i] != b->in[b->n_in - i]) return 0;
  return 1;
}

static int find_group(merge *m, const jf_node *n)
{
  for (int i = 0; i < m->n_group; i++)
    if (alike(m->group[i].first, n)) return i;
  m->group = jf_grow(m->r.g->arena, m->group, m->n_group, &m->cap_group, sizeof *m->group);
  m->group[m->n_group] = (update_group){ .first = n };
  return m->n_group++;
}

static void multi_update_groups(merge *m)
{
  m->of = jf_alloc(m->r.g->arena, (size_t)m->r.n_old * sizeof *m->of);
  for (int i = 0; i < m->r.n_old; i++) {
    const jf_node *n = m->r.old[i];
    m->of[i] = mergeable(n) ? find_group(m, n) : -1;
    if (m->of[i] < 0) continue;
    update_group *to = &m->group[m->of[i]];
    to->last = i;
    to->n_in += n_tensors(n);
  }
}

static void multi_update_emit(merge *m, int which)
{
  const update_group *from = &m->group[which];
  const jf_node *first = from->first;
  const jf_update *like = first->attr;
  const jf_update a = { .choice = like->choice, .averages = like->averages };
  const size_t room = (size_t)(from->n_in + jf_update_rest(like));
  jfl_value **in = jf_alloc(m->r.g->arena, room * sizeof *in);
  size_t n = 0;
  for (int i = 0; i <= from->last; i++)
    for (int k = 0; m->of[i] == which && k < n_tensors(m->r.old[i]); k++)
      in[n++] = jf_current(&m->r, m->r.old[i]->in[k]);
  for (int k = n_tensors(first); k < first->n_in; k++) in[n++] = jf_current(&m->r, first->in[k]);
  jf_emit(m->r.g, first->op, &a, in, n);
  if (!m->r.g->err) m->r.g->node[m->r.g->n_node - 1]->source = first->source;
}

jfl_status jf_pass_multi_update(jfl_graph *g, const jf_target *target)
{
  merge m = {0};
  (void)target;
  jf_rewrite_begin(g, &m.r);
  multi_update_groups(&m);
  for (jf_node *n; (n = jf_rewrite_next(&m.r));) {
    const int i = m.r.next - 1;
    if (m.of[i] < 0) jf_rewrite_keep(&m.r, n);
    else if (m.group[m.of[i]].last == i) multi_update_emit(&m, m.of[i]);
  }
  jf_rewrite_end(&m.r);
  return g->err;
}
