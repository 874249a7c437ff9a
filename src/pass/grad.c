/* Reverse-mode differentiation. Only this file sums the gradients of broadcast inputs and adds up
   those of values with several uses. */
#include "op/attrs.h"
#include "op/cast.h"
#include "op/reduce.h"
#include "op/reshape.h"
#include "pass/pass.h"

/* Sums d over the axes along which a value of shape `to` was broadcast to d's shape. */
static jfl_value *sum_to(jfl_graph *g, jfl_value *d, const jfl_shape *to)
{
  int64_t axes[JFL_MAXDIM];
  jf_reduce sum = { .axis = { 0, axes }, .keepdims = 1 };
  int extra = d->shape.n - to->n;
  for (int i = 0; i < d->shape.n; i++)
    if (i < extra || (to->d[i - extra] == 1 && d->shape.d[i] != 1)) sum.axis.v[sum.axis.n++] = i;
  if (sum.axis.n) d = JF_EMIT(g, reduce_sum, &sum, d);
  return jf_emit_view(g, d, to);
}

static void accumulate(jfl_graph *g, jfl_value *v, jfl_value *d, jfl_value **slot)
{
  if (d && !jf_shape_eq(&d->shape, &v->shape)) d = sum_to(g, d, &v->shape);
  if (d) *slot = *slot ? JF_EMIT(g, add, NULL, *slot, d) : d;
}

/* Marks the float values that depend on one of x. */
static void grad_mark(const jfl_graph *g, jfl_value *const *x, int n_x, char *wanted)
{
  for (int i = 0; i < n_x; i++) wanted[x[i]->id] = 1;
  for (int i = 0; i < g->n_node; i++) {
    const jf_node *n = g->node[i];
    int any = 0;
    for (int k = 0; k < n->n_in; k++) any |= wanted[n->in[k]->id];
    for (int k = 0; k < n->n_out; k++)
      wanted[n->out[k]->id] |= (char)(any && jf_is_float(n->out[k]->dtype));
  }
}

static int any_wanted(const jf_node *n, const char *wanted)
{
  for (int k = 0; k < n->n_in; k++)
    if (wanted[n->in[k]->id]) return 1;
  return 0;
}

/* Emits the gradients of one node's inputs, given those of its outputs. */
static jfl_status node_gradient(jfl_graph *g, const jf_node *n, const char *wanted, jfl_value **adj)
{
  jfl_value **dy = jf_alloc(g->arena, (size_t)n->n_out * sizeof *dy);
  jfl_value **dx = jf_alloc(g->arena, (size_t)n->n_in * sizeof *dx);
  int live = 0;
  for (int k = 0; k < n->n_out; k++)
    live |= wanted[n->out[k]->id] && (dy[k] = adj[n->out[k]->id]) != NULL;
  if (!live || !any_wanted(n, wanted)) return JFL_OK;
  if (!n->op->grad)
    return jf_fail_in(jf_fail(JFL_ENOSYS, "'%s': %s has no gradient, and the loss depends on a "
                              "trained variable or a watched blob through it", n->name,
                              n->op->name), JFL_ERROR_LINE, n->source.line);
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
  grad_mark(g, b->x, b->n_x, wanted);
  for (int i = 0; i < b->n; i++) accumulate(g, b->y[i], b->dy[i], &adj[b->y[i]->id]);
  for (int i = n_node - 1; i >= 0; i--) JF_TRY(node_gradient(g, g->node[i], wanted, adj));
  return g->err;
}

jfl_value *jf_full_like(jfl_graph *g, const jfl_value *v, double value)
{
  return jf_emit_number(g, v->dtype, &v->shape, value);
}

/* ---- losses ---- */

/* Losses of one shape that some optimizers minimize together, and the values whose gradients are
   needed. */
typedef struct objective {
  const jf_training *first;    /* the first of the optimizers */
  jfl_value **target; int n_target;
} objective;

/* Collects the optimizers of the same losses, so that one backward walk serves them all. */
static objective objective_of(jfl_graph *g, const jf_training *first)
{
  objective o = { .first = first };
  int most = g->n_watched;
  for (int i = 0; i < g->n_training; i++) most += g->training[i]->n_variable;
  o.target = jf_alloc(g->arena, (size_t)most * sizeof *o.target);
  for (int i = 0; i < g->n_training; i++) {
    const jf_training *t = g->training[i];
    for (int k = 0; jf_same_losses(first, t) && k < t->n_variable; k++)
      o.target[o.n_target++] = t->variable[k];
  }
  for (int i = 0; i < g->n_watched; i++) o.target[o.n_target++] = g->watched[i].value;
  return o;
}

/* Divides d by the scale of the losses, which the optimizer takes out of gradients, too. */
static jfl_value *without_scale(jfl_graph *g, const objective *o, jfl_value *d)
{
  const jf_training *t = o->first;
  const jfl_shape one = { 1, { 1 } };
  jfl_value *scale = t->loss_scale;
  if (!scale && (t->asked.loss_scale == 0 || t->asked.loss_scale == 1)) return d;
  if (!scale) scale = jf_emit_number(g, d->dtype, &one, t->asked.loss_scale);
  if (scale->dtype != d->dtype) scale = JF_EMIT(g, cast, &(jf_cast){ d->dtype }, scale);
  return JF_EMIT(g, divide, NULL, d, scale);
}

/* The gradient as the variable lies, on several devices: it is brought there as soon as it is
   made. */
static jfl_value *grad_lying(jfl_graph *g, const jfl_value *w, jfl_value *d)
{
  if (!d || (!jf_is_group(w->place) && !jf_is_group(d->place))) return d;
  const int split = jf_is_group(w->place) && w->distribution.kind == JFL_SPLIT;
  const jf_parallel_cast a = { jf_distribution_text(g->arena, split ? w->distribution : JF_ON_ALL),
                               "auto" };
  d = JF_EMIT(g, parallel_cast, &a, d);
  if (d) d->place = d->node->place = w->place;
  return d;
}

static jfl_status keep_gradients(jfl_graph *g, jf_training *t, jfl_value *const *adj)
{
  int reached = 0;
  t->grad = jf_alloc(g->arena, (size_t)t->n_variable * sizeof *t->grad);
  for (int i = 0; i < t->n_variable; i++)
    reached += (t->grad[i] = grad_lying(g, t->variable[i], adj[t->variable[i]->id])) != NULL;
  if (reached) return JFL_OK;
  return jf_fail(JFL_EINVAL, "the loss '%s' depends on no trainable variable", t->loss[0]->name);
}

/* Seeds each loss with 1 / its element count, so that training on one loss per sample is the same
   as training on their mean. Adds the gradient of watched value i to watched[i]. */
static jfl_status differentiate(jfl_graph *g, const objective *o, jfl_value **watched)
{
  const jf_training *t = o->first;
  const size_t n_value = (size_t)g->n_value;
  jfl_value **dy = jf_alloc(g->arena, (size_t)t->n_loss * sizeof *dy);
  jfl_value **adj = jf_alloc(g->arena, n_value * sizeof *adj);
  const double scale = t->loss_scale || t->asked.loss_scale == 0 ? 1 : t->asked.loss_scale;
  for (int i = 0; i < t->n_loss; i++) {
    dy[i] = jf_full_like(g, t->loss[i], scale / (double)jf_numel(&o->first->loss[0]->shape));
    if (t->loss_scale)
      dy[i] = JF_EMIT(g, multiply, NULL, dy[i],
                      JF_EMIT(g, cast, &(jf_cast){ dy[i]->dtype }, t->loss_scale));
  }
  if (g->err) return g->err;
  jf_backward b = { t->loss, dy, t->n_loss, o->target, o->n_target };
  JF_TRY(jf_gradients(g, &b, adj));
  for (int i = 0; i < g->n_training; i++)
    if (jf_same_losses(t, g->training[i])) JF_TRY(keep_gradients(g, g->training[i], adj));
  for (int i = 0; i < g->n_watched && !g->err; i++) {
    jfl_value *d = adj[g->watched[i].value->id];
    g->source.line = g->watched[i].where;
    if (d) d = without_scale(g, o, d);
    if (d) watched[i] = watched[i] ? JF_EMIT(g, add, NULL, watched[i], d) : d;
  }
  return g->err;
}

/* Adds the variable with the scale of training i's losses, if the scale changes. Optimizers of the
   same losses share it. */
static void add_loss_scale(jfl_graph *g, int i)
{
  const jf_training *first = g->training[i];
  const char *number = i ? jf_sprintf(g->arena, "%d", i + 1) : "";
  if (!first->asked.scale_period) return;
  jfl_value *scale = jf_state_variable(g, &(jfl_variable_spec){
    .name = jf_sprintf(g->arena, "System-Train-DynamicLossScale%s-%s-LossScale", number, g->name),
    .dtype = JFL_F32, .shape = { 1, { 1 } }, .state = JFL_STATE, .init = JFL_INIT_CONSTANT,
    .a = first->asked.loss_scale });
  for (int k = i; k < g->n_training; k++)
    if (jf_same_losses(first, g->training[k])) g->training[k]->loss_scale = scale;
}

/* A gradient in the view of its value: where the devices have the same one, each has it as its own;
   of their own ones, the mean. */
static jfl_value *as_viewed(jfl_graph *g, const jfl_value *v, jfl_value *d)
{
  const jf_change_view own = { .mirrored = 1, .parts = 1 };
  const jf_parallel_cast mean = { "broadcast", "auto" };
  const int mirrored = v->distribution.kind == JFL_MIRRORED;
  if (mirrored == (d->distribution.kind == JFL_MIRRORED)) return d;
  return mirrored ? JF_EMIT(g, change_view, &own, d) : JF_EMIT(g, parallel_cast, &mean, d);
}

/* Removes the watched values from the graph and makes their gradients results. */
static jfl_status add_watched(jfl_graph *g, jfl_value *const *d)
{
  for (int i = 0; i < g->n_watched; i++) {
    const jf_watched *w = &g->watched[i];
    if (!d[i])
      return jf_fail(JFL_EINVAL, "watch_diff: no gradient of the loss '%s' reaches '%s'%s%s",
                     g->training[0]->loss[0]->name, w->value->name,
                     *w->where ? ", watched at " : "", w->where);
    jfl_value *dv = as_viewed(g, w->value, d[i]);
    if (!g->err) jf_graph_output(g, dv);
  }
  g->n_watched = 0;
  return g->err;
}

jfl_status jf_pass_grad(jfl_graph *g, const jf_target *target)
{
  jfl_value **watched = jf_alloc(g->arena, (size_t)g->n_watched * sizeof *watched);
  (void)target;
  if (!g->n_training) return JFL_OK;
  g->source.purpose = JF_BACKWARD;
  for (int i = 0; i < g->n_training; i++) {
    if (g->training[i]->grad) continue;
    g->source.line = g->training[i]->line;
    add_loss_scale(g, i);
    const objective o = objective_of(g, g->training[i]);
    JF_TRY(differentiate(g, &o, watched));
  }
  g->source.purpose = JF_FORWARD;
  g->source.line = NULL;
  return add_watched(g, watched);
}
