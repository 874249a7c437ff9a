/* Red zones: with JFL_RED_ZONES=1 values of a plan that lie in an arena, and the scratch of its
   steps, have bytes before and behind them that no kernel may touch. They are written before a step
   that makes the value, and looked at after each step that has it, so that a kernel that writes
   beside one is found where it would change another value. Runs go step by step then. */
#include "run/run.h"

#include <string.h>

enum { ZONE_BYTE = 0xa5 };

/* What a step has in an arena: a result, an input, or scratch. */
typedef struct zoned { const char *name; char *at; size_t size; int place; } zoned;

/* Gives number i of what a step has, results first; 0: that is in no arena, or there is none. */
static int zones_of(const jf_execution *e, int step, int i, zoned *z)
{
  const jf_step *st = &e->plan->step[step];
  const jf_node *n = st->node;
  const jf_kargs *k = &e->k[step];
  const int is_out = i < k->n_out, is_in = !is_out && i < k->n_out + k->n_in;
  if (!is_out && !is_in) {
    *z = (zoned){ "its scratch", k->scratch, st->kernel.scratch, st->place };
    return st->scratch_life >= 0;
  }
  const jf_where *w = is_out ? &st->out[i] : &st->in[i - k->n_out];
  const jf_tensor *t = is_out ? &k->out[i] : &k->in[i - k->n_out];
  *z = (zoned){ is_out ? n->out[i]->name : n->in[i - k->n_out]->name, t->data, w->size, w->place };
  return w->memory == JF_AT_ARENA;
}

static int zones_count(const jf_execution *e, int step)
{
  return e->k[step].n_out + e->k[step].n_in + 1;
}

static jfl_status zones_put(const jf_execution *e, const zoned *z)
{
  char zone[JF_ZONE];
  jf_site *site = jf_execution_site(e, z->place);
  memset(zone, ZONE_BYTE, sizeof zone);
  JF_TRY(jf_site_put(site, z->at - JF_ZONE, zone, JF_ZONE));
  return jf_site_put(site, z->at + z->size, zone, JF_ZONE);
}

/* Looks at the zone that begins so many bytes behind the beginning of z. */
static jfl_status zones_look(const jf_execution *e, const zoned *z, ptrdiff_t from)
{
  unsigned char zone[JF_ZONE];
  JF_TRY(jf_site_get(jf_execution_site(e, z->place), zone, z->at + from, JF_ZONE));
  for (int i = 0; i < JF_ZONE; i++)
    if (zone[i] != ZONE_BYTE)
      return jf_fail(JFL_EDATA, "the kernel wrote byte %lld of %s, which has %zu bytes",
                     (long long)from + i, z->name, z->size);
  return JFL_OK;
}

/* Results that are written over an input have its zones. */
static int zones_is_input(const jf_execution *e, int step, const char *at)
{
  const jf_kargs *k = &e->k[step];
  for (int i = 0; i < k->n_in; i++)
    if (k->in[i].data == at) return 1;
  return 0;
}

static jfl_status zones_before(jf_execution *e, int step, int *done)
{
  const int n = zones_count(e, step), n_out = e->k[step].n_out;
  (void)done;
  if (e->plan->is_async) JF_TRY(jf_async_finish_step(e, step));
  for (int i = 0; i < n; i++) {
    zoned z;
    if (i >= n_out && i < n - 1) continue;
    if (zones_of(e, step, i, &z) && !zones_is_input(e, step, z.at)) JF_TRY(zones_put(e, &z));
  }
  return JFL_OK;
}

static jfl_status zones_after(jf_execution *e, int step)
{
  jfl_status s = e->plan->is_async ? jf_async_finish_step(e, step) : JFL_OK;
  for (int i = 0; i < zones_count(e, step) && !s; i++) {
    zoned z;
    if (!zones_of(e, step, i, &z)) continue;
    s = zones_look(e, &z, -(ptrdiff_t)JF_ZONE);
    if (!s) s = zones_look(e, &z, (ptrdiff_t)z.size);
  }
  if (s) jf_step_blame(e->plan, s, step);
  return jf_fail_in(s, JFL_ERROR_JOB, e->plan->job->name);
}

const jf_observer jf_watch_zones = { .before = zones_before, .after = zones_after };
