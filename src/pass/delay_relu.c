/* Moves relu behind the max_pool2d that alone reads it, where it has fewer cells to compute.
   Results are the same, since relu of the maximum is the maximum of relu. Gradients are the same,
   since a window whose maximum is not above 0 passes nothing on in either order. The same holds for
   every op that the records mark JF_RISES and every one that they mark JF_PICKS. */
#include "pass/pass.h"

static const jf_node *relu_alone(const jf_rewrite *r, const jf_node *pool)
{
  if (!(pool->op->flags & JF_PICKS)) return NULL;
  const jfl_value *x = pool->in[0];
  if (x->origin != JF_RESULT || r->uses[x->id] != 1) return NULL;
  return x->node->op->flags & JF_RISES ? x->node : NULL;
}

/* Emits pool and relu in their new order; each keeps its name. */
static void swap(jf_rewrite *r, const jf_node *relu, const jf_node *pool)
{
  jf_serve(r->g, relu);
  jfl_value *x = jf_emit(r->g, pool->op, pool->attr, JF_IN(jf_current(r, relu->in[0])));
  jfl_value *y = x ? jf_emit(r->g, relu->op, relu->attr, JF_IN(x)) : NULL;
  if (!y) return;
  jf_stand_for(x->node, pool);
  jf_stand_for(y->node, relu);
  jf_replace(r, pool->out[0], y);
}

jfl_status jf_pass_delay_relu(jfl_graph *g, const jf_target *target)
{
  (void)target;
  jf_rewrite r;
  jf_rewrite_begin(g, &r);
  char *moved = jf_alloc(g->arena, (size_t)r.n_value);
  for (int i = 0; i < r.n_old; i++) {
    const jf_node *relu = relu_alone(&r, r.old[i]);
    if (relu) moved[relu->out[0]->id] = 1;
  }
  for (jf_node *n; (n = jf_rewrite_next(&r));) {
    const jf_node *relu = relu_alone(&r, n);
    if (relu) swap(&r, relu, n);
    else if (!n->n_out || !moved[n->out[0]->id]) jf_rewrite_keep(&r, n);
  }
  jf_rewrite_end(&r);
  return g->err;
}
