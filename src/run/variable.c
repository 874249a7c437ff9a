/* Variables of a session: finding, creating, reading, writing. */
#include "op/layout.h"
#include "run/run.h"

#include <assert.h>
#include <string.h>

jf_var *jf_session_var(const jfl_session *s, const char *name)
{
  return jf_map_get(&s->var_names, name);
}

static jfl_status variable_add(jfl_session *s, jf_var *v)
{
  jf_var **room = jf_regrow(s->var, s->n_var, &s->cap_var, sizeof *room);
  if (!room) return jf_fail(JFL_ENOMEM, "out of memory");
  s->var = room;
  JF_TRY(jf_map_add(&s->var_names, v->spec.name, v));
  s->var[s->n_var++] = v;
  return JFL_OK;
}

void jf_var_free(jf_var *v)
{
  if (!v) return;
  jf_free((char *)v->spec.name);
  jf_storage_unref(v->storage);
  jf_free(v);
}

char *jf_name_copy(const char *name)
{
  size_t n = strlen(name) + 1;
  char *s = jf_new_raw(n);
  return s ? memcpy(s, name, n) : NULL;
}

static size_t variable_bytes(const jf_var *v)
{
  return (size_t)jf_numel(&v->spec.shape) * jfl_dtype_size(v->spec.dtype);
}

void *jf_var_data(const jf_var *v)
{
  return v->site->device->kind->host && v->packing.form == JF_PLAIN ? v->storage->data : NULL;
}

static jfl_status variable_no_memory(const jf_var *v)
{
  return jf_fail(JFL_ENOMEM, "out of memory: a copy of '%s' takes %zu bytes", v->spec.name,
                 variable_bytes(v));
}

jfl_status jf_var_pack(const jf_var *v, void **contents)
{
  if (v->packing.form == JF_PLAIN) return JFL_OK;
  void *packed = jf_new_raw(variable_bytes(v));
  if (!packed) return variable_no_memory(v);
  jf_pack_tensor(&v->packing, v->spec.dtype, &v->spec.shape, *contents, packed);
  jf_free(*contents);
  *contents = packed;
  return JFL_OK;
}

jfl_status jf_var_store(jf_var *v, const void *contents)
{
  return jf_site_put(v->site, v->storage->data, contents, variable_bytes(v));
}

jfl_status jf_var_write(jf_var *v, const void *from)
{
  if (v->packing.form == JF_PLAIN) return jf_var_store(v, from);
  void *packed = jf_new_raw(variable_bytes(v));
  if (!packed) return variable_no_memory(v);
  jf_pack_tensor(&v->packing, v->spec.dtype, &v->spec.shape, from, packed);
  jfl_status s = jf_var_store(v, packed);
  jf_free(packed);
  return s;
}

jfl_status jf_var_read(const jf_var *v, void *out)
{
  const void *data = v->storage->data;
  if (v->packing.form == JF_PLAIN) return jf_site_get(v->site, out, data, variable_bytes(v));
  void *packed = v->site->device->kind->host ? NULL : jf_new_raw(variable_bytes(v));
  jfl_status s = JFL_OK;
  if (packed) s = jf_site_get(v->site, packed, data, variable_bytes(v));
  else if (!v->site->device->kind->host) s = variable_no_memory(v);
  if (!s)
    jf_unpack_tensor(&v->packing, v->spec.dtype, &v->spec.shape, packed ? packed : data, out);
  jf_free(packed);
  return s;
}

/* Numbers are drawn in plain order, so that no form changes them. */
static jfl_status variable_initialize(const jfl_session *s, jf_var *v)
{
  const jfl_variable_spec *spec = &v->spec;
  if (spec->init == JFL_INIT_CONSTANT && spec->a == 0) return JFL_OK;   /* memory starts zeroed */
  void *plain = jf_var_data(v);
  if (plain) return jf_initial_fill(s, spec, plain);
  plain = jf_new_raw(variable_bytes(v));
  if (!plain) return variable_no_memory(v);
  jfl_status st = jf_initial_fill(s, spec, plain);
  if (!st) st = jf_var_write(v, plain);
  jf_free(plain);
  return st;
}

/* Packed or not, a tensor takes as many bytes. */
static jfl_status variable_set_up(jfl_session *s, jf_var *v)
{
  jfl_shape packed;
  int fits = jf_packed_shape(&v->packing, &v->spec.shape, &packed);
  assert(fits && jf_numel(&packed) == jf_numel(&v->spec.shape));    /* as plans say */
  (void)fits;
  if (!v->spec.name) return jf_fail(JFL_ENOMEM, "out of memory");
  JF_TRY(jf_storage_new(v->site->device, variable_bytes(v), &v->storage));
  JF_TRY(variable_initialize(s, v));
  return variable_add(s, v);
}

static jfl_status variable_make(jfl_session *s, const jfl_variable_spec *spec,
                                const jf_packing *packing, jf_site *site, jf_var **out)
{
  jf_var *v = jf_new(sizeof *v);
  if (!v) return jf_fail(JFL_ENOMEM, "out of memory");
  v->spec = *spec;
  v->spec.name = jf_name_copy(spec->name);
  v->packing = *packing;
  v->site = site;
  jfl_status st = variable_set_up(s, v);
  if (st) {
    jf_var_free(v);
    return jf_blame(st, "variable '%s': ", spec->name);
  }
  *out = v;
  return JFL_OK;
}

jfl_status jf_session_need_var(jfl_session *s, const jfl_variable_spec *spec,
                               const jf_packing *packing, jf_site *site, jf_var **out)
{
  char a[JF_SHAPE_STR], b[JF_SHAPE_STR];
  jf_var *v = jf_session_var(s, spec->name);
  if (!v) {
    JF_TRY(jf_initial_check(spec));
    return variable_make(s, spec, packing, site, out);
  }
  if (v->spec.dtype != spec->dtype || !jf_shape_eq(&v->spec.shape, &spec->shape))
    return jf_fail(JFL_ESHAPE, "variable '%s' must be %s %s as in this session, got %s %s from "
                   "this job; jobs share variables by name", spec->name,
                   jfl_dtype_name(v->spec.dtype), jf_shape_str(&v->spec.shape, a),
                   jfl_dtype_name(spec->dtype), jf_shape_str(&spec->shape, b));
  /* Plans adapt to what is there. */
  assert(jf_packing_eq(&v->packing, packing) && v->site == site);
  *out = v;
  return JFL_OK;
}

unsigned jfl_session_disturbances(const jfl_session *s)
{
  return JF_IS(SESSION, s) ? s->disturbances : 0;
}

int jfl_variable_count(jfl_session *s) { return JF_IS(SESSION, s) ? s->n_var : 0; }

const char *jfl_variable_name(jfl_session *s, int i)
{
  return JF_IS(SESSION, s) && i >= 0 && i < s->n_var ? s->var[i]->spec.name : NULL;
}

static jfl_status variable_find(const jfl_session *s, const char *name, jf_var **out)
{
  *out = jf_session_var(s, name);
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

jfl_status jfl_variable_get(jfl_session *s, const char *name, jfl_array **out)
{
  jf_var *v;
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(name);
  JF_NEED_POINTER(out);
  JF_TRY(variable_find(s, name, &v));
  jfl_array *a;
  JF_TRY(jf_array_new_raw(v->spec.dtype, &v->spec.shape, &a));
  jf_session_acquire(s);
  jfl_status st = jf_var_read(v, a->data);
  jf_session_release(s);
  if (st) jfl_array_unref(a);
  else *out = a;
  return st;
}

jfl_status jfl_variable_set(jfl_session *s, const char *name, const jfl_array *value)
{
  char a[JF_SHAPE_STR], b[JF_SHAPE_STR];
  jf_var *v;
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(name);
  JF_NEED(ARRAY, value);
  JF_TRY(variable_find(s, name, &v));
  if (value->dtype != v->spec.dtype || !jf_shape_eq(&value->shape, &v->spec.shape))
    return jf_fail(JFL_ESHAPE, "variable '%s' must be %s %s, got %s %s", name,
                   jfl_dtype_name(v->spec.dtype), jf_shape_str(&v->spec.shape, a),
                   jfl_dtype_name(value->dtype), jf_shape_str(&value->shape, b));
  jf_session_acquire(s);
  jfl_status st = jf_var_write(v, value->data);
  s->changes++;
  v->written = 1;
  s->disturbances++;
  jf_session_release(s);
  return st;
}

/* A job with a plan that has the variable, or NULL. */
static const jfl_job *variable_user(const jfl_session *s, const char *name)
{
  for (const jfl_job *j = s->jobs; j; j = j->next)
    for (int i = 0; i < j->n_plan; i++)
      for (int k = 0; k < j->plan[i]->n_variable; k++)
        if (!strcmp(j->plan[i]->variable[k]->name, name)) return j;
  return NULL;
}

jfl_status jfl_variable_drop(jfl_session *s, const char *name)
{
  jf_var *v;
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(name);
  JF_TRY(variable_find(s, name, &v));
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
