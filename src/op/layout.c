/* Conversions between forms, and helpers of layout rules. */
#include "op/layout.h"
#include "op/move.h"
#include "op/reshape.h"
#include "op/transpose.h"

#include <string.h>

static jf_ints layout_axes(const jf_relayout *r)
{
  return (jf_ints){ r->split.n, (int64_t *)r->perm };
}

int jf_cuts_axes(const jfl_shape *s, const jfl_shape *split, int first[JFL_MAXDIM + 1])
{
  int at = 0;
  for (int i = 0; i < s->n; i++) {
    int64_t size = 1;
    first[i] = at;
    do {
      if (at == split->n) return 0;
      size *= split->d[at++];
    } while (size < s->d[i]);
    if (size != s->d[i]) return 0;
  }
  first[s->n] = at;
  return at == split->n;
}

/* If v is a transpose, makes r, a conversion of v, that of what v is made of, and gives this; else
   gives v. */
static jfl_value *layout_untransposed(jfl_value *v, jf_relayout *r)
{
  const jf_node *n = jf_made_by(v, &jf_op_transpose);
  const jfl_shape split = r->split;
  int first[JFL_MAXDIM + 1], of[JFL_MAXDIM], to[JFL_MAXDIM], at = 0;
  if (!n || !jf_cuts_axes(&v->shape, &split, first)) return v;
  const jf_ints *perm = &((const jf_transpose *)n->attr)->perm;
  for (int i = 0; i < perm->n; i++) of[perm->v[i]] = i;
  for (int i = 0; i < perm->n; i++)
    for (int k = first[of[i]]; k < first[of[i] + 1]; k++) {
      r->split.d[at] = split.d[k];
      to[k] = at++;
    }
  for (int i = 0; i < split.n; i++) r->perm[i] = to[r->perm[i]];
  return n->in[0];
}

jfl_value *jf_emit_relayout(jfl_graph *g, const jf_relayout *r, jfl_value *v)
{
  jf_relayout all = *r;
  jf_transpose a = { layout_axes(&all) };
  if (!jf_keeps_order(&a.perm, &all.split)) {
    v = layout_untransposed(v, &all);
    v = jf_emit_view(g, v, &all.split);
    if (!jf_keeps_order(&a.perm, &all.split)) v = JF_EMIT(g, transpose, &a, v);
  }
  return jf_emit_view(g, v, &r->to);
}

/* The orders of axes that have channels first, and last. */
static const int64_t layout_turn[2][4] = { { 0, 3, 1, 2 }, { 0, 2, 3, 1 } };

/* Whether n is that transpose. */
static int layout_is_turn(const jf_node *n, int to_last)
{
  if (n->op != &jf_op_transpose) return 0;
  const jf_ints *perm = &((const jf_transpose *)n->attr)->perm;
  return perm->n == 4 && !memcmp(perm->v, layout_turn[to_last], sizeof layout_turn[0]);
}

static const jfl_shape *layout_plain_shape(const jfl_value *v)
{
  return v->plain ? v->plain : &v->shape;
}

int jf_turns_channels(const jf_node *n, int to_last)
{
  if (layout_is_turn(n, to_last)) return 1;
  if (!(n->op->flags & JF_VIEW) || n->n_in != 1) return 0;
  const jfl_shape *from = layout_plain_shape(n->in[0]), *to = layout_plain_shape(n->out[0]);
  const jf_ints perm = { 4, (int64_t *)layout_turn[to_last] };
  if (from->n != 4 || to->n != 4 || !jf_keeps_order(&perm, from)) return 0;
  for (int i = 0; i < 4; i++)
    if (to->d[i] != from->d[perm.v[i]]) return 0;
  return 1;
}

jfl_value *jf_emit_turned(jfl_graph *g, jfl_value *v, int to_last)
{
  if (!v) return NULL;
  if (v->node && layout_is_turn(v->node, !to_last)) return v->node->in[0];
  const jf_transpose a = { { 4, (int64_t *)layout_turn[to_last] } };
  return JF_EMIT(g, transpose, &a, v);
}

static void layout_move(jfl_dtype t, const jf_relayout *r, const void *from, void *to)
{
  jf_transpose a = { layout_axes(r) };
  jf_tensor x = { .data = (void *)from, .dtype = t, .shape = r->split };
  jf_tensor y = { .data = to, .dtype = t, .shape = { .n = r->split.n } };
  for (int i = 0; i < r->split.n; i++) y.shape.d[i] = r->split.d[r->perm[i]];
  jf_op_transpose.cpu[t](&(jf_kargs){ .in = &x, .out = &y, .n_in = 1, .n_out = 1, .attr = &a,
                                  .op = &jf_op_transpose });
}

void jf_pack_tensor(const jf_packing *p, jfl_dtype t, const jfl_shape *plain, const void *from,
                    void *to)
{
  jf_relayout r;
  jf_relayout_to(p, plain, &r);
  layout_move(t, &r, from, to);
}

void jf_unpack_tensor(const jf_packing *p, jfl_dtype t, const jfl_shape *plain, const void *from,
                      void *to)
{
  jf_relayout r;
  jf_relayout_to(p, plain, &r);
  r = jf_relayout_back(&r, plain);
  layout_move(t, &r, from, to);
}

int64_t jf_layout_block(const jf_layout *c)
{
  return c->kind->channel_block ? c->kind->channel_block() : 0;
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

/* ---- channels first ---- */

void jf_first_list(jf_ints *list, int each)
{
  int64_t by_axis[4 * 2];
  if (!list->n) return;
  memcpy(by_axis, list->v, (size_t)(4 * each) * sizeof *by_axis);
  for (int i = 0; i < 4; i++)
    memcpy(list->v + jf_first_axis(i) * each, by_axis + i * each, (size_t)each * sizeof *by_axis);
}
