/* Makes the slope of an activation, by which a gradient is multiplied, part of the matrix product
   that makes the gradient, where a step of the device does both. What the slope is taken of is kept
   by the product that applied the activation, as the pass epilogue sees to. */
#include "op/matmul.h"
#include "op/reshape.h"
#include "pass/pass.h"

/* The product that v alone shows, itself or as views; or NULL. */
static const jf_node *slope_product(const jf_rewrite *r, const jfl_value *v)
{
  const jf_node *n = jf_sole_maker(r, v);
  while (n && n->op->flags & JF_VIEW) n = jf_sole_maker(r, n->in[0]);
  return n && jf_matmul_sloped(n) ? n : NULL;
}

/* The node that makes v, itself or as views, if an epilogue may use its op; else NULL. */
static const jf_node *slope_maker(const jfl_value *v)
{
  const jfl_value *root = jf_root(v);
  return root->origin == JF_RESULT && jf_is_activation(root->node->op) ? root->node : NULL;
}

/* What v shows, in that shape: v or what it is a view of; NULL: none of these has it. */
static jfl_value *slope_shown(jfl_value *v, const jfl_shape *s)
{
  while (!jf_shape_eq(&v->shape, s)) {
    if (v->origin != JF_RESULT || !(v->node->op->flags & JF_VIEW)) return NULL;
    v = v->node->in[0];
  }
  return v;
}

/* Whether the product can be made where the old node that is kept next stands: no node in between
   changes a variable. */
static int slope_may_wait(const jf_rewrite *r, const jf_node *product)
{
  for (int i = r->next - 2; i >= 0 && r->old[i] != product; i--)
    if (jf_updates(r->old[i])) return 0;
  return 1;
}

/* If n multiplies a product, its input i, by a slope, does both in one node. */
static int slope_join(jf_rewrite *r, const jf_target *t, const jf_node *n, int i)
{
  const jf_node *product = slope_product(r, n->in[i]), *slope = slope_maker(n->in[1 - i]);
  const int64_t size = jf_numel(&n->out[0]->shape);
  if (!product || !slope || !jf_may_join(product, n) || !slope_may_wait(r, product)) return 0;
  if (jf_numel(&n->in[i]->shape) != size || jf_numel(&n->in[1 - i]->shape) != size) return 0;
  const jfl_shape *s = &product->out[0]->shape;
  jfl_value *kept = slope_shown(slope->in[0], s);
  jf_matmul_slope a = { .product = *(const jf_matmul *)product->attr, .act = slope->op->name };
  jfl_value *in[] = { jf_current(r, product->in[0]), jf_current(r, product->in[1]),
                      jf_current(r, kept ? kept : slope->in[0]) };
  const jf_node with = { .op = jf_matmul_sloped(product), .attr = &a, .place = n->place, .in = in,
                         .n_in = 3 };
  if (!kept) in[2] = jf_emit_view(r->g, in[2], s);
  if (!in[2] || !jf_is_one_step(t, &with, 0)) return 0;
  jfl_value *y = jf_emit(r->g, with.op, &a, in, 3);
  if (!y) return 0;
  jf_stand_for(y->node, product);
  jf_replace(r, n->out[0], jf_emit_view(r->g, y, &n->out[0]->shape));
  return 1;
}

/* The product's nodes and the slope's stay in the graph without a reader; dce removes them. */
jfl_status jf_pass_slope(jfl_graph *g, const jf_target *t)
{
  jf_rewrite r;
  jf_rewrite_begin(g, &r);
  for (jf_node *n; (n = jf_rewrite_next(&r));) {
    const int scales = (n->op->flags & JF_SCALES) != 0;
    if (!scales || !(slope_join(&r, t, n, 0) || slope_join(&r, t, n, 1))) jf_rewrite_keep(&r, n);
  }
  jf_rewrite_end(&r);
  return g->err;
}
