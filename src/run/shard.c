/* What a session keeps of a variable on its devices: making that memory, and copying whole tensors
   to it and from it. */
#include "op/layout.h"
#include "run/run.h"

#include <assert.h>
#include <string.h>

static size_t shard_bytes(const jf_var *v, const jf_var_shard *p)
{
  return (size_t)jf_numel(&p->shape) * jfl_dtype_size(v->spec.dtype);
}

size_t jf_var_bytes(const jf_var *v)
{
  return JF_BYTES_OF(&v->spec);
}

static int shard_is_whole(const jf_var *v) { return v->distribution.kind != JFL_SPLIT; }

/* Whether all shards have the same bytes. */
static int shard_are_alike(const jf_var *v)
{
  int alike = shard_is_whole(v);
  for (int i = 1; i < v->n_shard; i++)
    alike = alike && jf_packing_eq(&v->shard[i].packing, &v->shard[0].packing);
  return alike;
}

jfl_status jf_var_no_memory(const jf_var *v, size_t size)
{
  return jf_fail(JFL_ENOMEM, "out of memory: a copy of '%s' takes %zu bytes", v->spec.name, size);
}

/* ---- making ---- */

static void shard_add(jf_var *v, jf_site *site, int member)
{
  jf_var_shard *p = &v->shard[v->n_shard++];
  *p = (jf_var_shard){ .site = site, .member = member, .shape = v->spec.shape };
  if (v->group) jf_share_of(&v->spec.shape, v->distribution, v->group->n, member, &p->shape);
}

/* One for each member that this process has; devices that occur twice share what is whole. */
static void shard_add_all(const jfl_session *s, jf_var *v)
{
  for (int i = 0; i < v->group->n; i++) {
    const int place = v->group->member[i].place;
    int shared = 0;
    if (place < 0) continue;
    for (int k = 0; k < v->n_shard && shard_is_whole(v); k++)
      shared |= v->shard[k].site->place == place;
    if (!shared) shard_add(v, s->site[place], i);
  }
}

jfl_status jf_var_new(const jfl_session *s, const jfl_variable_spec *spec, int place,
                      jfl_distribution d, jf_var **out)
{
  const jf_group *group = jf_is_group(place) ? s->group[place - JF_GROUPS] : NULL;
  const size_t most = group ? (size_t)group->n : 1;
  jf_var *v = jf_new(sizeof *v + most * sizeof *v->shard);
  if (!v) return jf_fail(JFL_ENOMEM, "out of memory");
  v->spec = *spec;
  v->spec.name = jf_name_copy(spec->name);
  v->place = place;
  v->group = group;
  v->distribution = group ? d : JF_ON_ALL;
  if (!v->spec.name) {
    jf_free(v);
    return jf_fail(JFL_ENOMEM, "out of memory");
  }
  if (group) shard_add_all(s, v);
  else shard_add(v, s->site[place], 0);
  return *out = v, JFL_OK;
}

void jf_var_free(jf_var *v)
{
  if (!v) return;
  jf_free((char *)v->spec.name);
  for (int i = 0; i < v->n_shard; i++) jf_storage_free(v->shard[i].storage);
  jf_free(v);
}

/* Packed or not, a tensor takes as many bytes. */
jfl_status jf_var_take(jf_var *v)
{
  for (int i = 0; i < v->n_shard; i++) {
    jf_var_shard *p = &v->shard[i];
    jfl_shape packed;
    int fits = jf_packed_shape(&p->packing, &p->shape, &packed);
    assert(fits && jf_numel(&packed) == jf_numel(&p->shape));    /* as plans say */
    (void)fits;
    JF_TRY(jf_storage_new(p->site->device, shard_bytes(v, p), &p->storage));
  }
  return JFL_OK;
}

jf_var_shard *jf_var_shard_of(jf_var *v, int place, int member)
{
  for (int i = 0; i < v->n_shard; i++)
    if (shard_is_whole(v) ? v->shard[i].site->place == place : v->shard[i].member == member)
      return &v->shard[i];
  return NULL;
}

/* Plans adapt to what is there. */
void *jf_plan_data(const jfl_plan *p, int i)
{
  const jfl_value *w = p->variable[i];
  const int member = w->shard ? w->shard->member : 0;
  const jf_var_shard *piece = jf_var_shard_of(p->var[i], w->place, member);
  assert(p->var[i]->place == (w->shard ? w->shard->group : w->place));
  assert(piece && jf_packing_eq(&piece->packing, &w->packing));
  return piece->storage->data;
}

/* ---- parts of a whole tensor ---- */

/* Rows of a whole tensor, of which a part has some of each: `rows` of them, each of `row` bytes,
   and of each those from `first` on, `size` in number. */
typedef struct shard_cut { size_t rows, row, first, size; } shard_cut;

static shard_cut shard_cut_of(const jf_var *v, int member)
{
  jfl_shape part;
  const int axis = v->distribution.axis;
  shard_cut c = { .rows = 1, .row = jfl_dtype_size(v->spec.dtype) };
  for (int i = 0; i < axis; i++) c.rows *= (size_t)v->spec.shape.d[i];
  for (int i = axis + 1; i < v->spec.shape.n; i++) c.row *= (size_t)v->spec.shape.d[i];
  c.first = c.row * (size_t)jf_share_of(&v->spec.shape, v->distribution, v->group->n, member,
                                        &part);
  c.size = c.row * (size_t)part.d[axis];
  c.row *= (size_t)v->spec.shape.d[axis];
  return c;
}

static void shard_cut_out(const shard_cut *c, const char *whole, char *part)
{
  for (size_t i = 0; i < c->rows; i++)
    memcpy(part + i * c->size, whole + i * c->row + c->first, c->size);
}

static void shard_put_in(const shard_cut *c, const char *part, char *whole)
{
  for (size_t i = 0; i < c->rows; i++)
    memcpy(whole + i * c->row + c->first, part + i * c->size, c->size);
}

/* ---- to the devices ---- */

/* Puts a shard of a whole tensor in plain order into the form in which the shard keeps it. */
static jfl_status shard_form(const jf_var *v, const jf_var_shard *p, const void *whole, void *out)
{
  const size_t size = shard_bytes(v, p);
  const int packs = p->packing.form != JF_PLAIN;
  void *part = NULL;
  if (!shard_is_whole(v)) {
    part = packs ? jf_new_raw(size) : out;
    if (!part) return jf_var_no_memory(v, size);
    const shard_cut c = shard_cut_of(v, p->member);
    shard_cut_out(&c, whole, part);
  } else if (!packs) {
    memcpy(out, whole, size);
  }
  if (packs) jf_pack_tensor(&p->packing, v->spec.dtype, &p->shape, part ? part : whole, out);
  if (part != out) jf_free(part);
  return JFL_OK;
}

int jf_var_takes_plain(const jf_var *v)
{
  return shard_are_alike(v) && (!v->n_shard || v->shard[0].packing.form == JF_PLAIN);
}

/* What jf_var_store takes, of a whole tensor; NULL where that is the tensor itself. */
static jfl_status shard_form_all(const jf_var *v, const void *whole, void **out)
{
  const int n = shard_are_alike(v) && v->n_shard ? 1 : v->n_shard;
  size_t size = 0, at = 0;
  *out = NULL;
  if (jf_var_takes_plain(v)) return JFL_OK;
  for (int i = 0; i < n; i++) size += shard_bytes(v, &v->shard[i]);
  char *all = jf_new_raw(size);
  if (!all) return jf_var_no_memory(v, size);
  for (int i = 0; i < n; at += shard_bytes(v, &v->shard[i++])) {
    jfl_status s = shard_form(v, &v->shard[i], whole, all + at);
    if (s) return jf_free(all), s;
  }
  return *out = all, JFL_OK;
}

jfl_status jf_var_pack(const jf_var *v, void **contents)
{
  void *formed;
  JF_TRY(shard_form_all(v, *contents, &formed));
  if (!formed) return JFL_OK;
  jf_free(*contents);
  *contents = formed;
  return JFL_OK;
}

jfl_status jf_var_store(jf_var *v, const void *contents)
{
  const char *from = contents;
  const int alike = shard_are_alike(v);
  for (int i = 0; i < v->n_shard; i++) {
    const size_t size = shard_bytes(v, &v->shard[i]);
    JF_TRY(jf_site_put(v->shard[i].site, v->shard[i].storage->data, from, size));
    if (!alike) from += size;
  }
  return JFL_OK;
}

jfl_status jf_var_write(jf_var *v, const void *from)
{
  void *formed;
  JF_TRY(shard_form_all(v, from, &formed));
  jfl_status s = jf_var_store(v, formed ? formed : from);
  jf_free(formed);
  return s;
}

/* ---- from the devices ---- */

jfl_status jf_var_is_whole(const jf_var *v)
{
  if (!jf_var_is_mapped(v) || jf_mapping_is_whole(v->shard[0].storage->file)) return JFL_OK;
  return jf_fail(JFL_EIO, "variable '%s': the file from which it was loaded has changed since, or "
                 "cannot be read; load it again", v->spec.name);
}

/* Copies what a shard has, in plain order, to host memory. */
static jfl_status shard_read(const jf_var *v, const jf_var_shard *p, void *out)
{
  const void *data = p->storage->data;
  const size_t size = shard_bytes(v, p);
  const int host = p->site->device->kind->host;
  if (p->packing.form == JF_PLAIN) {
    JF_TRY(jf_site_get(p->site, out, data, size));
    return jf_var_is_whole(v);
  }
  void *packed = host ? NULL : jf_new_raw(size);
  if (!host && !packed) return jf_var_no_memory(v, size);
  jfl_status s = packed ? jf_site_get(p->site, packed, data, size) : JFL_OK;
  if (!s)
    jf_unpack_tensor(&p->packing, v->spec.dtype, &p->shape, packed ? packed : data, out);
  jf_free(packed);
  return s;
}

/* Copies a split shard to where it lies in a whole tensor. */
static jfl_status shard_read_into(const jf_var *v, const jf_var_shard *p, void *whole)
{
  const shard_cut c = shard_cut_of(v, p->member);
  if (c.rows == 1) return shard_read(v, p, (char *)whole + c.first);
  void *part = jf_new_raw(shard_bytes(v, p));
  if (!part) return jf_var_no_memory(v, shard_bytes(v, p));
  jfl_status s = shard_read(v, p, part);
  if (!s) shard_put_in(&c, part, whole);
  jf_free(part);
  return s;
}

jfl_status jf_var_read(const jf_var *v, void *out)
{
  if (shard_is_whole(v)) return v->n_shard ? shard_read(v, &v->shard[0], out) : JFL_OK;
  for (int i = 0; i < v->n_shard; i++) JF_TRY(shard_read_into(v, &v->shard[i], out));
  return JFL_OK;
}

size_t jf_var_part_bytes(const jf_var *v, int member)
{
  if (shard_is_whole(v)) return jf_var_bytes(v);
  const shard_cut c = shard_cut_of(v, member);
  return c.rows * c.size;
}

jfl_status jf_var_read_part(jf_var *v, int member, void *part)
{
  const jf_var_shard *p = shard_is_whole(v) ? &v->shard[0] : jf_var_shard_of(v, -1, member);
  return shard_read(v, p, part);
}

void jf_var_join_part(const jf_var *v, int member, const void *part, void *whole)
{
  if (shard_is_whole(v)) {
    memcpy(whole, part, jf_var_bytes(v));
    return;
  }
  const shard_cut c = shard_cut_of(v, member);
  shard_put_in(&c, part, whole);
}

void *jf_var_data(const jf_var *v)
{
  if (!v->n_shard || !shard_is_whole(v)) return NULL;
  const jf_var_shard *p = &v->shard[0];
  return p->site->device->kind->host && p->packing.form == JF_PLAIN ? p->storage->data : NULL;
}
