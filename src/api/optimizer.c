/* Public entries of the optimizer table, and the rates of jobs that train. */
#include "api/api.h"
#include "optim/scalars.h"
#include "pass/pass.h"

#include <math.h>

int jfl_optimizer_count(void)
{
  int n = 0;
  while (jf_optims[n]) n++;
  return n;
}

const jfl_optimizer *jfl_optimizer_at(int i)
{
  return i >= 0 && i < jfl_optimizer_count() ? jf_optims[i] : NULL;
}

const jfl_optimizer *jfl_optimizer_find(const char *name)
{
  return name ? jf_optim_find(name) : (jf_need_pointer(__func__, "name", name), NULL);
}

jfl_status jfl_optimizer_describe(const jfl_optimizer *o, jfl_optimizer_info *info)
{
  JF_NEED(OPTIMIZER, o);
  JF_NEED_POINTER(info);
  *info = (jfl_optimizer_info){ .name = o->name, .doc = o->doc, .n_param = jf_attr_count(o->attr) };
  return JFL_OK;
}

jfl_status jfl_optimizer_param(const jfl_optimizer *o, int i, jfl_param *out)
{
  JF_NEED(OPTIMIZER, o);
  JF_NEED_BELOW(i, jf_attr_count(o->attr));
  JF_NEED_POINTER(out);
  const jf_attr *a = &o->attr[i];
  *out = (jfl_param){ a->name, jf_attr_type_name(a->type), a->def, a->doc };
  return JFL_OK;
}

static jfl_status check_options(jfl_graph *g, const jfl_optimizer *o, const jfl_arg *arg, int n_arg)
{
  JF_ENTER(g);
  void *attr = jf_alloc(g->arena, o->attr_size);
  JF_TRY(jf_attr_read(g->arena, o->name, o->attr, arg, n_arg, attr));
  return o->check ? jf_fail_in(o->check(attr), JFL_ERROR_OP, o->name) : JFL_OK;
}

jfl_status jfl_optimizer_check(const jfl_optimizer *o, const jfl_arg *arg, int n_arg)
{
  jfl_graph *g = NULL;
  JF_NEED(OPTIMIZER, o);
  JF_NEED_ARGS(arg, n_arg);
  JF_TRY(jf_graph_new(JFL_PREDICT, &g));
  jfl_status s = check_options(g, o, arg, n_arg);
  jfl_graph_unref(g);
  return s;
}

/* ---- rates ---- */

static jfl_status find_training(const jfl_plan *p, int i, const jf_training **out)
{
  const jfl_graph *g = p->graph;
  if (i < 0 || i >= g->n_training)
    return jf_fail_in(jf_fail(JFL_EINVAL, "optimizer number %lld must be one that the job has, got "
                              "%d of them", i + 1LL, g->n_training), JFL_ERROR_JOB, g->name);
  *out = g->training[i];
  return JFL_OK;
}

static jfl_status rate_at(const jfl_op *schedule, const void *attr, int64_t step, double *out)
{
  const jfl_shape one = { 1, { 1 } };
  jf_tensor in = { .data = &step, .dtype = JFL_I64, .shape = one },
            lr = { .data = out, .dtype = JFL_F64, .shape = one };
  return jf_loops_whole(schedule->cpu[JFL_I64](
    &(jf_kargs){ .in = &in, .out = &lr, .n_in = 1, .n_out = 1, .attr = attr }));
}

static jfl_status read_schedule(jfl_graph *g, const jfl_op *schedule, const jfl_arg *arg, int n_arg,
                                void **attr)
{
  jfl_value step = { .graph = g, .dtype = JFL_I64, .shape = { 1, { 1 } } }, *in[] = { &step };
  JF_ENTER(g);
  *attr = jf_alloc(g->arena, schedule->attr_size);
  jf_infer f = { .op = schedule, .arena = g->arena, .in = in, .n_in = 1, .attr = *attr };
  JF_TRY(jf_attr_read(g->arena, schedule->path, schedule->attr, arg, n_arg, *attr));
  jf_infer_many(&f, jf_op_n_out(schedule));
  return jf_fail_in(schedule->infer(&f), JFL_ERROR_OP, schedule->path);
}

jfl_status jfl_schedule_rate(const jfl_op *schedule, const jfl_arg *arg, int n_arg, int64_t step,
                             double *out)
{
  jfl_graph *g = NULL;
  void *attr = NULL;
  JF_NEED(OP, schedule);
  JF_NEED_ARGS(arg, n_arg);
  JF_NEED_POINTER(out);
  if (!(schedule->flags & JF_SCHEDULE))
    return jf_need_told(__func__, jf_fail_argument(JFL_EINVAL, "schedule", "must be a learning "
                                                   "rate schedule, got %s", schedule->name));
  if (step < 0)
    return jf_need_told(__func__, jf_fail_argument(JFL_EINVAL, "step", "must be 0 or more, got "
                                                   "%lld", (long long)step));
  JF_TRY(jf_graph_new(JFL_PREDICT, &g));
  jfl_status s = read_schedule(g, schedule, arg, n_arg, &attr);
  if (!s) s = rate_at(schedule, attr, step, out);
  jfl_graph_unref(g);
  return s;
}

/* What the schedule gives for the next step. */
static jfl_status scheduled(const jfl_plan *p, const jf_training *t, double *out)
{
  if (!t->schedule)
    return jf_fail_in(jf_fail(JFL_ESTATE, "the rate must come from a schedule to be known before a "
                              "run, got one that the job computes"), JFL_ERROR_JOB,
                      p->graph->name);
  jfl_array *step = NULL;
  JF_TRY(jfl_variable_get(p->job->session, t->step->name, &step));
  const int64_t at = *(const int64_t *)jfl_array_data(step);
  jfl_status s = rate_at(t->schedule, t->schedule_attr, at, out);
  jfl_array_unref(step);
  return s;
}

jfl_status jfl_plan_rate_set(jfl_plan *p, int i, int *is_set, double *out)
{
  const jf_training *t = NULL;
  jfl_array *a = NULL;
  JF_NEED(PLAN, p);
  JF_NEED_POINTERS(is_set, out);
  JF_TRY(find_training(p, i, &t));
  JF_TRY(jfl_variable_get(p->job->session, t->set->name, &a));
  const double *set = jfl_array_data(a);
  *is_set = set[JF_IS_SET] != 0;
  *out = set[JF_SET_RATE];
  jfl_array_unref(a);
  return JFL_OK;
}

jfl_status jfl_plan_rate(jfl_plan *p, int i, double *out)
{
  const jf_training *t = NULL;
  double set = 0;
  int is_set = 0;
  JF_NEED_POINTER(out);
  JF_TRY(jfl_plan_rate_set(p, i, &is_set, &set));
  JF_TRY(find_training(p, i, &t));
  if (!is_set) return scheduled(p, t, out);
  *out = set;
  return JFL_OK;
}

jfl_status jfl_plan_set_rate(jfl_plan *p, int i, const double *rate)
{
  const jf_training *t = NULL;
  jfl_array *a = NULL;
  JF_NEED(PLAN, p);
  JF_TRY(find_training(p, i, &t));
  if (rate && !(isfinite(*rate) && *rate >= 0))
    return jf_fail_in(jf_fail(JFL_EINVAL, "learning rate must be a finite number of at least 0, "
                              "got %.14g", *rate), JFL_ERROR_JOB, p->graph->name);
  JF_TRY(jfl_array_new(JFL_F64, &t->set->variable->shape, &a));
  double *set = jfl_array_data(a);
  set[JF_IS_SET] = rate != NULL;
  set[JF_SET_RATE] = rate ? *rate : 0;
  jfl_status s = jfl_variable_set(p->job->session, t->set->name, a);
  jfl_array_unref(a);
  return s;
}
