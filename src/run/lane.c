/* Runs through lanes (plan/lane.c): taking their memory, and giving a device all of a run at once,
   so that the host can prepare another while the device works. */
#include "run/run.h"

#include <string.h>

static jf_site *lane_site(const jfl_plan *p) { return p->job->session->site[p->lane.place]; }

static void lane_end(const jf_site *t, jf_lane *l)
{
  const jf_kind *k = t->device->kind;
  k->free(t->device, l->device);
  if (l->host) k->unpin(t->device, l->host);
  if (l->event) k->event_free(t->device, l->event);
  *l = (jf_lane){ 0 };
}

void jf_lanes_free(jf_site *t)
{
  for (int i = 0; i < JF_LANES; i++) lane_end(t, &t->lane[i]);
}

static jfl_status lane_set_up(const jf_site *t, size_t size, jf_lane *l)
{
  const jf_kind *k = t->device->kind;
  void *device;
  size_t unused, all;
  JF_TRY(jf_device_take(t->device, size, "inputs and results of a run",
                        "smaller batches take less", &device));
  l->device = device;
  l->host = k->pin(t->device, size);
  if (!l->host && k->memory) JF_TRY(k->memory(t->device, &unused, &all));     /* if it is lost */
  if (!l->host)
    return jf_fail(JFL_ENOMEM, "out of memory: inputs and results of a run take %zu bytes of "
                   "pinned host memory for %s", size, t->device->name);
  return k->event_new(t->device, &l->event);
}

/* Makes a lane of the site's present size. */
static jfl_status lane_make(const jf_site *t, jf_lane *out)
{
  jf_lane l = { 0 };
  jfl_status s = lane_set_up(t, t->lane_size, &l);
  if (s) lane_end(t, &l);
  else *out = l;
  return s;
}

jfl_status jf_lanes_need(jfl_session *s, const jfl_plan *p)
{
  if (p->lane.place < 0) return JFL_OK;
  jf_site *t = s->site[p->lane.place];
  const size_t before = t->lane_size;
  jf_lane first;
  if (t->lane[0].host && p->lane.size <= before) return JFL_OK;
  t->lane_size = p->lane.size;
  jfl_status st = lane_make(t, &first);
  if (st) return t->lane_size = before, st;
  jf_lanes_free(t);
  t->lane[0] = first;
  s->arenas++;
  return JFL_OK;
}

/* ---- constants ---- */

void jf_lane_release(jfl_plan *p)
{
  if (!p->lane.kept) return;
  jf_device *d = p->part[p->lane.place].device;
  d->kind->free(d, p->lane.kept);
  p->lane.kept = NULL;
}

jfl_status jf_lane_keep(jfl_session *s, jfl_plan *p)
{
  if (p->lane.place < 0 || !p->lane.kept_size) return JFL_OK;
  jf_site *t = s->site[p->lane.place];
  void *kept;
  JF_TRY(jf_device_take(t->device, p->lane.kept_size, "constants", NULL, &kept));
  p->lane.kept = kept;
  for (int i = 0; i < p->n_step; i++) {
    const jf_step *st = &p->step[i];
    if (!jf_lane_covers(st) || st->out[0].memory != JF_AT_KEPT) continue;
    JF_TRY(jf_site_put(t, p->lane.kept + st->out[0].offset, st->in[0].data, st->in[0].size));
  }
  return JFL_OK;
}

/* ---- the pointers of a plan, and what is in a lane ---- */

static jf_run_record *lane_record(const jfl_plan *p, const jf_lane *l)
{
  return (jf_run_record *)(void *)(l->host + p->lane.record);
}

void jf_lane_bind(jfl_plan *p, int lane)
{
  const jf_lane *l = &lane_site(p)->lane[lane];
  p->lane.device = l->device;
  p->lane.host = l->host;
  for (int i = 0; i < p->n_input_patch; i++) *p->input[i].data = l->host + p->input[i].offset;
  for (int i = 0; i < p->n_output_patch; i++) *p->output[i].data = l->host + p->output[i].offset;
  for (int i = 0; i < p->n_step; i++)
    p->step[i].k.fault = (jf_fault *)(void *)(l->device + p->lane.record);
  jf_plan_bind(p, p->data);
}

void jf_lane_load(const jfl_plan *p, int lane, uint64_t number, jfl_array *const *in)
{
  const jf_lane *l = &lane_site(p)->lane[lane];
  *lane_record(p, l) = (jf_run_record){ .number = number };
  for (int i = 0; i < p->n_input_patch; i++) {
    const jf_patch *t = &p->input[i];
    memcpy(l->host + t->offset, in[t->index]->data, t->size);
  }
}

void jf_lane_unload(const jfl_plan *p, int lane, jfl_array *const *out)
{
  const jf_lane *l = &lane_site(p)->lane[lane];
  for (int i = 0; i < p->n_output_patch; i++) {
    const jf_patch *t = &p->output[i];
    memcpy(out[t->index]->data, l->host + t->offset, t->size);
  }
}

/* ---- a run as a whole ---- */

/* Queues the copy to the device, the steps, and the copy from it. */
static jfl_status lane_queue(jfl_plan *p, int lane)
{
  const jf_site *t = lane_site(p);
  const jf_kind *k = t->device->kind;
  const jf_lane *l = &t->lane[lane];
  const size_t record = p->lane.record;
  jf_lane_bind(p, lane);
  JF_TRY(k->put(t->device, t->stream, l->device, l->host, record + sizeof(jf_run_record)));
  for (int i = 0; i < p->n_step; i++) {
    if (jf_lane_covers(&p->step[i])) continue;
    jf_step_draw(p, &p->step[i]);
    JF_TRY(jf_late_step(p, &p->step[i]));
  }
  return k->get(t->device, t->stream, l->host + record, l->device + record, p->lane.end - record);
}

int jf_lane_repeats(const jfl_plan *p)
{
  const jfl_session *s = p->job->session;
  if (p->lane.place < 0 || p->work_first != 0 || !p->is_warm) return 0;
  const jf_site *t = lane_site(p);
  return !s->profile && !s->settings.check_finite && p->lane.size <= t->lane_size &&
         p->part[p->lane.place].arena_size <= t->arena_size;
}

jfl_status jf_lane_launch(jfl_plan *p, int lane) { return jf_late_repeat(p, lane, lane_queue); }

jfl_status jf_lane_found(const jfl_plan *p, int lane)
{
  const jf_fault *f = &lane_record(p, &lane_site(p)->lane[lane])->fault;
  return f->what ? jf_late_blame(p, jf_fault_fail(f), f->step) : JFL_OK;
}

jfl_status jf_lane_end(const jfl_plan *p, int lane, jfl_status s)
{
  const jf_site *t = lane_site(p);
  jf_error *first = s ? jf_error_copy() : NULL;
  const jfl_status done = t->device->kind->wait(t->device, t->stream);
  if (s) jf_error_restore(s, first);
  else s = done ? done : jf_lane_found(p, lane);
  jf_free(first);
  return jf_fail_in(s, JFL_ERROR_JOB, p->job->name);
}

/* ---- runs that others follow before they have ended ---- */

static int lane_is_there(jf_site *t, int lane)
{
  if (t->lane[lane].host) return 1;
  if (t->is_alone) return 0;
  /* Memory for one may be all there is. */
  t->is_alone = lane_make(t, &t->lane[lane]) != JFL_OK;
  return !t->is_alone;
}

int jf_lane_take(const jfl_plan *p)
{
  jf_site *t = lane_site(p);
  for (int i = 0; i < JF_LANES; i++)
    if (!t->lane[i].busy && lane_is_there(t, i)) return t->lane[i].busy = 1, i;
  return -1;
}

void jf_lane_give(const jfl_plan *p, int lane) { lane_site(p)->lane[lane].busy = 0; }

jfl_status jf_lane_send(jfl_plan *p, int lane)
{
  const jf_site *t = lane_site(p);
  JF_TRY(jf_lane_launch(p, lane));
  return t->device->kind->record(t->device, t->stream, t->lane[lane].event);
}

jfl_status jf_lane_reach(const jfl_plan *p, int lane)
{
  const jf_site *t = lane_site(p);
  return t->device->kind->reach(t->device, t->stream, t->lane[lane].event);
}

jfl_status jf_lane_settle(const jfl_plan *p)
{
  const jf_site *t = lane_site(p);
  return t->device->kind->wait(t->device, t->stream);
}
