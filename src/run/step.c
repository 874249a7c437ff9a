/* Running one step of a plan. */
#include "run/run.h"

static jfl_status step_answer(const jfl_plan *p, const jf_step *st)
{
  jfl_status e = st->kernel.run(&st->k);
  if (e == JFL_OK) return e;
  jf_fail_node(e, st->node);
  return jf_fail_in(e, JFL_ERROR_JOB, p->job->name);
}

int jf_first_step(const jfl_plan *p)
{
  return p->kept == p->job->session->changes ? p->n_still : 0;
}

void jf_steps_done(jfl_plan *p)
{
  if (!p->updates) p->kept = p->job->session->changes;
}

jfl_status jf_execute_step(jfl_plan *p, jf_step *st)
{
  jf_step_draw(p, st);
  jfl_status s = p->is_late ? jf_late_step(p, st) : step_answer(p, st);
  return s || !p->saved ? s : jf_finite_step(p, st);
}
