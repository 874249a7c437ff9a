/* The public entry that has a job trained: checks a loss, an optimizer and its options. */
#include "api/api.h"
#include "dev/half.h"
#include "op/op.h"
#include "optim/loss_scale.h"
#include "pass/pass.h"

#include <math.h>
#include <string.h>

static jfl_status check_losses(const jfl_graph *g, const jfl_minimize *m)
{
  char a[JF_SHAPE_STR], b[JF_SHAPE_STR];
  if (m->n_loss < 1) return jf_fail(JFL_EINVAL, "minimize: losses must hold one or more, got none");
  for (int i = 0; i < m->n_loss; i++) {
    const jfl_value *v = m->loss[i], *first = m->loss[0];
    if (v->graph != g)
      return jf_fail(JFL_ESTATE, "minimize: the loss '%s' must be of job '%s', got one of job '%s'",
                     v->name, g->name, v->graph->name);
    if (!jf_is_float(v->dtype))
      return jf_fail(JFL_EDTYPE, "minimize: the loss '%s' must be a float blob, got %s", v->name,
                     jfl_dtype_name(v->dtype));
    if (!jf_shape_eq(&v->shape, &first->shape))
      return jf_fail(JFL_ESHAPE, "minimize: losses must have one shape, got %s and %s; "
                     "reduce_mean makes one number of each",
                     jf_shape_str(&first->shape, a), jf_shape_str(&v->shape, b));
  }
  return JFL_OK;
}

static jfl_value **copy_values(jfl_graph *g, jfl_value *const *v, int n)
{
  jfl_value **copy = jf_alloc(g->arena, (size_t)n * sizeof *copy);
  if (n) memcpy(copy, v, (size_t)n * sizeof *copy);
  return copy;
}

/* Which values the optimizers so far train, by id. */
static char *graph_trained(jfl_graph *g)
{
  char *trained = jf_alloc(g->arena, (size_t)g->n_value);
  for (int i = 0; i < g->n_training; i++)
    for (int k = 0; k < g->training[i]->n_variable; k++)
      trained[g->training[i]->variable[k]->id] = 1;
  return trained;
}

/* Fails for a variable in blocks or of integers. */
static jfl_status check_trained(const jfl_value *v)
{
  if (jf_is_float(v->dtype)) return JFL_OK;
  return jf_fail(JFL_EDTYPE, "minimize: variable '%s' is of %s and not trained; an adapter beside "
                 "it is, as layers.dense { adapter = { rank = 8 } } makes one", v->name,
                 jfl_dtype_name(v->dtype));
}

/* Each is a variable of the job, and no other optimizer's. */
static jfl_status check_variables(jfl_graph *g, jfl_value *const *v, int n)
{
  char *trained = graph_trained(g), *seen = jf_alloc(g->arena, (size_t)g->n_value);
  for (int i = 0; i < n; i++) {
    if (v[i]->graph != g || v[i]->origin != JF_VARIABLE)
      return jf_fail(JFL_EINVAL, "minimize: '%s' must be a variable of this job", v[i]->name);
    if (jf_is_half(v[i]->dtype))
      return jf_fail(JFL_EDTYPE, "minimize: variable '%s' must be float32 or float64, got %s; its "
                     "steps would be lost in rounding. Keep it in float32 and compute in 16 bits "
                     "by mixed precision, or make it not trainable", v[i]->name,
                     jfl_dtype_name(v[i]->dtype));
    JF_TRY(check_trained(v[i]));
    if (seen[v[i]->id])
      return jf_fail(JFL_EINVAL, "minimize: variable '%s' is given twice", v[i]->name);
    if (trained[v[i]->id])
      return jf_fail(JFL_EINVAL, "minimize: variable '%s' must have one optimizer, got two",
                     v[i]->name);
    seen[v[i]->id] = 1;
  }
  return JFL_OK;
}

/* Notes which variables are trained: those given, or every trainable float variable so far. */
static jfl_status pick_variables(jfl_graph *g, const jfl_minimize *m, jf_training *t)
{
  t->variable = copy_values(g, g->value, g->n_value);
  for (int i = 0; i < g->n_value; i++) {
    jfl_value *v = g->value[i];
    if (v->origin == JF_VARIABLE && v->variable->trainable && jf_is_float(v->dtype))
      t->variable[t->n_variable++] = v;
  }
  if (m->n_variable) {
    t->variable = copy_values(g, m->variable, m->n_variable);
    t->n_variable = m->n_variable;
  }
  if (t->n_variable) return check_variables(g, t->variable, t->n_variable);
  for (int i = 0; i < g->n_value; i++)
    if (jf_is_block(g->value[i]->dtype)) JF_TRY(check_trained(g->value[i]));
  return jf_fail(JFL_EINVAL, "minimize: job '%s' has no trainable variable; minimize comes after "
                 "the layers that it trains", g->name);
}

static jfl_status find_optimizer(jfl_graph *g, const jfl_minimize *m, jf_training *t)
{
  t->optim = jf_optim_find(m->optimizer);
  if (!t->optim) return jf_fail(JFL_ENAME, "unknown optimizer '%.60s'", m->optimizer);
  t->name = t->optim->name;
  void *attr = jf_alloc(g->arena, t->optim->attr_size);
  t->attr = attr;
  JF_TRY(jf_attr_read(g->arena, t->optim->name, t->optim->attr, m->arg, m->n_arg, attr));
  return t->optim->check ? jf_fail_in(t->optim->check(attr), JFL_ERROR_OP, t->optim->name)
                         : JFL_OK;
}

static jfl_status find_schedule(jfl_graph *g, const jfl_minimize *m, jf_training *t)
{
  t->schedule = jfl_op_find(m->schedule);
  if (!t->schedule || !(t->schedule->flags & JF_SCHEDULE))
    return jf_fail(JFL_ENAME, "unknown learning rate schedule '%.60s'", m->schedule);
  void *attr = jf_alloc(g->arena, t->schedule->attr_size);
  t->schedule_attr = attr;
  return jf_attr_read(g->arena, t->schedule->name, t->schedule->attr, m->schedule_arg,
                      m->n_schedule_arg, attr);
}

static jfl_status check_number(const jfl_graph *g, const char *what, const jfl_value *v,
                               jfl_dtype dtype)
{
  char s[JF_SHAPE_STR];
  if (v->graph != g)
    return jf_fail(JFL_ESTATE, "minimize: %s must be of job '%s', got '%s' of job '%s'", what,
                   g->name, v->name, v->graph->name);
  if (jf_numel(&v->shape) == 1 && (dtype == JFL_I64 ? v->dtype == dtype : jf_is_float(v->dtype)))
    return JFL_OK;
  return jf_fail(JFL_ESHAPE, "minimize: %s must be one %s, got '%s' %s %s", what,
                 dtype == JFL_I64 ? "int64 number" : "float", v->name, jfl_dtype_name(v->dtype),
                 jf_shape_str(&v->shape, s));
}

/* The rate and the counter of steps that the call gives, if any. */
static jfl_status take_numbers(jfl_graph *g, const jfl_minimize *m, jf_training *t)
{
  t->rate = m->rate;
  t->own_step = m->step;
  if (m->rate) JF_TRY(check_number(g, "rate", m->rate, JFL_F64));
  if (!m->step) return JFL_OK;
  if (m->scale_period)
    return jf_fail(JFL_EINVAL, "minimize: step must be the job's own where the loss scale is "
                   "dynamic, as steps that are skipped do not count");
  return check_number(g, "step", m->step, JFL_I64);
}

static int has_decay(const jfl_optimizer *o)
{
  for (const jf_attr *a = o->attr; a->name; a++)
    if (!strcmp(a->name, JF_DECAY_ATTR)) return 1;
  return 0;
}

static jfl_status find_undecayed(jfl_graph *g, const jfl_minimize *m, jf_training *t)
{
  char *undecayed = jf_alloc(g->arena, (size_t)t->n_variable);
  t->undecayed = undecayed;
  if (m->n_undecayed && !has_decay(t->optim))
    return jf_fail(JFL_EINVAL, "minimize: %s has no weight decay of which variables could be "
                   "spared", t->name);
  for (int i = 0; i < m->n_undecayed; i++)
    for (int k = 0; k < t->n_variable; k++)
      if (t->variable[k] == m->undecayed[i]) undecayed[k] = 1;
  return JFL_OK;
}

static jfl_status check_limit(const char *name, double value)
{
  if (value >= 0) return JFL_OK;
  return jf_fail(JFL_EINVAL, "minimize: %s must be 0 or more, got %.14g", name, value);
}

static jfl_status check_limits(const jfl_minimize *m)
{
  JF_TRY(check_limit("clip_norm", m->clip_norm));
  JF_TRY(check_limit("clip_each_norm", m->clip_each_norm));
  JF_TRY(check_limit("clip_value", m->clip_value));
  JF_TRY(check_limit("accumulate", (double)m->accumulate));
  if (!(m->loss_scale >= 0 && isfinite(m->loss_scale)) || (m->scale_period && m->loss_scale == 0))
    return jf_fail(JFL_EINVAL, "minimize: loss_scale must be a finite number above 0, got %.14g",
                   m->loss_scale);
  if (!(m->average >= 0 && m->average < 1))
    return jf_fail(JFL_EINVAL, "minimize: average must be in [0, 1), got %.14g", m->average);
  if (!m->scale_period) return JFL_OK;
  return jf_check_loss_scale(&(jf_loss_scale){ m->scale_period, m->scale_multiplier });
}

int jf_same_losses(const jf_training *a, const jf_training *b)
{
  return a->n_loss == b->n_loss &&
         !memcmp(a->loss, b->loss, (size_t)a->n_loss * sizeof(jfl_value *));
}

/* The gradients of losses are computed once, for all optimizers that have these losses. */
static jfl_status check_same_scale(const jfl_graph *g, const jf_training *t)
{
  for (int i = 0; i < g->n_training; i++) {
    const jfl_minimize *a = &g->training[i]->asked, *b = &t->asked;
    if (!jf_same_losses(g->training[i], t)) continue;
    if (a->loss_scale == b->loss_scale && a->scale_period == b->scale_period &&
        a->scale_multiplier == b->scale_multiplier && a->accumulate == b->accumulate)
      continue;
    return jf_fail(JFL_EINVAL, "minimize: optimizers of one loss must have one loss scale policy "
                   "and accumulate as many calls");
  }
  return JFL_OK;
}

static jfl_status check_minimize(const jfl_minimize *m)
{
  const char *who = "jfl_graph_minimize";
  JF_TRY(jf_need_each(who, "m->loss", m->loss, m->n_loss, JF_TAG_VALUE));
  JF_TRY(jf_need_pointer(who, "m->optimizer", m->optimizer));
  JF_TRY(jf_need_args(who, "m->arg", m->arg, m->n_arg));
  if (m->rate) JF_TRY(jf_need(who, "m->rate", m->rate, JF_TAG_VALUE));
  else JF_TRY(jf_need_pointer(who, "m->schedule", m->schedule));
  if (m->step) JF_TRY(jf_need(who, "m->step", m->step, JF_TAG_VALUE));
  JF_TRY(jf_need_args(who, "m->schedule_arg", m->schedule_arg, m->n_schedule_arg));
  JF_TRY(jf_need_each(who, "m->undecayed", m->undecayed, m->n_undecayed, JF_TAG_VALUE));
  return jf_need_each(who, "m->variable", m->variable, m->n_variable, JF_TAG_VALUE);
}

static jfl_status graph_minimize(jfl_graph *g, const jfl_minimize *m)
{
  if (g->mode != JFL_TRAIN)
    return jf_fail(JFL_ESTATE,
                   "minimize: job '%s' is a predict job; define it with type = \"train\"", g->name);
  JF_TRY(check_losses(g, m));
  JF_TRY(check_limits(m));
  JF_ENTER(g);
  jf_training *t = jf_alloc(g->arena, sizeof *t);
  t->asked = *m;
  t->line = g->source.line;
  JF_TRY(find_optimizer(g, m, t));
  if (!m->rate) JF_TRY(find_schedule(g, m, t));
  JF_TRY(take_numbers(g, m, t));
  JF_TRY(pick_variables(g, m, t));
  JF_TRY(find_undecayed(g, m, t));
  t->loss = copy_values(g, m->loss, m->n_loss);
  t->n_loss = m->n_loss;
  JF_TRY(check_same_scale(g, t));
  g->training = jf_grow(g->arena, g->training, g->n_training, &g->cap_training,
                        sizeof *g->training);
  g->training[g->n_training++] = t;
  return JFL_OK;
}

jfl_status jfl_graph_minimize(jfl_graph *g, const jfl_minimize *m)
{
  JF_NEED(GRAPH, g);
  JF_NEED_POINTER(m);
  JF_TRY(check_minimize(m));
  JF_TRY(jf_api_check_open(g));
  return jf_fail_in(graph_minimize(g, m), JFL_ERROR_JOB, g->name);
}
