/* Runs whose steps devices do behind the caller's back: queueing them on streams, and finding out
   at the end, or where one device has to know it of another, what went wrong. */
#include "run/run.h"
#include "world/world.h"

#include <string.h>

static jf_site *late_site(const jfl_plan *p, int place) { return p->job->session->site[place]; }

static int late_works(const jfl_plan *p, int place)
{
  return p->part[place].n_step && !p->part[place].device->kind->host;
}

/* Where the run's record is on the device. */
static jf_run_record *late_record(const jfl_plan *p, int place)
{
  return p->lane.place < 0 ? late_site(p, place)->record
                           : (jf_run_record *)(void *)(p->lane.device + p->lane.record);
}

/* Queues the writing of a record. */
static jfl_status site_begin(jf_site *t, jf_run_record *to, uint64_t number)
{
  t->begin = (jf_run_record){ .number = number };
  return t->device->kind->put(t->device, t->stream, to, &t->begin, sizeof t->begin);
}

jfl_status jf_site_begin(jf_site *t, uint64_t number) { return site_begin(t, t->record, number); }

jfl_status jf_late_begin(jfl_plan *p)
{
  for (int i = 0; i < p->n_part; i++) {
    if (!late_works(p, i)) continue;
    jfl_status s = site_begin(late_site(p, i), late_record(p, i), p->job->run);
    if (s) return jf_late_end(p, s);
  }
  return JFL_OK;
}

jfl_status jf_late_blame(const jfl_plan *p, jfl_status e, int step)
{
  return jf_fail_node(e, p->step[step].node);
}

/* Reads what the record says once all that was queued is done. */
static jfl_status site_settle(jf_site *t, const jf_run_record *r)
{
  const jf_kind *k = t->device->kind;
  t->found = (jf_fault){ 0 };
  jfl_status read = k->get(t->device, t->stream, &t->found, &r->fault, sizeof t->found);
  jfl_status done = k->wait(t->device, t->stream);
  if (t->found.what) return jf_fault_fail(&t->found);
  return done ? done : read;
}

jfl_status jf_site_settle(jf_site *t) { return site_settle(t, t->record); }

/* The error of a copy, or of the wait for it. */
static jfl_status site_finish(jf_site *t, jfl_status copied)
{
  jfl_status waited = t->device->kind->wait(t->device, t->stream);
  return copied ? copied : waited;
}

jfl_status jf_site_put(jf_site *t, void *to, const void *from, size_t size)
{
  const jf_kind *k = t->device->kind;
  if (!k->host) return site_finish(t, k->put(t->device, t->stream, to, from, size));
  memcpy(to, from, size);
  return JFL_OK;
}

jfl_status jf_site_get(jf_site *t, void *to, const void *from, size_t size)
{
  const jf_kind *k = t->device->kind;
  if (!k->host) return site_finish(t, k->get(t->device, t->stream, to, from, size));
  memcpy(to, from, size);
  return JFL_OK;
}

/* Waits for all that was queued on a device. */
static jfl_status late_settle(const jfl_plan *p, int place)
{
  jf_site *t = late_site(p, place);
  jfl_status s = site_settle(t, late_record(p, place));
  return s && t->found.what ? jf_late_blame(p, s, t->found.step) : s;
}

/* Of several errors the one counts that a device found in its data: others may follow from it. */
jfl_status jf_late_end(jfl_plan *p, jfl_status s)
{
  jf_error *first = s ? jf_error_copy() : NULL;
  for (int i = 0; i < p->n_part; i++) {
    if (!late_works(p, i)) continue;
    jfl_status here = late_settle(p, i);
    if (!here || (s && !late_site(p, i)->found.what)) continue;
    s = here;
    jf_free(first);
    first = jf_error_copy();
  }
  if (!s) return JFL_OK;
  jf_error_restore(s, first);
  jf_free(first);
  return jf_fail_in(s, JFL_ERROR_JOB, p->job->name);
}

/* Waits for a step itself; where it failed, what its device says of it is the error. */
static jfl_status late_reach(const jfl_plan *p, const jf_step *other)
{
  const jf_site *o = late_site(p, other->place);
  const jfl_status s = o->device->kind->reach(o->device, o->stream, p->event[other->event]);
  const jfl_status said = s ? late_settle(p, other->place) : JFL_OK;
  return said ? said : s;
}

/* Lets a step wait for another. The host waits itself, and so it does for a device whose events are
   others. */
static jfl_status late_await(const jfl_plan *p, const jf_step *st, const jf_step *other)
{
  const jf_site *t = late_site(p, st->place), *o = late_site(p, other->place);
  const jf_kind *k = t->device->kind;
  if (k->await != o->device->kind->await) return late_reach(p, other);
  return k->await(t->device, t->stream, p->event[other->event]);
}

/* What all devices found wrong so far, before something changes that cannot be changed back. */
jfl_status jf_late_barrier(const jfl_plan *p)
{
  for (int i = 0; i < p->n_part; i++)
    if (late_works(p, i)) JF_TRY(late_settle(p, i));
  return JFL_OK;
}

static jfl_status late_transfer(const jfl_plan *p, const jf_step *st)
{
  const jf_site *t = late_site(p, st->place);
  jf_device *from = p->part[st->in[0].place].device, *to = p->part[st->out[0].place].device;
  const void *x = st->k.in[0].data;
  void *y = st->k.out[0].data;
  const size_t size = st->out[0].size;
  if (st->out[0].memory == JF_AT_KEPT) return JFL_OK;
  const jf_kind *k = t->device->kind;
  if (k->host) return memcpy(y, x, size), JFL_OK;
  if (jf_is_near(from->kind)) return k->put(t->device, t->stream, y, x, size);
  if (jf_is_near(to->kind)) return k->get(t->device, t->stream, y, x, size);
  return k->move(to, t->stream, y, from, x, size);
}

static jfl_status late_launch(const jfl_plan *p, const jf_step *st)
{
  const jf_site *t = late_site(p, st->place);
  const jf_kind *k = t->device->kind;
  if (st->node->op->flags & JF_TRANSFER) return late_transfer(p, st);
  return k->launch ? k->launch(t->device, t->stream, st->kernel.run, &st->k)
                   : st->kernel.run(&st->k);
}

/* A device that is lost cannot do what others wait for. */
void jf_late_keep_pace(const jfl_plan *p, const jf_step *st)
{
  if (late_launch(p, st))
    jf_world_end("rank %d (%s): %.150s", jf_world_rank(), jf_world_host(jf_world_rank()),
                 jfl_error_part(JFL_ERROR_TEXT));
}

jfl_status jf_late_step(jfl_plan *p, const jf_step *st)
{
  const jf_site *t = late_site(p, st->place);
  const int step = (int)(st - p->step);
  if (step == p->barrier && !p->is_shared) JF_TRY(jf_late_barrier(p));
  jfl_status s = JFL_OK;
  for (int i = 0; i < st->n_await && !s; i++) s = late_await(p, st, &p->step[st->await[i]]);
  if (!s) s = late_launch(p, st);
  else if (st->node->op->flags & JF_TOGETHER) jf_late_keep_pace(p, st);
  if (!s && st->event >= 0)
    s = t->device->kind->record(t->device, t->stream, p->event[st->event]);
  return s ? jf_late_blame(p, s, step) : JFL_OK;
}

void jf_late_forget_work(jfl_plan *p)
{
  for (int i = 0; i < JF_LANES; i++) {
    if (!p->captured[i]) continue;
    jf_device *d = p->part[p->step[p->work_first].place].device;
    d->kind->work_free(d, p->captured[i]);
    p->captured[i] = NULL;
  }
}

/* Keeps what `queue` queues, instead of doing it. What was begun is ended on failure, too, and the
   first error counts. */
static jfl_status late_capture(jfl_plan *p, int lane, jf_late_queue queue)
{
  const jf_site *t = late_site(p, p->step[p->work_first].place);
  const jf_kind *k = t->device->kind;
  JF_TRY(k->capture(t->device, t->stream));
  const jfl_status s = queue(p, lane);
  jf_error *first = s ? jf_error_copy() : NULL;
  const jfl_status ended = k->captured(t->device, t->stream, &p->captured[lane]);
  p->captured_seed = p->job->session->seed;
  if (!s) return ended;
  if (p->captured[lane]) k->work_free(t->device, p->captured[lane]);
  p->captured[lane] = NULL;
  jf_error_restore(s, first);
  jf_free(first);
  return s;
}

jfl_status jf_late_repeat(jfl_plan *p, int lane, jf_late_queue queue)
{
  const jf_site *t = late_site(p, p->step[p->work_first].place);
  if (p->captured_seed != p->job->session->seed) jf_late_forget_work(p);
  if (!p->captured[lane]) JF_TRY(late_capture(p, lane, queue));
  return t->device->kind->replay(t->device, t->stream, p->captured[lane]);
}

static jfl_status late_queue(jfl_plan *p, int lane)
{
  (void)lane;
  for (int i = p->work_first; i < p->work_end; i++) {
    jf_step_draw(p, &p->step[i]);
    JF_TRY(jf_late_step(p, &p->step[i]));
  }
  return JFL_OK;
}

jfl_status jf_late_work(jfl_plan *p) { return jf_late_repeat(p, 0, late_queue); }

jfl_status jf_late_finish_step(const jfl_plan *p, const jf_step *st)
{
  return late_works(p, st->place) ? late_settle(p, st->place) : JFL_OK;
}

void jf_late_release(jfl_plan *p)
{
  jf_late_forget_work(p);
  for (int i = 0; i < p->n_step && p->event; i++) {
    const jf_step *st = &p->step[i];
    jf_device *d = p->part[st->place].device;
    if (st->event >= 0 && p->event[st->event]) d->kind->event_free(d, p->event[st->event]);
  }
  jf_free(p->event);
  p->event = NULL;
}

jfl_status jf_late_prepare(jfl_session *s, jfl_plan *p)
{
  p->event = jf_new((size_t)p->n_event * sizeof *p->event);
  if (!p->event) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; i < p->n_step; i++) {
    jf_step *st = &p->step[i];
    const jf_site *t = s->site[st->place];
    st->k.stream = t->stream;
    st->k.fault = t->record ? &t->record->fault : NULL;
    if (st->event >= 0) JF_TRY(t->device->kind->event_new(t->device, &p->event[st->event]));
  }
  return JFL_OK;
}
