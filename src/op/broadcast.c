/* Repeating a tensor along axes of extent 1, and along new ones in front. */
#include "op/attrs.h"
#include "op/move.h"

JF_ATTRS(attrs, JF_FIELD(jf_broadcast, shape, INTS, NULL, "the extents of the result"))

static jfl_status broadcast_infer(jf_infer *c)
{
  const jfl_shape *x = &c->in[0]->shape;
  jfl_shape y;
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  JF_TRY(jf_shape_from(&((const jf_broadcast *)c->attr)->shape, &y));
  int fit = x->n <= y.n;
  for (int i = 1; fit && i <= x->n; i++)
    fit = x->d[x->n - i] == 1 || x->d[x->n - i] == y.d[y.n - i];
  if (!fit)
    return jf_fail(JFL_ESHAPE, "%s cannot become %s: extents from the right must be equal or 1",
                   jf_shape_str(x, s), jf_shape_str(&y, t));
  return jf_infer_moves(c);
}

static void broadcast_grad(jf_gradctx *c) { c->dx[0] = c->dy[0]; }

static jfl_value *broadcast_fold(jf_foldctx *c)
{
  const jf_node *before = jf_made_by(c->node->in[0], &jf_op_broadcast_to);
  return before ? JF_EMIT(c->g, broadcast_to, c->node->attr, before->in[0]) : NULL;
}

static int broadcast_moves(const jf_kargs *k, int i, jf_move *m)
{
  const jf_ints *y = &((const jf_broadcast *)k->attr)->shape;
  const jfl_shape *x = &k->in[0].shape;
  *m = (jf_move){ .n = y->n };
  for (int j = 0; j < y->n; j++) {
    const int own = j - (y->n - x->n), repeats = own < 0 || (x->d[own] == 1 && y->v[j] != 1);
    m->axis[j] = (jf_move_axis){ y->v[j], { repeats ? -1 : own, 0, 1 }, { j, 0, 1 } };
  }
  return i == 0;
}

JFL_OP(broadcast_to, .doc = "x repeated to a shape that it broadcasts to.", .path = "broadcast_to",
       .in = { "x" }, .out = { "y" }, JF_WITH(attrs, jf_broadcast),
       .flags = JF_MOVES | JF_KEEPS | JF_REPEATS, .infer = broadcast_infer,
       .fold = broadcast_fold, .grad = broadcast_grad, .moves = broadcast_moves,
       .cpu = jf_moves_cpu, .share = jf_share_extents)
