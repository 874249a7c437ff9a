/* Removes nodes that no result, effect or other rank needs. */
#include "pass/pass.h"

jfl_status jf_pass_dce(jfl_graph *g, const jf_target *target)
{
  (void)target;
  char *needed = jf_alloc(g->arena, (size_t)g->n_value);
  char *keep = jf_alloc(g->arena, (size_t)g->n_node);
  for (int i = 0; i < g->n_output; i++) needed[g->output[i]->id] = 1;
  for (int i = g->n_node - 1; i >= 0; i--) {
    const jf_node *n = g->node[i];
    keep[i] = (n->op->flags & (JF_EFFECT | JF_TOGETHER)) != 0;
    for (int k = 0; k < n->n_out; k++) keep[i] |= needed[n->out[k]->id];
    for (int k = 0; keep[i] && k < n->n_in; k++) needed[n->in[k]->id] = 1;
  }
  int n = 0;
  for (int i = 0; i < g->n_node; i++)
    if (keep[i]) g->node[n++] = g->node[i];
  g->n_node = n;
  return JFL_OK;
}
