/* Repeating a tensor along axes of extent 1, and along new ones in front. */
#include "op/broadcast.h"
#include "op/elementwise.h"
#include "op/move.h"

static const jf_attr attrs[] = {
  JF_FIELD(jf_broadcast, shape, INTS, NULL, "the extents of the result"),
  {0},
};

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
  c->shape[0] = y;
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

static void broadcast_grad(jf_gradctx *c) { c->dx[0] = c->dy[0]; }

static jfl_value *broadcast_fold(jf_foldctx *c)
{
  const jf_node *before = jf_made_by(c->node->in[0], &jf_op_broadcast_to);
  return before ? JF_EMIT(c->g, broadcast_to, c->node->attr, before->in[0]) : NULL;
}

/* Loops are named by the bytes of an element. */
#define JF_DISPATCH_1 JF_DISPATCH
#define JF_DISPATCH_2 JF_DISPATCH
#define JF_DISPATCH_4 JF_DISPATCH
#define JF_DISPATCH_8 JF_DISPATCH
JF_UNARY_LOOP(copy, 1, uint8_t, uint8_t, uint8_t, JF_NO_ATTRS, a)
JF_UNARY_LOOP(copy, 2, uint16_t, uint16_t, uint16_t, JF_NO_ATTRS, a)
JF_UNARY_LOOP(copy, 4, uint32_t, uint32_t, uint32_t, JF_NO_ATTRS, a)
JF_UNARY_LOOP(copy, 8, uint64_t, uint64_t, uint64_t, JF_NO_ATTRS, a)
static const jf_kernel cpu[JFL_N_DTYPE] = { JF_BY_SIZE(copy_plain_) };

static void broadcast_share(jf_share *s)
{
  ((jf_broadcast *)s->attr)->shape = jf_ints_from(&s->out[0]);
}

JFL_OP(broadcast_to, .doc = "x repeated to a shape that it broadcasts to.", .path = "broadcast_to",
       .in = { "x" }, .out = { "y" }, .attr = attrs, .attr_size = sizeof(jf_broadcast),
       .flags = JF_MOVES | JF_KEEPS | JF_REPEATS, .infer = broadcast_infer,
       .fold = broadcast_fold, .grad = broadcast_grad, .cpu = cpu,
       .signatures = jf_signatures_pointwise, .share = broadcast_share)
