/* The op matmul_fused: a matrix product, then a bias, a residual and an activation. */
#include "op/matmul.h"
#include "op/op.h"

JF_ATTRS(attrs, JF_MATMUL_ATTRS(jf_matmul_fused, product.), JF_EPILOGUE_ATTRS(jf_matmul_fused))

static jfl_status matmul_fused_infer(jf_infer *c)
{
  jf_matmul_fused *a = c->attr;
  JF_TRY(jf_op_matmul.infer(c));
  return jf_epilogue_infer(c, &a->epilogue, c->shape[0].d[c->shape[0].n - 1]);
}

static jfl_status matmul_fused_matmul(const jf_kargs *k)
{
  const jf_matmul_fused *a = k->attr;
  const jf_channels c = jf_channels_at(&k->out[0].shape, k->out[0].shape.n - 1, 0);
  JF_TRY(jf_op_matmul.cpu[k->out[0].dtype](k));
  jf_epilogue_all(k, &a->epilogue, &c);
  return JFL_OK;
}

JFL_OP(matmul_fused, .doc = "matmul, then what is added and applied to its result.",
       .in = { "a", "b", "extra" }, .out = { "y" }, JF_WITH(attrs, jf_matmul_fused),
       .flags = JF_VARIADIC | JF_OPTIONAL, .infer = matmul_fused_infer,
       .cpu = JF_KERNELS(JF_EVERY_FLOAT(matmul_fused_matmul)), JF_OF_PRODUCT)
