/* Sums of partial parts, and means of mirrored ones. */
#include "op/collective.h"
#include "op/constant.h"
#include "op/move.h"
#include "op/op.h"
#include "op/reshape.h"
#include "op/slice.h"
#include "pass/spmd/spmd.h"

/* Sums of at least so many bytes are made in shares, a member each; smaller ones by every member
   for itself, in fewer steps. So are those of a few members that read each other's memory. */
enum { REDUCE_SHARED = 1 << 16, REDUCE_FEW = 4 };

int spmd_spans_ranks(const jf_group *g)
{
  for (int i = 1; i < g->n; i++)
    if (g->member[i].rank != g->member[0].rank) return 1;
  return 0;
}

jf_ints spmd_ranks(spmd_walk *w, const jf_group *g)
{
  jf_ints ranks = { 0, jf_alloc(w->g->arena, (size_t)g->n * sizeof *ranks.v) };
  for (int rank = 0; rank < w->n_rank; rank++)
    for (int i = 0; i < g->n; i++) {
      if (g->member[i].rank != rank) continue;
      ranks.v[ranks.n++] = rank;
      break;
    }
  return ranks;
}

/* The parts that this process has, cut to a box; gives how many. */
static int reduce_cut(spmd_walk *w, const spmd_sharding *from, const spmd_box *box,
                      jfl_value **out)
{
  int n = 0;
  for (int i = 0; i < from->group->n; i++)
    if (spmd_has(w, from->group, i))
      out[n++] = box ? spmd_cut(w, from->part[i], box) : from->part[i];
  return n;
}

static int reduce_first(const spmd_walk *w, const jf_group *g)
{
  for (int i = 0; i < g->n; i++)
    if (spmd_has(w, g, i)) return i;
  return -1;
}

jfl_value *spmd_local_sum(spmd_walk *w, const spmd_sharding *from)
{
  const int first = reduce_first(w, from->group);
  jfl_value **v = jf_alloc(w->g->arena, (size_t)from->group->n * sizeof *v);
  if (first < 0) return NULL;
  const int n = reduce_cut(w, from, NULL, v);
  return w->g->err ? NULL : spmd_add(w, from->group->member[first].place, v, n);
}

jfl_value *spmd_scale(spmd_walk *w, const spmd_sharding *from, int member, jfl_value *v)
{
  const jfl_shape one = { 1, { 1 } };
  const int place = from->group->member[member].place;
  if (!v || from->d.kind != JFL_MIRRORED) return v;
  if (!jf_is_float(v->dtype)) {
    w->g->err = jf_fail(JFL_EDTYPE, "a mirrored value must be of floats to become one value, the "
                        "mean over its devices, got %s", jfl_dtype_name(v->dtype));
    return NULL;
  }
  jfl_value *by = spmd_at(place, jf_emit_number(w->g, v->dtype, &one, 1.0 / from->group->n));
  return by ? spmd_at(place, JF_EMIT(w->g, multiply, NULL, v, by)) : NULL;
}

/* Gives each member what `make` makes of its device's number; members on one device share it. */
typedef jfl_value *(*reduce_make)(spmd_walk *w, const jfl_value *v, const spmd_sharding *from,
                                  int member);
static spmd_sharding *reduce_each(spmd_walk *w, const jfl_value *v, const spmd_sharding *from,
                                  reduce_make make)
{
  const jf_group *g = from->group;
  spmd_sharding *to = spmd_sharding_new(w, v, g, JF_ON_ALL);
  for (int i = 0; i < g->n && !w->g->err; i++) {
    if (!spmd_has(w, g, i)) continue;
    const int twin = spmd_twin(w, g, i);
    to->part[i] = twin == i ? spmd_scale(w, from, i, make(w, v, from, i)) : to->part[twin];
  }
  return w->g->err ? NULL : to;
}

static jfl_value *reduce_alone(spmd_walk *w, const jfl_value *v, const spmd_sharding *from,
                               int member)
{
  (void)v;
  return spmd_add(w, from->group->member[member].place, from->part, from->group->n);
}

/* ---- in shares ---- */

int spmd_has_host_memory(const spmd_walk *w, const jf_group *g)
{
  for (int i = 0; i < g->n; i++)
    if (spmd_has(w, g, i) &&
        !jf_has_host_memory(w->target->device[g->member[i].place]->kind)) return 0;
  return 1;
}

static int reduce_places(const spmd_walk *w, const jf_group *g)
{
  int n = 0;
  for (int i = 0; i < g->n; i++) n += spmd_has(w, g, i) && spmd_twin(w, g, i) == i;
  return n;
}

/* Each device adds up one share of all parts; then all get all shares. */
static spmd_sharding *reduce_shared(spmd_walk *w, const jfl_value *v, const spmd_sharding *from)
{
  const jf_group *g = from->group;
  const jfl_shape flat = { 1, { jf_numel(&v->shape) } };
  const int n = reduce_places(w, g);
  jfl_value **part = jf_alloc(w->g->arena, (size_t)g->n * sizeof *part);
  jfl_value **share = jf_alloc(w->g->arena, (size_t)n * sizeof *share);
  spmd_sharding whole = { g, from->d, part, NULL };
  for (int i = 0; i < g->n; i++) part[i] = jf_emit_view(w->g, from->part[i], &flat);
  for (int i = 0, k = 0; i < g->n && !w->g->err; i++) {
    if (spmd_twin(w, g, i) != i) continue;
    const spmd_box box = spmd_box_of(&flat, JF_ALONG(0), n, k);
    jfl_value **cut = jf_alloc(w->g->arena, (size_t)g->n * sizeof *cut);
    const int n_cut = reduce_cut(w, &whole, &box, cut);
    if (w->g->err) return NULL;
    share[k] = spmd_add(w, g->member[i].place, cut, n_cut);
    share[k] = spmd_scale(w, from, i, share[k]);
    k++;
  }
  spmd_sharding *to = spmd_sharding_new(w, v, g, JF_ON_ALL);
  for (int i = 0; i < g->n && !w->g->err; i++) {
    const int twin = spmd_twin(w, g, i);
    to->part[i] = to->part[twin];
    if (twin != i) continue;
    jfl_value *all = jf_emit(w->g, &jf_op_concat, &(jf_concat){ 0 }, share, (size_t)n);
    to->part[i] = jf_emit_view(w->g, spmd_at(g->member[i].place, all), &v->shape);
  }
  return w->g->err ? NULL : to;
}

/* ---- sums of which each member has a part ---- */

int spmd_is_ordered(const jf_group *g)
{
  for (int i = 1; i < g->n; i++)
    if (g->member[i].rank < g->member[i - 1].rank) return 0;
  return 1;
}

spmd_sharding *spmd_reduce_parts(spmd_walk *w, const jfl_value *v, const spmd_sharding *from,
                                 jfl_distribution d)
{
  const jf_group *g = from->group;
  spmd_sharding *to = spmd_sharding_new(w, v, g, d);
  jfl_value **cut = jf_alloc(w->g->arena, (size_t)g->n * sizeof *cut);
  for (int j = 0; j < g->n && !w->g->err; j++) {
    if (!spmd_has(w, g, j)) continue;
    const spmd_box box = spmd_box_of(&v->shape, d, g->n, j);
    const int n = reduce_cut(w, from, &box, cut);
    if (w->g->err) return NULL;
    to->part[j] = spmd_scale(w, from, j, spmd_add(w, g->member[j].place, cut, n));
  }
  return w->g->err ? NULL : to;
}

/* What each process gets of a sum that is split among members in the order of their processes: the
   parts of its members together. */
static jf_reduce_scatter reduce_shares(spmd_walk *w, const jfl_value *v, const jf_group *g,
                                       jfl_distribution d)
{
  jf_reduce_scatter a = { .ranks = spmd_ranks(w, g), .axis = d.axis };
  a.sizes = (jf_ints){ a.ranks.n, jf_alloc(w->g->arena, (size_t)a.ranks.n * sizeof *a.sizes.v) };
  for (int j = 0, seat = 0; j < g->n; j++) {
    while (a.ranks.v[seat] != g->member[j].rank) seat++;
    a.sizes.v[seat] += spmd_box_of(&v->shape, d, g->n, j).size.d[d.axis];
    if (spmd_has(w, g, j)) a.member = seat;
  }
  return a;
}

spmd_sharding *spmd_reduce_scatter(spmd_walk *w, const jfl_value *v, const spmd_sharding *from,
                                   jfl_distribution d)
{
  const jf_group *g = from->group;
  const int first = reduce_first(w, g);
  spmd_sharding *to = spmd_sharding_new(w, v, g, d);
  if (first < 0) return to;
  jf_reduce_scatter a = reduce_shares(w, v, g, d);
  /* Devices of other ranks take parts that lie in one piece. */
  const int linked = g->team && jf_axes_at(&v->shape, d.axis).before == 1;
  if (linked) a.team = g->team;
  const int64_t begin = spmd_box_of(&v->shape, d, g->n, first).first[d.axis];
  jfl_value *sum = JF_EMIT(w->g, reduce_scatter, &a, spmd_local_sum(w, from));
  spmd_at(linked ? spmd_net(w, g) : w->target->net, sum);
  for (int j = first; j < g->n && !w->g->err; j++) {
    if (!spmd_has(w, g, j)) continue;
    spmd_box box = spmd_box_of(&v->shape, d, g->n, j);
    box.first[d.axis] -= begin;
    jfl_value *part = spmd_cut(w, sum, &box);
    if (part != sum) spmd_at(g->member[j].place, part);
    to->part[j] = spmd_scale(w, from, j, part);
  }
  return w->g->err ? NULL : to;
}

spmd_sharding *spmd_reduce_here(spmd_walk *w, const jfl_value *v, const spmd_sharding *from)
{
  const jf_group *g = from->group;
  const int places = reduce_places(w, g), few = places <= REDUCE_FEW && spmd_has_host_memory(w,
                                                                                             g);
  if (JF_BYTES_OF(v) < REDUCE_SHARED || places < 2 || few)
    return reduce_each(w, v, from, reduce_alone);
  return reduce_shared(w, v, from);
}
