/* Forms of tensors: blocks of channels, packed filters. */
#include "op/layout.h"
#include "op/move.h"
#include "op/reshape.h"
#include "op/transpose.h"

#include <string.h>

static int divides(int64_t block, int64_t n) { return block > 0 && n % block == 0; }

static jf_ints layout_order(int n, const int *perm)
{
  jf_ints r = { .n = n };
  for (int i = 0; i < n; i++) r.v[i] = perm[i];
  return r;
}

static int layout_blocked(int64_t b, const int64_t *d, jf_relayout *r)
{
  static const int perm[] = { 0, 1, 3, 4, 2 };
  if (!divides(b, d[1])) return 0;
  r->split = (jfl_shape){ 5, { d[0], d[1] / b, b, d[2], d[3] } };
  r->perm = layout_order(5, perm);
  r->to = (jfl_shape){ 5, { d[0], d[1] / b, d[2], d[3], b } };
  return 1;
}

static int layout_packed(int64_t b, const int64_t *d, jf_relayout *r)
{
  static const int both[] = { 0, 2, 4, 5, 3, 1 }, one[] = { 0, 3, 4, 2, 1 };
  if (!divides(b, d[0])) return 0;
  if (divides(b, d[1])) {
    r->split = (jfl_shape){ 6, { d[0] / b, b, d[1] / b, b, d[2], d[3] } };
    r->perm = layout_order(6, both);
    r->to = (jfl_shape){ 6, { d[0] / b, d[1] / b, d[2], d[3], b, b } };
  } else {
    r->split = (jfl_shape){ 5, { d[0] / b, b, d[1], d[2], d[3] } };
    r->perm = layout_order(5, one);
    r->to = (jfl_shape){ 5, { d[0] / b, d[2], d[3], d[1], b } };
  }
  return 1;
}

static int channels(int64_t b, const int64_t *d, jf_relayout *r)
{
  static const int perm[] = { 0, 1, 2, 3 };
  if (!divides(b, d[0])) return 0;
  r->split = r->to = (jfl_shape){ 4, { d[0] / b, 1, 1, b } };
  r->perm = layout_order(4, perm);
  return 1;
}

/* With extents of 1 in front; where that has one channel or one cell, a view is all it takes. */
static int layout_spread(int64_t b, const jfl_shape *s, jf_relayout *r)
{
  static const int perm[] = { 0, 1, 2, 3, 4 };
  int64_t d[4] = { 1, 1, 1, 1 };
  for (int i = 1; i <= s->n && i <= 4; i++) d[4 - i] = s->d[s->n - i];
  if (s->n > 4 || (d[1] > 1 && (!divides(b, d[1]) || d[2] * d[3] > 1))) return 0;
  r->to = (jfl_shape){ 5, { d[0], 1, d[2], d[3], 1 } };
  if (d[1] > 1) r->to = (jfl_shape){ 5, { d[0], d[1] / b, 1, 1, b } };
  r->split = r->to;
  r->perm = layout_order(5, perm);
  return 1;
}

int jf_relayout_to(jf_form form, int64_t block, const jfl_shape *plain, jf_relayout *out)
{
  switch (form) {
  case JF_BLOCKED: return plain->n == 4 && layout_blocked(block, plain->d, out);
  case JF_PACKED: return plain->n == 4 && layout_packed(block, plain->d, out);
  case JF_CHANNELS: return plain->n == 1 && channels(block, plain->d, out);
  case JF_SPREAD: return layout_spread(block, plain, out);
  default: return 0;
  }
}

jf_relayout jf_relayout_back(const jf_relayout *r, const jfl_shape *plain)
{
  jf_relayout back = { .to = *plain, .split.n = r->perm.n, .perm.n = r->perm.n };
  for (int i = 0; i < r->perm.n; i++) {
    back.split.d[i] = r->split.d[r->perm.v[i]];
    back.perm.v[r->perm.v[i]] = i;
  }
  return back;
}

static jfl_value *layout_view(jfl_graph *g, const jfl_shape *s, jfl_value *v)
{
  jf_reshape a = { jf_ints_from(s) };
  return !v || jf_shape_eq(&v->shape, s) ? v : JF_EMIT(g, reshape, &a, v);
}

jfl_value *jf_emit_relayout(jfl_graph *g, const jf_relayout *r, jfl_value *v)
{
  jf_transpose a = { r->perm };
  if (!jf_keeps_order(&r->perm, &r->split))
    v = JF_EMIT(g, transpose, &a, layout_view(g, &r->split, v));
  return layout_view(g, &r->to, v);
}

int jf_plain_shape(jf_form form, int64_t b, const jfl_shape *s, jfl_shape *out)
{
  const int64_t *d = s->d;
  if (form == JF_BLOCKED && s->n == 5 && d[4] == b)
    *out = (jfl_shape){ 4, { d[0], d[1] * b, d[2], d[3] } };
  else if (form == JF_PACKED && s->n == 6 && d[4] == b && d[5] == b)
    *out = (jfl_shape){ 4, { d[0] * b, d[1] * b, d[2], d[3] } };
  else if (form == JF_PACKED && s->n == 5 && d[4] == b && d[3] % b)
    *out = (jfl_shape){ 4, { d[0] * b, d[3], d[1], d[2] } };
  else return 0;
  return 1;
}

static void move(jfl_dtype t, const jf_relayout *r, const void *from, void *to)
{
  jf_transpose a = { r->perm };
  jf_tensor x = { (void *)from, t, r->split }, y = { to, t, { .n = r->perm.n } };
  for (int i = 0; i < r->perm.n; i++) y.shape.d[i] = r->split.d[r->perm.v[i]];
  jf_op_transpose.cpu[t](&(jf_kargs){ .in = &x, .out = &y, .n_in = 1, .n_out = 1, .attr = &a });
}

void jf_pack_filters(jfl_dtype t, const jfl_shape *packed_shape, const jfl_shape *plain,
                     const void *from, void *to)
{
  jf_relayout r;
  jf_relayout_to(JF_PACKED, packed_shape->d[packed_shape->n - 1], plain, &r);
  move(t, &r, from, to);
}

void jf_unpack_filters(jfl_dtype t, const jfl_shape *packed_shape, const jfl_shape *plain,
                       const void *from, void *to)
{
  jf_relayout r;
  jf_relayout_to(JF_PACKED, packed_shape->d[packed_shape->n - 1], plain, &r);
  r = jf_relayout_back(&r, plain);
  move(t, &r, from, to);
}

int64_t jf_layout_block(const jf_layout *c)
{
  return c->device->kind->channel_block ? c->device->kind->channel_block() : 0;
}

void jf_layout_all(jf_layout *c, jf_form form)
{
  for (int i = 0; i < c->node->n_in; i++) c->in[i] = form;
  for (int i = 0; i < c->node->n_out; i++) c->out[i] = form;
}

int jf_layout_blocks(const jf_layout *c)
{
  int any = 0;
  for (int i = 0; i < c->node->n_in; i++) any |= c->in[i] == JF_BLOCKED;
  for (int i = 0; any && i < c->node->n_in; i++) {
    const jfl_shape *s = c->in_shape[i];
    any = s->n == 4 && s->d[1] % jf_layout_block(c) == 0;
  }
  return any;
}
