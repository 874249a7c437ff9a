/* Makes instructions of ops that say how, such as norms of rows, for devices whose programs are as
   quick as a kernel of their own: so what stands before and behind becomes one step with them. */
#include "pass/fuse/fuse.h"

/* The limits of programs at n's place, if n can become instructions of them. */
static const jf_fused_limits *fuse_expand_limits(const jf_target *t, const jf_node *n)
{
  const jf_fused_limits *limits = n->op->expand ? t->device[n->place]->kind->fused : NULL;
  return limits && limits->expands ? limits : NULL;
}

/* Emits what takes n's place; 0: nothing does. */
static int fuse_expand_node(jf_rewrite *r, const jf_node *n, int64_t longest)
{
  jfl_graph *g = r->g;
  jfl_value **in = jf_alloc(g->arena, (size_t)n->n_in * sizeof *in);
  jfl_value **out = jf_alloc(g->arena, (size_t)n->n_out * sizeof *out);
  for (int i = 0; i < n->n_in; i++) in[i] = jf_current(r, n->in[i]);
  if (!n->op->expand(g, n, longest, in, out)) return 0;
  jf_rewrite_as(r, n, out);
  return 1;
}

jfl_status jf_fuse_expand(jfl_graph *g, const jf_target *t)
{
  int any = 0;
  for (int i = 0; i < g->n_node; i++) any |= fuse_expand_limits(t, g->node[i]) != NULL;
  if (!any) return JFL_OK;
  jf_rewrite r;
  jf_rewrite_begin(g, &r);
  for (jf_node *n; (n = jf_rewrite_next(&r));) {
    const jf_fused_limits *limits = fuse_expand_limits(t, n);
    if (!limits || !fuse_expand_node(&r, n, limits->row)) jf_rewrite_keep(&r, n);
  }
  jf_rewrite_end(&r);
  return g->err ? g->err : jf_pass_dce(g, t);       /* what is made for results that nobody reads */
}
