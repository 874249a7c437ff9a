/* Executions: what a run of a plan has beside the plan, and the addresses in its calls. */
#include "run/run.h"

/* ---- making ---- */

/* The calls are the plan's, with operands of their own. */
static void execution_copy_calls(jf_execution *e)
{
  jf_tensor *operand = e->operand;
  for (int s = 0; s < e->plan->n_step; s++) {
    const jf_step *st = &e->plan->step[s];
    jf_kargs *k = &e->k[s];
    *k = st->k;
    k->in = operand;
    k->out = operand + k->n_in;
    for (int i = 0; i < k->n_in; i++) k->in[i] = st->k.in[i];
    for (int i = 0; i < k->n_out; i++) k->out[i] = st->k.out[i];
    operand += k->n_in + k->n_out;
  }
}

static jfl_status execution_take(jf_execution *e)
{
  const jfl_plan *p = e->plan;
  e->k = jf_new((size_t)p->n_step * sizeof *e->k);
  e->operand = jf_new((size_t)p->n_operand * sizeof *e->operand);
  e->event = jf_new((size_t)p->n_event * sizeof *e->event);
  if (!e->k || !e->operand || !e->event)
    return jf_fail(JFL_ENOMEM, "out of memory");
  execution_copy_calls(e);
  return JFL_OK;
}

/* Another execution for the session's staging buffers has the prologue already. */
static jfl_status execution_take_prologue(jf_execution *e)
{
  if (!e->staging) return jf_prologue_take(e);
  return e->prologue = e->plan->execution[0]->prologue, JFL_OK;
}

static jfl_status execution_take_events(jf_execution *e)
{
  for (int i = 0; i < e->plan->n_step; i++) {
    const jf_step *st = &e->plan->step[i];
    jf_device *d = e->plan->part[st->place].device;
    if (st->event >= 0) JF_TRY(d->kind->event_new(d, &e->event[st->event]));
  }
  return JFL_OK;
}

/* Sites of its own for the devices that work, with all the memory that it needs. */
static jfl_status execution_take_sites(jf_execution *e)
{
  const jfl_plan *p = e->plan;
  e->own_site = jf_new((size_t)p->n_part * sizeof(jf_site *));
  if (!e->own_site) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; i < p->n_part; i++) {
    if (!p->part[i].n_step && !p->part[i].arena_size) continue;
    JF_TRY(jf_site_beside(e->session->site[i], &e->own_site[i]));
    JF_TRY(jf_site_need_room(e->session, e->own_site[i], p));
  }
  return JFL_OK;
}

static jfl_status execution_make(const jfl_plan *p, int staging, int apart, jf_execution **out)
{
  jf_execution *e = jf_new(sizeof *e);
  if (!e) return jf_fail(JFL_ENOMEM, "out of memory");
  e->plan = p;
  e->session = p->job->session;
  e->staging = staging;
  jfl_status s = execution_take(e);
  if (!s && apart) s = execution_take_sites(e);
  if (!s) s = execution_take_prologue(e);
  if (!s) s = execution_take_events(e);
  if (s) jf_execution_free(e);
  else *out = e;
  return s;
}

jfl_status jf_execution_new(const jfl_plan *p, int staging, jf_execution **out)
{
  return execution_make(p, staging, 0, out);
}

jfl_status jf_execution_new_separate(const jfl_plan *p, jf_execution **out)
{
  return execution_make(p, 0, 1, out);
}

static void execution_free_events(jf_execution *e)
{
  for (int i = 0; i < e->plan->n_step && e->event; i++) {
    const jf_step *st = &e->plan->step[i];
    jf_device *d = e->plan->part[st->place].device;
    if (st->event >= 0 && e->event[st->event]) d->kind->event_free(d, e->event[st->event]);
  }
}

void jf_execution_free(jf_execution *e)
{
  if (!e) return;
  jf_staging_forget(e);
  execution_free_events(e);
  for (int i = 0; i < e->plan->n_part && e->own_site; i++) jf_site_free(e->own_site[i]);
  jf_free(e->own_site);
  jf_free(e->k);
  jf_free(e->operand);
  jf_free(e->event);
  if (!e->staging) jf_prologue_leave(e);
  jf_free(e);
}

/* ---- addresses ---- */

/* Whether an operand is not packed yet, and where it lies plain. */
static int execution_waits(const jf_execution *e, const jf_where *w)
{
  return w->memory == JF_AT_DERIVED && e->prologue->waits[w->index];
}
/* Where an operand is; NULL where each run says it. */
static void *execution_address(const jf_execution *e, const jf_where *w)
{
  const jfl_plan *p = e->plan;
  switch (w->memory) {
    case JF_AT_ARENA: return (char *)jf_execution_site(e, w->place)->arena + w->offset;
    case JF_AT_VARIABLE: return jf_plan_data(p, w->index);
    case JF_AT_CONSTANT: return (void *)w->data;
    case JF_AT_DERIVED:
      if (execution_waits(e, w)) {
        return execution_address(e, &e->plan->step[e->plan->derived[w->index].step].in[0]);
      }
      return e->prologue->derived[w->index]->memory;
    case JF_AT_STAGING: return jf_execution_staging(e)->device + w->offset;
    case JF_AT_INPUT: case JF_AT_OUTPUT:
      return p->staging.place < 0 ? NULL : jf_execution_staging(e)->host + w->offset;
    case JF_AT_NONE: break;
  }
  return NULL;
}

/* Where a device has the run's record; NULL for the host. */
static jf_run_record *execution_record(const jf_execution *e, const jf_site *t)
{
  if (!t->record || e->plan->staging.place < 0) return t->record;
  return (jf_run_record *)(void *)(jf_execution_staging(e)->device + e->plan->staging.record);
}

static void execution_bind_step(const jf_execution *e, int step)
{
  const jf_step *st = &e->plan->step[step];
  const jf_site *t = jf_execution_site(e, st->place);
  jf_run_record *record = execution_record(e, t);
  jf_kargs *k = &e->k[step];
  for (int i = 0; i < k->n_in; i++) {
    k->in[i].data = execution_address(e, &st->in[i]);
    k->in[i].layout = st->k.in[i].layout;
    if (execution_waits(e, &st->in[i])) k->in[i].layout.kind = JF_LAYOUT_PLAIN;
  }
  for (int i = 0; i < k->n_out; i++) k->out[i].data = execution_address(e, &st->out[i]);
  k->scratch = st->scratch_life < 0 ? NULL : (char *)t->arena + st->scratch_offset;
  k->stream = t->stream;
  k->fault = record ? &record->fault : NULL;
}

jfl_status jf_execution_bind(jf_execution *e)
{
  const jfl_plan *p = e->plan;
  jfl_session *s = e->session;
  if (e->own_site ? e->bound != 0 : e->bound == s->arenas) return JFL_OK;
  if (!e->own_site) JF_TRY(jf_fail_in(jf_job_need_room(s, p), JFL_ERROR_JOB, p->job->name));
  for (int i = 0; i < p->n_step; i++) execution_bind_step(e, i);
  jf_staging_forget(e);
  e->bound = s->arenas;
  return JFL_OK;
}

void jf_execution_point(jf_execution *e, jfl_array *const *in, jfl_array *const *out)
{
  const jfl_plan *p = e->plan;
  for (int i = 0; i < p->n_input_patch; i++)
    e->operand[p->input[i].operand].data = in[p->input[i].index]->data;
  for (int i = 0; i < p->n_output_patch; i++)
    e->operand[p->output[i].operand].data = out[p->output[i].index]->data;
}
