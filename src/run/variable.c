/* Variables of a session: finding, creating, reading, writing. */
#include "run/run.h"
#include "world/world.h"

#include <string.h>

jf_var *jf_session_var(const jfl_session *s, const char *name)
{
  return jf_map_get(&s->var_names, name);
}

/* The session's thread may look for a name meanwhile. */
static jfl_status variable_add(jfl_session *s, jf_var *v)
{
  if (!JF_ROOM(s->var, s->n_var, s->cap_var)) return jf_fail(JFL_ENOMEM, "out of memory");
  jf_session_lock(s);
  const jfl_status st = jf_map_add(&s->var_names, v->spec.name, v);
  if (!st) s->var[s->n_var++] = v;
  jf_session_unlock(s);
  return st;
}

/* Numbers are drawn in plain order for the whole tensor, so that neither forms nor the number of
   devices change them. */
static jfl_status variable_initialize(const jfl_session *s, jf_var *v)
{
  const jfl_variable_spec *spec = &v->spec;
  void *plain = v->n_shard == 1 ? jf_var_data(v) : NULL;
  if (plain || !v->n_shard) return plain ? jf_initial_fill(s, v->seed, spec, plain) : JFL_OK;
  plain = jf_new_raw(jf_var_bytes(v));
  if (!plain) return jf_var_no_memory(v, jf_var_bytes(v));
  jfl_status st = jf_initial_fill(s, v->seed, spec, plain);
  if (!st) st = jf_var_write(v, plain);
  jf_free(plain);
  return st;
}

static jfl_status variable_set_up(jfl_session *s, jf_var *v)
{
  const int zeros = v->spec.init == JFL_INIT_CONSTANT && v->spec.a == 0;
  v->seed = s->seed;
  v->deferred = s->defers && !zeros;
  JF_TRY(jf_var_take(v));      /* which starts zeroed */
  if (!zeros && !v->deferred) JF_TRY(variable_initialize(s, v));
  return variable_add(s, v);
}

/* Draws the values that were put off, but for variables that were written meanwhile. */
static jfl_status variable_make_up(jfl_session *s)
{
  jfl_status r = JFL_OK;
  for (int i = 0; i < s->n_var; i++) {
    jf_var *v = s->var[i];
    if (v->deferred && !v->written) {
      const jfl_status one = variable_initialize(s, v);
      v->changed = ++s->changes;
      if (one && !r) r = jf_blame(one, "variable '%s': ", v->spec.name);
    }
    v->deferred = 0;
  }
  return r;
}

jfl_status jfl_variables_defer(jfl_session *s, int on)
{
  jfl_status r = JFL_OK;
  JF_NEED(SESSION, s);
  JF_NEED_BELOW(on, 2);
  if (!on && !s->defers)
    return jf_fail(JFL_ESTATE, "values of variables must be put off before they are made up");
  jf_compiles_wait(s);
  jf_session_acquire(s);
  s->defers += on ? 1 : -1;
  if (!s->defers) r = variable_make_up(s);
  jf_session_release(s);
  return r;
}

jfl_status jf_session_add_var(jfl_session *s, jf_var *v)
{
  jfl_status st = variable_set_up(s, v);
  if (st) st = jf_blame(st, "variable '%s': ", v->spec.name);
  if (st) jf_var_free(v);
  return st;
}

jfl_status jf_var_check(const jf_var *v, const jfl_variable_spec *spec)
{
  char a[JF_SHAPE_STR], b[JF_SHAPE_STR];
  if (v->spec.dtype == spec->dtype && jf_shape_eq(&v->spec.shape, &spec->shape)) return JFL_OK;
  return jf_fail(JFL_ESHAPE, "variable '%s' must be %s %s as in this session, got %s %s from "
                 "this job; jobs share variables by name", spec->name,
                 jfl_dtype_name(v->spec.dtype), jf_shape_str(&v->spec.shape, a),
                 jfl_dtype_name(spec->dtype), jf_shape_str(&spec->shape, b));
}

unsigned jfl_session_disturbances(const jfl_session *s)
{
  return JF_IS(SESSION, s) ? s->disturbances : 0;
}

int jfl_variable_count(jfl_session *s)
{
  if (!JF_IS(SESSION, s)) return 0;
  jf_compiles_wait(s);
  return s->n_var;
}

const char *jfl_variable_name(jfl_session *s, int i)
{
  return i >= 0 && i < jfl_variable_count(s) ? s->var[i]->spec.name : NULL;
}

/* On the session's thread, which alone drops variables: one that is there stays, also while plans
   are being made; any other may be in one of these. */
static jfl_status variable_find(jfl_session *s, const char *name, jf_var **out)
{
  jf_session_lock(s);
  *out = jf_session_var(s, name);
  jf_session_unlock(s);
  if (!*out) jf_compiles_wait(s);
  if (!*out) *out = jf_session_var(s, name);
  return *out ? JFL_OK : jf_fail(JFL_ENAME, "unknown variable '%s'", name);
}

jfl_status jfl_variable_info(jfl_session *s, const char *name, jfl_dtype *dtype,
                             const jfl_shape **shape)
{
  jf_var *v;
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(name);
  JF_TRY(variable_find(s, name, &v));
  if (dtype) *dtype = v->spec.dtype;
  if (shape) *shape = &v->spec.shape;
  return JFL_OK;
}

jfl_status jfl_variable_distribution(jfl_session *s, const char *name, const char **devices,
                                     jfl_distribution *distribution)
{
  jf_var *v;
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(name);
  JF_TRY(variable_find(s, name, &v));
  if (devices) *devices = v->group ? v->group->name : s->site[v->place]->device->name;
  if (distribution) *distribution = v->distribution;
  return JFL_OK;
}

/* Reads a variable. Where some process has a part of it alone, all must come here. */
static jfl_status variable_read(jfl_session *s, jf_var *v, void *out)
{
  if (!jf_var_is_sharded(v, -1)) return jf_var_read(v, out);
  JF_TRY(jf_session_agree_to(s, "read variable", v->spec.name));
  return jf_var_gather(s, v, -1, out, JFL_OK);
}

jfl_status jfl_variable_get(jfl_session *s, const char *name, jfl_array **out)
{
  jf_var *v;
  JF_NEED(SESSION, s);
  JF_NEED_POINTERS(name, out);
  JF_TRY(variable_find(s, name, &v));
  jfl_array *a;
  JF_TRY(jf_array_new_raw(v->spec.dtype, &v->spec.shape, &a));
  jf_session_acquire(s);
  jfl_status st = variable_read(s, v, a->data);
  jf_session_release(s);
  if (st) jfl_array_unref(a);
  else *out = a;
  return st;
}

/* ---- all of them, as of a call ---- */

static jfl_status variable_read_to(jfl_session *s, jf_var *v, char **name, jfl_array **out)
{
  if (!(*name = jf_name_copy(v->spec.name))) return jf_fail(JFL_ENOMEM, "out of memory");
  JF_TRY(jf_array_new_raw(v->spec.dtype, &v->spec.shape, out));
  return variable_read(s, v, (*out)->data);
}

static jfl_status variable_take_all(jfl_request *r)
{
  jfl_session *s = r->session;
  r->name = jf_new((size_t)s->n_var * sizeof *r->name);
  r->out = jf_new((size_t)s->n_var * sizeof *r->out);
  if (!r->name || !r->out) return jf_fail(JFL_ENOMEM, "out of memory");
  while (r->n_out < s->n_var) {
    const int i = r->n_out++;
    JF_TRY(variable_read_to(s, s->var[i], &r->name[i], &r->out[i]));
  }
  return JFL_OK;
}

static void variable_free_nothing(void *state) { (void)state; }

static const jf_task variable_task = {
  .many = "readings", .take = variable_take_all, .free = variable_free_nothing
};

jfl_status jfl_variables_submit(jfl_session *s, jfl_request **out)
{
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(out);
  return jf_task_submit(s, &variable_task, NULL, &s->n_reads, out);
}

static jfl_status variable_check_value(const jf_var *v, const jfl_array *value)
{
  char a[JF_SHAPE_STR], b[JF_SHAPE_STR];
  if (value->dtype == v->spec.dtype && jf_shape_eq(&value->shape, &v->spec.shape)) return JFL_OK;
  return jf_fail(JFL_ESHAPE, "variable '%s' must be %s %s, got %s %s", v->spec.name,
                 jfl_dtype_name(v->spec.dtype), jf_shape_str(&v->spec.shape, a),
                 jfl_dtype_name(value->dtype), jf_shape_str(&value->shape, b));
}

/* Gives a variable what rank 0 gives it. */
static jfl_status variable_write_together(jfl_session *s, jf_var *v, const jfl_array *value)
{
  JF_TRY(jf_session_agree_to(s, "set variable", v->spec.name));
  jfl_status st = variable_check_value(v, value);
  void *contents = st ? NULL : jf_new_raw(jf_var_bytes(v));
  if (contents) memcpy(contents, value->data, jf_var_bytes(v));
  else if (!st) st = jf_var_no_memory(v, jf_var_bytes(v));
  st = jf_session_agree_status(s, st);
  if (!st) st = jf_hand_out(contents, jf_var_bytes(v));
  if (!st) st = jf_session_agree_status(s, jf_var_pack(v, &contents));
  if (!st) st = jf_session_agree_status(s, jf_var_store(v, contents));
  jf_free(contents);
  return st;
}

jfl_status jfl_variable_set(jfl_session *s, const char *name, const jfl_array *value)
{
  jf_var *v;
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(name);
  JF_NEED(ARRAY, value);
  JF_TRY(variable_find(s, name, &v));
  const int alone = jf_world_size() == 1;
  if (alone) JF_TRY(variable_check_value(v, value));
  jf_session_acquire(s);
  jfl_status st = alone ? jf_var_write(v, value->data) : variable_write_together(s, v, value);
  v->changed = ++s->changes;
  v->written = 1;
  s->disturbances++;
  jf_session_release(s);
  return st;
}

/* ---- several, in their turn ---- */

/* What a setting is to set: copies of names and values. */
typedef struct new_values {
  int n;
  char **name;
  jfl_array **value;
} new_values;

static void setting_free(void *state)
{
  new_values *g = state;
  for (int i = 0; i < g->n; i++) {
    jf_free(g->name[i]);
    jfl_array_unref(g->value[i]);
  }
  jf_free(g->name);
  jf_free(g->value);
  jf_free(g);
}

/* NULL where memory is out. */
static new_values *setting_new(const char *const *names, jfl_array *const *values, int n)
{
  new_values *g = jf_new(sizeof *g);
  if (!g) return NULL;
  g->name = jf_new((size_t)n * sizeof *g->name);
  g->value = jf_new((size_t)n * sizeof *g->value);
  jfl_status st = g->name && g->value ? JFL_OK : JFL_ENOMEM;
  for (; !st && g->n < n; g->n++) {
    g->name[g->n] = jf_name_copy(names[g->n]);
    st = g->name[g->n] ? jfl_array_cast(values[g->n], values[g->n]->dtype, 0, &g->value[g->n])
                       : JFL_ENOMEM;
  }
  if (!st) return g;
  setting_free(g);
  return NULL;
}

/* A session of several processes has taken another path. */
static jfl_status setting_make(jfl_request *r)
{
  jfl_session *s = r->session;
  const new_values *g = r->state;
  jfl_status st = JFL_OK;
  for (int i = 0; i < g->n && !st; i++) {
    jf_var *v = jf_session_var(s, g->name[i]);
    st = jf_var_write(v, g->value[i]->data);
    v->changed = ++s->changes;
    v->written = 1;
  }
  s->disturbances++;
  return st;
}

static const jf_task setting_task = {
  .many = "settings", .take = setting_make, .free = setting_free
};

/* Ranks set a variable together, which takes all of them: it is done at once. */
static jfl_status setting_make_together(jfl_session *s, new_values *g, jfl_request **out)
{
  jfl_status st = JFL_OK;
  JF_TRY(jf_request_new_task(s, &setting_task, g, out));
  for (int i = 0; i < g->n && !st; i++) st = jfl_variable_set(s, g->name[i], g->value[i]);
  jf_request_set(*out, st);
  atomic_store(&(*out)->done, 1);
  return JFL_OK;
}

jfl_status jfl_variables_set_submit(jfl_session *s, const char *const *names,
                                    jfl_array *const *values, int n, jfl_request **out)
{
  jf_var *v;
  JF_NEED(SESSION, s);
  JF_NEED_LIST(names, n);
  JF_NEED_EACH(ARRAY, values, n);
  JF_NEED_POINTER(out);
  for (int i = 0; i < n; i++) {
    JF_TRY(jf_need_pointer(__func__, "names[]", names[i]));
    JF_TRY(variable_find(s, names[i], &v));
    JF_TRY(variable_check_value(v, values[i]));
  }
  new_values *g = setting_new(names, values, n);
  if (!g) return jf_fail(JFL_ENOMEM, "out of memory");
  if (jf_world_size() > 1) return setting_make_together(s, g, out);
  return jf_task_submit(s, &setting_task, g, &s->n_settings, out);
}

/* A job with a plan that has the variable, or NULL. */
static const jfl_job *variable_user(const jfl_session *s, const char *name)
{
  for (const jfl_job *j = s->jobs; j; j = j->next)
    for (int i = 0; i < j->n_plan; i++)
      for (int k = 0; k < j->plan[i]->n_variable; k++)
        if (!strcmp(j->plan[i]->variable[k]->variable->name, name)) return j;
  return NULL;
}

jfl_status jfl_variable_drop(jfl_session *s, const char *name)
{
  jf_var *v;
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(name);
  JF_TRY(variable_find(s, name, &v));
  jf_compiles_wait(s);
  const jfl_job *user = variable_user(s, name);
  if (user)
    return jf_fail(JFL_ESTATE, "variable '%s' must be in no plan to be dropped, got one of job "
                   "'%s'", name, user->name);
  int i = 0;
  while (s->var[i] != v) i++;
  jf_session_acquire(s);
  s->disturbances++;
  jf_map_remove(&s->var_names, name);
  memmove(&s->var[i], &s->var[i + 1], (size_t)(--s->n_var - i) * sizeof *s->var);
  jf_session_release(s);
  jf_var_free(v);
  return JFL_OK;
}
