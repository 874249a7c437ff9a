/* The loop over the steps of a run, and the observers that it calls. */
#include "run/run.h"

/* The random bits of a step depend on the session's seed, on names, and on the run. */
static void steps_draw(jf_execution *e, int step)
{
  const jf_step *st = &e->plan->step[step];
  if (!st->random) return;
  const uint64_t key = jf_hash(e->session->seed, &st->stream, sizeof st->stream);
  e->k[step].random = (jf_random_source){ key, e->number, st->node->source.first };
}

static jfl_status steps_answer(const jf_execution *e, int step)
{
  const jfl_status s = jf_loops_whole(jf_kernel_run(e->plan->step[step].kernel.run, &e->k[step]));
  if (s == JFL_OK) return s;
  jf_step_blame(e->plan, s, step);
  return jf_fail_in(s, JFL_ERROR_JOB, e->plan->job->name);
}

/* What observers make of a failure. */
static jfl_status steps_failed(jf_execution *e, int step, const jf_observer *const *o, jfl_status s)
{
  for (; *o && s; o++)
    if ((*o)->failed) s = (*o)->failed(e, step, s);
  return s;
}

static jfl_status steps_one(jf_execution *e, int step, const jf_observer *const *o)
{
  int done = 0;
  for (int i = 0; o[i]; i++) {
    const jfl_status s = o[i]->before ? o[i]->before(e, step, &done) : JFL_OK;
    if (s) JF_TRY(steps_failed(e, step, o, s));
  }
  if (done) return JFL_OK;
  steps_draw(e, step);
  jfl_status s = e->plan->is_async ? jf_async_step(e, step) : steps_answer(e, step);
  for (int i = 0; o[i] && !s; i++)
    if (o[i]->after) s = o[i]->after(e, step);
  return s ? steps_failed(e, step, o, s) : JFL_OK;
}

jfl_status jf_steps(jf_execution *e, int first, const jf_observer *const *o)
{
  for (int i = first; i < e->plan->n_step; i++)
    if (i >= e->plan->n_prologue || e->prologue->wanted[i]) JF_TRY(steps_one(e, i, o));
  return JFL_OK;
}
