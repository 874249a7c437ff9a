/* Runs through lanes (plan/lane.c): giving a device all of a run at once, so that the host can
   prepare another while the device works. */
#include "run/run.h"

#include <string.h>

static jf_site *lane_site(const jf_execution *e)
{
  return jf_execution_site(e, e->plan->lane.place);
}

/* ---- constants ---- */

void jf_lane_release(jfl_plan *p)
{
  if (!p->constants) return;
  jf_device *d = p->part[p->lane.place].device;
  d->kind->free(d, p->constants);
  p->constants = NULL;
}

jfl_status jf_lane_keep(jfl_session *s, jfl_plan *p)
{
  if (p->lane.place < 0 || !p->lane.kept_size) return JFL_OK;
  jf_site *t = s->site[p->lane.place];
  void *kept;
  JF_TRY(jf_device_take(t->device, p->lane.kept_size, "constants", NULL, &kept));
  p->constants = kept;
  for (int i = 0; i < p->n_step; i++) {
    const jf_step *st = &p->step[i];
    if (!jf_lane_covers(st) || st->out[0].memory != JF_AT_KEPT) continue;
    JF_TRY(jf_site_put(t, p->constants + st->out[0].offset, st->in[0].data, st->in[0].size));
  }
  return JFL_OK;
}

/* ---- what is in a lane ---- */

static jf_run_record *lane_record(const jf_execution *e)
{
  return (jf_run_record *)(void *)(jf_execution_lane(e)->host + e->plan->lane.record);
}

void jf_lane_load(const jf_execution *e, jfl_array *const *in)
{
  const jfl_plan *p = e->plan;
  char *host = jf_execution_lane(e)->host;
  *lane_record(e) = (jf_run_record){ .number = e->number };
  for (int i = 0; i < p->n_input_patch; i++) {
    const jf_patch *t = &p->input[i];
    memcpy(host + t->offset, in[t->index]->data, t->size);
  }
}

void jf_lane_unload(const jf_execution *e, jfl_array *const *out)
{
  const jfl_plan *p = e->plan;
  const char *host = jf_execution_lane(e)->host;
  for (int i = 0; i < p->n_output_patch; i++) {
    const jf_patch *t = &p->output[i];
    memcpy(out[t->index]->data, host + t->offset, t->size);
  }
}

/* ---- a run as a whole ---- */

/* Steps whose copies are made with those of the whole lane are left out. */
static jfl_status lane_before(jf_execution *e, int step, int *done)
{
  *done = jf_lane_covers(&e->plan->step[step]);
  return JFL_OK;
}

/* Queues the copy to the device, the steps, and the copy from it. */
static jfl_status lane_queue(jf_execution *e)
{
  static const jf_observer copies = { .before = lane_before };
  const jf_site *t = lane_site(e);
  const jf_kind *k = t->device->kind;
  const jf_lane *l = jf_execution_lane(e);
  const size_t record = e->plan->lane.record;
  JF_TRY(k->put(t->device, t->stream, l->device, l->host, record + sizeof(jf_run_record)));
  JF_TRY(jf_steps(e, jf_execution_first(e), (const jf_observer *[]){ &copies, NULL }));
  return k->get(t->device, t->stream, l->host + record, l->device + record,
                e->plan->lane.end - record);
}

void jf_lane_forget(jf_execution *e)
{
  if (!e->work) return;
  jf_device *d = lane_site(e)->device;
  d->kind->work_free(d, e->work);
  e->work = NULL;
}

/* Keeps the run, instead of doing it. What was begun is ended on failure, too, and the first error
   counts. */
static jfl_status lane_capture(jf_execution *e)
{
  const jf_site *t = lane_site(e);
  const jf_kind *k = t->device->kind;
  JF_TRY(k->capture(t->device, t->stream));
  const jfl_status s = lane_queue(e);
  jf_error *first = s ? jf_error_copy() : NULL;
  const jfl_status ended = k->captured(t->device, t->stream, &e->work);
  e->work_seed = e->session->seed;
  if (!s) return ended;
  jf_lane_forget(e);
  jf_error_restore(s, first);
  jf_free(first);
  return s;
}

int jf_lane_repeats(const jfl_plan *p)
{
  const jfl_session *s = p->job->session;
  if (!p->repeats || !p->execution[0]->is_warm) return 0;
  const jf_site *t = s->site[p->lane.place];
  return !s->profile && !s->settings.check_finite && p->lane.size <= t->lane_size &&
         p->part[p->lane.place].arena_size <= t->arena_size;
}

/* Random bits may come from another seed now. What the device repeats is without the prologue: a
   run that makes it is queued step by step. */
jfl_status jf_lane_launch(jf_execution *e)
{
  const jf_site *t = lane_site(e);
  if (e->renew) return lane_queue(e);
  if (e->work_seed != e->session->seed) jf_lane_forget(e);
  if (!e->work) JF_TRY(lane_capture(e));
  return t->device->kind->replay(t->device, t->stream, e->work);
}

jfl_status jf_lane_found(const jf_execution *e)
{
  const jf_fault *f = &lane_record(e)->fault;
  return f->what ? jf_step_blame(e->plan, jf_fault_fail(f), f->step) : JFL_OK;
}

jfl_status jf_lane_end(const jf_execution *e, jfl_status s)
{
  jf_error *first = s ? jf_error_copy() : NULL;
  const jfl_status done = jf_lane_settle(e);
  if (s) jf_error_restore(s, first);
  else s = done ? done : jf_lane_found(e);
  jf_free(first);
  return jf_fail_in(s, JFL_ERROR_JOB, e->plan->job->name);
}

/* ---- runs that others follow before they have ended ---- */

jf_execution *jf_lane_take(const jfl_plan *p)
{
  jf_site *t = p->job->session->site[p->lane.place];
  for (int i = 0; i < JF_LANES; i++)
    if (!t->lane[i].busy && jf_lane_is_there(t, i)) return t->lane[i].busy = 1, p->execution[i];
  return NULL;
}

jfl_status jf_lane_send(jf_execution *e)
{
  const jf_site *t = lane_site(e);
  JF_TRY(jf_lane_launch(e));
  return t->device->kind->record(t->device, t->stream, jf_execution_lane(e)->event);
}

jfl_status jf_lane_reach(const jf_execution *e)
{
  const jf_site *t = lane_site(e);
  return t->device->kind->reach(t->device, t->stream, jf_execution_lane(e)->event);
}

jfl_status jf_lane_settle(const jf_execution *e)
{
  const jf_site *t = lane_site(e);
  return t->device->kind->wait(t->device, t->stream);
}
