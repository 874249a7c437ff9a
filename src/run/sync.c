/* Synchronous calls: the caller waits until its run is done. */
#include "run/run.h"

jfl_status jfl_run(jfl_plan *p, jfl_array *const *in, jfl_array **out)
{
  jfl_session *s = p->job->session;
  JF_TRY(jf_plan_check_inputs(p, in));
  JF_TRY(jf_plan_outputs_new(p, out));
  jf_session_acquire(s);
  jfl_status st = jf_execute_unless_stopped(p, in, out);
  jf_session_release(s);
  for (int i = 0; st && i < p->graph->n_output; i++) jfl_array_unref(out[i]);
  return st;
}
