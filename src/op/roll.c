/* Moving elements along an axis, of which those that leave it come back at its other end. */
#include "op/move.h"

/* infer makes shift at least 0 and less than the axis's extent. */
typedef struct jf_roll { int64_t shift, axis; } jf_roll;

JF_ATTRS(attrs,
  JF_FIELD(jf_roll, shift, INT, NULL, "by how many places; negative: towards the beginning"),
  JF_FIELD(jf_roll, axis, INT, "0", "the axis"))

static jfl_status roll_infer(jf_infer *c)
{
  jf_roll *a = c->attr;
  JF_TRY(jf_infer_same(c));
  JF_TRY(jf_axis(&a->axis, c->in[0]->shape.n));
  const int64_t n = c->in[0]->shape.d[a->axis];
  a->shift = n ? a->shift % n + (a->shift % n < 0 ? n : 0) : 0;
  return JFL_OK;
}

static void roll_grad(jf_gradctx *c)
{
  jf_roll a = *(const jf_roll *)c->node->attr;
  a.shift = -a.shift;
  c->dx[0] = JF_EMIT(c->g, roll, &a, c->dy[0]);
}

static jfl_value *roll_fold(jf_foldctx *c)
{
  return ((const jf_roll *)c->node->attr)->shift ? NULL : c->node->in[0];
}

/* What stays in front of the axis's end, and what comes back. */
static int roll_moves(const jf_kargs *k, int i, jf_move *m)
{
  const jf_roll *a = k->attr;
  jf_move_whole(m, 0, &k->in[0].shape);
  jf_move_axis *along = &m->axis[a->axis];
  const int64_t stays = along->extent - a->shift;
  along->extent = i ? a->shift : stays;
  along->from.begin = i ? stays : 0;
  along->to.begin = i ? 0 : a->shift;
  return i < 2;
}

JFL_OP(roll, .doc = "x moved along axis; what leaves it comes back at its other end.", .in = {"x"},
  .out = {"y"}, JF_WITH(attrs, jf_roll), .infer = roll_infer, .grad = roll_grad,
  .fold = roll_fold, .moves = roll_moves, .cpu = jf_moves_cpu)
