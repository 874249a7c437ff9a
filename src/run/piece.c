/* What a session keeps of a variable on its devices: making that memory, and copying whole tensors
   to it and from it. */
#include "op/layout.h"
#include "run/run.h"

#include <assert.h>
#include <string.h>

static size_t piece_bytes(const jf_var *v, const jf_var_piece *p)
{
  return (size_t)jf_numel(&p->shape) * jfl_dtype_size(v->spec.dtype);
}

size_t jf_var_bytes(const jf_var *v)
{
  return (size_t)jf_numel(&v->spec.shape) * jfl_dtype_size(v->spec.dtype);
}

static int piece_is_whole(const jf_var *v) { return v->distribution.kind != JFL_SPLIT; }

/* Whether all pieces have the same bytes. */
static int piece_are_alike(const jf_var *v)
{
  int alike = piece_is_whole(v);
  for (int i = 1; i < v->n_piece; i++)
    alike = alike && jf_packing_eq(&v->piece[i].packing, &v->piece[0].packing);
  return alike;
}

jfl_status jf_var_no_memory(const jf_var *v, size_t size)
{
  return jf_fail(JFL_ENOMEM, "out of memory: a copy of '%s' takes %zu bytes", v->spec.name, size);
}

/* ---- making ---- */

static void piece_add(jf_var *v, jf_site *site, int member)
{
  jf_var_piece *p = &v->piece[v->n_piece++];
  *p = (jf_var_piece){ .site = site, .member = member, .shape = v->spec.shape };
  if (v->group) jf_share_of(&v->spec.shape, v->distribution, v->group->n, member, &p->shape);
}

/* One for each member that this process has; devices that occur twice share what is whole. */
static void piece_add_all(const jfl_session *s, jf_var *v)
{
  for (int i = 0; i < v->group->n; i++) {
    const int place = v->group->member[i].place;
    int shared = 0;
    if (place < 0) continue;
    for (int k = 0; k < v->n_piece && piece_is_whole(v); k++)
      shared |= v->piece[k].site->place == place;
    if (!shared) piece_add(v, s->site[place], i);
  }
}

jfl_status jf_var_new(const jfl_session *s, const jfl_variable_spec *spec, int place,
                      jfl_distribution d, jf_var **out)
{
  const jf_group *group = jf_is_group(place) ? s->group[place - JF_GROUPS] : NULL;
  const size_t most = group ? (size_t)group->n : 1;
  jf_var *v = jf_new(sizeof *v + most * sizeof *v->piece);
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
  if (group) piece_add_all(s, v);
  else piece_add(v, s->site[place], 0);
  return *out = v, JFL_OK;
}

void jf_var_free(jf_var *v)
{
  if (!v) return;
  jf_free((char *)v->spec.name);
  for (int i = 0; i < v->n_piece; i++) jf_storage_unref(v->piece[i].storage);
  jf_free(v);
}

/* Packed or not, a tensor takes as many bytes. */
jfl_status jf_var_take(jf_var *v)
{
  for (int i = 0; i < v->n_piece; i++) {
    jf_var_piece *p = &v->piece[i];
    jfl_shape packed;
    int fits = jf_packed_shape(&p->packing, &p->shape, &packed);
    assert(fits && jf_numel(&packed) == jf_numel(&p->shape));    /* as plans say */
    (void)fits;
    JF_TRY(jf_storage_new(p->site->device, piece_bytes(v, p), &p->storage));
  }
  return JFL_OK;
}

jf_var_piece *jf_var_piece_of(jf_var *v, int place, int member)
{
  for (int i = 0; i < v->n_piece; i++)
    if (piece_is_whole(v) ? v->piece[i].site->place == place : v->piece[i].member == member)
      return &v->piece[i];
  return NULL;
}

/* ---- parts of a whole tensor ---- */

/* Rows of a whole tensor, of which a part has some of each: `rows` of them, each of `row` bytes,
   and of each those from `first` on, `size` in number. */
typedef struct piece_cut { size_t rows, row, first, size; } piece_cut;

static piece_cut piece_cut_of(const jf_var *v, int member)
{
  jfl_shape part;
  const int axis = v->distribution.axis;
  piece_cut c = { .rows = 1, .row = jfl_dtype_size(v->spec.dtype) };
  for (int i = 0; i < axis; i++) c.rows *= (size_t)v->spec.shape.d[i];
  for (int i = axis + 1; i < v->spec.shape.n; i++) c.row *= (size_t)v->spec.shape.d[i];
  c.first = c.row * (size_t)jf_share_of(&v->spec.shape, v->distribution, v->group->n, member,
                                        &part);
  c.size = c.row * (size_t)part.d[axis];
  c.row *= (size_t)v->spec.shape.d[axis];
  return c;
}

static void piece_cut_out(const piece_cut *c, const char *whole, char *part)
{
  for (size_t i = 0; i < c->rows; i++)
    memcpy(part + i * c->size, whole + i * c->row + c->first, c->size);
}

static void piece_put_in(const piece_cut *c, const char *part, char *whole)
{
  for (size_t i = 0; i < c->rows; i++)
    memcpy(whole + i * c->row + c->first, part + i * c->size, c->size);
}

/* ---- to the devices ---- */

/* Puts a piece of a whole tensor in plain order into the form in which the piece keeps it. */
static jfl_status piece_form(const jf_var *v, const jf_var_piece *p, const void *whole, void *out)
{
  const size_t size = piece_bytes(v, p);
  const int packs = p->packing.form != JF_PLAIN;
  void *part = NULL;
  if (!piece_is_whole(v)) {
    part = packs ? jf_new_raw(size) : out;
    if (!part) return jf_var_no_memory(v, size);
    const piece_cut c = piece_cut_of(v, p->member);
    piece_cut_out(&c, whole, part);
  } else if (!packs) {
    memcpy(out, whole, size);
  }
  if (packs) jf_pack_tensor(&p->packing, v->spec.dtype, &p->shape, part ? part : whole, out);
  if (part != out) jf_free(part);
  return JFL_OK;
}

/* What jf_var_store takes, of a whole tensor; NULL where that is the tensor itself. */
static jfl_status piece_form_all(const jf_var *v, const void *whole, void **out)
{
  const int n = piece_are_alike(v) && v->n_piece ? 1 : v->n_piece;
  size_t size = 0, at = 0;
  *out = NULL;
  if (piece_are_alike(v) && (!n || v->piece[0].packing.form == JF_PLAIN)) return JFL_OK;
  for (int i = 0; i < n; i++) size += piece_bytes(v, &v->piece[i]);
  char *all = jf_new_raw(size);
  if (!all) return jf_var_no_memory(v, size);
  for (int i = 0; i < n; at += piece_bytes(v, &v->piece[i++])) {
    jfl_status s = piece_form(v, &v->piece[i], whole, all + at);
    if (s) return jf_free(all), s;
  }
  return *out = all, JFL_OK;
}

jfl_status jf_var_pack(const jf_var *v, void **contents)
{
  void *formed;
  JF_TRY(piece_form_all(v, *contents, &formed));
  if (!formed) return JFL_OK;
  jf_free(*contents);
  *contents = formed;
  return JFL_OK;
}

jfl_status jf_var_store(jf_var *v, const void *contents)
{
  const char *from = contents;
  const int alike = piece_are_alike(v);
  for (int i = 0; i < v->n_piece; i++) {
    const size_t size = piece_bytes(v, &v->piece[i]);
    JF_TRY(jf_site_put(v->piece[i].site, v->piece[i].storage->data, from, size));
    if (!alike) from += size;
  }
  return JFL_OK;
}

jfl_status jf_var_write(jf_var *v, const void *from)
{
  void *formed;
  JF_TRY(piece_form_all(v, from, &formed));
  jfl_status s = jf_var_store(v, formed ? formed : from);
  jf_free(formed);
  return s;
}

/* ---- from the devices ---- */

/* Copies what a piece has, in plain order, to host memory. */
static jfl_status piece_read(const jf_var *v, const jf_var_piece *p, void *out)
{
  const void *data = p->storage->data;
  const size_t size = piece_bytes(v, p);
  const int host = p->site->device->kind->host;
  if (p->packing.form == JF_PLAIN) return jf_site_get(p->site, out, data, size);
  void *packed = host ? NULL : jf_new_raw(size);
  if (!host && !packed) return jf_var_no_memory(v, size);
  jfl_status s = packed ? jf_site_get(p->site, packed, data, size) : JFL_OK;
  if (!s)
    jf_unpack_tensor(&p->packing, v->spec.dtype, &p->shape, packed ? packed : data, out);
  jf_free(packed);
  return s;
}

/* Copies a split piece to where it lies in a whole tensor. */
static jfl_status piece_read_into(const jf_var *v, const jf_var_piece *p, void *whole)
{
  const piece_cut c = piece_cut_of(v, p->member);
  if (c.rows == 1) return piece_read(v, p, (char *)whole + c.first);
  void *part = jf_new_raw(piece_bytes(v, p));
  if (!part) return jf_var_no_memory(v, piece_bytes(v, p));
  jfl_status s = piece_read(v, p, part);
  if (!s) piece_put_in(&c, part, whole);
  jf_free(part);
  return s;
}

jfl_status jf_var_read(const jf_var *v, void *out)
{
  if (piece_is_whole(v)) return v->n_piece ? piece_read(v, &v->piece[0], out) : JFL_OK;
  for (int i = 0; i < v->n_piece; i++) JF_TRY(piece_read_into(v, &v->piece[i], out));
  return JFL_OK;
}

size_t jf_var_part_bytes(const jf_var *v, int member)
{
  if (piece_is_whole(v)) return jf_var_bytes(v);
  const piece_cut c = piece_cut_of(v, member);
  return c.rows * c.size;
}

jfl_status jf_var_read_part(jf_var *v, int member, void *part)
{
  const jf_var_piece *p = piece_is_whole(v) ? &v->piece[0] : jf_var_piece_of(v, -1, member);
  return piece_read(v, p, part);
}

void jf_var_join_part(const jf_var *v, int member, const void *part, void *whole)
{
  if (piece_is_whole(v)) {
    memcpy(whole, part, jf_var_bytes(v));
    return;
  }
  const piece_cut c = piece_cut_of(v, member);
  piece_put_in(&c, part, whole);
}

void *jf_var_data(const jf_var *v)
{
  if (!v->n_piece || !piece_is_whole(v)) return NULL;
  const jf_var_piece *p = &v->piece[0];
  return p->site->device->kind->host && p->packing.form == JF_PLAIN ? p->storage->data : NULL;
}
