/* Computes a logical node on each member of its group. */
#include "pass/spmd/spmd.h"

/* A node being expanded: its inputs as they are read, and its outputs as they will lie. */
typedef struct expand_job {
  spmd_walk *w;
  const jf_node *n;
  const jf_group *group;
  jf_signature signature;
  spmd_sharding **in, **out;
} expand_job;

/* Places a node where the variables are that it updates. */
static jfl_status expand_place(spmd_walk *w, jf_node *n)
{
  const jfl_value *first = NULL;
  for (int i = 0; i < n->n_in; i++) {
    if (!jf_mutates(n, i)) continue;
    if (first && first->place != n->in[i]->place)
      return jf_fail(JFL_ENOSYS, "%s: '%s' and '%s' are updated together, but live on %s and %s",
                     n->name, first->name, n->in[i]->name, spmd_group_at(w, first->place)->name,
                     spmd_group_at(w, n->in[i]->place)->name);
    first = n->in[i];
  }
  if (first) n->place = first->place;
  return JFL_OK;
}

static jfl_status expand_check(const expand_job *j, const jf_share *s, const jf_node *made)
{
  char a[JF_SHAPE_STR], b[JF_SHAPE_STR];
  for (int i = 0; i < made->n_out; i++)
    if (!jf_shape_eq(&made->out[i]->shape, &s->out[i]))
      return jf_fail(JFL_ESTATE, "'%s': a signature of %s is wrong: part %d of output %d must be "
                     "%s, got %s", j->n->name, j->n->op->name, s->member, i,
                     jf_shape_str(&s->out[i], a), jf_shape_str(&made->out[i]->shape, b));
  return JFL_OK;
}

static const char *expand_name(const expand_job *j, int member)
{
  jfl_graph *g = j->w->g;
  const char *name = jf_sprintf(g->arena, "%s@%d", j->n->name, member);
  return jf_map_get(&g->names, name) ? NULL : name;
}

/* Adds what is known of the whole, so that random bits and messages are those of it. */
static void expand_note(const expand_job *j, const jf_share *s, jf_node *made)
{
  const int place = j->group->member[s->member].place;
  const int mirrored = made->n_out && j->signature.out[0].kind == JFL_MIRRORED;
  jf_node_source *of = &made->source;
  const int read = of->micro_batch;
  *of = j->n->source;
  of->sharing = j->w->g->source.sharing;
  of->logical = jf_logical_name(j->n);
  if (mirrored) of->logical = jf_sprintf(j->w->g->arena, "%s@%d", of->logical, s->member);
  of->micro_batch = j->group->turns > 1 ? 1 + s->member * j->group->turns / j->group->n : read;
  of->first = made->n_out && !mirrored ? jf_share_first(s) : 0;
  made->place = place;
  for (int i = 0; i < made->n_out; i++) made->out[i]->place = place;
}

static jfl_status expand_member(const expand_job *j, int member)
{
  jf_node *made;
  const jf_node *n = j->n;
  jfl_graph *g = j->w->g;
  jfl_value **in = jf_alloc(g->arena, (size_t)n->n_in * sizeof *in);
  const jf_share s = jf_share_make(g->arena, n, &j->signature, j->group->n, member);
  for (int i = 0; i < n->n_in; i++) in[i] = j->in[i]->part[member];
  jfl_status st = jf_graph_node(g, n->op, s.attr, in, (size_t)n->n_in, expand_name(j, member),
                                &made);
  if (st) return jf_fail_node(st, n);
  expand_note(j, &s, made);
  for (int i = 0; i < n->n_out; i++) j->out[i]->part[member] = made->out[i];
  return expand_check(j, &s, made);
}

/* Members on one device that have the same inputs have the same outputs. */
static int expand_is_whole(const expand_job *j)
{
  for (int i = 0; i < j->n->n_in; i++)
    if (j->signature.in[i].kind != JFL_BROADCAST) return 0;
  for (int i = 0; i < j->n->n_out; i++)
    if (j->signature.out[i].kind != JFL_BROADCAST) return 0;
  return 1;
}

static jfl_status expand_members(const expand_job *j)
{
  const int whole = expand_is_whole(j);
  for (int m = 0; m < j->group->n; m++) {
    if (!spmd_has(j->w, j->group, m)) continue;
    const int twin = whole ? spmd_twin(j->w, j->group, m) : m;
    if (twin == m) JF_TRY(expand_member(j, m));
    for (int i = 0; i < j->n->n_out; i++) j->out[i]->part[m] = j->out[i]->part[twin];
  }
  return JFL_OK;
}

/* A node on one device stays as it is but for its inputs. */
static void expand_keep(const expand_job *j)
{
  jf_node *n = (jf_node *)j->n;
  jfl_graph *g = j->w->g;
  for (int m = 0; m < j->group->n; m++) {
    if (!spmd_has(j->w, j->group, m)) continue;
    for (int i = 0; i < n->n_in; i++) n->in[i] = j->in[i]->part[m];
    for (int i = 0; i < n->n_out; i++) {
      j->out[i]->part[m] = n->out[i];
      n->out[i]->place = j->group->member[m].place;
    }
    n->source.micro_batch = jf_micro_batch(n->in, (size_t)n->n_in);
    n->place = j->group->member[m].place;
    g->node = jf_grow(g->arena, g->node, g->n_node, &g->cap_node, sizeof *g->node);
    g->node[g->n_node++] = n;
  }
}

/* Whether the node is on no group, and computed there. */
static int expand_is_single(const expand_job *j)
{
  return !jf_is_group(j->n->place) && j->group == spmd_group_at(j->w, j->n->place);
}

static jfl_status expand_node(expand_job *j)
{
  const jf_node *n = j->n;
  spmd_walk *w = j->w;
  for (int i = 0; i < n->n_in; i++)
    if (!(j->in[i] = spmd_bring(w, n->in[i], j->group, j->signature.in[i]))) return w->g->err;
  for (int i = 0; i < n->n_out; i++)
    j->out[i] = spmd_sharding_new(w, n->out[i], j->group, j->signature.out[i]);
  if (!expand_is_single(j)) return expand_members(j);
  expand_keep(j);
  return JFL_OK;
}

static expand_job expand_begin(spmd_walk *w, const jf_node *n, const jf_group *g)
{
  jf_arena *a = w->g->arena;
  w->g->source = jf_source_for(n);
  return (expand_job){ .w = w, .n = n, .group = g,
                       .in = jf_alloc(a, (size_t)n->n_in * sizeof(spmd_sharding *)),
                       .out = jf_alloc(a, (size_t)n->n_out * sizeof(spmd_sharding *)) };
}

/* Converts outputs at once as readers say that want them otherwise, so that what others have to
   send comes while work goes on. Devices that read each other's memory would only wait for each
   other; they had better do so once, where the values are read. */
static void expand_convert(const expand_job *j)
{
  for (int i = 0; i < j->n->n_out; i++) {
    const jf_node *reader = j->w->cast[j->n->out[i]->id];
    if (!reader) continue;
    const jf_group *g = spmd_group_at(j->w, reader->place);
    if (!spmd_spans_ranks(g) && spmd_has_host_memory(j->w, g)) continue;
    const jfl_distribution d = reader->op->distribution(reader->attr);
    const jf_signature *s = spmd_giving(j->w, reader, 0, g->n, d);
    if (!s || (s->in[0].kind == JFL_BROADCAST && spmd_wait(j->w, j->n->out[i], g))) continue;
    spmd_bring(j->w, j->n->out[i], g, s->in[0]);
  }
}

jfl_status spmd_node(spmd_walk *w, jf_node *n)
{
  if (n->n_out && spmd_is_source(n->out[0])) return JFL_OK;      /* made where it is read */
  JF_TRY(expand_place(w, n));
  const jf_group *g = spmd_group_at(w, n->place);
  expand_job j = expand_begin(w, n, g);
  const char **sharing = &w->g->source.sharing;
  JF_TRY(jf_fail_node(spmd_choose(w, n, g, &j.signature, sharing), n));
  JF_TRY(expand_node(&j));
  expand_convert(&j);
  return w->g->err;
}

jfl_status spmd_source(spmd_walk *w, const jfl_value *v, const jf_group *g,
                         jfl_distribution d)
{
  const jf_node *n = v->node;
  if (n->op->flags & JF_STORED) g = spmd_group_at(w, JF_HOST_PLACE);
  const jf_signature *s = spmd_giving(w, n, v->index, g->n, d);
  if (!s) s = spmd_giving(w, n, v->index, g->n, d = JF_ON_ALL);
  if (spmd_sharding_find(w, v, g, d)) return JFL_OK;
  expand_job j = expand_begin(w, n, g);
  j.signature = *s;
  return expand_node(&j);
}
