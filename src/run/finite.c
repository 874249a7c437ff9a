/* Checked runs: each value is looked at as soon as it is there, and the first that is not finite
   ends the run, after which all variables are as they were before it. */
#include "optim/optim.h"
#include "run/run.h"

#include <math.h>
#include <stdio.h>

/* How many elements are not finite, and the first of them. */
typedef struct finite_count { int64_t n, bad; double first; } finite_count;

#define COUNT(T)                                                        \
  static void count_##T(finite_count *c, const T *x)                    \
  {                                                                     \
    for (int64_t i = 0; i < c->n; i++) c->bad += !isfinite(x[i]);       \
    for (int64_t i = 0; c->bad && isfinite(c->first); i++) c->first = (double)x[i]; \
  }
COUNT(float)
COUNT(double)
#undef COUNT

/* The parameter whose gradient v is, or NULL. */
static const jfl_value *finite_trained(const jfl_plan *p, const jfl_value *v)
{
  for (int s = 0; s < p->n_step; s++) {
    const jf_node *n = p->step[s].node;
    const jf_update *a = jf_update_of(n);
    for (int i = 0; a && i < a->n; i++)
      if (jf_root(n->in[i * a->stride + JF_GRAD]) == jf_root(v))
        return n->in[i * a->stride + JF_PARAM];
  }
  return NULL;
}

enum { FINITE_NAME = 400 };

static void finite_name(const jfl_plan *p, const jfl_value *v, char out[FINITE_NAME])
{
  const jfl_value *of = finite_trained(p, v);
  const char *serves = v->origin == JF_RESULT ? v->node->source.serves : NULL;
  const char *name = v->origin == JF_VARIABLE ? v->variable->name : v->name;
  if (of) snprintf(out, FINITE_NAME, "the gradient of '%s'", of->variable->name);
  else if (serves) snprintf(out, FINITE_NAME, "'%s', computed for '%s',", v->name, serves);
  else snprintf(out, FINITE_NAME, "%s'%s'", v->origin == JF_INPUT ? "input "
                : v->origin == JF_VARIABLE ? "variable " : "", name);
}

static jfl_status finite_fail(const jf_execution *e, const jfl_value *v, const finite_count *c)
{
  char name[FINITE_NAME];
  finite_name(e->plan, v, name);
  return jf_fail(JFL_EDATA, "%s must be finite in step %llu, got %s in %lld of %lld elements; "
                 "variables are as they were before it", name,
                 (unsigned long long)e->number + 1,
                 isnan(c->first) ? "nan" : c->first < 0 ? "-inf" : "inf", (long long)c->bad,
                 (long long)c->n);
}

/* Looks at a value whose data are on the device at a place. */
static jfl_status finite_look(const jf_execution *e, const jfl_value *v, int place,
                              const void *data)
{
  jf_site *site = jf_execution_site(e, place);
  finite_count c = { .n = jf_numel(&v->shape) };
  const size_t size = JF_BYTES_OF(v);
  void *copy = NULL;
  if (!c.n || (v->dtype != JFL_F32 && v->dtype != JFL_F64)) return JFL_OK;
  if (!site->device->kind->host) {
    copy = jf_new_raw(size);
    if (!copy) return jf_fail(JFL_ENOMEM, "out of memory: checking '%s' takes %zu bytes", v->name,
                              size);
    jfl_status s = jf_site_get(site, copy, data, size);
    if (s) return jf_free(copy), s;
    data = copy;
  }
  if (v->dtype == JFL_F32) count_float(&c, data);
  else count_double(&c, data);
  jf_free(copy);
  return c.bad ? finite_fail(e, v, &c) : JFL_OK;
}

/* Looks at what a step gives, and at what it changes. */
static jfl_status finite_look_at_step(const jf_execution *e, int step)
{
  const jf_step *st = &e->plan->step[step];
  const jf_kargs *k = &e->k[step];
  if (e->plan->is_async) JF_TRY(jf_async_finish_step(e, step));
  for (int i = 0; i < st->node->n_out; i++)
    JF_TRY(finite_look(e, st->node->out[i], st->out[i].place, k->out[i].data));
  for (int i = 0; i < st->node->n_in; i++)
    if (jf_mutates(st->node, i))
      JF_TRY(finite_look(e, st->node->in[i], st->in[i].place, k->in[i].data));
  return JFL_OK;
}

static jfl_status finite_after(jf_execution *e, int step)
{
  const jf_node *n = e->plan->step[step].node;
  jfl_status s = finite_look_at_step(e, step);
  jf_fail_in(s, JFL_ERROR_OP, n->op->name);
  jf_fail_in(s, JFL_ERROR_LINE, n->source.line);
  return jf_fail_in(s, JFL_ERROR_JOB, e->plan->job->name);
}

const jf_observer jf_watch_finite = { .after = finite_after };

/* ---- what a run begins with, and comes back to ---- */

static jfl_status finite_save(jf_execution *e, int i)
{
  const jfl_plan *p = e->plan;
  const jfl_value *v = p->variable[i];
  const size_t size = JF_BYTES_OF(v);
  if (e->saved[i]) return JFL_OK;
  e->saved[i] = jf_new_raw(size);
  if (!e->saved[i])
    return jf_fail(JFL_ENOMEM, "out of memory: a copy of '%s', to check the run, takes %zu bytes",
                   v->name, size);
  return jf_site_get(jf_execution_site(e, v->place), e->saved[i], jf_plan_data(p, i), size);
}

static jfl_status finite_save_changed(jf_execution *e)
{
  const jfl_plan *p = e->plan;
  for (int s = 0; s < p->n_step; s++) {
    const jf_step *st = &p->step[s];
    for (int i = 0; i < st->node->n_in; i++)
      if (jf_mutates(st->node, i) && st->in[i].memory == JF_AT_VARIABLE)
        JF_TRY(finite_save(e, st->in[i].index));
  }
  return JFL_OK;
}

static jfl_status finite_look_before(const jf_execution *e, jfl_array *const *in)
{
  const jfl_plan *p = e->plan;
  for (int i = 0; i < p->graph->n_input; i++)
    JF_TRY(finite_look(e, p->graph->input[i], JF_HOST_PLACE, in[i]->data));
  for (int i = 0; i < p->n_variable; i++)
    JF_TRY(finite_look(e, p->variable[i], p->variable[i]->place, jf_plan_data(p, i)));
  return JFL_OK;
}

jfl_status jf_finite_begin(jf_execution *e, jfl_array *const *in)
{
  const jfl_plan *p = e->plan;
  e->saved = jf_new(((size_t)p->n_variable + 1) * sizeof *e->saved);
  jfl_status s = e->saved ? finite_look_before(e, in) : jf_fail(JFL_ENOMEM, "out of memory");
  if (!s) s = finite_save_changed(e);
  if (s) jf_finite_end(e, JFL_OK);
  return jf_fail_in(s, JFL_ERROR_JOB, p->job->name);
}

void jf_finite_end(jf_execution *e, jfl_status s)
{
  const jfl_plan *p = e->plan;
  for (int i = 0; i < p->n_variable && e->saved; i++) {
    const jfl_value *v = p->variable[i];
    jf_site *site = jf_execution_site(e, v->place);
    if (s && e->saved[i]) jf_site_put(site, jf_plan_data(p, i), e->saved[i], JF_BYTES_OF(v));
    jf_free(e->saved[i]);
  }
  jf_free(e->saved);
  e->saved = NULL;
}
