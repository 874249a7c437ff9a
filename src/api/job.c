/* Public entries that compile jobs and look at plans. */
#include "api/api.h"
#include "pass/pass.h"
#include "world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  const jf_var_shard *p =
      jf_var_shard_of(v, want->place, want->shard ? want->shard->member : 0);
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

/* Which devices of which ranks a place has, "0-1:0-3"; their kind may be another on each. */
static const char *api_job_members(const jfl_session *s, int place)
{
  const char *name = jf_is_group(place) ? jfl_session_device(s, place) : NULL;
  const char *members = name ? strchr(name, ' ') : NULL;
  return members ? members : "";
}

/* A hash of what all ranks must compile alike: the text, and what that does not tell. Not 0. */
static uint64_t api_job_hash(const jfl_session *s, const jfl_graph *g)
{
  uint64_t h = jf_hash_str(1, g->traced);
  for (int i = 0; i < g->n_value; i++)
    h = jf_hash(h, &g->value[i]->distribution, sizeof g->value[i]->distribution);
  for (int i = 0; i < g->n_value + g->n_node; i++)
    h = jf_hash_str(h, api_job_members(s, i < g->n_value ? g->value[i]->place
                                                         : g->node[i - g->n_value]->place));
  h = jf_hash(h, &g->turns, sizeof g->turns);
  return jf_hash(h, &g->shard, sizeof g->shard) | 1;
}

/* All ranks compile it now, from the same text, and draw from rank 0's seed. Queued runs, which
   they agree on, too, come first. */
static jfl_status api_job_agree(const jfl_job *j, jfl_graph *g)
{
  char doing[200];
  if (!api_job_is_shared(g)) return JFL_OK;
  const uint64_t hash = api_job_hash(j->session, g);
  const char *on = api_job_members(j->session, g->place);
  snprintf(doing, sizeof doing, "compile job '%.120s'%s%.50s", g->name, *on ? " on devices" : "",
           on);
  jf_session_acquire(j->session);
  jfl_status s = jf_session_agree_on(j->session, doing, jf_hash_str(hash, g->name));
  if (!s) s = jf_hand_out(&j->session->seed, sizeof j->session->seed);
  jf_session_release(j->session);
  if (!s) g->shared = hash;
  return s;
}

/* A graph on its way to the plan of a job. */
typedef struct building {
  jfl_job *job;
  jfl_graph *graph;
  jf_target target;
  jf_chooser chooser;
  jfl_plan *plan;
} building;

/* Lists what the session has now. */
static void api_job_look(building *b)
{
  const jfl_session *s = b->job->session;
  jf_device **device = jf_alloc(b->graph->arena, (size_t)s->n_site * sizeof *device);
  for (int i = 0; i < s->n_site; i++) device[i] = s->site[i]->device;
  b->target.device = b->chooser.device = device;
  b->target.n_device = b->chooser.n_device = s->n_site;
  b->target.group = s->group;
  b->target.n_group = s->n_group;
}

/* The group with all members of a place so many times. */
static jfl_status api_job_repeated(void *host, int place, int turns, int *out)
{
  building *b = host;
  jfl_session *s = b->job->session;
  jf_group_member one = { jf_world_rank(), place }, *all;
  const jf_group *of = jf_is_group(place) ? s->group[place - JF_GROUPS] : NULL;
  const jf_kind *kind = of ? of->kind : s->site[place]->device->kind;
  const int n = of ? of->n : 1;
  char name[160];
  snprintf(name, sizeof name, "%d times %.120s", turns,
           of ? of->name : s->site[place]->device->name);
  if (!(all = jf_new((size_t)n * (size_t)turns * sizeof *all)))
    return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; i < n * turns; i++) all[i] = of ? of->member[i % n] : one;
  const jfl_status st = jf_session_group_of(s, name, kind, all, n * turns, out);
  jf_free(all);
  if (!st) s->group[*out - JF_GROUPS]->turns = turns;
  api_job_look(b);
  return st;
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

static jfl_status api_job_join(void *host)
{
  building *b = host;
  JF_TRY(api_job_agree(b->job, b->graph));
  JF_TRY(api_job_link(b->job->session, b->graph));
  api_job_look(b);
  return JFL_OK;
}

static int api_job_dumps(void)
{
  const char *want = getenv("JFL_DUMP");
  return want && !strcmp(want, "plan");
}

/* JFL_DUMP=plan prints plans as they are made, and which kernels were refused. */
static void api_job_dump(const jfl_plan *p)
{
  if (!api_job_dumps()) return;
  jf_text t = { 0 };
  jf_plan_print(p, &t);
  jf_plan_print_refused(p, &t);
  fprintf(stderr, "%s", t.s ? t.s : "");
  jfl_text_free(t.s);
}

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
  b->target = (jf_target){
    .place = set->place, .rank = jf_world_rank(), .n_rank = ranks > 1 ? ranks : 0,
    .net = net ? net->place : 0, .chooser = &b->chooser,
    .off = set->passes_off | (set->check_finite ? jf_passes_merging() : 0),
    .variable = api_job_packing_in, .variable_place = api_job_place_in, .session = j->session,
    .repeated = api_job_repeated, .join = api_job_join, .host = b
  };
  b->chooser = (jf_chooser){
    .flags = set->kernels | set->tf32 | set->zones |
             (jf_pass_is_off("inplace", set->passes_off) ? JF_SEPARATE : 0),
    .threads = set->threads, .shares = set->cpu_devices, .tells = api_job_dumps(), .arena = g->arena
  };
  api_job_look(b);
  JF_TRY(jf_run_passes(g, &b->target));
  JF_TRY(jf_plan_new(g, &b->chooser, &b->plan));
  api_job_dump(b->plan);
  return JFL_OK;
}

/* A job that one rank cannot compile is compiled by none. */
static jfl_status api_job_settle(const jfl_job *j, jfl_status s)
{
  jf_session_acquire(j->session);
  s = jf_session_agree_status(j->session, s);
  jf_session_release(j->session);
  return jf_fail_in(s, JFL_ERROR_JOB, j->name);
}

/* From here on the graph takes no more ops. */
static jfl_status api_job_close(const jfl_job *j, jfl_graph *g)
{
  JF_TRY(jf_fail_in(api_job_check(j, g), JFL_ERROR_JOB, g->name));
  g->closed = 1;
  g->source.line = NULL;
  return JFL_OK;
}

/* Makes the plan of a graph that is closed. */
static jfl_status api_job_compile(jfl_job *j, jfl_graph *g, int is_task, jfl_plan **out)
{
  building b = { .job = j, .graph = g };
  jfl_status s = api_job_note(g);
  if (!s) s = jf_with_stack(api_job_build, &b);
  jf_chooser_end(&b.chooser);
  jfl_plan *p = b.plan;
  if (!s) s = is_task ? jf_job_admit_now(j, p) : jf_job_admit(j, p);
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

jfl_status jfl_job_compile(jfl_job *j, jfl_graph *g, jfl_plan **out)
{
  JF_NEED(JOB, j);
  JF_NEED(GRAPH, g);
  JF_NEED_POINTER(out);
  jf_compiles_wait(j->session);
  JF_TRY(api_job_close(j, g));
  return api_job_compile(j, g, 0, out);
}

/* ---- among the runs ---- */

static jfl_status api_job_task_take(jfl_request *r)
{
  jf_compiling *c = r->state;
  return api_job_compile(c->job, c->graph, 1, &c->plan);
}

static void api_job_task_free(void *state)
{
  jf_compiling *c = state;
  jfl_graph_unref(c->graph);
  jf_free(c);
}

static const jf_task api_job_task = {
  .many = "compilations", .take = api_job_task_take, .free = api_job_task_free
};

static jf_compiling *api_job_task_new(jfl_job *j, jfl_graph *g)
{
  jf_compiling *c = jf_new(sizeof *c + (size_t)g->n_input * sizeof *c->in);
  if (!c) return NULL;
  c->job = j;
  c->graph = jfl_graph_ref(g);
  c->n_in = g->n_input;
  for (int i = 0; i < c->n_in; i++) {
    const jfl_value *v = g->input[i];
    c->in[i].dtype = v->dtype;
    c->in[i].shape = v->shape;
    c->in[i].name = v->name;
  }
  return c;
}

/* A plan on several devices, and of ranks that compile together, is made by the caller. */
static jfl_status api_job_task_at_once(const jf_compiling *c, jfl_request *r)
{
  jf_compiling *own = r->state;
  jf_request_set(r, jfl_job_compile(c->job, c->graph, &own->plan));
  atomic_store(&r->done, 1);
  return r->status;
}

static int api_job_is_alone(const jfl_job *j, const jfl_graph *g)
{
  return jf_world_size() == 1 && g->turns <= 1 && !jf_uses_groups(g) &&
         !jf_is_group(j->session->settings.place);
}

jfl_status jfl_compile_submit(jfl_job *j, jfl_graph *g, jfl_request **out)
{
  JF_NEED(JOB, j);
  JF_NEED(GRAPH, g);
  JF_NEED_POINTER(out);
  jf_compiling *c = api_job_task_new(j, g);
  if (!c) return jf_fail(JFL_ENOMEM, "out of memory");
  const int is_alone = api_job_is_alone(j, g);
  jfl_status s = is_alone ? api_job_close(j, g) : JFL_OK;
  if (s) return api_job_task_free(c), s;
  if (is_alone) return jf_compile_submit(j->session, &api_job_task, c, out);
  JF_TRY(jf_request_new_task(j->session, &api_job_task, c, out));
  s = api_job_task_at_once(c, *out);
  if (s) jfl_request_unref(*out);
  return s;
}

const char *jfl_plan_variable(const jfl_plan *p, int i)
{
  return JF_IS(PLAN, p) && i >= 0 && i < p->n_variable ? p->variable[i]->variable->name : NULL;
}

int jfl_plan_inputs(const jfl_plan *p) { return JF_IS(PLAN, p) ? p->graph->n_input : 0; }
int jfl_plan_outputs(const jfl_plan *p) { return JF_IS(PLAN, p) ? p->graph->n_output : 0; }

/* What the i-th of n values of a plan is. */
static jfl_status api_plan_value(const char *function, const jfl_plan *p, jfl_value *const *list,
                                 int n, int i, const char **name, jfl_dtype *t,
                                 const jfl_shape **s)
{
  JF_TRY(jf_need_pointer(function, "name", name));
  JF_TRY(jf_need_pointer(function, "t", t));
  JF_TRY(jf_need_pointer(function, "s", s));
  JF_TRY(jf_fail_in(jf_need_below(function, "i", i, n), JFL_ERROR_JOB, p->graph->name));
  *name = list[i]->name;
  *t = list[i]->dtype;
  *s = &list[i]->shape;
  return JFL_OK;
}

jfl_status jfl_plan_input(const jfl_plan *p, int i, const char **name, jfl_dtype *t,
                          const jfl_shape **s)
{
  JF_NEED(PLAN, p);
  return api_plan_value(__func__, p, p->graph->input, p->graph->n_input, i, name, t, s);
}

jfl_status jfl_plan_output(const jfl_plan *p, int i, const char **name, jfl_dtype *t,
                           const jfl_shape **s)
{
  JF_NEED(PLAN, p);
  return api_plan_value(__func__, p, p->graph->output, p->graph->n_output, i, name, t, s);
}

jfl_status jfl_plan_text(const jfl_plan *p, char **out)
{
  jf_text t = {0};
  JF_NEED(PLAN, p);
  JF_NEED_POINTER(out);
  jf_plan_print(p, &t);
  return jf_text_take(&t, out);
}
