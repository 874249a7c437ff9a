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
  g->node = NULL;
  g->n_node = g->cap_node = 0;
}

const jfl_value *jf_root(const jfl_value *v)
{
  while (v->origin == JF_RESULT && (v->node->op->flags & JF_VIEW)) v = v->node->in[0];
  return v;
}

jfl_value *jf_current(const jf_rewrite *r, const jfl_value *v)
{
  while (v->id < r->n_value && r->now[v->id]) v = r->now[v->id];
  return (jfl_value *)v;
}

void jf_replace(jf_rewrite *r, const jfl_value *v, jfl_value *by) { r->now[v->id] = by; }

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
}
