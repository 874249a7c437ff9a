/* Jobs: names, and the plans compiled for them. */
#include "run/run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

jfl_job *jf_session_job(const jfl_session *s, const char *name)
{
  return jf_map_get(&s->job_names, name);
}

void jf_runs_free(jf_runs *v, int n)
{
  for (int i = 0; i < n; i++) jf_free(v[i].job);
  jf_free(v);
}

static int by_job(const void *name, const void *runs)
{
  return strcmp(name, ((const jf_runs *)runs)->job);
}

static uint64_t runs_ahead(const jfl_session *s, const char *name)
{
  if (!s->n_ahead) return 0;
  const jf_runs *r = bsearch(name, s->ahead, (size_t)s->n_ahead, sizeof *r, by_job);
  return r ? r->n : 0;
}

/* A save that has its turn meanwhile looks at the jobs. */
static jfl_status job_add(jfl_session *s, jfl_job *j)
{
  jf_session_lock(s);
  const jfl_status st = jf_map_add(&s->job_names, j->name, j);
  if (!st) {
    j->run = runs_ahead(s, j->name);
    j->next = s->jobs;
    s->jobs = j;
  }
  jf_session_unlock(s);
  return st;
}

jfl_status jfl_job_new(jfl_session *s, const char *name, jfl_mode mode, jfl_job **out)
{
  JF_NEED(SESSION, s);
  JF_NEED_NAME("the job's name", name);
  JF_NEED_BELOW(mode, JFL_TRAIN + 1);
  JF_NEED_POINTER(out);
  if (jf_session_job(s, name))
    return jf_fail(JFL_ENAME, "a job named '%s' is already defined", name);
  jfl_job *j = jf_new(sizeof *j);
  if (!j) return jf_fail(JFL_ENOMEM, "out of memory");
  *j = (jfl_job){ .tag = JF_TAG_JOB, .session = s, .name = jf_name_copy(name), .mode = mode };
  const jfl_status st = j->name ? job_add(s, j) : jf_fail(JFL_ENOMEM, "out of memory");
  if (st) jf_job_free(j);
  else *out = j;
  return st;
}

jfl_status jfl_job_set_mode(jfl_job *j, jfl_mode mode)
{
  JF_NEED(JOB, j);
  JF_NEED_BELOW(mode, JFL_TRAIN + 1);
  j->mode = mode;
  return JFL_OK;
}

/* Undoes what was done for a plan when it was given to its job. */
static void job_dismiss(jfl_plan *p)
{
  for (int i = 0; i < JF_STAGING_BUFFERS; i++) {
    jf_execution_free(p->execution[i]);
    p->execution[i] = NULL;
  }
  jf_free(p->var);
  p->var = NULL;
  p->job = NULL;
}

static void drop_plan(jfl_plan *p)
{
  p->tag = JF_TAG_FREED;
  job_dismiss(p);
  jf_plan_release(p);
  jfl_graph_unref(p->graph);       /* the plan lies in its arena */
}

void jf_job_free(jfl_job *j)
{
  j->tag = JF_TAG_FREED;
  for (int i = 0; i < j->n_plan; i++) drop_plan(j->plan[i]);
  jf_free(j->plan);
  jf_free(j->name);
  jf_free(j);
}

void jf_job_remove(jfl_job *j)
{
  jfl_session *s = j->session;
  jfl_job **at = &s->jobs;
  assert(!j->n_plan);
  jf_session_lock(s);
  while (*at != j) at = &(*at)->next;
  *at = j->next;
  jf_map_remove(&s->job_names, j->name);
  jf_session_unlock(s);
  jf_job_free(j);
}

/* The caller holds the run token. */
static void job_remove_plan(jfl_plan *p)
{
  jfl_job *j = p->job;
  for (int i = 0; i < j->n_plan; i++)
    if (j->plan[i] == p) j->plan[i] = j->plan[--j->n_plan];
  drop_plan(p);
}

static jfl_status job_removal_take(jfl_request *r)
{
  job_remove_plan(r->state);
  r->state = NULL;
  return JFL_OK;
}

/* One that has not had its turn leaves the plan to the job, which goes with the session. */
static void job_removal_free(void *plan) { (void)plan; }

static const jf_task job_removal = {
  .many = "removals of plans", .take = job_removal_take, .free = job_removal_free
};

void jfl_plan_free(jfl_plan *p)
{
  if (!JF_IS_LAST(PLAN, p)) return;
  jfl_session *s = p->job->session;
  p->tag = JF_TAG_FREED;
  if (jf_removal_submit(s, &job_removal, p)) return;
  jf_session_acquire(s);
  job_remove_plan(p);
  jf_session_release(s);
}

static jfl_status check_budget(const jfl_session *s, const jfl_plan *p)
{
  double need = (double)(p->arena_size + p->constant_size + p->staging.size);
  for (int i = 0; i < p->n_variable; i++)
    need +=
        (double)jf_numel(&p->variable[i]->shape) * (double)jfl_dtype_size(p->variable[i]->dtype);
  if (s->settings.memory_limit <= 0 || need <= s->settings.memory_limit) return JFL_OK;
  jf_fail(JFL_ENOMEM, "variables%s and temporaries take %.0f bytes, memory_limit is %.0f",
          p->constant_size ? ", constants" : "", need, s->settings.memory_limit);
  return jf_room_blame(JFL_ENOMEM, p, -1);
}

/* Makes a variable that lies as w, packed as its values in the plan, which are among `n` from
   `value` on. */
static jfl_status job_make_variable(jfl_session *s, const jfl_value *w,
                                    const jfl_value *const *value, int n)
{
  jf_var *v;
  JF_TRY(jf_initial_check(w->variable));
  JF_TRY(jf_var_new(s, w->variable, w->place, w->distribution, &v));
  for (int i = 0; i < n; i++) {
    const jf_shard *piece = value[i]->shard;
    if (value[i]->variable == w->variable)
      jf_var_shard_of(v, value[i]->place, piece ? piece->member : 0)->packing = value[i]->packing;
  }
  return jf_session_add_var(s, v);
}

static jfl_status job_need_variable(jfl_session *s, const jfl_value *w,
                                    const jfl_value *const *value, int n)
{
  const jf_var *v = jf_session_var(s, w->variable->name);
  return jf_fail_in(v ? jf_var_check(v, w->variable) : job_make_variable(s, w, value, n),
                    JFL_ERROR_LINE, w->line);
}

/* Points the plan to a variable of the session; one that it changes is in no mapped file. */
static jfl_status job_take_variable(jfl_session *s, jfl_plan *p, int i)
{
  jf_var *v = p->var[i] = jf_session_var(s, p->variable[i]->variable->name);
  if (!p->changes[i]) return JFL_OK;
  v->is_updated = 1;
  return jf_fail_in(jf_var_own(s, v), JFL_ERROR_LINE, p->variable[i]->line);
}

/* A process knows of all variables, also of those of which it has no shard. */
static jfl_status need_variables(jfl_session *s, jfl_plan *p)
{
  p->var = jf_new((size_t)p->n_variable * sizeof(jf_var *));
  if (!p->var) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; i < p->graph->n_whole; i++)
    JF_TRY(job_need_variable(s, p->graph->whole[i], p->variable, p->n_variable));
  for (int i = 0; i < p->n_variable; i++) {
    if (!p->variable[i]->shard) JF_TRY(job_need_variable(s, p->variable[i], &p->variable[i], 1));
    JF_TRY(job_take_variable(s, p, i));
  }
  return JFL_OK;
}

static jfl_status admit(jfl_job *j, jfl_plan *p)
{
  JF_TRY(check_budget(j->session, p));
  if (!JF_ROOM(j->plan, j->n_plan, j->cap_plan)) return jf_fail(JFL_ENOMEM, "out of memory");
  p->job = j;
  JF_TRY(jf_job_need_room(j->session, p));
  for (int i = 0; i < (p->staging.place < 0 ? 1 : JF_STAGING_BUFFERS); i++)
    JF_TRY(jf_execution_new(p, i, &p->execution[i]));
  JF_TRY(need_variables(j->session, p));
  return jf_execution_bind(p->execution[0]);
}

jfl_status jf_job_admit_now(jfl_job *j, jfl_plan *p)
{
  const jfl_status s = admit(j, p);
  if (!s) {
    j->plan[j->n_plan++] = p;
    jfl_graph_ref(p->graph);
  } else {
    job_dismiss(p);
  }
  return jf_fail_in(s, JFL_ERROR_JOB, j->name);
}

jfl_status jf_job_admit(jfl_job *j, jfl_plan *p)
{
  jf_session_acquire(j->session);
  const jfl_status s = jf_job_admit_now(j, p);
  jf_session_release(j->session);
  return s;
}
