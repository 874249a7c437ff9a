/* Synchronous calls: the caller waits until its run is done. */
#include "run/run.h"

typedef struct sync_call { jfl_plan *plan; jfl_array *const *in, *const *out; } sync_call;

static jfl_status sync_run(void *ctx)
{
  const sync_call *c = ctx;
  return jf_execute_unless_stopped(c->plan, c->in, c->out);
}

jfl_status jfl_run(jfl_plan *p, jfl_array *const *in, jfl_array **out)
{
  JF_NEED(PLAN, p);
  JF_NEED_EACH(ARRAY, in, p->graph->n_input);
  if (p->graph->n_output) JF_NEED_POINTER(out);
  JF_TRY(jf_plan_check_inputs(p, in));
  JF_TRY(jf_plan_outputs_new(p, out));
  jfl_status s =
      jf_session_call(p->job->session, p->threads, sync_run, &(sync_call){ p, in, out });
  if (s) jf_arrays_drop(out, p->graph->n_output);
  return s;
}
