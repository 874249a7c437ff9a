/* Public entries that compile jobs and look at plans. */
#include "api/api.h"
#include "pass/pass.h"
#include "world/world.h"

#include <stdio.h>

/* Whether a graph changes variables by itself: what does so stands last. */
static int api_job_acts(const jfl_graph *g)
{
  return g->n_node > 0 && g->node[g->n_node - 1]->op->flags & JF_EFFECT;
}

static jfl_status api_job_check(const jfl_job *j, const jfl_graph *g)
{
  if (g->err) return jf_fail(g->err, "describing this job failed before");
  if (g->closed) return jf_fail(JFL_ESTATE, "this graph is compiled already");
  if (g->session && g->session != j->session->id)
    return jf_fail(JFL_EINVAL, "the graph and the job must be of one session; jfl_graph_place "
                   "named another");
  if (g->mode != j->mode)
    return jf_fail(JFL_EINVAL, "the graph and the job must be of one type, train or predict");
  if (g->mode == JFL_TRAIN && !g->n_training && !api_job_acts(g))
    return jf_fail(JFL_EINVAL, "a train job must minimize a loss, got none");
  return JFL_OK;
}

static const jf_packing *api_job_packing_in(const jfl_session *s, const jfl_value *want)
{
  const jfl_variable_spec *spec = want->variable;
  jf_var *v = jf_session_var(s, spec->name);
  if (!v || v->spec.dtype != spec->dtype || !jf_shape_eq(&v->spec.shape, &spec->shape)) return NULL;
  const jf_var_piece *p =
      jf_var_piece_of(v, want->place, want->piece ? want->piece->member : 0);
  return p ? &p->packing : NULL;
}

static int api_job_place_in(const jfl_session *s, const jfl_variable_spec *want,
                            jfl_distribution *d)
{
  const jf_var *v = jf_session_var(s, want->name);
  if (!v) return JF_DEFAULT_PLACE;
  *d = v->distribution;
  return v->place;
}

/* Keeps the graph's text as the body described it, which the passes change. */
static jfl_status api_job_note(jfl_graph *g)
{
  char *text = NULL;
  JF_TRY(jfl_graph_text(g, &text));
  g->traced = jf_name_copy(text);      /* as long as it is, without room for more */
  jf_free(text);
  return g->traced ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory while printing");
}

/* Whether other ranks take part: something is on a group, or an input comes from rank 0. */
static int api_job_is_shared(const jfl_graph *g)
{
  if (jf_world_size() == 1) return 0;
  if (jf_uses_groups(g)) return 1;
  for (int i = 0; i < g->n_input; i++)
    if (g->input[i]->distribution.kind == JFL_AUTO) return 1;
  return 0;
}

/* A hash of what all ranks must compile alike: the text, and what that does not tell. Not 0. */
static uint64_t api_job_hash(const jfl_graph *g)
{
  uint64_t h = jf_hash_str(1, g->traced);
  for (int i = 0; i < g->n_value; i++)
    h = jf_hash(h, &g->value[i]->distribution, sizeof g->value[i]->distribution);
  h = jf_hash(h, &g->turns, sizeof g->turns);
  return jf_hash(h, &g->shard, sizeof g->shard) | 1;
}

/* All ranks compile it now, from the same text, and draw from rank 0's seed. Queued runs, which
   they agree on, too, come first. */
static jfl_status api_job_agree(const jfl_job *j, jfl_graph *g)
{
  char doing[160];
  if (!api_job_is_shared(g)) return JFL_OK;
  const uint64_t hash = api_job_hash(g);
  snprintf(doing, sizeof doing, "compile job '%.120s'", g->name);
  jf_session_acquire(j->session);
  jfl_status s = jf_session_agree_on(j->session, doing, jf_hash_str(hash, g->name));
  if (!s) s = jf_hand_out(&j->session->seed, sizeof j->session->seed);
  jf_session_release(j->session);
  if (!s) g->shared = hash;
  return s;
}

/* The group with all members of a place so many times. */
static jfl_status api_job_repeated(jfl_session *s, int place, int turns, int *out)
{
  jf_group_member one = { jf_world_rank(), place }, *all;
  const jf_group *of = jf_is_group(place) ? s->group[place - JF_GROUPS] : NULL;
  const int n = of ? of->n : 1;
  char name[160];
  snprintf(name, sizeof name, "%d times %.120s", turns,
           of ? of->name : s->site[place]->device->name);
  if (!(all = jf_new((size_t)n * (size_t)turns * sizeof *all)))
    return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; i < n * turns; i++) all[i] = of ? of->member[i % n] : one;
  const jfl_status st = jf_session_group_of(s, name, all, n * turns, out);
  jf_free(all);
  if (!st) s->group[*out - JF_GROUPS]->turns = turns;
  return st;
}

static jfl_status api_job_repeat(jf_node *n, int place)
{
  n->place = place;
  for (int k = 0; k < n->n_out; k++) {
    if (n->out[k]->distribution.kind == JFL_MIRRORED)
      return jf_fail(JFL_ENOSYS, "'%s' is mirrored, and only batches of the consistent view are "
                     "cut into micro-batches", n->out[k]->name);
    n->out[k]->place = place;
  }
  return JFL_OK;
}

/* What the body computes is computed for one part of the batch after another. */
static jfl_status api_job_turns(jfl_session *s, jfl_graph *g)
{
  const int n_site = s->n_site;
  int *to = jf_alloc(g->arena, (size_t)(n_site + s->n_group) * sizeof *to);
  for (int i = 0; i < g->n_node && g->turns > 1; i++) {
    jf_node *n = g->node[i];
    const int is_group = jf_is_group(n->place);
    int *known = &to[is_group ? n_site + n->place - JF_GROUPS : n->place];
    if (n->op->flags & (JF_EFFECT | JF_STORED) || (!is_group && jf_world_size() > 1)) continue;
    if (!*known) JF_TRY(api_job_repeated(s, n->place, g->turns, known));
    JF_TRY(api_job_repeat(n, *known));
  }
  return JFL_OK;
}

/* Settles how the ranks of each group exchange data on which something of the job is. */
static jfl_status api_job_link(jfl_session *s, const jfl_graph *g)
{
  for (int i = 0; i < g->n_value + g->n_node && g->shared; i++) {
    const int place = i < g->n_value ? g->value[i]->place : g->node[i - g->n_value]->place;
    if (jf_is_group(place)) JF_TRY(jf_session_link(s, s->group[place - JF_GROUPS]));
  }
  return JFL_OK;
}

/* Lists what the session has now. */
static void api_job_target(const jfl_session *s, jfl_graph *g, jf_target *t)
{
  jf_device **device = jf_alloc(g->arena, (size_t)s->n_site * sizeof *device);
  for (int i = 0; i < s->n_site; i++) device[i] = s->site[i]->device;
  t->device = device;
  t->n_device = s->n_site;
  t->group = s->group;
  t->n_group = s->n_group;
}

/* A graph on its way to the plan of a job. */
typedef struct building { const jfl_job *job; jfl_graph *graph; jfl_plan *plan; } building;

/* The plan is set as soon as there is something to release. */
static jfl_status api_job_build(void *ctx)
{
  building *b = ctx;
  const jfl_job *j = b->job;
  jfl_graph *g = b->graph;
  const jf_settings *set = &j->session->settings;
  const int ranks = jf_world_size();
  jf_site *net = NULL;
  if (ranks > 1) JF_TRY(jf_session_site(j->session, "net:0", &net));
  JF_ENTER(g);
  jf_target t = { .rank = jf_world_rank(),
                  .n_rank = ranks > 1 ? ranks : 0,
                  .net = net ? net->place : 0,
                  .reference = set->kernels == JF_REFERENCE,
                  .off = set->passes_off | (set->check_finite ? jf_passes_merging() : 0),
                  .variable = api_job_packing_in,
                  .variable_place = api_job_place_in,
                  .session = j->session };
  api_job_target(j->session, g, &t);
  jf_note_shards(g);
  jf_resolve_places(g, set->place, &t);
  JF_TRY(api_job_turns(j->session, g));
  JF_TRY(api_job_agree(j, g));
  JF_TRY(api_job_link(j->session, g));
  api_job_target(j->session, g, &t);
  JF_TRY(jf_run_passes(g, &t));
  int flags = set->kernels | set->tf32 |
              (jf_pass_is_off("inplace", set->passes_off) ? JF_SEPARATE : 0);
  jf_plan_options o = { t.device, t.n_device, flags, set->threads, set->cpu_devices };
  return jf_plan_new(g, &o, &b->plan);
}

/* A job that one rank cannot compile is compiled by none. */
static jfl_status api_job_settle(const jfl_job *j, jfl_status s)
{
  jf_session_acquire(j->session);
  s = jf_session_agree_status(j->session, s);
  jf_session_release(j->session);
  return jf_fail_in(s, JFL_ERROR_JOB, j->name);
}

jfl_status jfl_job_compile(jfl_job *j, jfl_graph *g, jfl_plan **out)
{
  building b = { j, g, NULL };
  JF_NEED(JOB, j);
  JF_NEED(GRAPH, g);
  JF_NEED_POINTER(out);
  JF_TRY(jf_fail_in(api_job_check(j, g), JFL_ERROR_JOB, g->name));
  g->closed = 1;
  g->source.line = NULL;
  jfl_status s = api_job_note(g);
  if (!s) s = jf_with_stack(api_job_build, &b);
  jfl_plan *p = b.plan;
  if (!s) s = jf_job_admit(j, p);
  const jfl_status own = s;
  if (g->shared) s = api_job_settle(j, s);
  if (s) {
    g->err = s;
    if (own) jf_plan_release(p);
    else jfl_plan_free(p);
  } else {
    *out = p;
  }
  return s;
}

const char *jfl_plan_variable(const jfl_plan *p, int i)
{
  return JF_IS(PLAN, p) && i >= 0 && i < p->n_variable ? p->variable[i]->variable->name : NULL;
}

int jfl_plan_inputs(const jfl_plan *p) { return JF_IS(PLAN, p) ? p->graph->n_input : 0; }
int jfl_plan_outputs(const jfl_plan *p) { return JF_IS(PLAN, p) ? p->graph->n_output : 0; }

/* The i-th of n values of a plan. */
static jfl_status api_plan_value(const char *function, const jfl_plan *p, jfl_value *const *list,
                                 int n, int i, const jfl_value **out)
{
  JF_TRY(jf_fail_in(jf_need_below(function, "i", i, n), JFL_ERROR_JOB, p->graph->name));
  *out = list[i];
  return JFL_OK;
}

static jfl_status api_value_is(const jfl_value *v, const char **name, jfl_dtype *t,
                               const jfl_shape **s)
{
  *name = v->name;
  *t = v->dtype;
  *s = &v->shape;
  return JFL_OK;
}

jfl_status jfl_plan_input(const jfl_plan *p, int i, const char **name, jfl_dtype *t,
                          const jfl_shape **s)
{
  const jfl_value *v;
  JF_NEED(PLAN, p);
  JF_NEED_POINTER(name);
  JF_NEED_POINTER(t);
  JF_NEED_POINTER(s);
  JF_TRY(api_plan_value(__func__, p, p->graph->input, p->graph->n_input, i, &v));
  return api_value_is(v, name, t, s);
}

jfl_status jfl_plan_output(const jfl_plan *p, int i, const char **name, jfl_dtype *t,
                           const jfl_shape **s)
{
  const jfl_value *v;
  JF_NEED(PLAN, p);
  JF_NEED_POINTER(name);
  JF_NEED_POINTER(t);
  JF_NEED_POINTER(s);
  JF_TRY(api_plan_value(__func__, p, p->graph->output, p->graph->n_output, i, &v));
  return api_value_is(v, name, t, s);
}

jfl_status jfl_plan_text(const jfl_plan *p, char **out)
{
  jf_text t = {0};
  JF_NEED(PLAN, p);
  JF_NEED_POINTER(out);
  jf_plan_print(p, &t);
  return jf_text_take(&t, out);
}
