/* Running a plan. Nothing is allocated here. */
#include "run/run.h"

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

/* Asks whether to stop, until a step changes a variable. */
static jfl_status execute_ask(const jfl_plan *p, const jf_step *st, int *asks)
{
  const jfl_session *s = p->job->session;
  *asks = *asks && !(st->node->op->flags & JF_EFFECT);
  if (!*asks || !s->stop_asked(s->stop_ctx)) return JFL_OK;
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

static jfl_status execute_plan(jfl_plan *p, jfl_array *const *in, jfl_array *const *out, int asks)
{
  jfl_profile *f = p->job->session->profile;
  const int most = p->job->session->settings.background, low = most != 0;
  JF_TRY(execute_note(p));
  if (jf_lane_repeats(p)) return execute_count(p, execute_whole(p, in, out, asks));
  JF_TRY(execute_prepare(p, in, out));
  jf_loops_set(most, low);
  if (f) return execute_end(p, out, jf_profile_run(f, p));
  const int paced = p->threads > 1 && most != 1 && !p->is_late;
  return execute_end(p, out, paced ? run_paced(p, most, low, asks) : run_steps(p, asks));
}

jfl_status jf_execute(jfl_plan *p, jfl_array *const *in, jfl_array *const *out)
{
  return execute_plan(p, in, out, 0);
}

jfl_status jf_execute_unless_stopped(jfl_plan *p, jfl_array *const *in, jfl_array *const *out)
{
  return execute_plan(p, in, out, p->job->session->stop_asked != NULL);
}
