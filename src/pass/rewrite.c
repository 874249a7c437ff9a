/* Rewriting a graph's list of nodes: what passes share. */
#include "pass/pass.h"

#include <string.h>

void jf_rewrite_begin(jfl_graph *g, jf_rewrite *r)
{
  *r = (jf_rewrite){ .g = g, .old = g->node, .n_old = g->n_node, .n_value = g->n_value };
  r->now = jf_alloc(g->arena, (size_t)g->n_value * sizeof *r->now);
  r->uses = jf_alloc(g->arena, (size_t)g->n_value * sizeof *r->uses);
  for (int i = 0; i < g->n_node; i++)
    for (int k = 0; k < g->node[i]->n_in; k++) r->uses[g->node[i]->in[k]->id]++;
  for (int i = 0; i < g->n_output; i++) r->uses[g->output[i]->id]++;
  for (int i = 0; i < g->n_watched; i++) r->uses[g->watched[i].value->id]++;
  for (int i = 0; i < g->n_training; i++)
    for (int k = 0; k < g->training[i]->n_loss; k++) r->uses[g->training[i]->loss[k]->id]++;
  g->node = NULL;
  g->n_node = g->cap_node = 0;
}

jfl_value *jf_current(const jf_rewrite *r, const jfl_value *v)
{
  while (v->id < r->n_value && r->now[v->id]) v = r->now[v->id];
  return (jfl_value *)v;
}

void jf_replace(jf_rewrite *r, const jfl_value *v, jfl_value *by) { r->now[v->id] = by; }

/* The value whose memory v will show. */
static const jfl_value *root(const jf_rewrite *r, const jfl_value *v)
{
  v = jf_current(r, v);
  while (v->origin == JF_RESULT && (v->node->op->flags & JF_VIEW))
    v = jf_current(r, v->node->in[0]);
  return v;
}

/* Whether a result of the job lies in the memory of v, which is a root. */
static int is_result(const jf_rewrite *r, const jfl_value *v)
{
  for (int i = 0; i < r->g->n_output; i++)
    if (root(r, r->g->output[i]) == v) return 1;
  return 0;
}

/* Whether old nodes read the root v once the variable has been updated, or while it is. */
static int read_after_update(const jf_rewrite *r, const jfl_value *v, const jfl_value *variable)
{
  int updated = 0;
  for (int i = 0; i < r->n_old; i++) {
    const jf_node *n = r->old[i];
    for (int k = 0; k < n->n_in; k++) updated |= n->in[k] == variable && jf_mutates(n, k);
    for (int k = 0; updated && k < n->n_in; k++)
      if (root(r, n->in[k]) == v) return 1;
  }
  return 0;
}

int jf_may_replace(const jf_rewrite *r, const jfl_value *v, const jfl_value *by)
{
  const jfl_value *from = root(r, v), *to = root(r, by);
  if (from == to) return 1;
  if (is_result(r, from) && (to->origin != JF_RESULT || is_result(r, to))) return 0;
  return to->origin != JF_VARIABLE || !read_after_update(r, from, to);
}

void jf_rewrite_keep(jf_rewrite *r, jf_node *n)
{
  jfl_graph *g = r->g;
  for (int k = 0; k < n->n_in; k++) n->in[k] = jf_current(r, n->in[k]);
  g->node = jf_grow(g->arena, g->node, g->n_node, &g->cap_node, sizeof *g->node);
  g->node[g->n_node++] = n;
}

void jf_rewrite_end(jf_rewrite *r)
{
  for (int i = 0; i < r->g->n_output; i++) r->g->output[i] = jf_current(r, r->g->output[i]);
  for (int i = 0; i < r->g->n_watched; i++)
    r->g->watched[i].value = jf_current(r, r->g->watched[i].value);
  for (int i = 0; i < r->g->n_training; i++) {
    jf_training *t = r->g->training[i];
    for (int k = 0; k < t->n_loss; k++) t->loss[k] = jf_current(r, t->loss[k]);
  }
}
