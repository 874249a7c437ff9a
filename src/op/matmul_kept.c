/* The op matmul_kept: matmul_fused, and what its activation reads, which a gradient reads later. */
#include "op/matmul.h"
#include "op/op.h"

#include <string.h>

JF_ATTRS(attrs, JF_MATMUL_ATTRS(jf_matmul_fused, product.), JF_EPILOGUE_ATTRS(jf_matmul_fused))

static jfl_status matmul_kept_infer(jf_infer *c)
{
  JF_TRY(jf_op_matmul_fused.infer(c));
  c->shape[1] = c->shape[0];
  c->dtype[1] = c->dtype[0];
  return JFL_OK;
}

static jfl_status matmul_kept_matmul(const jf_kargs *k)
{
  const jf_epilogue *e = &((const jf_matmul_fused *)k->attr)->epilogue;
  const jf_epilogue sum = { .bias = e->bias, .residual = e->residual };
  const jf_epilogue act = { .act = e->act, .loop = e->loop };
  const jf_tensor *y = &k->out[0];
  const jf_channels c = jf_channels_at(&y->shape, y->shape.n - 1, 0);
  JF_TRY(jf_op_matmul.cpu[y->dtype](k));
  jf_epilogue_all(k, &sum, &c);
  memcpy(k->out[1].data, y->data, JF_BYTES_OF(y));
  jf_epilogue_all(k, &act, &c);
  return JFL_OK;
}

JFL_OP(matmul_kept, .doc = "matmul_fused, and what its activation reads.",
       .in = { "a", "b", "extra" }, .out = { "y", "kept" },
       JF_WITH(attrs, jf_matmul_fused), .flags = JF_VARIADIC | JF_OPTIONAL,
       .infer = matmul_kept_infer, .cpu = JF_KERNELS(JF_EVERY_FLOAT(matmul_kept_matmul)),
       JF_OF_PRODUCT)
