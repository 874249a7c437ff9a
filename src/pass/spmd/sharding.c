/* Groups, and how logical values lie on them. */
#include "pass/spmd/spmd.h"

const jf_group *spmd_group_at(spmd_walk *w, int place)
{
  const jf_target *t = w->target;
  if (jf_is_group(place)) return t->group[place - JF_GROUPS];
  jf_group **g = &w->plain[place];
  if (*g) return *g;
  *g = jf_alloc(w->g->arena, sizeof **g);
  **g = (jf_group){ .name = t->device[place]->name, .kind = t->device[place]->kind,
                    .n = w->n_rank };
  (*g)->member = jf_alloc(w->g->arena, (size_t)w->n_rank * sizeof *(*g)->member);
  for (int i = 0; i < w->n_rank; i++)
    (*g)->member[i] = (jf_group_member){ i, i == t->rank ? place : -1 };
  return *g;
}

int spmd_has(const spmd_walk *w, const jf_group *g, int member)
{
  return g->member[member].rank == w->target->rank;
}

int spmd_net(const spmd_walk *w, const jf_group *g)
{
  return g->team ? g->net : w->target->net;
}

int spmd_twin(const spmd_walk *w, const jf_group *g, int member)
{
  for (int i = 0; i < member; i++)
    if (spmd_has(w, g, i) && g->member[i].place == g->member[member].place) return i;
  return member;
}

spmd_sharding *spmd_sharding_find(const spmd_walk *w, const jfl_value *v, const jf_group *g,
                                  jfl_distribution d)
{
  for (spmd_sharding *l = w->sharding[v->id]; l; l = l->next)
    if (l->group == g && jf_distribution_eq(l->d, d)) return l;
  return NULL;
}

spmd_sharding *spmd_sharding_new(spmd_walk *w, const jfl_value *v, const jf_group *g,
                                 jfl_distribution d)
{
  spmd_sharding *l = jf_alloc(w->g->arena, sizeof *l), **end = &w->sharding[v->id];
  *l = (spmd_sharding){ g, d, jf_alloc(w->g->arena, (size_t)g->n * sizeof *l->part), NULL };
  while (*end) end = &(*end)->next;
  return *end = l;
}

int spmd_is_source(const jfl_value *v)
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

jfl_distribution spmd_made(const spmd_walk *w, const jfl_value *v, const jf_group *g)
{
  if (v->origin == JF_INPUT) return lie_input(v, g);
  return w->sharding[v->id] ? w->sharding[v->id]->d : (jfl_distribution){ JFL_AUTO, 0 };
}
