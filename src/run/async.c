/* Runs whose steps devices do behind the caller's back: queueing them on streams, and finding out
   at the end, or where one device has to know it of another, what went wrong. */
#include "run/run.h"
#include "world/world.h"

#include <string.h>

static int async_works(const jfl_plan *p, int place)
{
  return p->part[place].n_step && !p->part[place].device->kind->host;
}

/* Where the run's record is on the device. */
static jf_run_record *async_record(const jf_execution *e, int place)
{
  return e->plan->staging.place < 0
             ? jf_execution_site(e, place)->record
             : (jf_run_record *)(void *)(jf_execution_staging(e)->device + e->plan->staging.record);
}

jfl_status jf_async_begin(jf_execution *e)
{
  for (int i = 0; i < e->plan->n_part; i++) {
    if (!async_works(e->plan, i)) continue;
    JF_TRY(jf_site_begin(jf_execution_site(e, i), async_record(e, i), e->number));
  }
  return JFL_OK;
}

jfl_status jf_step_blame(const jfl_plan *p, jfl_status s, int step)
{
  return jf_fail_node(s, p->step[step].node);
}

/* Waits for all that was queued on a device. */
static jfl_status async_settle(const jf_execution *e, int place)
{
  jf_site *t = jf_execution_site(e, place);
  jfl_status s = jf_site_settle(t, async_record(e, place));
  return s && t->found.what ? jf_step_blame(e->plan, s, t->found.step) : s;
}

/* Of several errors the one counts that a device found in its data: others may follow from it. */
jfl_status jf_async_end(jf_execution *e, jfl_status s)
{
  jf_error *first = s ? jf_error_copy() : NULL;
  for (int i = 0; i < e->plan->n_part; i++) {
    if (!async_works(e->plan, i)) continue;
    jfl_status here = async_settle(e, i);
    if (!here || (s && !jf_execution_site(e, i)->found.what)) continue;
    s = here;
    jf_free(first);
    first = jf_error_copy();
  }
  if (!s) return JFL_OK;
  jf_error_restore(s, first);
  jf_free(first);
  return jf_fail_in(s, JFL_ERROR_JOB, e->plan->job->name);
}

/* Waits for a step itself; where it failed, what its device says of it is the error. */
static jfl_status async_reach(const jf_execution *e, const jf_step *other)
{
  const jf_site *o = jf_execution_site(e, other->place);
  const jfl_status s = o->device->kind->reach(o->device, o->stream, e->event[other->event]);
  const jfl_status said = s ? async_settle(e, other->place) : JFL_OK;
  return said ? said : s;
}

/* Lets a step wait for another. The host waits itself, and so it does for a device whose events are
   others. */
static jfl_status async_await(const jf_execution *e, const jf_step *st, const jf_step *other)
{
  const jf_site *t = jf_execution_site(e, st->place), *o = jf_execution_site(e, other->place);
  const jf_kind *k = t->device->kind;
  if (k->await != o->device->kind->await) return async_reach(e, other);
  return k->await(t->device, t->stream, e->event[other->event]);
}

/* What all devices found wrong so far, before something changes that cannot be changed back. */
jfl_status jf_async_barrier(const jf_execution *e)
{
  for (int i = 0; i < e->plan->n_part; i++)
    if (async_works(e->plan, i)) JF_TRY(async_settle(e, i));
  return JFL_OK;
}

static jfl_status async_before(jf_execution *e, int step, int *done)
{
  (void)done;
  return step == e->plan->barrier ? jf_async_barrier(e) : JFL_OK;
}

const jf_observer jf_watch_barrier = { .before = async_before };

static jfl_status async_transfer(const jf_execution *e, int step)
{
  const jf_step *st = &e->plan->step[step];
  const jf_site *t = jf_execution_site(e, st->place);
  const jf_plan_part *part = e->plan->part;
  jf_device *from = part[st->in[0].place].device, *to = part[st->out[0].place].device;
  const void *x = e->k[step].in[0].data;
  void *y = e->k[step].out[0].data;
  const size_t size = st->out[0].size;
  const jf_kind *k = t->device->kind;
  if (k->host) return memcpy(y, x, size), JFL_OK;
  if (jf_has_host_memory(from->kind)) return k->put(t->device, t->stream, y, x, size);
  if (jf_has_host_memory(to->kind)) return k->get(t->device, t->stream, y, x, size);
  return k->move(to, t->stream, y, from, x, size);
}

static jfl_status async_launch(const jf_execution *e, int step)
{
  const jf_step *st = &e->plan->step[step];
  const jf_site *t = jf_execution_site(e, st->place);
  const jf_kind *k = t->device->kind;
  if (st->node->op->flags & JF_TRANSFER) return async_transfer(e, step);
  return jf_loops_whole(k->launch
                          ? k->launch(t->device, t->stream, st->kernel.run, &e->k[step])
                          : jf_kernel_run(st->kernel.run, &e->k[step]));
}

/* A device that is lost cannot do what others wait for. */
void jf_async_keep_pace(const jf_execution *e, int step)
{
  if (async_launch(e, step))
    jf_world_end("rank %d (%s): %.150s", jf_world_rank(), jf_world_host(jf_world_rank()),
                 jfl_error_part(JFL_ERROR_TEXT));
}

jfl_status jf_async_step(jf_execution *e, int step)
{
  const jfl_plan *p = e->plan;
  const jf_step *st = &p->step[step];
  const jf_site *t = jf_execution_site(e, st->place);
  jfl_status s = JFL_OK;
  for (int i = 0; i < st->n_await && !s; i++) s = async_await(e, st, &p->step[st->await[i]]);
  if (!s) s = async_launch(e, step);
  else if (st->node->op->flags & JF_TOGETHER) jf_async_keep_pace(e, step);
  if (!s && st->event >= 0)
    s = t->device->kind->record(t->device, t->stream, e->event[st->event]);
  return s ? jf_step_blame(p, s, step) : JFL_OK;
}

jfl_status jf_async_finish_step(const jf_execution *e, int step)
{
  const int place = e->plan->step[step].place;
  return async_works(e->plan, place) ? async_settle(e, place) : JFL_OK;
}
