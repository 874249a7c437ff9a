/* Makes the step along a gradient part of the op that computes the gradient: where a gradient is a
   matrix product, or sums of slices, that only its parameter's update reads, one node does both, at
   the update's place. */
#include "pass/pass.h"

/* Whether no factor of n is a variable: a variable could have been updated by the time the update
   runs. */
static int all_stay(const jf_node *n)
{
  for (int i = 0; i < n->n_in; i++)
    if (jf_root(n->in[i])->origin == JF_VARIABLE) return 0;
  return 1;
}

/* Whether the step is made faster by the node that makes the gradient. */
static int matmul_update_pays(const jf_target *t, const jf_node *maker)
{
  return !maker->op->ending || !t->device[maker->place]->kind->updates_together;
}

/* The node whose result the update subtracts, if the two can be one node; else NULL. */
static const jf_node *matmul_update_maker(const jf_rewrite *r, const jf_target *t,
                                          const jf_node *update)
{
  const jf_update *a = jf_update_of(update);
  if (!a || a->n != 1 || a->averages || !a->choice.rule->descends) return NULL;
  const jfl_value *grad = update->in[JF_GRAD];
  const jf_node *maker = grad->origin == JF_RESULT ? grad->node : NULL;
  if (!maker || !maker->op->descent || grad->shape.n != 2 || r->uses[grad->id] != 1) return NULL;
  return all_stay(maker) && matmul_update_pays(t, maker) ? maker : NULL;
}

static void matmul_update_fold(jf_rewrite *r, const jf_node *update, const jf_node *maker)
{
  const size_t n = (size_t)maker->n_in + 2;
  jfl_value **in = jf_alloc(r->g->arena, n * sizeof *in);
  in[0] = update->in[JF_PARAM];
  for (int i = 0; i < maker->n_in; i++) in[i + 1] = jf_current(r, maker->in[i]);
  in[n - 1] = jf_current(r, update->in[update->n_in - 1]);
  jf_serve(r->g, maker);
  jf_emit(r->g, maker->op->descent, maker->attr, in, n);
}

/* The product's nodes stay in the graph without a reader; dce removes them. */
jfl_status jf_pass_matmul_update(jfl_graph *g, const jf_target *target)
{
  jf_rewrite r;
  if (g->mixed == JFL_F16) return JFL_OK;      /* which rounds what products alone read */
  jf_rewrite_begin(g, &r);
  for (jf_node *n; (n = jf_rewrite_next(&r));) {
    const jf_node *maker = matmul_update_maker(&r, target, n);
    if (maker) matmul_update_fold(&r, n, maker);
    else jf_rewrite_keep(&r, n);
  }
  jf_rewrite_end(&r);
  return g->err;
}
