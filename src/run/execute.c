/* Running a plan. Nothing is allocated here. */
#include "run/run.h"
#include "world/world.h"

static void set_pointers(jfl_plan *p, jfl_array *const *in, jfl_array *const *out)
{
  for (int i = 0; i < p->n_input_patch; i++) *p->input[i].data = in[p->input[i].index]->data;
  for (int i = 0; i < p->n_output_patch; i++) *p->output[i].data = out[p->output[i].index]->data;
}

void jf_job_bind(jfl_plan *p)
{
  const jfl_session *s = p->job->session;
  for (int i = 0; i < p->n_part; i++) p->part[i].arena = s->site[i]->arena;
  if (p->lane.place < 0) jf_plan_bind(p, p->data);
  else jf_lane_bind(p, 0);
  jf_late_forget_work(p);
  p->bound = s->arenas;
}

/* Notes that a run of the plan begins. */
static jfl_status execute_note(jfl_plan *p)
{
  jfl_session *s = p->job->session;
  if (p->bound != s->arenas) {
    JF_TRY(jf_fail_in(jf_job_need_room(s, p), JFL_ERROR_JOB, p->job->name));
    jf_job_bind(p);
  }
  if (p->updates) s->changes++;
  p->renew = p->kept != s->changes;
  return JFL_OK;
}

/* Makes the plan ready for a run with these arrays, step by step. */
static jfl_status execute_prepare(jfl_plan *p, jfl_array *const *in, jfl_array *const *out)
{
  if (p->lane.place < 0) {
    set_pointers(p, in, out);
  } else {
    jf_lane_bind(p, 0);
    jf_lane_load(p, 0, p->job->run, in);
  }
  if (p->is_late) JF_TRY(jf_late_begin(p));
  return p->job->session->settings.check_finite ? jf_finite_begin(p, in) : JFL_OK;
}

/* Counts a run that has come to s. */
static jfl_status execute_count(jfl_plan *p, jfl_status s)
{
  if (!s) p->job->run++;
  else p->job->session->disturbances++;
  return s;
}

static jfl_status execute_end(jfl_plan *p, jfl_array *const *out, jfl_status s)
{
  if (p->is_late) s = jf_late_end(p, s);
  if (p->saved) jf_finite_end(p, s);
  if (!s && p->lane.place >= 0) jf_lane_unload(p, 0, out);
  return execute_count(p, s);
}

/* Whether a run asks if it is to stop: runs that nobody waits for do once the worker is to end. */
enum { ASKS = 1, ASKS_AT_THE_END };

/* Asks whether to stop, until a step changes a variable. */
static jfl_status execute_ask(const jfl_plan *p, const jf_step *st, int *asks)
{
  const jfl_session *s = p->job->session;
  if (st->node->op->flags & JF_EFFECT) *asks = 0;
  const int now = *asks == ASKS || (*asks && __atomic_load_n(&s->stop, __ATOMIC_ACQUIRE));
  if (!now || !s->stop_asked(s->stop_ctx)) return JFL_OK;
  return jf_fail_in(jf_fail(JFL_ESTATE, "the run was stopped"), JFL_ERROR_JOB, p->job->name);
}

/* Work that a device can repeat is given to it as a whole, from the second run on. */
static jfl_status run_steps(jfl_plan *p, int asks)
{
  const int work = p->is_warm && !p->saved && p->lane.place < 0 ? p->work_first : -1;
  for (int i = jf_first_step(p); i < p->n_step;) {
    if (asks) JF_TRY(execute_ask(p, &p->step[i], &asks));
    if (i == work) {
      JF_TRY(jf_late_work(p));
      i = p->work_end;
    } else {
      JF_TRY(jf_execute_step(p, &p->step[i]));
      i++;
    }
  }
  p->is_warm = 1;
  jf_steps_done(p);
  return JFL_OK;
}

static jfl_status run_paced(jfl_plan *p, int most, int low, int asks)
{
  const double start = jf_now();
  jf_loops_set(jf_pace_alone(&p->pace) ? 1 : most, low);
  jfl_status s = run_steps(p, asks);
  if (!s) jf_pace_ran(&p->pace, p->threads, jf_now() - start);
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

static void shared_waited(jfl_plan *p)
{
  if (p->job->session->profile) jf_profile_waited(p->job->session->profile, p);
}

static jfl_status shared_result(const shared_run *r)
{
  return r->failed ? jf_error_restore(r->failed, r->error) : JFL_OK;
}

static jfl_status shared_agree(jfl_plan *p, shared_run *r)
{
  const jfl_status s = jf_session_agree_status(p->job->session, shared_result(r));
  r->agreed = !s;
  r->over = s != JFL_OK;
  shared_waited(p);
  return s;
}

static jfl_status shared_barrier(jfl_plan *p, shared_run *r)
{
  if (!r->failed && p->is_late) shared_fail(r, jf_late_barrier(p));
  return shared_agree(p, r);
}

static jfl_status shared_step(jfl_plan *p, int i, shared_run *r)
{
  jfl_profile *f = p->job->session->profile;
  const jfl_status stopped = r->asks ? execute_ask(p, &p->step[i], &r->asks) : JFL_OK;
  if (stopped && p->step[i].node->op->flags & JF_TOGETHER) jf_late_keep_pace(p, &p->step[i]);
  if (stopped) return stopped;
  return f ? jf_profile_step(f, p, i) : jf_execute_step(p, &p->step[i]);
}

/* In a checked run the checks of all steps count, and variables can be changed back. */
static jfl_status shared_steps(jfl_plan *p, shared_run *r)
{
  for (int i = jf_first_step(p); i < p->n_step; i++) {
    if (i == p->barrier && !r->checked) JF_TRY(shared_barrier(p, r));
    if (!r->failed) shared_fail(r, shared_step(p, i, r));
    else if (p->step[i].node->op->flags & JF_TOGETHER) jf_late_keep_pace(p, &p->step[i]);
    if (r->failed && r->agreed) break;
  }
  return shared_result(r);
}

/* Ends a run that has come to s. After variables have changed on other ranks, a failure of this one
   parts them for good. */
static jfl_status shared_end(jfl_plan *p, shared_run *r, jfl_status s)
{
  if (p->is_late) s = jf_late_end(p, s);
  if (s && r->agreed)
    jf_world_end("rank %d (%s) failed while variables changed: %.150s", jf_world_rank(),
                 jf_world_host(jf_world_rank()), jfl_error_part(JFL_ERROR_TEXT));
  shared_fail(r, s);
  if (!r->agreed && !r->over) s = shared_agree(p, r);
  if (p->saved) jf_finite_end(p, s);
  jf_free(r->error);
  return jf_fail_in(s, JFL_ERROR_JOB, p->job->name);
}

/* Of a checked run ranks also agree on what it begins with: if that is not finite on one of them,
   what it sends would not be on the others, which would then name what they made of it. */
static jfl_status shared_begin(const jfl_plan *p, shared_run *r)
{
  if (!r->checked) return JFL_OK;
  const jfl_status s = jf_session_agree_status(p->job->session, shared_result(r));
  r->over = s != JFL_OK;
  return s;
}

static jfl_status execute_shared(jfl_plan *p, jfl_array *const *in, jfl_array *const *out,
                                 int asks)
{
  jfl_profile *f = p->job->session->profile;
  shared_run r = { .asks = asks, .checked = p->job->session->settings.check_finite };
  if (f) JF_TRY(jf_profile_begin(f, p));
  JF_TRY(jf_fail_in(jf_plan_agree(p), JFL_ERROR_JOB, p->job->name));
  shared_waited(p);
  shared_fail(&r, execute_prepare(p, in, out));
  jf_loops_set(p->job->session->settings.background, p->job->session->settings.background != 0);
  jfl_status s = shared_begin(p, &r);
  if (!s) s = shared_steps(p, &r);
  s = shared_end(p, &r, s);
  if (s) return s;
  p->is_warm = 1;
  jf_steps_done(p);
  if (f) jf_profile_end(f, p);
  return JFL_OK;
}

/* Gives the whole run to the device. */
static jfl_status execute_whole(jfl_plan *p, jfl_array *const *in, jfl_array *const *out, int asks)
{
  if (asks) JF_TRY(execute_ask(p, &p->step[0], &asks));
  jf_lane_load(p, 0, p->job->run, in);
  jfl_status s = jf_lane_end(p, 0, jf_lane_launch(p, 0));
  if (!s) jf_lane_unload(p, 0, out);
  return s;
}

jfl_status jf_execute_send(jfl_plan *p, int lane, uint64_t number, jfl_array *const *in)
{
  JF_TRY(execute_note(p));
  jf_lane_load(p, lane, number, in);
  return jf_lane_send(p, lane);
}

/* A run as it was asked for. */
typedef struct execution {
  jfl_plan *plan;
  jfl_array *const *in, *const *out;
  int asks;
} execution;

static jfl_status execute_plan(void *ctx)
{
  const execution *e = ctx;
  jfl_plan *p = e->plan;
  jfl_array *const *in = e->in, *const *out = e->out;
  const int asks = e->asks;
  jfl_profile *f = p->job->session->profile;
  const int most = p->job->session->settings.background, low = most != 0;
  JF_TRY(execute_note(p));
  if (p->is_shared) return execute_count(p, execute_shared(p, in, out, asks == ASKS));
  if (jf_lane_repeats(p)) return execute_count(p, execute_whole(p, in, out, asks));
  JF_TRY(execute_prepare(p, in, out));
  jf_loops_set(most, low);
  if (f) return execute_end(p, out, jf_profile_run(f, p));
  const int paced = p->threads > 1 && most != 1 && !p->is_late;
  return execute_end(p, out, paced ? run_paced(p, most, low, asks) : run_steps(p, asks));
}

jfl_status jf_execute(jfl_plan *p, jfl_array *const *in, jfl_array *const *out)
{
  const int asks = p->job->session->stop_asked ? ASKS_AT_THE_END : 0;
  return jf_with_stack(execute_plan, &(execution){ p, in, out, asks });
}

jfl_status jf_execute_unless_stopped(jfl_plan *p, jfl_array *const *in, jfl_array *const *out)
{
  const int asks = p->job->session->stop_asked ? ASKS : 0;
  return jf_with_stack(execute_plan, &(execution){ p, in, out, asks });
}
