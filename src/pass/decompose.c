/* Replaces nodes on several devices whose op can only be computed on the whole, as batch
   normalization needs the statistics of a whole batch, by nodes that can be computed on parts: so
   the pass spmd lets each device keep its part and sums the statistics. The rule is that of the
   op's record. In the mirrored view each device has statistics of its own. */
#include "pass/pass.h"

/* What has no elements is computed on the whole. */
static int decompose_is_wanted(const jf_node *n)
{
  return n->op->decompose && jf_is_group(n->place) && jf_numel(&n->in[0]->shape)
         && n->out[0]->distribution.kind != JFL_MIRRORED;
}

/* Emits what takes the place of a node. */
static void decompose_replace(jf_rewrite *r, const jf_node *n)
{
  jfl_graph *g = r->g;
  jfl_value **in = jf_alloc(g->arena, (size_t)n->n_in * sizeof *in);
  jfl_value **out = jf_alloc(g->arena, (size_t)n->n_out * sizeof *out);
  for (int i = 0; i < n->n_in; i++) in[i] = jf_current(r, n->in[i]);
  n->op->decompose(g, n, in, out);
  jf_rewrite_as(r, n, out);
}

jfl_status jf_pass_decompose(jfl_graph *g, const jf_target *target)
{
  (void)target;
  int any = 0;
  for (int i = 0; i < g->n_node; i++) any |= decompose_is_wanted(g->node[i]);
  if (!any) return JFL_OK;
  jf_rewrite r;
  jf_rewrite_begin(g, &r);
  for (jf_node *n; (n = jf_rewrite_next(&r));) {
    if (decompose_is_wanted(n)) decompose_replace(&r, n);
    else jf_rewrite_keep(&r, n);
  }
  jf_rewrite_end(&r);
  return g->err;
}
