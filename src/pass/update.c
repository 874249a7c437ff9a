/* Appends each optimizer's updates, the numbers of the step that they read, and the step
   counter. */
#include "op/clip_scale.h"
#include "optim/scalars.h"
#include "pass/pass.h"

/* Adds to gradient d what the variable's regularizer adds: l2 w + l1 sign(w). */
static jfl_value *update_regularized(jfl_graph *g, jfl_value *w, jfl_value *d)
{
  const jfl_shape one = { 1, { 1 } };
  const jfl_variable_spec *s = w->variable;
  jf_at(g, w->place);
  if (s->l2 != 0)
    d = JF_EMIT(g, add, NULL, d,
                JF_EMIT(g, multiply, NULL, w, jf_emit_number(g, w->dtype, &one, s->l2)));
  if (s->l1 != 0)
    d = JF_EMIT(g, add, NULL, d,
                JF_EMIT(g, multiply, NULL, JF_EMIT(g, sign, NULL, w),
                        jf_emit_number(g, w->dtype, &one, s->l1)));
  return d;
}

/* The factor that clips the gradients of all variables of an optimizer together. */
static jfl_value *update_clip(jfl_graph *g, const jf_training *t)
{
  jf_clip_scale a = { t->clip_norm };
  jfl_value **grad = jf_alloc(g->arena, (size_t)t->n_variable * sizeof *grad);
  size_t n = 0;
  for (int i = 0; i < t->n_variable; i++)
    if (t->grad[i]) grad[n++] = t->grad[i];
  return jf_emit(g, &jf_op_clip_scale, &a, grad, n);
}

/* The state variable with which the host sets the rate of optimizer number i of the job, from 0. */
static jfl_value *update_set(jfl_graph *g, int i)
{
  const char *number = i ? jf_sprintf(g->arena, "%d", i + 1) : "";
  return jf_state_variable(g, &(jfl_variable_spec){
    .name = jf_sprintf(g->arena, JF_RATE_PREFIX "%s-%s", number, g->name), .dtype = JFL_F64,
    .shape = { 1, { JF_N_SET } }, .state = JFL_STATE_UNLESS_ZERO });
}

static jfl_value *update_scalars(jfl_graph *g, const jf_training *t, const jf_optim_choice *c)
{
  jfl_value *in[] = { t->step, jf_emit(g, t->schedule, t->schedule_attr, JF_IN(t->step)), t->set,
                      NULL };
  if (t->clip_norm > 0) in[3] = update_clip(g, t);
  return jf_emit(g, &jf_op_optimizer_scalars, c, in, t->clip_norm > 0 ? 4 : 3);
}

static void update_emit(jfl_graph *g, const jf_training *t)
{
  const jf_optim_choice c = jf_optim_choose(g, t->optim, t->attr);
  jfl_value *scalars = update_scalars(g, t, &c);
  for (int i = 0; i < t->n_variable && !g->err; i++) {
    jf_at(g, t->variable[i]->place);
    const jf_step_of s = { &c, t->variable[i], t->grad[i], scalars };
    if (!s.grad) continue;
    if (t->optim->emit) t->optim->emit(g, &s);
    else jf_emit_update(g, &s);
  }
}

static void update_variables(jfl_graph *g)
{
  const char *name = jf_sprintf(g->arena, "System-Train-TrainStep-%s", g->name);
  const int place = g->place;
  jfl_value *step = jf_state_variable(g, &(jfl_variable_spec){
    .name = name, .dtype = JFL_I64, .shape = { 1, { 1 } }, .state = JFL_STATE });
  for (int i = 0; i < g->n_training && !g->err; i++) {
    jf_training *t = g->training[i];
    t->step = step;
    t->set = update_set(g, i);
    for (int k = 0; k < t->n_variable; k++)
      if (t->grad[k]) t->grad[k] = update_regularized(g, t->variable[k], t->grad[k]);
    jf_at(g, place);
  }
  for (int i = 0; i < g->n_training && !g->err; i++) {
    update_emit(g, g->training[i]);
    jf_at(g, place);
  }
  JF_EMIT(g, train_step_increment, NULL, step);
}

/* Updates come after everything that reads the variables, regularizers included. What the body
   itself does to variables comes last. */
jfl_status jf_pass_update(jfl_graph *g, const jf_target *target)
{
  int n = g->n_node, end = n;
  (void)target;
  g->updating = 1;
  while (n > 0 && g->node[n - 1]->op->flags & JF_EFFECT) n--;
  jf_node **own = jf_alloc(g->arena, (size_t)(end - n) * sizeof *own);
  for (int i = n; i < end; i++) own[i - n] = g->node[i];
  g->n_node = n;
  if (g->n_training) update_variables(g);
  for (int i = n; i < end; i++) {
    g->node = jf_grow(g->arena, g->node, g->n_node, &g->cap_node, sizeof *g->node);
    g->node[g->n_node++] = own[i - n];
  }
  return g->err;
}
