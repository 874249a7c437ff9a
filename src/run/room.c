/* Room for temporaries, and for inputs and results, on the devices of a plan. */
#include "run/run.h"

/* The largest temporary of a plan at a place, or at any if that is -1; NULL: it has none there. */
static const jf_where *room_largest(const jfl_plan *p, int place, const jf_node **maker)
{
  const jf_where *best = NULL;
  for (int i = 0; i < p->n_step; i++)
    for (int k = 0; k < p->step[i].node->n_out; k++) {
      const jf_where *w = &p->step[i].out[k];
      if (w->memory != JF_AT_ARENA || (place >= 0 && w->place != place)) continue;
      if (best && w->size <= best->size) continue;
      best = w;
      *maker = p->step[i].node;
    }
  return best;
}

jfl_status jf_room_blame(jfl_status st, const jfl_plan *p, int place)
{
  const jf_node *maker;
  const jf_where *w = st == JFL_ENOMEM ? room_largest(p, place, &maker) : NULL;
  if (!w) return st;
  st = jf_fail(st, "%s; the largest, '%.100s', takes %zu", jfl_error_part(JFL_ERROR_TEXT),
               maker->name, w->size);
  return jf_fail_in(st, JFL_ERROR_LINE, maker->source.line);
}

/* A bigger block for temporaries, which outlive no run: the old one makes room for it, and is there
   again if there is none. Plans notice at their next run. What has grown before, as where lengths
   vary, will again: it gets some more at once, if that is there. */
static jfl_status room_grow(jfl_session *s, jf_site *t, size_t size)
{
  const jf_kind *k = t->device->kind;
  const size_t before = t->arena_size, more = before ? size / 32 / 64 * 64 : 0;
  k->free(t->device, t->arena);
  t->arena = NULL;
  t->arena_size = 0;
  s->arenas++;
  if (more && (t->arena = k->alloc(t->device, size + more)))
    return t->arena_size = size + more, JFL_OK;
  jfl_status st = jf_device_take(t->device, size, "temporaries",
                                 "smaller batches take less", &t->arena);
  if (!st) return t->arena_size = size, JFL_OK;
  jf_error *why = jf_error_copy();
  if (before && (t->arena = k->alloc(t->device, before))) t->arena_size = before;
  jf_error_restore(st, why);
  jf_free(why);
  return st;
}

/* ---- staging buffers ---- */

static void staging_end(const jf_site *t, jf_staging *l)
{
  const jf_kind *k = t->device->kind;
  k->free(t->device, l->device);
  if (l->host) k->unpin(t->device, l->host);
  if (l->event) k->event_free(t->device, l->event);
  if (l->arrived) k->event_free(t->device, l->arrived);
  *l = (jf_staging){ 0 };
}

void jf_lanes_free(jf_site *t)
{
  for (int i = 0; i < JF_STAGING_BUFFERS; i++) staging_end(t, &t->staging[i]);
}

static jfl_status lane_set_up(const jf_site *t, size_t size, jf_staging *l)
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

/* Makes a staging buffer of the site's present size. */
static jfl_status lane_make(const jf_site *t, jf_staging *out)
{
  jf_staging l = { 0 };
  jfl_status s = lane_set_up(t, t->staging_size, &l);
  if (s) staging_end(t, &l);
  else *out = l;
  return s;
}

static jfl_status room_need_lanes(jfl_session *s, jf_site *t, const jfl_plan *p)
{
  const size_t before = t->staging_size;
  jf_staging first;
  if (t->staging[0].host && p->staging.size <= before) return JFL_OK;
  t->staging_size = p->staging.size;
  jfl_status st = lane_make(t, &first);
  if (st) return t->staging_size = before, st;
  jf_lanes_free(t);
  t->staging[0] = first;
  s->arenas++;
  return JFL_OK;
}

int jf_staging_is_there(jf_site *t, int staging)
{
  if (t->staging[staging].host) return 1;
  if (t->is_alone) return 0;
  /* Memory for one may be all there is. */
  t->is_alone = lane_make(t, &t->staging[staging]) != JFL_OK;
  return !t->is_alone;
}

int jf_staging_goes_ahead(jf_site *t, int staging)
{
  const jf_kind *k = t->device->kind;
  jf_staging *l = &t->staging[staging];
  if (!t->copies && k->stream_new(t->device, &t->copies)) return 0;
  return l->arrived || !k->event_new(t->device, &l->arrived);
}

/* ---- both ---- */

jfl_status jf_site_need_room(jfl_session *s, jf_site *t, const jfl_plan *p)
{
  const size_t size = p->part[t->place].arena_size;
  if (size > t->arena_size) JF_TRY(jf_room_blame(room_grow(s, t, size), p, t->place));
  return t->place == p->staging.place ? room_need_lanes(s, t, p) : JFL_OK;
}

jfl_status jf_job_need_room(jfl_session *s, const jfl_plan *p)
{
  for (int i = 0; i < p->n_part; i++) JF_TRY(jf_site_need_room(s, s->site[i], p));
  return JFL_OK;
}
