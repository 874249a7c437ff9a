/* Variables of a session: finding, creating, initializing. */
#include "dev/number.h"
#include "op/layout.h"
#include "run/run.h"

#include <assert.h>
#include <math.h>
#include <string.h>

jf_var *jf_session_var(const jfl_session *s, const char *name)
{
  return jf_map_get(&s->var_names, name);
}

/* Random numbers for one element: words of Philox blocks counted by `low`, element by `high`. */
typedef struct draws { uint64_t key, element, block; jf_philox bits; int left; } draws;

static double variable_unit(draws *d)
{
  if (!d->left) {
    d->bits = jf_philox_at(d->key, d->element, d->block++);
    d->left = 2;
  }
  d->left--;
  uint64_t w = (uint64_t)d->bits.w[2 * d->left] << 32 | d->bits.w[2 * d->left + 1];
  return (double)(w >> 11) * 0x1p-53;
}

/* Box and Muller's transform; 1 - u keeps the logarithm finite. */
static double variable_normal(draws *d)
{
  double radius = sqrt(-2 * log(1 - variable_unit(d)));
  return radius * cos(6.283185307179586 * variable_unit(d));
}

static double variable_draw(const jfl_variable_spec *v, uint64_t key, int64_t i)
{
  draws d = { .key = key, .element = (uint64_t)i };
  double z;
  switch (v->init) {
  case JFL_INIT_CONSTANT: return v->a;
  case JFL_INIT_UNIFORM: return v->a + (v->b - v->a) * variable_unit(&d);
  case JFL_INIT_NORMAL: return v->a + v->b * variable_normal(&d);
  case JFL_INIT_TRUNCATED_NORMAL:
    do z = variable_normal(&d);
    while (fabs(z) >= 2);
    return v->a + v->b * z;
  }
  return 0;
}

/* Elements depend on seed, name and position alone: not on threads, nor on what was made before.
   bound: what uniform elements stay below; not-a-number where there is no such bound. */
typedef struct variable_fill {
  const jfl_variable_spec *spec;
  void *data;
  int64_t n;
  uint64_t key;
  double bound;
} variable_fill;
enum { CHUNK = 4096, FEW = 64 };

/* v as an element of that dtype has it. */
static double variable_rounded(jfl_dtype t, double v)
{
  double room;
  jf_numbers_put(t, &room, 0, 1, &v);
  jf_numbers_get(t, &room, 0, 1, &v);
  return v;
}

/* A range whose ends round to one number has no element below its upper end. */
static double variable_bound(const jfl_variable_spec *v)
{
  if (v->init != JFL_INIT_UNIFORM || !jf_is_float(v->dtype)) return NAN;
  const double top = variable_rounded(v->dtype, v->b);
  return variable_rounded(v->dtype, v->a) < top ? top : NAN;
}

/* Draws again for those of n elements from i on that were rounded up to the bound. */
static void variable_redraw(const variable_fill *f, int64_t i, int n)
{
  const jfl_variable_spec *spec = f->spec;
  double v[FEW];
  jf_numbers_get(spec->dtype, f->data, i, n, v);
  for (int j = 0; j < n; j++) {
    draws d = { .key = f->key, .element = (uint64_t)(i + j), .block = 1 };
    if (!(v[j] >= f->bound)) continue;
    do v[j] = variable_rounded(spec->dtype, spec->a + (spec->b - spec->a) * variable_unit(&d));
    while (v[j] >= f->bound);
    jf_numbers_put(spec->dtype, f->data, i + j, 1, &v[j]);
  }
}

static void fill_chunk(void *ctx, int chunk)
{
  const variable_fill *f = ctx;
  int64_t i = (int64_t)chunk * CHUNK, end = i + CHUNK;
  if (end > f->n) end = f->n;
  for (int n = 0; i < end; i += n) {
    double v[FEW];
    for (n = 0; n < FEW && i + n < end; n++) {
      v[n] = variable_draw(f->spec, f->key, i + n);
      if (!jf_is_float(f->spec->dtype)) v[n] = floor(v[n]);
    }
    jf_numbers_put(f->spec->dtype, f->data, i, n, v);
    if (!isnan(f->bound)) variable_redraw(f, i, n);
  }
}

/* Draws for an integer variable are rounded down, so their range must be one of integers. */
static jfl_status check_whole(const jfl_variable_spec *v)
{
  int range = v->init == JFL_INIT_UNIFORM;
  if (jf_is_float(v->dtype)) return JFL_OK;
  if (!range && v->init != JFL_INIT_CONSTANT)
    return jf_fail(JFL_EDTYPE, "variable '%s': the initializer must be constant or uniform for %s",
                   v->name, jfl_dtype_name(v->dtype));
  if (jf_holds(v->dtype, v->a) && (!range || jf_holds(v->dtype, v->b))) return JFL_OK;
  return jf_fail(JFL_EDTYPE, "variable '%s': the initializer's value must fit %s, got %.14g",
                 v->name, jfl_dtype_name(v->dtype), jf_holds(v->dtype, v->a) ? v->b : v->a);
}

static jfl_status check_spec(const jfl_variable_spec *v)
{
  JF_TRY(check_whole(v));
  if (v->init == JFL_INIT_CONSTANT || (isfinite(v->a) && isfinite(v->b))) return JFL_OK;
  return jf_fail(JFL_EINVAL, "variable '%s': the initializer's parameters must be finite", v->name);
}

static void variable_fill_all(const jfl_session *s, const jfl_variable_spec *spec, void *data)
{
  variable_fill f = { spec, data, jf_numel(&spec->shape), jf_hash_str(s->seed, spec->name),
                      variable_bound(spec) };
  jf_parallel(f.n < 16 * CHUNK ? 1 : s->settings.threads, (int)((f.n + CHUNK - 1) / CHUNK),
              fill_chunk, &f);
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
  if (plain) return variable_fill_all(s, spec, plain), JFL_OK;
  plain = jf_new_raw(variable_bytes(v));
  if (!plain) return variable_no_memory(v);
  variable_fill_all(s, spec, plain);
  jfl_status st = jf_var_write(v, plain);
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
    JF_TRY(check_spec(spec));
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
