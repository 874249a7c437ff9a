/* Requests: one asynchronous run with copies of its inputs, or a task. */
#include "run/run.h"

jfl_status jf_request_keep(jfl_request *r, jfl_array *const *in)
{
  r->in = jf_new((size_t)r->n_in * sizeof *r->in);
  if (!r->in) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; i < r->n_in; i++) JF_TRY(jfl_array_cast(in[i], in[i]->dtype, 0, &r->in[i]));
  return JFL_OK;
}

static jfl_status request_add_outputs(jfl_request *r)
{
  r->out = jf_new((size_t)r->n_out * sizeof *r->out);
  if (!r->out) return jf_fail(JFL_ENOMEM, "out of memory");
  return jf_plan_outputs_new(r->plan, r->out);
}

static jfl_request *request_new(jfl_session *s)
{
  jfl_request *r = jf_new(sizeof *r);
  if (!r) return jf_fail(JFL_ENOMEM, "out of memory"), NULL;
  r->tag = JF_TAG_REQUEST;
  r->refs = 1;
  r->session = s;
  return r;
}

jfl_status jf_request_new(jfl_plan *p, jfl_array *const *in, jfl_request **out)
{
  JF_TRY(jf_plan_check_inputs(p, in));
  jfl_request *r = request_new(p->job->session);
  if (!r) return JFL_ENOMEM;
  r->job = p->job;
  r->plan = p;
  r->in_flight = &p->job->in_flight;
  r->n_in = p->graph->n_input;
  r->n_out = p->graph->n_output;
  jfl_status s = request_add_outputs(r);
  if (s) jfl_request_unref(r);
  else *out = r;
  return s;
}

jfl_status jf_request_new_task(jfl_session *s, const jf_task *task, void *state,
                               jfl_request **out)
{
  jfl_request *r = request_new(s);
  if (!r) return task->free(state), JFL_ENOMEM;
  r->task = task;
  r->state = state;
  return *out = r, JFL_OK;
}

jfl_status jf_request_new_behind(jfl_request *compiling, jfl_array *const *in, jfl_request **out)
{
  const jf_compiling *c = compiling->state;
  for (int i = 0; i < c->n_in; i++)
    JF_TRY(jf_fail_in(jf_check_input(c->in[i].name, c->in[i].dtype, &c->in[i].shape, in[i]),
                      JFL_ERROR_JOB, c->job->name));
  jfl_request *r = request_new(compiling->session);
  if (!r) return JFL_ENOMEM;
  r->job = c->job;
  r->compiling = jfl_request_ref(compiling);
  r->in_flight = &c->job->in_flight;
  r->n_in = c->n_in;
  return *out = r, JFL_OK;
}

void jf_request_set(jfl_request *r, jfl_status s)
{
  r->status = r->job ? jf_fail_in(s, JFL_ERROR_JOB, r->job->name) : s;
  if (s) r->error = jf_error_copy();
}

/* The plan of a run that was queued before it was made: its turn has come and gone. */
static jfl_status request_find_plan(jfl_request *r)
{
  if (r->plan) return JFL_OK;
  JF_TRY(jfl_request_status(r->compiling));
  r->plan = jfl_request_plan(r->compiling);
  r->n_out = r->plan->graph->n_output;
  return request_add_outputs(r);
}

static jfl_status request_run(jfl_request *r, jfl_array *const *in)
{
  if (r->task) return r->task->take(r);
  JF_TRY(request_find_plan(r));
  return jf_execute(r->plan, in, r->out);
}

void jf_request_run(jfl_request *r, jfl_array *const *in)
{
  jf_request_set(r, request_run(r, in));
}

jfl_request *jfl_request_ref(jfl_request *r)
{
  if (!JF_IS(REQUEST, r)) return NULL;
  atomic_fetch_add(&r->refs, 1);
  return r;
}

static void free_arrays(jfl_array **a, int n)
{
  for (int i = 0; a && i < n; i++) jfl_array_unref(a[i]);
  jf_free(a);
}

void jfl_request_unref(jfl_request *r)
{
  if (!r || !JF_IS(REQUEST, r) || atomic_fetch_sub(&r->refs, 1) != 1) return;
  r->tag = JF_TAG_FREED;
  if (r->state) r->task->free(r->state);
  jfl_request_unref(r->compiling);
  for (int i = 0; r->name && i < r->n_out; i++) jf_free(r->name[i]);
  jf_free(r->name);
  free_arrays(r->in, r->n_in);
  free_arrays(r->out, r->n_out);
  jf_free(r->error);
  jf_free(r);
}

int jfl_request_done(const jfl_request *r) { return JF_IS(REQUEST, r) && atomic_load(&r->done); }

jfl_status jfl_request_status(const jfl_request *r)
{
  JF_NEED(REQUEST, r);
  if (!atomic_load(&r->done)) return jf_fail(JFL_ESTATE, "the run has not finished");
  return r->status ? jf_error_restore(r->status, r->error) : JFL_OK;
}

jfl_array *jfl_request_output(const jfl_request *r, int i)
{
  if (!JF_IS(REQUEST, r)) return NULL;
  return atomic_load(&r->done) && !r->status && i >= 0 && i < r->n_out ? r->out[i] : NULL;
}

/* A task with a job compiles it. */
jfl_plan *jfl_request_plan(const jfl_request *r)
{
  if (!JF_IS(REQUEST, r) || !atomic_load(&r->done) || r->status) return NULL;
  return r->task && r->job ? ((const jf_compiling *)r->state)->plan : r->plan;
}

const char *jfl_request_name(const jfl_request *r, int i)
{
  return jfl_request_output(r, i) && r->name ? r->name[i] : NULL;
}
