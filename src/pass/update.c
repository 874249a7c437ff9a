/* Appends the optimizer's updates, the learning rate and the scale they use, and the step
   counter. */
#include "op/clip_scale.h"
#include "pass/pass.h"

/* What clips the gradients of all variables together. */
static jfl_value *clip(jfl_graph *g, const jf_training *t)
{
  jf_clip_scale a = { t->clip_norm };
  jfl_value **grad = jf_alloc(g->arena, (size_t)t->n_variable * sizeof *grad);
  size_t n = 0;
  for (int i = 0; i < t->n_variable; i++)
    if (t->grad[i]) grad[n++] = t->grad[i];
  return jf_emit(g, &jf_op_clip_scale, &a, grad, n);
}

jfl_status jf_pass_update(jfl_graph *g, const jf_target *target)
{
  (void)target;
  const jf_training *t = g->training;
  if (!t) return JFL_OK;
  jfl_shape one = { 1, { 1 } };
  const int place = g->place;
  const char *name = jf_sprintf(g->arena, "System-Train-TrainStep-%s", g->name);
  jfl_value *step = jf_state_variable(g, name, JFL_I64, &one);
  jf_update u = { .g = g,
                  .attr = t->attr,
                  .lr = jf_emit(g, t->schedule, t->schedule_attr, JF_IN(step)) };
  if (t->clip_norm > 0) u.scale = clip(g, t);
  for (int i = 0; i < t->n_variable && !g->err; i++) {
    u.param = t->variable[i];
    u.grad = t->grad[i];
    jf_at(g, u.param->place);
    if (u.grad) t->optim->emit(&u);
  }
  jf_at(g, place);
  JF_EMIT(g, train_step_increment, NULL, step);
  return g->err;
}
