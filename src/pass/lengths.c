/* Lets attention on a GPU read queries, keys and values as products make them, with heads behind
   lengths, and write what it sees so: no copies with heads before lengths are made, nor of their
   gradients. Where one product makes all three, attention reads them in its result. */
#include "op/attention.h"
#include "op/split.h"
#include "op/transpose.h"
#include "pass/pass.h"

typedef struct length_pass {
  jf_rewrite r;
  jfl_value **turned;          /* by value: it with heads behind lengths; or NULL */
} length_pass;

/* Whether n gives parts, of some heads each, of what has heads behind lengths before. */
static int lengths_splits(const length_pass *p, const jf_node *n)
{
  const jf_node *from = jf_splits_along(n, 1) ? jf_sole_maker(&p->r, n->in[0]) : NULL;
  return from && jf_transposes_inner(from);
}

/* Whether v, which attention reads, has heads behind lengths before. */
static int lengths_has(const length_pass *p, const jfl_value *v)
{
  const jf_node *n = jf_sole_maker(&p->r, v);
  return n && (jf_transposes_inner(n) || lengths_splits(p, n));
}

static int lengths_serves(const length_pass *p, const jf_target *target, const jf_node *n)
{
  if (!jf_attention_takes_lengths(n) || jf_is_group(n->place)) return 0;
  if (target->device[n->place]->kind->plain) return 0;
  for (int i = JF_ATTENTION_Q; i <= JF_ATTENTION_V; i++)
    if (!lengths_has(p, n->in[i])) return 0;
  return 1;
}

/* Whether n's queries, keys and values are the three parts of one tensor, in that order. */
static int lengths_is_joint(const length_pass *p, const jf_node *n)
{
  const jf_node *all = n->in[JF_ATTENTION_Q]->node;
  if (!lengths_splits(p, all) || all->n_out != JF_ATTENTION_V + 1) return 0;
  for (int i = JF_ATTENTION_Q; i <= JF_ATTENTION_V; i++)
    if (n->in[i] != all->out[i]) return 0;
  return 1;
}

/* v as it is before heads and lengths change places. Of a split the parts are made at once. */
static jfl_value *lengths_turned(length_pass *p, const jfl_value *v)
{
  const jf_node *n = v->node;
  jfl_graph *g = p->r.g;
  if (p->turned[v->id] || g->err) return p->turned[v->id];
  if (jf_transposes_inner(n)) return jf_current(&p->r, n->in[0]);
  jf_split a = *(const jf_split *)n->attr;
  a.axis = 2;
  jfl_value *first = jf_emit(g, n->op, &a, JF_IN(jf_current(&p->r, n->in[0]->node->in[0])));
  if (!first) return NULL;
  jf_stand_for(first->node, n);
  for (int i = 0; i < n->n_out; i++) p->turned[n->out[i]->id] = first->node->out[i];
  return p->turned[v->id];
}

/* Emits n with heads behind lengths, and its result with these turned back, which a reader that
   turns them again undoes. */
static void lengths_replace(length_pass *p, const jf_node *n)
{
  jfl_graph *g = p->r.g;
  int64_t inner[] = { 0, 2, 1, 3 };
  const jf_transpose back = { { 4, inner } };
  jf_attention a = *(const jf_attention *)n->attr;
  jfl_value **in = jf_alloc(g->arena, (size_t)n->n_in * sizeof *in);
  a.by_length = 1;
  if (lengths_is_joint(p, n)) a.joint = n->in[JF_ATTENTION_K]->shape.d[1];
  for (int i = 0; i < n->n_in; i++)
    in[i] = i > JF_ATTENTION_V ? jf_current(&p->r, n->in[i])
          : a.joint ? jf_current(&p->r, n->in[i]->node->in[0]->node->in[0])
                    : lengths_turned(p, n->in[i]);
  jfl_value *y = g->err ? NULL : jf_emit(g, n->op, &a, in, (size_t)n->n_in);
  jfl_value *turned = y ? JF_EMIT(g, transpose, &back, y) : NULL;
  if (!turned) return;
  jf_stand_for(y->node, n);
  jf_replace(&p->r, n->out[0], turned);
  jf_replace(&p->r, n->out[1], y->node->out[1]);
}

jfl_status jf_pass_lengths(jfl_graph *g, const jf_target *target)
{
  length_pass p = { .turned = NULL };
  jf_rewrite_begin(g, &p.r);
  p.turned = jf_alloc(g->arena, (size_t)p.r.n_value * sizeof *p.turned);
  for (jf_node *n; (n = jf_rewrite_next(&p.r));) {
    if (lengths_serves(&p, target, n)) lengths_replace(&p, n);
    else jf_rewrite_keep(&p.r, n);
  }
  jf_rewrite_end(&p.r);
  return g->err;
}
