/* Public entries that compile jobs and look at plans. */
#include "api/api.h"
#include "pass/pass.h"

static jfl_status api_job_check(const jfl_job *j, const jfl_graph *g)
{
  if (g->err) return jf_fail(g->err, "describing this job failed before");
  if (g->closed) return jf_fail(JFL_ESTATE, "this graph is compiled already");
  if (g->session && g->session != j->session)
    return jf_fail(JFL_EINVAL, "the graph and the job must be of one session; jfl_graph_place "
                   "named another");
  if (g->mode != j->mode)
    return jf_fail(JFL_EINVAL, "the graph and the job must be of one type, train or predict");
  if (g->mode == JFL_TRAIN && !g->n_training)
    return jf_fail(JFL_EINVAL, "a train job must minimize a loss, got none");
  return JFL_OK;
}

static const jf_packing *api_job_packing_in(const jfl_session *s, const jfl_variable_spec *want)
{
  const jf_var *v = jf_session_var(s, want->name);
  int same = v && v->spec.dtype == want->dtype && jf_shape_eq(&v->spec.shape, &want->shape);
  return same ? &v->packing : NULL;
}

static int api_job_place_in(const jfl_session *s, const jfl_variable_spec *want)
{
  const jf_var *v = jf_session_var(s, want->name);
  return v ? v->site->place : JF_DEFAULT_PLACE;
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

/* *p is set as soon as there is something to release. */
static jfl_status api_job_build(const jfl_job *j, jfl_graph *g, jfl_plan **p)
{
  const jf_settings *set = &j->session->settings;
  JF_ENTER(g);
  jf_device **device = jf_alloc(g->arena, (size_t)j->session->n_site * sizeof *device);
  for (int i = 0; i < j->session->n_site; i++) device[i] = j->session->site[i]->device;
  jf_target t = { .device = device,
                  .n_device = j->session->n_site,
                  .reference = set->kernels == JF_REFERENCE,
                  .off = set->passes_off | (set->check_finite ? jf_passes_merging() : 0),
                  .variable = api_job_packing_in,
                  .variable_place = api_job_place_in,
                  .session = j->session };
  jf_resolve_places(g, set->place, &t);
  JF_TRY(jf_run_passes(g, &t));
  int flags = set->kernels | set->tf32 |
              (jf_pass_is_off("inplace", set->passes_off) ? JF_SEPARATE : 0);
  jf_plan_options o = { t.device, t.n_device, flags, set->threads };
  return jf_plan_new(g, &o, p);
}

jfl_status jfl_job_compile(jfl_job *j, jfl_graph *g, jfl_plan **out)
{
  jfl_plan *p = NULL;
  JF_NEED(JOB, j);
  JF_NEED(GRAPH, g);
  JF_NEED_POINTER(out);
  JF_TRY(jf_fail_in(api_job_check(j, g), JFL_ERROR_JOB, g->name));
  g->closed = 1;
  jfl_status s = api_job_note(g);
  if (!s) s = api_job_build(j, g, &p);
  if (!s) s = jf_job_admit(j, p);
  if (s) {
    g->err = s;
    jf_plan_release(p);
  } else {
    *out = p;
  }
  return s;
}

const char *jfl_plan_variable(const jfl_plan *p, int i)
{
  return JF_IS(PLAN, p) && i >= 0 && i < p->n_variable ? p->variable[i]->name : NULL;
}

int jfl_plan_inputs(const jfl_plan *p) { return JF_IS(PLAN, p) ? p->graph->n_input : 0; }
int jfl_plan_outputs(const jfl_plan *p) { return JF_IS(PLAN, p) ? p->graph->n_output : 0; }

jfl_status jfl_plan_input(const jfl_plan *p, int i, const char **name, jfl_dtype *t,
                          const jfl_shape **s)
{
  JF_NEED(PLAN, p);
  JF_NEED_POINTER(name);
  JF_NEED_POINTER(t);
  JF_NEED_POINTER(s);
  JF_TRY(jf_fail_in(jf_need_below(__func__, "i", i, p->graph->n_input), JFL_ERROR_JOB,
                    p->graph->name));
  const jfl_value *v = p->graph->input[i];
  *name = v->name;
  *t = v->dtype;
  *s = &v->shape;
  return JFL_OK;
}

jfl_status jfl_plan_text(const jfl_plan *p, char **out)
{
  jf_text t = {0};
  JF_NEED(PLAN, p);
  JF_NEED_POINTER(out);
  jf_plan_print(p, &t);
  return jf_text_take(&t, out);
}
