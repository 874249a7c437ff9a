/* Derived values, the results of prologues: their memory, which is shared by the plans of a session
   that derive the same value, and when they must be computed again. */
#include "run/run.h"

#include <stdio.h>

/* ---- memory ---- */

static jfl_status derived_new(jf_device *device, const jf_plan_derived *d, jf_derived **out)
{
  jf_derived *v = jf_new(sizeof *v);
  if (!v) return jf_fail(JFL_ENOMEM, "out of memory");
  *v = (jf_derived){ .device = device, .refs = 1 };
  const jfl_status st =
      d->size ? jf_device_take(device, d->size, "converted weights", NULL, &v->memory) : JFL_OK;
  if (st) jf_free(v);
  else *out = v;
  return st;
}

static jfl_status derived_take(jfl_session *s, jf_device *device, const jf_plan_derived *d,
                               jf_derived **out)
{
  char name[JF_DERIVED_NAME];
  snprintf(name, JF_DERIVED_NAME, "%016llx%016llx.%d %zu", (unsigned long long)d->identity[0],
           (unsigned long long)d->identity[1], d->out, d->size);
  jf_derived *v = d->identity[0] ? jf_map_get(&s->derived, name) : NULL;
  if (v) return v->refs++, *out = v, JFL_OK;
  JF_TRY(derived_new(device, d, out));
  if (!d->identity[0]) return JFL_OK;
  v = *out;
  snprintf(v->name, sizeof v->name, "%s", name);
  const jfl_status st = jf_map_add(&s->derived, v->name, v);
  if (st) v->name[0] = '\0';
  return st;
}

static void derived_leave(jfl_session *s, jf_derived *v)
{
  if (!v || --v->refs) return;
  if (v->name[0]) jf_map_remove(&s->derived, v->name);
  v->device->kind->free(v->device, v->memory);
  jf_free(v);
}

jfl_status jf_prologue_take(jf_execution *e)
{
  const jfl_plan *p = e->plan;
  const size_t n = (size_t)p->n_prologue;
  jf_prologue *r = e->prologue = jf_new(sizeof *r + (size_t)p->n_derived * sizeof *r->derived);
  if (!r) return jf_fail(JFL_ENOMEM, "out of memory");
  r->newest = jf_new(n * sizeof *r->newest);
  r->wanted = jf_new(n);
  r->waits = jf_new((size_t)p->n_derived);
  if (n && (!r->newest || !r->wanted || !r->waits)) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; i < p->n_derived; i++) {
    jf_plan_derived d = p->derived[i];
    if (e->own_site) d.identity[0] = 0;          /* it runs while others do */
    JF_TRY(derived_take(e->session, p->part[d.place].device, &d, &r->derived[i]));
  }
  return JFL_OK;
}

void jf_prologue_leave(jf_execution *e)
{
  jf_prologue *r = e->prologue;
  if (!r) return;
  for (int i = 0; i < e->plan->n_derived; i++) derived_leave(e->session, r->derived[i]);
  jf_free(r->newest);
  jf_free(r->wanted);
  jf_free(r->waits);
  jf_free(r);
}

/* ---- when it is made ---- */

/* When a variable changed last on which step s of the prologue depends. */
static uint64_t prologue_newest(const jf_execution *e, int s)
{
  const jfl_plan *p = e->plan;
  const jf_step *st = &p->step[s];
  uint64_t newest = 0;
  for (int i = 0; i < st->k.n_in; i++) {
    const uint64_t of = st->from[i] >= 0 ? e->prologue->newest[st->from[i]]
                        : st->in[i].memory == JF_AT_VARIABLE ? p->var[st->in[i].index]->changed : 0;
    if (of > newest) newest = of;
  }
  return newest;
}

/* A value can wait where its reader can run without it, and where addresses are not those of
   several executions. */
static int prologue_can_wait(const jfl_plan *p, int i)
{
  const jf_step *st = &p->step[p->derived[i].step];
  const jf_kernel_row *row = st->kernel.row;
  return row && row->runs_plain && st->kernel.run == row->pack &&
         st->in[0].memory == JF_AT_VARIABLE && p->staging.place < 0;
}

/* How many bytes of values that can wait this run makes: none in the first run, which is soon done,
   and then as many in each, so that results and times do not depend on a clock. */
static size_t prologue_share(const jf_execution *e)
{
  enum { RUNS = 32 };
  const jfl_plan *p = e->plan;
  size_t all = 0;
  if (!e->prologue->valid) return 0;
  for (int i = 0; i < p->n_derived; i++) all += prologue_can_wait(p, i) ? p->derived[i].size : 0;
  return all / RUNS + 1;
}

/* Of what is due wants all that cannot wait, and a share of what can. */
static int prologue_choose(jf_execution *e)
{
  const jfl_plan *p = e->plan;
  jf_prologue *r = e->prologue;
  size_t share = prologue_share(e);
  int any = 0;
  r->n_waiting = 0;
  for (int i = 0; i < p->n_derived; i++) {
    const jf_plan_derived *d = &p->derived[i];
    const uint64_t made = r->derived[i]->made;
    const int is_due = !made || made < r->newest[d->step], can_wait = prologue_can_wait(p, i);
    const char waits = (char)(is_due && can_wait && !share);
    if (is_due && can_wait) share -= share < d->size ? share : d->size;
    if (is_due && !waits) any = r->wanted[d->step] = 1;
    if (waits != r->waits[i]) e->bound = 0;
    r->waits[i] = waits;
    r->n_waiting += waits;
  }
  return any;
}

int jf_prologue_wants(jf_execution *e)
{
  const jfl_plan *p = e->plan;
  jf_prologue *r = e->prologue;
  for (int s = 0; s < p->n_prologue; s++) {
    r->newest[s] = prologue_newest(e, s);
    r->wanted[s] = 0;
  }
  const int any = prologue_choose(e);
  /* What a wanted step reads is there if it is derived, or else wanted, too. */
  for (int s = p->n_prologue - 1; s >= 0; s--)
    for (int i = 0; i < p->step[s].k.n_in && r->wanted[s]; i++)
      if (p->step[s].from[i] >= 0 && p->step[s].in[i].memory != JF_AT_DERIVED)
        r->wanted[p->step[s].from[i]] = 1;
  return any;
}

void jf_prologue_made(const jf_execution *e)
{
  const jfl_plan *p = e->plan;
  jf_prologue *r = e->prologue;
  for (int i = 0; i < p->n_derived; i++)
    if (r->wanted[p->derived[i].step]) r->derived[i]->made = e->changes;
  r->valid = e->changes;
  if (e->session->has_mapped && !r->n_waiting) jf_plan_rest(p);
}
