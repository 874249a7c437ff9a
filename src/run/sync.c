/* Synchronous calls: the caller waits until its run is done. */
#include "run/run.h"

jfl_status jfl_run(jfl_plan *p, jfl_array *const *in, jfl_array **out)
{
  JF_NEED(PLAN, p);
  JF_NEED_EACH(ARRAY, in, p->graph->n_input);
  if (p->graph->n_output) JF_NEED_POINTER(out);
  JF_TRY(jf_plan_check_inputs(p, in));
  JF_TRY(jf_plan_outputs_new(p, out));
  jf_session_acquire(p->job->session);
  jfl_status s = jf_execute_unless_stopped(p, in, out);
  jf_session_release(p->job->session);
  if (s) jf_arrays_drop(out, p->graph->n_output);
  return s;
}
