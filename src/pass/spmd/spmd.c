/* Replaces values and nodes of groups by what each device of this process has and does, and brings
   values from the way in which they lie to that in which they are read. */
#include "pass/spmd/spmd.h"

/* Adds a value to the graph that is a part of v. */
static jfl_value *spmd_part(spmd_walk *w, const jfl_value *v, const jfl_shape *shape,
                            int member)
{
  jfl_graph *g = w->g;
  jfl_value *p = jf_alloc(g->arena, sizeof *p);
  *p = *v;
  p->id = g->n_value;
  p->shape = *shape;
  p->name = jf_sprintf(g->arena, "%s@%d", v->name, member);
  g->value = jf_grow(g->arena, g->value, g->n_value, &g->cap_value, sizeof *g->value);
  return g->value[g->n_value++] = p;
}

/* ---- inputs ---- */

/* One input becomes one of each device here. */
static void spmd_mirrored_input(spmd_walk *w, jfl_value *v)
{
  const jf_group *g = spmd_group_at(w, v->place);
  spmd_sharding *l = spmd_sharding_new(w, v, g, v->distribution);
  for (int i = 0; i < g->n; i++) {
    if (!spmd_has(w, g, i)) continue;
    l->part[i] = spmd_part(w, v, &v->shape, i);
    l->part[i]->place = JF_HOST_PLACE;
  }
}

/* The host of the first process, whose arrays count. */
static const jf_group *spmd_first_host(spmd_walk *w)
{
  const jf_group *hosts = spmd_group_at(w, JF_HOST_PLACE);
  jf_group *g = jf_alloc(w->g->arena, sizeof *g);
  *g = (jf_group){ .name = hosts->name, .kind = hosts->kind, .n = 1, .member = hosts->member };
  return g;
}

/* The array that each process gives: one that counts or not, all of it, or its part. */
static jfl_status spmd_take_input(spmd_walk *w, jfl_value *v, const jf_group *first)
{
  const jf_group *hosts = spmd_group_at(w, JF_HOST_PLACE);
  const jfl_distribution d = v->distribution;
  jfl_shape shape = v->shape;
  if (d.kind == JFL_MIRRORED) return spmd_mirrored_input(w, v), JFL_OK;
  if (w->n_rank > 1 && d.kind == JFL_SPLIT) {
    if (v->shape.d[d.axis] < w->n_rank)
      return jf_fail(JFL_ESHAPE, "input '%s': axis %d must have an element for each of %d "
                     "processes, got %lld", v->name, d.axis, w->n_rank,
                     (long long)v->shape.d[d.axis]);
    jf_share_of(&v->shape, d, w->n_rank, w->target->rank, &shape);
    spmd_sharding_new(w, v, hosts, d)->part[w->target->rank] =
      spmd_part(w, v, &shape, w->target->rank);
    return JFL_OK;
  }
  const int whole = w->n_rank == 1 || d.kind == JFL_BROADCAST;
  const jf_group *g = whole ? hosts : first;
  spmd_sharding *l = spmd_sharding_new(w, v, g, JF_ON_ALL);
  if (whole || w->target->rank == 0) l->part[w->target->rank] = v;
  return JFL_OK;
}

/* Lists the inputs as there are now: of each what this process gives, or if nothing of it counts
   the array all the same. */
static void spmd_list_inputs(spmd_walk *w)
{
  jfl_graph *g = w->g;
  jfl_value **old = g->input;
  const int n = g->n_input;
  g->input = NULL;
  g->n_input = g->cap_input = 0;
  for (int i = 0; i < n; i++) {
    const spmd_sharding *l = w->sharding[old[i]->id];
    const int mirrored = l->d.kind == JFL_MIRRORED;
    for (int k = 0, any = 0; k < l->group->n || !any; k++) {
      jfl_value *v = k < l->group->n ? l->part[k] : mirrored ? NULL : old[i];
      any |= v != NULL || k >= l->group->n;
      if (!v) continue;
      v->index = g->n_input;
      g->input = jf_grow(g->arena, g->input, g->n_input, &g->cap_input, sizeof *g->input);
      g->input[g->n_input++] = v;
    }
  }
}

/* ---- variables ---- */

static void spmd_piece(spmd_walk *w, jfl_value *v, spmd_sharding *l, int member)
{
  jfl_shape shape;
  jf_shard *p = jf_alloc(w->g->arena, sizeof *p);
  jf_share_of(&v->shape, l->d, l->group->n, member, &shape);
  *p = (jf_shard){ l->d, v->place, member };
  l->part[member] = spmd_part(w, v, &shape, member);
  l->part[member]->shard = p;
  l->part[member]->place = l->group->member[member].place;
}

static jfl_status spmd_variable(spmd_walk *w, jfl_value *v)
{
  jfl_graph *g = w->g;
  const jf_group *group = spmd_group_at(w, v->place);
  if (v->distribution.kind != JFL_SPLIT || !jf_is_group(v->place)) v->distribution = JF_ON_ALL;
  const jfl_distribution d = v->distribution;
  if (d.kind == JFL_SPLIT && v->shape.d[d.axis] < group->n)
    return jf_fail(JFL_ESHAPE, "variable '%s': axis %d must have an element for each of the %d "
                   "devices of %s, got %lld", v->name, d.axis, group->n, group->name,
                   (long long)v->shape.d[d.axis]);
  spmd_sharding *l = spmd_sharding_new(w, v, group, d);
  if (!jf_is_group(v->place)) return l->part[w->target->rank] = v, JFL_OK;
  for (int i = 0; i < group->n; i++) {
    if (!spmd_has(w, group, i)) continue;
    const int twin = d.kind == JFL_BROADCAST ? spmd_twin(w, group, i) : i;
    if (twin == i) spmd_piece(w, v, l, i);
    else l->part[i] = l->part[twin];
  }
  g->whole[g->n_whole++] = v;
  return JFL_OK;
}

static jfl_status spmd_variables(spmd_walk *w)
{
  w->g->whole = jf_alloc(w->g->arena, (size_t)w->n_value * sizeof *w->g->whole);
  for (int i = 0; i < w->n_value; i++)
    if (w->g->value[i]->origin == JF_VARIABLE) JF_TRY(spmd_variable(w, w->g->value[i]));
  return JFL_OK;
}

/* ---- results ---- */

/* Every host gets a result, or of a mirrored one a result of each of its devices. */
static jfl_status spmd_outputs(spmd_walk *w)
{
  jfl_graph *g = w->g;
  jfl_value **old = g->output;
  const int n = g->n_output;
  const jf_group *hosts = spmd_group_at(w, JF_HOST_PLACE);
  g->output = NULL;
  g->n_output = g->cap_output = 0;
  for (int i = 0; i < n; i++) {
    const spmd_sharding *l = w->sharding[old[i]->id];
    if (old[i]->node) g->source = jf_source_for(old[i]->node);
    if (!l || l->d.kind != JFL_MIRRORED) {
      l = spmd_bring(w, old[i], hosts, JF_ON_ALL);
      if (l) jf_graph_output(g, l->part[w->target->rank]);
    } else {
      for (int k = 0; k < l->group->n; k++)
        if (l->part[k]) jf_graph_output(g, l->part[k]);
    }
    if (g->err) return g->err;
  }
  return JFL_OK;
}

/* ---- the graph ---- */

/* Keeps the values that are still in the graph, and gives them new numbers. */
static void spmd_renumber(spmd_walk *w)
{
  jfl_graph *g = w->g;
  jfl_value **old = g->value;
  const int n = g->n_value;
  char *used = jf_alloc(g->arena, (size_t)n);
  for (int i = 0; i < g->n_input; i++) used[g->input[i]->id] = 1;
  for (int i = 0; i < g->n_node; i++)
    for (int k = 0; k < g->node[i]->n_out; k++) used[g->node[i]->out[k]->id] = 1;
  for (int i = 0; i < n; i++)
    if (old[i]->origin == JF_VARIABLE && !jf_is_group(old[i]->place)) used[i] = 1;
  g->n_value = 0;
  for (int i = 0; i < n; i++) {
    if (!used[i]) continue;
    old[i]->id = g->n_value;
    g->value[g->n_value++] = old[i];
  }
}

/* Later passes read only values that are in the graph. */
static void spmd_forget(jfl_graph *g)
{
  for (int i = 0; i < g->n_training; i++) {
    g->training[i]->n_loss = 0;
    g->training[i]->rate = g->training[i]->own_step = NULL;
  }
}

/* Finds the readers that say how what they read has to lie. */
static void spmd_find_casts(spmd_walk *w)
{
  for (int i = 0; i < w->n_old; i++) {
    const jf_node *n = w->old[i];
    if (!n->op->distribution || n->op->distribution(n->attr).kind == JFL_AUTO) continue;
    if (!w->cast[n->in[0]->id]) w->cast[n->in[0]->id] = n;
  }
}

static spmd_walk spmd_begin(jfl_graph *g, const jf_target *t)
{
  jf_arena *a = g->arena;
  const size_t n = (size_t)g->n_value;
  spmd_walk w = { .g = g, .target = t, .n_rank = t->n_rank ? t->n_rank : 1,
                    .old = g->node, .n_old = g->n_node, .n_value = g->n_value,
                    .make = spmd_source };
  w.sharding = jf_alloc(a, n * sizeof *w.sharding);
  w.cast = jf_alloc(a, n * sizeof *w.cast);
  w.plain = jf_alloc(a, (size_t)t->n_device * sizeof *w.plain);
  g->node = NULL;
  g->n_node = g->cap_node = 0;
  return w;
}

/* The device on which what no other node decides is added from now on. */
static int spmd_home(spmd_walk *w)
{
  const jf_group *g = spmd_group_at(w, w->g->place);
  for (int i = 0; i < g->n; i++)
    if (spmd_has(w, g, i)) return g->member[i].place;
  return JF_HOST_PLACE;
}

jfl_status jf_pass_spmd(jfl_graph *g, const jf_target *target)
{
  if (!jf_uses_groups(g) && !g->shared) return JFL_OK;
  const jf_node_source none = g->source;
  spmd_walk w = spmd_begin(g, target);
  spmd_find_casts(&w);
  const jf_group *first = spmd_first_host(&w);
  for (int i = 0; i < w.g->n_input; i++) JF_TRY(spmd_take_input(&w, w.g->input[i], first));
  JF_TRY(spmd_variables(&w));
  for (int i = 0; i < w.n_old && !g->err; i++) JF_TRY(spmd_node(&w, w.old[i]));
  g->source = none;
  if (!g->err) spmd_make_sums(&w);
  if (!g->err) JF_TRY(spmd_outputs(&w));
  if (g->err) return g->err;
  spmd_list_inputs(&w);
  spmd_renumber(&w);
  spmd_forget(g);
  g->source = none;
  g->place = spmd_home(&w);
  return JFL_OK;
}
