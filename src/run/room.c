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
   again if there is none. Plans notice at their next run. */
static jfl_status room_grow(jfl_session *s, jf_site *t, size_t size)
{
  const jf_kind *k = t->device->kind;
  const size_t before = t->arena_size;
  k->free(t->device, t->arena);
  t->arena = NULL;
  t->arena_size = 0;
  s->arenas++;
  jfl_status st = jf_device_take(t->device, size, "temporaries",
                                 "smaller batches take less", &t->arena);
  if (!st) return t->arena_size = size, JFL_OK;
  jf_error *why = jf_error_copy();
  if (before && (t->arena = k->alloc(t->device, before))) t->arena_size = before;
  jf_error_restore(st, why);
  jf_free(why);
  return st;
}

jfl_status jf_job_need_room(jfl_session *s, const jfl_plan *p)
{
  for (int i = 0; i < p->n_part; i++)
    if (p->part[i].arena_size > s->site[i]->arena_size)
      JF_TRY(jf_room_blame(room_grow(s, s->site[i], p->part[i].arena_size), p, i));
  return jf_lanes_need(s, p);
}
