/* Brings every value to the place where it is read: each node, except for transfers, reads values
   of its own place. Inputs and results of the job are at the host's place. */
#include "op/op.h"
#include "pass/pass.h"

#include <string.h>

typedef struct place_walk {
  jfl_graph *g;
  const jf_target *target;
  jf_rewrite r;
  jfl_value **copy;            /* copy[id * n_device + place]: the value at that place, or NULL */
} place_walk;

static jfl_value *place_bring(place_walk *w, jfl_value *v, int to);

/* Emits a copy at a place to which the device of v can copy. */
static jfl_value *place_transfer(place_walk *w, jfl_value *v, int to)
{
  jf_node *n;
  jfl_graph *g = w->g;
  if (g->err || (g->err = jf_graph_node(g, &jf_op_transfer, NULL, &v, 1, NULL, &n))) return NULL;
  n->place = n->out[0]->place = to;
  return n->out[0];
}

/* A node without inputs that gives the same everywhere is repeated at the other place instead of
   copying its result. */
static jfl_value *place_again(place_walk *w, const jf_node *n, int output, int to)
{
  jf_node *twin;
  jfl_graph *g = w->g;
  if (g->err || (g->err = jf_graph_node(g, n->op, n->attr, NULL, 0, NULL, &twin))) return NULL;
  twin->place = to;
  for (int i = 0; i < twin->n_out; i++) twin->out[i]->place = to;
  return twin->out[output];
}

/* Whether one of the two devices can copy to the other without the host. */
static int place_has_way(const place_walk *w, int from, int to)
{
  const jf_kind *a = w->target->device[from]->kind, *b = w->target->device[to]->kind;
  return a->host || b->host || jf_can_move(a, b);
}

static jfl_value *place_make(place_walk *w, jfl_value *v, int to)
{
  const jf_node *n = v->node;
  if (n && !n->n_in && !(n->op->flags & (JF_RANDOM | JF_EFFECT | JF_STORED | JF_TOGETHER)))
    return place_again(w, n, v->index, to);
  if (!place_has_way(w, v->place, to)) v = place_bring(w, v, JF_HOST_PLACE);
  return v ? place_transfer(w, v, to) : NULL;
}

/* The value v at that place; it is brought there the first time. */
static jfl_value *place_bring(place_walk *w, jfl_value *v, int to)
{
  if (v->place == to || v->id >= w->r.n_value) return v;
  jfl_value **there = &w->copy[v->id * w->target->n_device + to];
  if (!*there) *there = place_make(w, v, to);
  return *there;
}

/* Places an update where its variable is. */
static jfl_status place_update(const place_walk *w, jf_node *n)
{
  const jfl_value *first = NULL;
  for (int k = 0; k < n->n_in; k++) {
    if (!jf_mutates(n, k)) continue;
    if (first && first->place != n->in[k]->place)
      return jf_fail(JFL_ENOSYS, "%s: '%s' and '%s' are updated together, but live on %s and %s",
                     n->name, first->name, n->in[k]->name, w->target->device[first->place]->name,
                     w->target->device[n->in[k]->place]->name);
    first = n->in[k];
  }
  if (!first) return JFL_OK;
  n->place = first->place;
  for (int k = 0; k < n->n_out; k++) n->out[k]->place = first->place;
  return JFL_OK;
}

static jfl_status place_visit(place_walk *w, jf_node *n)
{
  JF_TRY(place_update(w, n));
  for (int k = 0; k < n->n_in && !w->g->err; k++) n->in[k] = place_bring(w, n->in[k], n->place);
  if (!w->g->err) jf_rewrite_keep(&w->r, n);
  return w->g->err;
}

/* Whether all values and nodes are in one place. */
static int place_is_single(const jfl_graph *g)
{
  for (int i = 0; i < g->n_value; i++)
    if (g->value[i]->place != JF_HOST_PLACE) return 0;
  for (int i = 0; i < g->n_node; i++)
    if (g->node[i]->place != JF_HOST_PLACE) return 0;
  return 1;
}

int jf_uses_groups(const jfl_graph *g)
{
  for (int i = 0; i < g->n_value; i++)
    if (jf_is_group(g->value[i]->place)) return 1;
  for (int i = 0; i < g->n_node; i++)
    if (jf_is_group(g->node[i]->place)) return 1;
  return 0;
}

/* What is on a group has been replaced by its parts before. */
static jfl_status place_check(const jfl_graph *g)
{
  for (int i = 0; i < g->n_node; i++)
    if (jf_is_group(g->node[i]->place))
      return jf_fail(JFL_ENOSYS, "%s: it is on several devices, and nothing says how it is split",
                     g->node[i]->name);
  for (int i = 0; i < g->n_value; i++)
    if (jf_is_group(g->value[i]->place))
      return jf_fail(JFL_ENOSYS, "%s: it is on several devices, and nothing says how it is split",
                     g->value[i]->name);
  return JFL_OK;
}

jfl_status jf_pass_place(jfl_graph *g, const jf_target *target)
{
  JF_TRY(place_check(g));
  place_walk w = { .g = g, .target = target };
  size_t n = (size_t)g->n_value * (size_t)target->n_device;
  if (!place_is_single(g)) {
    w.copy = jf_alloc(g->arena, n * sizeof *w.copy);
    jf_rewrite_begin(g, &w.r);
    for (jf_node *node; (node = jf_rewrite_next(&w.r));) JF_TRY(place_visit(&w, node));
    for (int i = 0; i < g->n_output && !g->err; i++) {
      jf_serve(g, g->output[i]->node);
      g->output[i] = place_bring(&w, g->output[i], JF_HOST_PLACE);
    }
    jf_serve(g, NULL);
  }
  g->placing = JF_PLACED;
  return g->err;
}

void jf_keep_places(jfl_graph *g, const jf_target *t)
{
  for (int i = 0; i < g->n_value && t->variable_place; i++) {
    jfl_value *v = g->value[i];
    jfl_distribution d;
    if (v->origin != JF_VARIABLE) continue;
    const int known = t->variable_place(t->session, v->variable, &d);
    if (known == JF_DEFAULT_PLACE) continue;
    v->place = known;
    v->distribution = d;
  }
}

/* Settles the place of each value and node: variables are where and as the session keeps them,
   inputs and arrays are on the host, but for mirrored inputs, and everything without a place goes
   to that of the target. What one device has of its own is just a value there. */
jfl_status jf_pass_resolve(jfl_graph *g, const jf_target *t)
{
  const int place = t->place;
  jf_keep_places(g, t);
  for (int i = 0; i < g->n_value; i++) {
    jfl_value *v = g->value[i];
    if (v->place == JF_DEFAULT_PLACE) v->place = place;
    const int mirrored = v->distribution.kind == JFL_MIRRORED;
    if (mirrored && !jf_is_group(v->place)) v->distribution.kind = JFL_AUTO;
    if (v->origin == JF_INPUT && v->distribution.kind != JFL_MIRRORED) v->place = JF_HOST_PLACE;
  }
  for (int i = 0; i < g->n_node; i++) {
    jf_node *n = g->node[i];
    if (n->place == JF_DEFAULT_PLACE) n->place = place;
    if (!(n->op->flags & JF_STORED)) continue;
    n->place = JF_HOST_PLACE;
    for (int k = 0; k < n->n_out; k++) n->out[k]->place = JF_HOST_PLACE;
  }
  g->place = place;
  g->placing = JF_RESOLVED;
  return JFL_OK;
}

/* Settles with other ranks how they run the job together. */
jfl_status jf_pass_join(jfl_graph *g, const jf_target *t)
{
  (void)g;
  return t->join ? t->join(t->host) : JFL_OK;
}
