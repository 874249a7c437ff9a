/* Appends the optimizer's updates, the learning rate they use, and the step counter. */
#include "pass/pass.h"

jfl_status jf_pass_update(jfl_graph *g, const jf_target *target)
{
  (void)target;
  const jf_training *t = g->training;
  if (!t) return JFL_OK;
  jfl_shape one = { 1, { 1 } };
  const char *name = jf_sprintf(g->arena, "System-Train-TrainStep-%s", g->name);
  jfl_value *step = jf_state_variable(g, name, JFL_I64, &one);
  jf_update u = { .g = g, .attr = t->attr, .lr = jf_emit(g, t->schedule, t->schedule_attr, JF_IN(step)) };
  for (int i = 0; i < t->n_variable && !g->err; i++) {
    u.param = t->variable[i];
    u.grad = t->grad[i];
    if (u.grad) t->optim->emit(&u);
  }
  JF_EMIT(g, train_step_increment, NULL, step);
  return g->err;
}
