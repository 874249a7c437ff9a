/* Runs through staging buffers (plan/staging.c): giving a device all of a run at once, so that the
   host can prepare another while the device works. */
#include "run/run.h"

#include <string.h>

static jf_site *staging_site(const jf_execution *e)
{
  return jf_execution_site(e, e->plan->staging.place);
}

/* ---- what is in a staging buffer ---- */

static jf_run_record *staging_record(const jf_execution *e)
{
  return (jf_run_record *)(void *)(jf_execution_staging(e)->host + e->plan->staging.record);
}

void jf_staging_load(const jf_execution *e, jfl_array *const *in)
{
  const jfl_plan *p = e->plan;
  char *host = jf_execution_staging(e)->host;
  *staging_record(e) = (jf_run_record){ .number = e->number };
  for (int i = 0; i < p->n_input_patch; i++) {
    const jf_patch *t = &p->input[i];
    memcpy(host + t->offset, in[t->index]->data, t->size);
  }
}

void jf_staging_unload(const jf_execution *e, jfl_array *const *out)
{
  const jfl_plan *p = e->plan;
  const char *host = jf_execution_staging(e)->host;
  for (int i = 0; i < p->n_output_patch; i++) {
    const jf_patch *t = &p->output[i];
    memcpy(out[t->index]->data, host + t->offset, t->size);
  }
}

/* ---- a run as a whole ---- */

/* Steps whose copies are made with those of the whole staging buffer are left out. */
static jfl_status staging_before(jf_execution *e, int step, int *done)
{
  *done = jf_staging_covers(&e->plan->step[step]);
  return JFL_OK;
}

/* Queues the copy to the device on one of its streams. */
static jfl_status staging_bring(const jf_execution *e, void *stream)
{
  const jf_site *t = staging_site(e);
  const jf_staging *l = jf_execution_staging(e);
  return t->device->kind->put(t->device, stream, l->device, l->host,
                              e->plan->staging.record + sizeof(jf_run_record));
}

/* Queues it on the stream that does nothing else. No other run has the staging buffer, so nothing
   is waited for; what is queued next waits for the copy. */
static jfl_status staging_bring_ahead(const jf_execution *e)
{
  const jf_site *t = staging_site(e);
  const jf_kind *k = t->device->kind;
  void *arrived = jf_execution_staging(e)->arrived;
  JF_TRY(staging_bring(e, t->copies));
  JF_TRY(k->record(t->device, t->copies, arrived));
  return k->await(t->device, t->stream, arrived);
}

/* Queues the copy to the device, unless it goes ahead, the steps, and the copy from it. */
static jfl_status staging_queue(jf_execution *e)
{
  static const jf_observer copies = { .before = staging_before };
  const jf_site *t = staging_site(e);
  const jf_kind *k = t->device->kind;
  const jf_staging *l = jf_execution_staging(e);
  const size_t record = e->plan->staging.record;
  if (!e->is_ahead) JF_TRY(staging_bring(e, t->stream));
  JF_TRY(jf_steps(e, jf_execution_first(e), (const jf_observer *[]){ &copies, NULL }));
  return k->get(t->device, t->stream, l->host + record, l->device + record,
                e->plan->staging.end - record);
}

static void staging_forget(jf_execution *e, int is_ahead)
{
  if (!e->work[is_ahead]) return;
  jf_device *d = staging_site(e)->device;
  d->kind->work_free(d, e->work[is_ahead]);
  e->work[is_ahead] = NULL;
}

void jf_staging_forget(jf_execution *e)
{
  staging_forget(e, 0);
  staging_forget(e, 1);
}

/* Keeps the run, instead of doing it. What was begun is ended on failure, too, and the first error
   counts. */
static jfl_status staging_capture(jf_execution *e)
{
  const jf_site *t = staging_site(e);
  const jf_kind *k = t->device->kind;
  JF_TRY(k->capture(t->device, t->stream));
  const jfl_status s = staging_queue(e);
  jf_error *first = s ? jf_error_copy() : NULL;
  const jfl_status ended = k->captured(t->device, t->stream, &e->work[e->is_ahead]);
  e->work_seed = e->session->seed;
  if (!s) return ended;
  staging_forget(e, e->is_ahead);
  jf_error_restore(s, first);
  jf_free(first);
  return s;
}

int jf_staging_repeats(const jfl_plan *p)
{
  const jfl_session *s = p->job->session;
  if (!p->repeats || !p->execution[0]->is_warm || p->flags & JF_ZONES) return 0;
  const jf_site *t = s->site[p->staging.place];
  return !s->profile && !s->settings.check_finite && p->staging.size <= t->staging_size &&
         p->part[p->staging.place].arena_size <= t->arena_size;
}

/* Random bits may come from another seed now. What the device repeats is without the prologue: a
   run that makes it is queued step by step. */
static jfl_status staging_launch(jf_execution *e)
{
  const jf_site *t = staging_site(e);
  if (e->renew) return staging_queue(e);
  if (e->work_seed != e->session->seed) jf_staging_forget(e);
  if (!e->work[e->is_ahead]) JF_TRY(staging_capture(e));
  return t->device->kind->replay(t->device, t->stream, e->work[e->is_ahead]);
}

jfl_status jf_staging_launch(jf_execution *e)
{
  e->is_ahead = 0;
  return staging_launch(e);
}

jfl_status jf_staging_found(const jf_execution *e)
{
  const jf_fault *f = &staging_record(e)->fault;
  return f->what ? jf_step_blame(e->plan, jf_fault_fail(f), f->step) : JFL_OK;
}

jfl_status jf_staging_end(const jf_execution *e, jfl_status s)
{
  const jf_site *t = staging_site(e);
  jf_error *first = s ? jf_error_copy() : NULL;
  const jfl_status done = t->device->kind->wait(t->device, t->stream);
  if (s) jf_error_restore(s, first);
  else s = done ? done : jf_staging_found(e);
  jf_free(first);
  return jf_fail_in(s, JFL_ERROR_JOB, e->plan->job->name);
}

/* ---- runs that others follow before they have ended ---- */

/* Inputs of fewer bytes are there in less time than three more calls of a driver take. */
enum { AHEAD = 1 << 16 };

jf_execution *jf_staging_take(const jfl_plan *p)
{
  jf_site *t = p->job->session->site[p->staging.place];
  int i = 0, works = 0;
  while (i < JF_STAGING_BUFFERS && t->staging[i].busy) i++;
  if (i == JF_STAGING_BUFFERS || !jf_staging_is_there(t, i)) return NULL;
  for (int j = 0; j < JF_STAGING_BUFFERS; j++) works |= t->staging[j].busy;
  jf_execution *e = p->execution[i];
  e->is_ahead = works && p->staging.record >= AHEAD && jf_staging_goes_ahead(t, i);
  t->staging[i].busy = 1;
  return e;
}

jfl_status jf_staging_send(jf_execution *e)
{
  const jf_site *t = staging_site(e);
  if (e->is_ahead) JF_TRY(staging_bring_ahead(e));
  JF_TRY(staging_launch(e));
  return t->device->kind->record(t->device, t->stream, jf_execution_staging(e)->event);
}

jfl_status jf_staging_reach(const jf_execution *e)
{
  const jf_site *t = staging_site(e);
  const jf_kind *k = t->device->kind;
  const jf_staging *l = jf_execution_staging(e);
  if (e->is_ahead) JF_TRY(k->reach(t->device, t->copies, l->arrived));
  return k->reach(t->device, t->stream, l->event);
}

void jf_staging_settle(const jf_execution *e)
{
  const jf_site *t = staging_site(e);
  const jf_kind *k = t->device->kind;
  if (t->copies) k->wait(t->device, t->copies);
  k->wait(t->device, t->stream);
}
