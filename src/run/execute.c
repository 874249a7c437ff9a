/* Running a plan. Nothing is allocated here. */
#include "run/run.h"

/* A run as it was asked for. */
typedef struct execute_call {
  jf_execution *e;
  uint64_t number;
  jfl_array *const *in, *const *out;
  jf_asks asks;
} execute_call;

/* Notes which variables this run changes. */
static void execute_note_changes(const jf_execution *e)
{
  const jfl_plan *p = e->plan;
  int any = 0;
  for (int i = 0; i < p->n_variable; i++) any |= p->changes[i];
  if (!any) return;
  e->session->changes++;
  for (int i = 0; i < p->n_variable; i++)
    if (p->changes[i]) p->var[i]->changed = e->session->changes;
}

/* Whether something of the prologue must be made. */
static int execute_must_renew(jf_execution *e)
{
  const jf_prologue *r = e->prologue;
  if (!e->plan->n_prologue || (r->valid == e->changes && !r->n_waiting)) return 0;
  if (jf_prologue_wants(e)) return 1;
  e->prologue->valid = e->changes;
  return 0;
}

/* Notes that a run begins. */
static jfl_status execute_note(jf_execution *e, uint64_t number, jf_asks asks)
{
  jfl_session *s = e->session;
  e->number = number;
  e->asks = s->stop_asked ? asks : JF_ASKS_NEVER;
  execute_note_changes(e);
  e->changes = s->changes;
  e->renew = execute_must_renew(e);
  return jf_execution_bind(e);
}

/* Gives the whole run to the device. */
static jfl_status execute_whole(jf_execution *e, const execute_call *c)
{
  int done;
  if (e->asks) JF_TRY(jf_watch_stop.before(e, 0, &done));
  jf_staging_load(e, c->in);
  const jfl_status s = jf_staging_end(e, jf_staging_launch(e));
  if (s) return s;
  jf_execution_made(e);
  jf_staging_unload(e, c->out);
  return JFL_OK;
}

/* ---- step by step ---- */

/* NULL: the run is not timed, as where executions of one plan run at once. */
static jfl_profile *execute_profile(const jf_execution *e)
{
  return e->own_site ? NULL : e->session->profile;
}

enum { EXECUTE_OBSERVERS = 6 };        /* and NULL */

static void execute_watch(const jf_execution *e, const jf_observer **o)
{
  if (e->asks) *o++ = &jf_watch_stop;
  if (e->agreement) *o++ = &jf_watch_ranks;
  else if (e->plan->barrier >= 0) *o++ = &jf_watch_barrier;
  if (e->saved) *o++ = &jf_watch_finite;
  if (e->plan->flags & JF_ZONES) *o++ = &jf_watch_zones;
  if (execute_profile(e)) *o++ = &jf_watch_profile;
  *o = NULL;
}

static jfl_status execute_steps(jf_execution *e)
{
  const jfl_plan *p = e->plan;
  const jf_observer *o[EXECUTE_OBSERVERS];
  const int most = e->session->settings.background;
  const int is_paced = p->threads > 1 && most != 1 && !p->is_async && !e->agreement &&
                       !execute_profile(e);
  execute_watch(e, o);
  jf_loops_set(is_paced && jf_pace_alone(&e->pace) ? 1 : most, most != 0);
  const double start = is_paced ? jf_now() : 0;
  JF_TRY(jf_steps(e, jf_execution_first(e), o));
  if (is_paced) jf_pace_ran(&e->pace, p->threads, jf_now() - start);
  return JFL_OK;
}

/* Makes a run ready. */
static jfl_status execute_prepare(jf_execution *e, const execute_call *c)
{
  if (e->plan->staging.place < 0) jf_execution_point(e, c->in, c->out);
  else jf_staging_load(e, c->in);
  if (e->plan->is_async) JF_TRY(jf_async_begin(e));
  return e->session->settings.check_finite ? jf_finite_begin(e, c->in) : JFL_OK;
}

static jfl_status execute_stepwise(jf_execution *e, const execute_call *c)
{
  jfl_profile *f = execute_profile(e);
  if (f) JF_TRY(jf_profile_begin(f, e));
  if (e->agreement) JF_TRY(jf_shared_begin(e));
  jfl_status s = execute_prepare(e, c);
  if (e->agreement) s = jf_shared_ready(e, s);
  if (f) jf_profile_ready(f);
  if (!s) s = execute_steps(e);
  if (e->plan->is_async) s = jf_async_end(e, s);
  if (e->agreement) s = jf_shared_end(e, s);
  if (e->saved) jf_finite_end(e, s);
  if (s) return jf_fail_in(s, JFL_ERROR_JOB, e->plan->job->name);
  if (e->plan->staging.place >= 0) jf_staging_unload(e, c->out);
  jf_execution_made(e);
  if (f) jf_profile_end(f, e);
  e->is_warm = 1;
  return JFL_OK;
}

static jfl_status execute_call_run(void *ctx)
{
  const execute_call *c = ctx;
  jf_execution *e = c->e;
  jf_agreement a = { 0 };
  if (!e->plan->is_async && e->plan->staging.place < 0)          /* the CPU does it */
    JF_TRY(jf_time_for(e->plan->work / e->session->settings.threads));
  JF_TRY(execute_note(e, c->number, c->asks));
  if (!e->own_site && jf_staging_repeats(e->plan)) return execute_whole(e, c);
  e->agreement = e->plan->is_shared ? &a : NULL;
  const int is_mapped = e->session->has_mapped, blocked = is_mapped && jf_mapping_begin();
  jfl_status s = execute_stepwise(e, c);
  jf_mapping_end(blocked);
  e->agreement = NULL;
  if (!s && is_mapped)
    s = jf_fail_in(jf_plan_is_whole(e->plan), JFL_ERROR_JOB, e->plan->job->name);
  return s;
}

jfl_status jf_execution_run(jf_execution *e, uint64_t number, jfl_array *const *in,
                            jfl_array *const *out, jf_asks asks)
{
  return jf_with_stack(execute_call_run, &(execute_call){ e, number, in, out, asks });
}

/* ---- the runs of a job ---- */

static jfl_status execute_next(const jfl_plan *p, jfl_array *const *in, jfl_array *const *out,
                               jf_asks asks)
{
  const jfl_status s = jf_execution_run(p->execution[0], p->job->run, in, out, asks);
  if (!s) p->job->run++;
  else p->job->session->disturbances++;
  return s;
}

jfl_status jf_execute(const jfl_plan *p, jfl_array *const *in, jfl_array *const *out)
{
  return execute_next(p, in, out, p->is_shared ? JF_ASKS_NEVER : JF_ASKS_AT_THE_END);
}

jfl_status jf_execute_unless_stopped(const jfl_plan *p, jfl_array *const *in,
                                     jfl_array *const *out)
{
  return execute_next(p, in, out, JF_ASKS);
}

jfl_status jf_execute_send(jf_execution *e, uint64_t number, jfl_array *const *in)
{
  JF_TRY(execute_note(e, number, JF_ASKS_NEVER));
  jf_staging_load(e, in);
  return jf_staging_send(e);
}
