/* Reverse-mode differentiation. Gradients of broadcast inputs are summed, and those of values with
   several uses added up, here and nowhere else. */
#include "op/move.h"
#include "op/reduce.h"
#include "op/reshape.h"
#include "pass/pass.h"

/* Sums d over the axes along which a value of shape `to` was broadcast. */
static jfl_value *sum_to(jfl_graph *g, jfl_value *d, const jfl_shape *to)
{
  jf_reduce sum = { .keepdims = 1 };
  jf_reshape shape = { jf_ints_from(to) };
  int extra = d->shape.n - to->n;
  for (int i = 0; i < d->shape.n; i++)
    if (i < extra || (to->d[i - extra] == 1 && d->shape.d[i] != 1)) sum.axis.v[sum.axis.n++] = i;
  if (sum.axis.n) d = JF_EMIT(g, reduce_sum, &sum, d);
  return extra && d ? JF_EMIT(g, reshape, &shape, d) : d;
}

static void accumulate(jfl_graph *g, jfl_value *v, jfl_value *d, jfl_value **slot)
{
  if (d && !jf_shape_eq(&d->shape, &v->shape)) d = sum_to(g, d, &v->shape);
  if (d) *slot = *slot ? JF_EMIT(g, add, NULL, *slot, d) : d;
}

/* Marks the float values that depend on a target. */
static void mark(const jfl_graph *g, jfl_value *const *x, int n_x, char *wanted)
{
  for (int i = 0; i < n_x; i++) wanted[x[i]->id] = 1;
  for (int i = 0; i < g->n_node; i++) {
    const jf_node *n = g->node[i];
    int any = 0;
    for (int k = 0; k < n->n_in; k++) any |= wanted[n->in[k]->id];
    for (int k = 0; k < n->n_out; k++)
      wanted[n->out[k]->id] = (char)(any && jf_is_float(n->out[k]->dtype));
  }
}

/* Gradients of one node's inputs, given those of its outputs. */
static jfl_status node_gradient(jfl_graph *g, const jf_node *n, const char *wanted, jfl_value **adj)
{
  jfl_value *dy[JFL_MAXOUT] = {0}, **dx = jf_alloc(g->arena, (size_t)n->n_in * sizeof *dx);
  int live = 0;
  for (int k = 0; k < n->n_out; k++)
    live |= wanted[n->out[k]->id] && (dy[k] = adj[n->out[k]->id]) != NULL;
  if (!live) return JFL_OK;
  if (!n->op->grad)
    return jf_fail(JFL_ENOSYS, "'%s': %s has no gradient, and the loss depends on a trained variable "
                   "through it", n->name, n->op->name);
  jf_serve(g, n);
  n->op->grad(&(jf_gradctx){ g, n, n->in, n->out, dy, dx });
  for (int k = 0; k < n->n_in; k++)
    if (wanted[n->in[k]->id]) accumulate(g, n->in[k], dx[k], &adj[n->in[k]->id]);
  jf_serve(g, NULL);
  return g->err;
}

jfl_status jf_gradients(jfl_graph *g, const jf_backward *b, jfl_value **adj)
{
  int n_node = g->n_node;
  char *wanted = jf_alloc(g->arena, (size_t)g->n_value);
  mark(g, b->x, b->n_x, wanted);
  for (int i = 0; i < b->n; i++) accumulate(g, b->y[i], b->dy[i], &adj[b->y[i]->id]);
  for (int i = n_node - 1; i >= 0; i--) JF_TRY(node_gradient(g, g->node[i], wanted, adj));
  return g->err;
}

jfl_value *jf_full_like(jfl_graph *g, const jfl_value *v, double value)
{
  return jf_emit_number(g, v->dtype, &v->shape, value);
}

/* Seeds each loss with 1 / its element count, so that training on a loss per sample and on its mean
   are the same. */
jfl_status jf_pass_grad(jfl_graph *g, const jf_target *target)
{
  (void)target;
  jf_training *t = g->training;
  if (!t) return JFL_OK;
  int n_value = g->n_value, reached = 0;
  jfl_value **dy = jf_alloc(g->arena, (size_t)t->n_loss * sizeof *dy);
  jfl_value **adj = jf_alloc(g->arena, (size_t)n_value * sizeof *adj);
  for (int i = 0; i < t->n_loss; i++)
    dy[i] = jf_full_like(g, t->loss[i], 1 / (double)jf_numel(&t->loss[i]->shape));
  if (g->err) return g->err;
  jf_backward b = { t->loss, dy, t->n_loss, t->variable, t->n_variable };
  JF_TRY(jf_gradients(g, &b, adj));
  for (int i = 0; i < t->n_variable; i++)
    reached += (t->grad[i] = adj[t->variable[i]->id]) != NULL;
  return reached ? JFL_OK : jf_fail(JFL_EINVAL, "the loss '%s' depends on no trainable variable",
                                    t->loss[0]->name);
}
