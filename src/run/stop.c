/* Stopping a run that its user no longer wants, until a step changes a variable. */
#include "run/run.h"

static jfl_status stop_before(jf_execution *e, int step, int *done)
{
  const jfl_session *s = e->session;
  (void)done;
  if (step >= e->plan->first_update) return JFL_OK;
  const int asks = e->asks == JF_ASKS || __atomic_load_n(&s->stop, __ATOMIC_ACQUIRE);
  if (!asks || !s->stop_asked(s->stop_ctx)) return JFL_OK;
  return jf_fail_in(jf_fail(JFL_ESTATE, "the run was stopped"), JFL_ERROR_JOB,
                    e->plan->job->name);
}

const jf_observer jf_watch_stop = { .before = stop_before };
