/* Convolutions and their gradients by oneDNN or, where it is not installed, by jfl's own loops. */
#include "op/conv.h"
#include "dev/form.h"

#include "dnnl.h"
#include "finish.h"
#include "own/own.h"
#include "pieces.h"

int64_t jf_cpu_channel_block(void)
{
  const jf_primitives *d = jf_dnnl_open();
  return (d ? d : jf_own_units())->block();
}

/* Of bfloat16 with so few channels oneDNN multiplies pairs that reach beside the window, where an
   infinity times 0 is no number. */
enum { DNNL_FEW_CHANNELS = 4 };

static int dnnl_pairs_beside(const jf_kargs *k, const jf_conv *a)
{
  if (k->in[0].dtype != JFL_BF16 || a->block_x) return 0;
  return jf_conv_extents_of(a, &k->in[0].shape).d[1] <= DNNL_FEW_CHANNELS;
}

int jf_conv_is_bounded(const jf_conv *a)
{
  const int64_t most = INT32_MAX / 8;
  for (int i = 0; i < 6; i++)
    if (a->pad[i] > most || a->stride[i / 2] > most || a->dilation[i / 2] > most) return 0;
  return 1;
}

static int dnnl_takes_conv(const jf_kargs *k)
{
  const jf_conv *a = k->attr;
  if (!jf_conv_is_bounded(a)) return 0;
  if (k->in[0].dtype != JFL_F32 && (a->groups != 1 || dnnl_pairs_beside(k, a))) return 0;
  return jf_dnnl_accepts(k);
}

/* Gradients are sums of parts, and an epilogue is loops of its own: both are of float32. */
static int dnnl_takes_f32(const jf_kargs *k)
{
  return k->out[0].dtype == JFL_F32 && dnnl_takes_conv(k);
}

/* The extents of a tensor in that form. */
static jf_conv_extents fast_conv_extents(const jf_conv *a, const jf_tensor *t, jf_form form)
{
  jfl_shape s = t->shape;
  if (form != JF_PLAIN) jf_plain_shape(&(jf_packing){ form, a->block }, &t->shape, &s);
  return jf_conv_extents_of(a, &s);
}

jf_primitive_conv jf_conv_geometry(const jf_conv *a, const jf_tensor *in, const jf_tensor *filters,
                                   const jf_tensor *out)
{
  const jf_conv_extents x = fast_conv_extents(a, in, a->block_x ? JF_BLOCKED : JF_PLAIN);
  const jf_conv_extents w = fast_conv_extents(a, filters, a->packed ? JF_PACKED : JF_PLAIN);
  const jf_conv_extents y = fast_conv_extents(a, out, a->block_y ? JF_BLOCKED : JF_PLAIN);
  jf_primitive_conv c = {
    .batch = x.d[0], .groups = a->groups, .in_channels = x.d[1], .out_channels = y.d[1],
    .axes = a->axes, .last = a->last, .block = a->block, .block_x = a->block_x,
    .block_y = a->block_y, .packed = a->packed
  };
  for (int i = 0; i < 3; i++) {
    c.in[i] = x.d[2 + i];
    c.out[i] = y.d[2 + i];
    c.kernel[i] = w.d[2 + i];
    c.stride[i] = a->stride[i];
    c.dilation[i] = a->dilation[i];
    c.before[i] = a->pad[2 * i];
    int64_t reach = (c.kernel[i] - 1) * c.dilation[i] + 1;
    c.after[i] = (c.out[i] - 1) * c.stride[i] + reach - c.in[i] - c.before[i];
  }
  return c;
}

static jfl_status conv_prepare_forward(const jf_primitives *lib, jf_kargs *k)
{
  jf_primitive_conv c = jf_conv_geometry(k->attr, &k->in[0], &k->in[1], &k->out[0]);
  c.epilogue = ((const jf_conv *)k->attr)->epilogue;
  return jf_pieces_conv(lib, &c, JF_UNIT_FORWARD, k);
}

static jfl_status conv_run_forward(const jf_kargs *k)
{
  const jf_epilogue *e = &((const jf_conv *)k->attr)->epilogue;
  jf_primitive_run r = {
    .a = k->in[0].data, .b = k->in[1].data, .c = k->out[0].data,
    .bias = jf_epilogue_bias(k, e), .residual = jf_epilogue_residual(k, e)
  };
  return jf_pieces_run(k, r);
}

/* Where the library refuses an epilogue or runs it slowly, the convolution runs without it and
   jf_finish does the rest. */
static jfl_status conv_prepare_then(const jf_primitives *lib, jf_kargs *k)
{
  jf_primitive_conv c = jf_conv_geometry(k->attr, &k->in[0], &k->in[1], &k->out[0]);
  return jf_pieces_conv(lib, &c, JF_UNIT_FORWARD, k);
}

static jfl_status conv_run_then(const jf_kargs *k)
{
  const jf_conv *a = k->attr;
  JF_TRY(jf_pieces_run(k, (jf_primitive_run){ .a = k->in[0].data, .b = k->in[1].data,
                                              .c = k->out[0].data }));
  return jf_finish(k, &a->epilogue, jf_conv_channel_axis(a), a->block_y);
}

static jfl_status conv_prepare_data(const jf_primitives *lib, jf_kargs *k)
{
  jf_primitive_conv c = jf_conv_geometry(k->attr, &k->out[0], &k->in[0], &k->in[1]);
  return jf_pieces_conv(lib, &c, JF_UNIT_DATA_GRAD, k);
}

static jfl_status conv_run_data(const jf_kargs *k)
{
  jf_primitive_run r = { .a = k->in[1].data, .b = k->in[0].data, .c = k->out[0].data };
  return jf_pieces_run(k, r);
}

static jfl_status conv_prepare_filter(const jf_primitives *lib, jf_kargs *k)
{
  jf_primitive_conv c = jf_conv_geometry(k->attr, &k->in[0], &k->out[0], &k->in[1]);
  c.epilogue.bias = ((const jf_conv *)k->attr)->epilogue.bias;
  return jf_pieces_conv(lib, &c, JF_UNIT_FILTER_GRAD, k);
}

static jfl_status conv_run_filter(const jf_kargs *k)
{
  jf_primitive_run r = {
    .a = k->in[0].data, .b = k->in[1].data, .c = k->out[0].data,
    .dbias = k->n_out > 1 ? k->out[1].data : NULL
  };
  return jf_pieces_run(k, r);
}

/* Whether jfl's own loops take the call. */
static int own_takes_conv(const jf_kargs *k) { return k->in[0].dtype == JFL_F32; }

/* The functions that prepare a call, for one of the libraries. */
#define CONV_PREPARES(id, kind, lib) \
  static jfl_status id##_##kind(jf_kargs *k) { return conv_prepare_##kind(lib, k); }
#define CONV_LIBRARY(id, lib)                                  \
  CONV_PREPARES(id, forward, lib) CONV_PREPARES(id, then, lib) \
  CONV_PREPARES(id, data, lib) CONV_PREPARES(id, filter, lib)
CONV_LIBRARY(dnnl, jf_dnnl_open())
CONV_LIBRARY(own, jf_own_units())

/* Where oneDNN takes an epilogue, that row comes first; own loops serve where it is not there. */
#define CONV(op_, lib, kind, accepts_, priority_) \
  .op = op_, .accepts = accepts_, .prepare = lib##_##kind, .run = conv_run_##kind, JF_BY_PIECES, \
  .priority = priority_
#define CONVS "conv1d conv2d conv3d conv2d_fused"
#define CONV_DATA_GRADS "conv1d_data_grad conv2d_data_grad conv3d_data_grad"
#define CONV_FILTER_GRADS "conv1d_filter_grad conv2d_filter_grad conv3d_filter_grad"
JFL_CPU(dnnl_conv, CONV(CONVS, dnnl, forward, dnnl_takes_conv, JF_LIBRARY))
JFL_CPU(dnnl_conv_then, CONV("conv2d_fused", dnnl, then, dnnl_takes_f32, JF_LIBRARY + JF_IN_TWO))
JFL_CPU(dnnl_conv_data_grad, CONV(CONV_DATA_GRADS, dnnl, data, dnnl_takes_f32, JF_LIBRARY))
JFL_CPU(dnnl_conv_filter_grad, CONV(CONV_FILTER_GRADS, dnnl, filter, dnnl_takes_f32, JF_LIBRARY))

JFL_CPU(own_conv, CONV(CONVS, own, forward, own_takes_conv, JF_OWN_FIRST))
JFL_CPU(own_conv_then, CONV("conv2d_fused", own, then, own_takes_conv, JF_OWN_FIRST + JF_IN_TWO))
JFL_CPU(own_conv_data_grad, CONV(CONV_DATA_GRADS, own, data, own_takes_conv, JF_OWN_FIRST))
JFL_CPU(own_conv_filter_grad, CONV(CONV_FILTER_GRADS, own, filter, own_takes_conv, JF_OWN_FIRST))
