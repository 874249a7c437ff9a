/* Nodes at places, and boxes cut out of values. */
#include "op/move.h"
#include "op/slice.h"
#include "pass/spmd/spmd.h"

jfl_value *spmd_at(int place, jfl_value *v)
{
  if (!v) return NULL;
  jf_node *n = v->node;
  n->place = place;
  for (int i = 0; i < n->n_out; i++) n->out[i]->place = place;
  return v;
}

spmd_box spmd_box_of(const jfl_shape *whole, jfl_distribution d, int parts, int member)
{
  spmd_box b = { .first = { 0 } };
  const int64_t first = jf_share_of(whole, d, parts, member, &b.size);
  if (d.kind == JFL_SPLIT) b.first[d.axis] = first;
  return b;
}

jfl_value *spmd_cut(spmd_walk *w, jfl_value *v, const spmd_box *box)
{
  jfl_shape first = { .n = box->size.n };
  if (!v || jf_shape_eq(&v->shape, &box->size)) return v;
  for (int i = 0; i < first.n; i++) first.d[i] = box->first[i];
  const jf_slice a = { .begin = jf_ints_from(&first), .size = jf_ints_from(&box->size) };
  return spmd_at(v->place, JF_EMIT(w->g, slice, &a, v));
}

jfl_value *spmd_add(spmd_walk *w, int place, jfl_value *const *v, int n)
{
  jfl_value *sum = v[0];
  for (int i = 1; i < n && !w->g->err; i++)
    sum = spmd_at(place, JF_EMIT(w->g, add, NULL, sum, v[i]));
  return w->g->err ? NULL : sum;
}
