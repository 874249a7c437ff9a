/* Groups, and how logical values lie on them. */
#include "pass/spread/spread.h"

const jf_group *spread_group_at(spread_walk *w, int place)
{
  const jf_target *t = w->target;
  if (jf_is_group(place)) return t->group[place - JF_GROUPS];
  jf_group **g = &w->plain[place];
  if (*g) return *g;
  *g = jf_alloc(w->g->arena, sizeof **g);
  **g = (jf_group){ .name = t->device[place]->name, .n = w->n_rank };
  (*g)->member = jf_alloc(w->g->arena, (size_t)w->n_rank * sizeof *(*g)->member);
  for (int i = 0; i < w->n_rank; i++)
    (*g)->member[i] = (jf_group_member){ i, i == t->rank ? place : -1 };
  return *g;
}

int spread_has(const spread_walk *w, const jf_group *g, int member)
{
  return g->member[member].rank == w->target->rank;
}

int spread_net(const spread_walk *w, const jf_group *g)
{
  return g->team ? g->net : w->target->net;
}

int spread_twin(const spread_walk *w, const jf_group *g, int member)
{
  for (int i = 0; i < member; i++)
    if (spread_has(w, g, i) && g->member[i].place == g->member[member].place) return i;
  return member;
}

spread_lie *spread_lie_find(const spread_walk *w, const jfl_value *v, const jf_group *g,
                            jfl_distribution d)
{
  for (spread_lie *l = w->lie[v->id]; l; l = l->next)
    if (l->group == g && jf_distribution_eq(l->d, d)) return l;
  return NULL;
}

spread_lie *spread_lie_new(spread_walk *w, const jfl_value *v, const jf_group *g,
                           jfl_distribution d)
{
  spread_lie *l = jf_alloc(w->g->arena, sizeof *l), **end = &w->lie[v->id];
  *l = (spread_lie){ g, d, jf_alloc(w->g->arena, (size_t)g->n * sizeof *l->part), NULL };
  while (*end) end = &(*end)->next;
  return *end = l;
}

int spread_is_source(const jfl_value *v)
{
  return v->origin == JF_RESULT && !v->node->n_in && !(v->node->op->flags & JF_EFFECT);
}

/* Inputs are split along their first axis, where the job does not say otherwise. */
static jfl_distribution lie_input(const jfl_value *v, const jf_group *g)
{
  const jfl_distribution d = v->distribution.kind == JFL_AUTO ? JF_ALONG(0) : v->distribution;
  if (d.kind == JFL_SPLIT && (d.axis >= v->shape.n || v->shape.d[d.axis] < g->n)) return JF_ON_ALL;
  return d;
}

jfl_distribution spread_made(const spread_walk *w, const jfl_value *v, const jf_group *g)
{
  if (v->origin == JF_INPUT) return lie_input(v, g);
  return w->lie[v->id] ? w->lie[v->id]->d : (jfl_distribution){ JFL_AUTO, 0 };
}

size_t spread_bytes(const jfl_value *v)
{
  return (size_t)jf_numel(&v->shape) * jfl_dtype_size(v->dtype);
}
