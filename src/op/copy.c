/* Ops that give what they are given: in memory of its own, or without its gradient. */
#include "op/elementwise.h"
#include "op/move.h"

#include <string.h>

static void copy_grad(jf_gradctx *c) { c->dx[0] = c->dy[0]; }

static jfl_status copy(const jf_kargs *k)
{
  size_t n = JF_BYTES_OF(&k->in[0]);
  if (k->out[0].data != k->in[0].data) memcpy(k->out[0].data, k->in[0].data, n);
  return JFL_OK;
}
static const jf_kernel cpu[JFL_N_DTYPE] = { JF_EVERY_ELEMENT(copy) };

static int copy_moves(const jf_kargs *k, int i, jf_move *m)
{
  jf_move_whole(m, 0, &k->in[0].shape);
  return i == 0;
}

JFL_OP(identity, .doc = "A copy of x.", .path = "identity", .in = {"x"}, .out = {"y"}, .inplace = 1,
  .flags = JF_POINTWISE | JF_MOVES | JF_KEEPS | JF_BLOCKS, .infer = jf_infer_same,
  .grad = copy_grad, .moves = copy_moves, .cpu = cpu)

JFL_OP(stop_gradient, .doc = "x as a number that training takes as given: no gradient passes.",
  .path = "stop_gradient", .in = {"x"}, .out = {"y"}, .flags = JF_VIEW, .inplace = 1,
  .infer = jf_infer_same, .grad = jf_grad_flat, .cpu = cpu, .signatures = jf_signatures_pointwise)
