/* Plain SGD folds into weight gradients: where a gradient is a matrix product that serves its
   parameter's update alone, one node does both, in the update's place. */
#include "op/matmul_update.h"
#include "op/sgd.h"
#include "pass/pass.h"

/* A factor that is a variable may have been updated when the update's turn comes. */
static int stays(const jfl_value *factor) { return jf_root(factor)->origin != JF_VARIABLE; }

/* The product that the update's gradient is, if they can be one node. */
static const jf_node *pass_matmul_update_product_of(const jf_rewrite *r, const jf_node *update)
{
  if (update->op != &jf_op_sgd_update) return NULL;
  if (((const jf_sgd_update *)update->attr)->weight_decay != 0) return NULL;
  const jfl_value *grad = update->in[1];
  const jf_node *m = grad->origin == JF_RESULT ? grad->node : NULL;
  if (!m || m->op != &jf_op_matmul || grad->shape.n != 2 || r->uses[grad->id] != 1) return NULL;
  return stays(m->in[0]) && stays(m->in[1]) ? m : NULL;
}

static void fold(jf_rewrite *r, const jf_node *update, const jf_node *product)
{
  jfl_value *in[] = { update->in[0], jf_current(r, product->in[0]), jf_current(r, product->in[1]),
                      jf_current(r, update->in[2]), NULL };
  if (update->n_in > 3) in[JF_STEP_SCALE] = jf_current(r, update->in[3]);
  jf_serve(r->g, product);
  jf_emit(r->g, &jf_op_matmul_update, product->attr, in, (size_t)update->n_in + 1);
  jf_serve(r->g, NULL);
}

/* The products stay behind without a use, for dce. */
jfl_status jf_pass_matmul_update(jfl_graph *g, const jf_target *target)
{
  jf_rewrite r;
  (void)target;
  jf_rewrite_begin(g, &r);
  for (int i = 0; i < r.n_old && !g->err; i++) {
    const jf_node *product = pass_matmul_update_product_of(&r, r.old[i]);
    if (product) fold(&r, r.old[i], product);
    else jf_rewrite_keep(&r, r.old[i]);
  }
  jf_rewrite_end(&r);
  return g->err;
}
