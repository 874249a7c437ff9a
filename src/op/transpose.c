/* Reordering of axes. */
#include "op/transpose.h"
#include "op/layout.h"
#include "op/matmul.h"
#include "op/move.h"
#include "op/reshape.h"

#include <string.h>

JF_ATTRS(attrs,
  JF_FIELD(jf_transpose, perm, INTS, "none", "which axis of a stands where; reversed unless given"))

static jfl_status transpose_infer(jf_infer *c)
{
  jf_ints *perm = &((jf_transpose *)c->attr)->perm;
  const jfl_shape *s = &c->in[0]->shape;
  int seen[JFL_MAXDIM] = { 0 };
  if (!perm->n) {
    perm->v = jf_alloc(c->arena, (size_t)s->n * sizeof *perm->v);
    for (; perm->n < s->n; perm->n++) perm->v[perm->n] = s->n - 1 - perm->n;
  }
  if (perm->n != s->n)
    return jf_fail_argument(JFL_ESHAPE, "perm", "must name the %d axes of a, got %d", s->n,
                            perm->n);
  for (int i = 0; i < s->n; i++) {
    JF_TRY(jf_dim(&perm->v[i], s->n, "perm"));
    if (seen[perm->v[i]]++)
      return jf_fail_argument(JFL_EINVAL, "perm", "must name each axis once, got axis %lld twice",
                              (long long)perm->v[i]);
  }
  return jf_infer_moves(c);
}

static void transpose_grad(jf_gradctx *c)
{
  const jf_ints *perm = &((const jf_transpose *)c->node->attr)->perm;
  int64_t axes[JFL_MAXDIM];
  jf_transpose back = { { perm->n, axes } };
  for (int i = 0; i < perm->n; i++) axes[perm->v[i]] = i;
  c->dx[0] = JF_EMIT(c->g, transpose, &back, c->dy[0]);
}

static const jf_ints *perm_of(const jf_node *n) { return &((const jf_transpose *)n->attr)->perm; }

/* Two transposes in a row become one; a transpose that leaves elements in their order becomes a
   view. */
int jf_transposes_inner(const jf_node *n)
{
  static const int64_t inner[] = { 0, 2, 1, 3 };
  if (n->op != &jf_op_transpose) return 0;
  const jf_ints *perm = &((const jf_transpose *)n->attr)->perm;
  return perm->n == 4 && !memcmp(perm->v, inner, sizeof inner);
}

static jfl_value *transpose_fold(jf_foldctx *c)
{
  const jf_node *n = c->node, *before = jf_made_by(n->in[0], &jf_op_transpose);
  const jf_ints *perm = perm_of(n);
  if (jf_keeps_order(perm, &n->in[0]->shape))
    return jf_emit_view(c->g, n->in[0], &n->out[0]->shape);
  if (!before) return jf_fold_transposed(c);
  int64_t axes[JFL_MAXDIM];
  jf_transpose both = { { perm->n, axes } };
  for (int i = 0; i < perm->n; i++) axes[i] = perm_of(before)->v[perm->v[i]];
  return JF_EMIT(c->g, transpose, &both, before->in[0]);
}

static int transpose_moves(const jf_kargs *k, int i, jf_move *m)
{
  const jf_ints *perm = &((const jf_transpose *)k->attr)->perm;
  const jfl_shape *x = &k->in[0].shape;
  jf_move_whole(m, 0, x);
  for (int j = 0; j < perm->n; j++) {
    m->axis[j].extent = x->d[perm->v[j]];
    m->axis[j].from.axis = (int)perm->v[j];
  }
  return i == 0;
}

/* Of a tensor in another form, the parts of an axis are moved together. */
static int transpose_layout(jf_layout *c)
{
  const jf_packing form = { c->in[0], jf_layout_block(c) };
  jf_ints *perm = &((jf_transpose *)c->attr)->perm;
  int first[JFL_MAXDIM + 1], at[JFL_MAXDIM];
  jf_relayout r;
  if (form.form == JF_PLAIN || !jf_relayout_to(&form, c->in_shape[0], &r)) return 0;
  if (r.to.n != r.split.n || !jf_cuts_axes(c->in_shape[0], &r.split, first)) return 0;
  jf_ints parts = { 0, jf_alloc(c->arena, (size_t)r.split.n * sizeof *parts.v) };
  for (int i = 0; i < r.split.n; i++) at[r.perm[i]] = i;
  for (int i = 0; i < perm->n; i++)
    for (int k = first[perm->v[i]]; k < first[perm->v[i] + 1]; k++) parts.v[parts.n++] = at[k];
  *perm = parts;
  return 1;
}

JFL_OP(transpose, .doc = "a with its axes in another order.", .path = "transpose", .in = { "a" },
       .out = { "y" }, JF_WITH(attrs, jf_transpose), .infer = transpose_infer,
       .flags = JF_MOVES, .fold = transpose_fold, .grad = transpose_grad,
       .layout = transpose_layout, .moves = transpose_moves, .cpu = jf_moves_cpu)
