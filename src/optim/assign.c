/* The op assign writes a variable. Optimizers use it for slots that their formula does not
   change. */
#include "op/op.h"

#include <string.h>

static jfl_status assign_infer(jf_infer *c)
{
  return jf_infer_is(c, 1, c->in[0]->dtype, &c->in[0]->shape, c->op->in[0]);
}

static jfl_status assign(const jf_kargs *k)
{
  const jf_tensor *to = &k->in[0];
  memcpy(to->data, k->in[1].data, JF_BYTES_OF(to));
  return JFL_OK;
}

JFL_OP(assign, .doc = "Writes value into variable.", .in = {"variable", "value"},
  .flags = JF_EFFECT | JF_POINTWISE, .mutates = 1, .infer = assign_infer,
  .cpu = JF_KERNELS(JF_EVERY_DTYPE(assign)))
