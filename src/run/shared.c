/* Runs of several ranks together. One that goes wrong on one rank goes wrong on all, and changes no
   variable. Until they agree on that, the rank that knows it makes the steps on which others wait,
   with whatever is there. */
#include "run/run.h"
#include "world/world.h"

static void shared_fail(jf_agreement *a, jfl_status s)
{
  if (!s || a->failed) return;
  a->failed = s;
  a->error = jf_error_copy();
}

static jfl_status shared_result(const jf_agreement *a)
{
  return a->failed ? jf_error_restore(a->failed, a->error) : JFL_OK;
}

static void shared_waited(const jf_execution *e)
{
  if (e->session->profile) jf_profile_waited(e->session->profile, e);
}

static jfl_status shared_agree(const jf_execution *e)
{
  jf_agreement *a = e->agreement;
  const jfl_status s = jf_session_agree_status(e->session, shared_result(a));
  a->agreed = !s;
  a->over = s != JFL_OK;
  shared_waited(e);
  return s;
}

jfl_status jf_shared_begin(const jf_execution *e)
{
  const jfl_plan *p = e->plan;
  JF_TRY(jf_fail_in(jf_plan_agree(p), JFL_ERROR_JOB, p->job->name));
  shared_waited(e);
  jf_world_run_begins();
  return JFL_OK;
}

/* Of a checked run ranks also agree on what it begins with: if that is not finite on one of them,
   what it sends would not be on the others, which would then name what they made of it. */
jfl_status jf_shared_ready(const jf_execution *e, jfl_status s)
{
  jf_agreement *a = e->agreement;
  shared_fail(a, s);
  if (!e->session->settings.check_finite) return JFL_OK;
  s = jf_session_agree_status(e->session, shared_result(a));
  a->over = s != JFL_OK;
  return s;
}

/* In a checked run the checks of all steps count, and variables can be changed back. */
static jfl_status shared_before(jf_execution *e, int step, int *done)
{
  const jfl_plan *p = e->plan;
  jf_agreement *a = e->agreement;
  if (step == p->barrier && !e->session->settings.check_finite) {
    if (!a->failed && p->is_async) shared_fail(a, jf_async_barrier(e));
    JF_TRY(shared_agree(e));
  }
  if (!a->failed) return JFL_OK;
  *done = 1;
  if (p->step[step].node->op->flags & JF_TOGETHER) jf_async_keep_pace(e, step);
  return JFL_OK;
}

/* A run that has failed goes on until the ranks have agreed. */
static jfl_status shared_failed(jf_execution *e, int step, jfl_status s)
{
  jf_agreement *a = e->agreement;
  (void)step;
  shared_fail(a, s);
  return a->agreed || a->over ? s : JFL_OK;
}

const jf_observer jf_watch_ranks = { .before = shared_before, .failed = shared_failed };

/* After variables have changed on other ranks, a failure of this one parts them for good. */
jfl_status jf_shared_end(const jf_execution *e, jfl_status s)
{
  jf_agreement *a = e->agreement;
  if (s && a->agreed)
    jf_world_end("rank %d (%s) failed while variables changed: %.150s", jf_world_rank(),
                 jf_world_host(jf_world_rank()), jfl_error_part(JFL_ERROR_TEXT));
  shared_fail(a, s);
  if (!a->agreed && !a->over) s = shared_agree(e);
  jf_free(a->error);
  jf_world_run_ends();
  return s;
}
