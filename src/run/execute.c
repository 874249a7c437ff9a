/* Running a plan. Nothing is allocated here. */
#include "run/run.h"
#include "world/world.h"

/* Notes that a run begins. */
static jfl_status execute_note(jf_execution *e, uint64_t number)
{
  jfl_session *s = e->session;
  JF_TRY(jf_execution_bind(e));
  e->number = number;
  if (e->plan->updates) s->changes++;
  e->renew = e->made != s->changes;
  return JFL_OK;
}

/* Makes a run with these arrays ready, step by step. */
static jfl_status execute_prepare(jf_execution *e, jfl_array *const *in, jfl_array *const *out)
{
  if (e->plan->lane.place < 0) jf_execution_point(e, in, out);
  else jf_lane_load(e, in);
  if (e->plan->is_late) JF_TRY(jf_late_begin(e));
  return e->session->settings.check_finite ? jf_finite_begin(e, in) : JFL_OK;
}

/* Counts a run that has come to s. */
static jfl_status execute_count(const jfl_plan *p, jfl_status s)
{
  if (!s) p->job->run++;
  else p->job->session->disturbances++;
  return s;
}

static jfl_status execute_end(jf_execution *e, jfl_array *const *out, jfl_status s)
{
  if (e->plan->is_late) s = jf_late_end(e, s);
  if (e->saved) jf_finite_end(e, s);
  if (!s && e->plan->lane.place >= 0) jf_lane_unload(e, out);
  return execute_count(e->plan, s);
}

/* Whether a run asks if it is to stop: runs that nobody waits for do once the worker is to end. */
enum { ASKS = 1, ASKS_AT_THE_END };

/* Asks whether to stop, until a step changes a variable. */
static jfl_status execute_ask(const jf_execution *e, int step, int *asks)
{
  const jfl_session *s = e->session;
  if (e->plan->step[step].node->op->flags & JF_EFFECT) *asks = 0;
  const int now = *asks == ASKS || (*asks && __atomic_load_n(&s->stop, __ATOMIC_ACQUIRE));
  if (!now || !s->stop_asked(s->stop_ctx)) return JFL_OK;
  return jf_fail_in(jf_fail(JFL_ESTATE, "the run was stopped"), JFL_ERROR_JOB,
                    e->plan->job->name);
}

/* Work that a device can repeat is given to it as a whole, from the second run on. */
static jfl_status run_steps(jf_execution *e, int asks)
{
  const jfl_plan *p = e->plan;
  const int work = e->is_warm && !e->saved && p->lane.place < 0 ? p->work_first : -1;
  for (int i = jf_first_step(e); i < p->n_step;) {
    if (asks) JF_TRY(execute_ask(e, i, &asks));
    if (i == work) {
      JF_TRY(jf_late_work(e));
      i = p->work_end;
    } else {
      JF_TRY(jf_execute_step(e, i));
      i++;
    }
  }
  e->is_warm = 1;
  jf_steps_done(e);
  return JFL_OK;
}

static jfl_status run_paced(jf_execution *e, int most, int low, int asks)
{
  const double start = jf_now();
  jf_loops_set(jf_pace_alone(&e->pace) ? 1 : most, low);
  jfl_status s = run_steps(e, asks);
  if (!s) jf_pace_ran(&e->pace, e->plan->threads, jf_now() - start);
  return s;
}

/* ---- runs of several ranks together ---- */

/* A run that goes wrong on one rank goes wrong on all, and changes no variable. Until they agree on
   that, the rank that knows it makes the steps on which others wait, with whatever is there.
   `agreed`: they have agreed that all is well, so what changes variables may begin; `over`: that it
   is not. */
typedef struct shared_run {
  int asks, agreed, over;
  int checked;                 /* it is a checked run, on all ranks */
  jfl_status failed; jf_error *error;
} shared_run;

static void shared_fail(shared_run *r, jfl_status s)
{
  if (!s || r->failed) return;
  r->failed = s;
  r->error = jf_error_copy();
}

static void shared_waited(const jf_execution *e)
{
  if (e->session->profile) jf_profile_waited(e->session->profile, e);
}

static jfl_status shared_result(const shared_run *r)
{
  return r->failed ? jf_error_restore(r->failed, r->error) : JFL_OK;
}

static jfl_status shared_agree(const jf_execution *e, shared_run *r)
{
  const jfl_status s = jf_session_agree_status(e->session, shared_result(r));
  r->agreed = !s;
  r->over = s != JFL_OK;
  shared_waited(e);
  return s;
}

static jfl_status shared_barrier(const jf_execution *e, shared_run *r)
{
  if (!r->failed && e->plan->is_late) shared_fail(r, jf_late_barrier(e));
  return shared_agree(e, r);
}

static jfl_status shared_step(jf_execution *e, int i, shared_run *r)
{
  jfl_profile *f = e->session->profile;
  const jfl_status stopped = r->asks ? execute_ask(e, i, &r->asks) : JFL_OK;
  if (stopped && e->plan->step[i].node->op->flags & JF_TOGETHER) jf_late_keep_pace(e, i);
  if (stopped) return stopped;
  return f ? jf_profile_step(f, e, i) : jf_execute_step(e, i);
}

/* In a checked run the checks of all steps count, and variables can be changed back. */
static jfl_status shared_steps(jf_execution *e, shared_run *r)
{
  const jfl_plan *p = e->plan;
  for (int i = jf_first_step(e); i < p->n_step; i++) {
    if (i == p->barrier && !r->checked) JF_TRY(shared_barrier(e, r));
    if (!r->failed) shared_fail(r, shared_step(e, i, r));
    else if (p->step[i].node->op->flags & JF_TOGETHER) jf_late_keep_pace(e, i);
    if (r->failed && r->agreed) break;
  }
  return shared_result(r);
}

/* Ends a run that has come to s. After variables have changed on other ranks, a failure of this one
   parts them for good. */
static jfl_status shared_end(jf_execution *e, shared_run *r, jfl_status s)
{
  if (e->plan->is_late) s = jf_late_end(e, s);
  if (s && r->agreed)
    jf_world_end("rank %d (%s) failed while variables changed: %.150s", jf_world_rank(),
                 jf_world_host(jf_world_rank()), jfl_error_part(JFL_ERROR_TEXT));
  shared_fail(r, s);
  if (!r->agreed && !r->over) s = shared_agree(e, r);
  if (e->saved) jf_finite_end(e, s);
  jf_free(r->error);
  return jf_fail_in(s, JFL_ERROR_JOB, e->plan->job->name);
}

/* Of a checked run ranks also agree on what it begins with: if that is not finite on one of them,
   what it sends would not be on the others, which would then name what they made of it. */
static jfl_status shared_begin(const jf_execution *e, shared_run *r)
{
  if (!r->checked) return JFL_OK;
  const jfl_status s = jf_session_agree_status(e->session, shared_result(r));
  r->over = s != JFL_OK;
  return s;
}

static jfl_status execute_shared(jf_execution *e, jfl_array *const *in, jfl_array *const *out,
                                 int asks)
{
  const jf_settings *set = &e->session->settings;
  jfl_profile *f = e->session->profile;
  shared_run r = { .asks = asks, .checked = set->check_finite };
  if (f) JF_TRY(jf_profile_begin(f, e));
  JF_TRY(jf_fail_in(jf_plan_agree(e->plan), JFL_ERROR_JOB, e->plan->job->name));
  shared_waited(e);
  shared_fail(&r, execute_prepare(e, in, out));
  jf_loops_set(set->background, set->background != 0);
  jfl_status s = shared_begin(e, &r);
  if (!s) s = shared_steps(e, &r);
  s = shared_end(e, &r, s);
  if (s) return s;
  e->is_warm = 1;
  jf_steps_done(e);
  if (f) jf_profile_end(f, e);
  return JFL_OK;
}

/* Gives the whole run to the device. */
static jfl_status execute_whole(jf_execution *e, jfl_array *const *in, jfl_array *const *out,
                                int asks)
{
  if (asks) JF_TRY(execute_ask(e, 0, &asks));
  jf_lane_load(e, in);
  jfl_status s = jf_lane_end(e, jf_lane_launch(e));
  if (!s) jf_lane_unload(e, out);
  return s;
}

jfl_status jf_execute_send(jf_execution *e, uint64_t number, jfl_array *const *in)
{
  JF_TRY(execute_note(e, number));
  jf_lane_load(e, in);
  return jf_lane_send(e);
}

/* A run as it was asked for. */
typedef struct execution {
  const jfl_plan *plan;
  jfl_array *const *in, *const *out;
  int asks;
} execution;

static jfl_status execute_plan(void *ctx)
{
  const execution *x = ctx;
  const jfl_plan *p = x->plan;
  jf_execution *e = p->execution[0];
  jfl_profile *f = e->session->profile;
  const int most = e->session->settings.background, low = most != 0;
  JF_TRY(execute_note(e, p->job->run));
  if (p->is_shared)
    return execute_count(p, execute_shared(e, x->in, x->out, x->asks == ASKS));
  if (jf_lane_repeats(p)) return execute_count(p, execute_whole(e, x->in, x->out, x->asks));
  JF_TRY(execute_prepare(e, x->in, x->out));
  jf_loops_set(most, low);
  if (f) return execute_end(e, x->out, jf_profile_run(f, e));
  const int paced = p->threads > 1 && most != 1 && !p->is_late;
  return execute_end(e, x->out,
                     paced ? run_paced(e, most, low, x->asks) : run_steps(e, x->asks));
}

jfl_status jf_execute(const jfl_plan *p, jfl_array *const *in, jfl_array *const *out)
{
  const int asks = p->job->session->stop_asked ? ASKS_AT_THE_END : 0;
  return jf_with_stack(execute_plan, &(execution){ p, in, out, asks });
}

jfl_status jf_execute_unless_stopped(const jfl_plan *p, jfl_array *const *in,
                                     jfl_array *const *out)
{
  const int asks = p->job->session->stop_asked ? ASKS : 0;
  return jf_with_stack(execute_plan, &(execution){ p, in, out, asks });
}
