/* Running one step of a plan. */
#include "run/run.h"

static jfl_status step_answer(const jf_execution *e, int step)
{
  const jf_step *st = &e->plan->step[step];
  jfl_status s = st->kernel.run(&e->k[step]);
  if (s == JFL_OK) return s;
  jf_fail_in(s, JFL_ERROR_OP, st->node->op->name);
  jf_fail_in(s, JFL_ERROR_NODE, st->node->name);
  return jf_fail_in(s, JFL_ERROR_JOB, e->plan->job->name);
}

int jf_first_step(const jf_execution *e)
{
  return e->made == e->session->changes ? e->plan->n_still : 0;
}

void jf_steps_done(jf_execution *e)
{
  if (!e->plan->updates) e->made = e->session->changes;
}

jfl_status jf_execute_step(jf_execution *e, int step)
{
  jf_step_draw(e, step);
  jfl_status s = e->plan->is_late ? jf_late_step(e, step) : step_answer(e, step);
  return s || !e->saved ? s : jf_finite_step(e, step);
}
