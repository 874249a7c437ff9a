/* Rewriting a graph's list of nodes; passes share this. */
#include "pass/pass.h"


char *jf_still_values(const jfl_graph *g)
{
  if (jf_changes_variables(g)) return NULL;
  char *still = jf_alloc(g->arena, (size_t)g->n_value);
  for (int i = 0; i < g->n_value; i++) still[i] = g->value[i]->origin == JF_VARIABLE;
  for (int i = 0; i < g->n_node; i++) {
    const jf_node *n = g->node[i];
    int all = !(n->op->flags & (JF_RANDOM | JF_TOGETHER));
    for (int k = 0; k < n->n_in; k++) all &= still[n->in[k]->id];
    for (int k = 0; k < n->n_out; k++) still[n->out[k]->id] = (char)all;
  }
  return still;
}

void jf_rewrite_begin(jfl_graph *g, jf_rewrite *r)
{
  *r = (jf_rewrite){ .g = g, .old = g->node, .n_old = g->n_node, .n_value = g->n_value };
  r->now = jf_alloc(g->arena, (size_t)g->n_value * sizeof *r->now);
  r->uses = jf_alloc(g->arena, (size_t)g->n_value * sizeof *r->uses);
  r->reader = jf_alloc(g->arena, (size_t)g->n_value * sizeof *r->reader);
  for (int i = 0; i < g->n_value; i++) r->reader[i] = -1;
  for (int i = 0; i < g->n_node; i++)
    for (int k = 0; k < g->node[i]->n_in; k++) {
      const int id = g->node[i]->in[k]->id;
      r->uses[id]++;
      r->reader[id] = i;
    }
  for (int i = 0; i < g->n_output; i++) r->uses[g->output[i]->id]++;
  for (int i = 0; i < g->n_watched; i++) r->uses[g->watched[i].value->id]++;
  for (int i = 0; i < g->n_training; i++) {
    const jf_training *t = g->training[i];
    for (int k = 0; k < t->n_loss; k++) r->uses[t->loss[k]->id]++;
    if (t->rate) r->uses[t->rate->id]++;
    if (t->own_step) r->uses[t->own_step->id]++;
  }
  g->node = NULL;
  g->n_node = g->cap_node = 0;
}

jf_node *jf_rewrite_next(jf_rewrite *r)
{
  jf_node *n = r->next < r->n_old && !r->g->err ? r->old[r->next++] : NULL;
  jf_serve(r->g, n);
  return n;
}

jfl_value *jf_current(const jf_rewrite *r, const jfl_value *v)
{
  while (v->id < r->n_value && r->now[v->id]) v = r->now[v->id];
  return (jfl_value *)v;
}

/* The value that replaces v or of which v is a view; NULL if v has memory of its own. */
static const jfl_value *rewrite_below(const jf_rewrite *r, const jfl_value *v)
{
  if (v->id < r->n_value && r->now[v->id]) return r->now[v->id];
  return v->origin == JF_RESULT && v->node->op->flags & JF_VIEW ? v->node->in[0] : NULL;
}

/* The value whose memory v will use. */
static const jfl_value *root(const jf_rewrite *r, const jfl_value *v)
{
  for (const jfl_value *next; (next = rewrite_below(r, v));) v = next;
  return v;
}

static void add_use(jf_use *to, jf_use more)
{
  to->results += more.results;
  if (more.last > to->last) to->last = more.last;
}

/* The use of a value. A value that a pass added has none before it replaces another. */
static jf_use use_of(const jf_rewrite *r, const jfl_value *v)
{
  return v->id < r->n_use ? r->use[v->id] : (jf_use){ .last = -1 };
}

/* Adds to the use of v and of all values below it. */
static void add_below(jf_rewrite *r, const jfl_value *v, jf_use more)
{
  for (; v; v = rewrite_below(r, v)) {
    while (r->n_use <= v->id) {
      r->use = jf_grow(r->g->arena, r->use, r->n_use, &r->cap_use, sizeof *r->use);
      r->use[r->n_use++] = (jf_use){ .last = -1 };
    }
    add_use(&r->use[v->id], more);
  }
}

/* Finds the use of all values. It goes from the last node back, so that the use of a view is
   complete before it is added to that of its input. */
static void find_uses(jf_rewrite *r)
{
  r->n_use = r->cap_use = r->n_value;
  r->use = jf_alloc(r->g->arena, (size_t)r->n_value * sizeof *r->use);
  r->update = jf_alloc(r->g->arena, (size_t)r->n_value * sizeof *r->update);
  for (int i = 0; i < r->n_value; i++) {
    r->use[i].last = -1;
    r->update[i] = r->n_old;
  }
  for (int i = 0; i < r->g->n_output; i++) r->use[r->g->output[i]->id].results++;
  for (int i = r->n_old - 1; i >= 0; i--) {
    const jf_node *n = r->old[i];
    for (int k = 0; k < n->n_in; k++) {
      const int id = n->in[k]->id;
      add_use(&r->use[id], (jf_use){ .last = i });
      if (jf_mutates(n, k)) r->update[id] = i;
    }
    if (n->op->flags & JF_VIEW) add_use(&r->use[n->in[0]->id], r->use[n->out[0]->id]);
  }
}

void jf_replace(jf_rewrite *r, const jfl_value *v, jfl_value *by)
{
  const jf_use moved = use_of(r, v);
  if (r->use) {
    add_below(r, rewrite_below(r, v), (jf_use){ -moved.results, -1 });
    add_below(r, by, moved);
  }
  r->now[v->id] = by;
}

int jf_may_replace(jf_rewrite *r, const jfl_value *v, const jfl_value *by)
{
  if (!r->use) find_uses(r);
  const jfl_value *from = root(r, v), *to = root(r, by);
  const jf_use was = use_of(r, from), is = use_of(r, to);
  if (from == to) return 1;
  if (was.results && (to->origin != JF_RESULT || is.results)) return 0;
  return to->origin != JF_VARIABLE || was.last < r->update[to->id];
}

void jf_rewrite_keep(jf_rewrite *r, jf_node *n)
{
  jfl_graph *g = r->g;
  jf_arena_ask(g->arena);
  for (int k = 0; k < n->n_in; k++) n->in[k] = jf_current(r, n->in[k]);
  g->node = jf_grow(g->arena, g->node, g->n_node, &g->cap_node, sizeof *g->node);
  g->node[g->n_node++] = n;
}

void jf_rewrite_as(jf_rewrite *r, const jf_node *n, jfl_value *const *out)
{
  if (r->g->err) return;
  jf_stand_for(out[0]->node, n);
  for (int i = 0; i < n->n_out; i++) jf_replace(r, n->out[i], out[i]);
}

const jf_node *jf_sole_maker(const jf_rewrite *r, const jfl_value *v)
{
  return v->origin == JF_RESULT && r->uses[v->id] == 1 ? v->node : NULL;
}

void jf_rewrite_end(jf_rewrite *r)
{
  for (int i = 0; i < r->g->n_output; i++) r->g->output[i] = jf_current(r, r->g->output[i]);
  for (int i = 0; i < r->g->n_watched; i++)
    r->g->watched[i].value = jf_current(r, r->g->watched[i].value);
  for (int i = 0; i < r->g->n_training; i++) {
    jf_training *t = r->g->training[i];
    for (int k = 0; k < t->n_loss; k++) t->loss[k] = jf_current(r, t->loss[k]);
    if (t->rate) t->rate = jf_current(r, t->rate);
    if (t->own_step) t->own_step = jf_current(r, t->own_step);
  }
}

int jf_runs_along(const jfl_value *v, const jfl_shape *s, int axis)
{
  const int at = axis - (s->n - v->shape.n);
  return at >= 0 && v->shape.d[at] == s->d[axis] && jf_numel(&v->shape) == s->d[axis];
}

int jf_changes_variables(const jfl_graph *g)
{
  for (int i = 0; i < g->n_node; i++)
    if (g->node[i]->op->flags & JF_EFFECT) return 1;
  return 0;
}
