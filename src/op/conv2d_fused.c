/* The op conv2d_fused: a convolution, then a bias, a residual and an activation. */
#include "op/conv.h"
#include "op/op.h"

JF_ATTRS(attrs, JF_CONV2D_ATTRS, JF_EPILOGUE_ATTRS(jf_conv))

static jfl_status conv2d_fused_infer(jf_infer *c)
{
  jf_conv *a = c->attr;
  JF_TRY(jf_op_conv2d.infer(c));
  const int64_t blocks = c->shape[0].d[jf_conv_channel_axis(a)];
  return jf_epilogue_infer(c, &a->epilogue, blocks * (a->block_y ? a->block : 1));
}

static jfl_status conv2d_fused_conv2d(const jf_kargs *k)
{
  const jf_conv *a = k->attr;
  const jf_channels c = jf_channels_at(&k->out[0].shape, jf_conv_channel_axis(a), a->block_y);
  JF_TRY(jf_op_conv2d.cpu[k->out[0].dtype](k));
  jf_epilogue_all(k, &a->epilogue, &c);
  return JFL_OK;
}

static double conv2d_fused_flop(const jf_kargs *k) { return jf_op_conv2d.flop(k); }

static const jf_mixed mixed = { .inputs = 3, .result = offsetof(jf_conv, f32_result) };

JFL_OP(conv2d_fused, .doc = "conv2d, then what is added and applied to its result.",
       .in = { "input", "filters", "extra" }, .out = { "y" }, JF_WITH(attrs, jf_conv),
       .flags = JF_VARIADIC | JF_OPTIONAL, .infer = conv2d_fused_infer,
       .cpu = JF_KERNELS(JF_EVERY_FLOAT(conv2d_fused_conv2d)), .mixed = &mixed,
       .flop = conv2d_fused_flop, .layout = jf_conv2d_layout)
