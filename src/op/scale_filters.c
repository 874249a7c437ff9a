/* The op that multiplies the filters of a convolution, so that each channel of its result is
   multiplied by a number. */
#include "op/conv.h"
#include "op/layout.h"
#include "op/op.h"

/* Its attributes are those of the convolution. */
JF_ATTRS(attrs, JF_CONV2D_ATTRS)

static jfl_status scale_filters_infer(jf_infer *c)
{
  const jf_conv *a = c->attr;
  const jfl_shape *f = &c->in[0]->shape, *line = &c->in[1]->shape;
  const int64_t filters = f->n ? f->d[0] * (a->packed ? a->block : 1) : 0;
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  JF_TRY(jf_infer_dtype(c, 1, 0));
  if (!f->n || line->n != 1 || line->d[0] != filters)
    return jf_fail_argument(JFL_ESHAPE, "line", "must have a number for each of the filters %s, "
                            "got %s", jf_shape_str(f, s), jf_shape_str(line, t));
  c->shape[0] = *f;
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

/* y[o, ...] = filters[o, ...] line[o]. Of packed filters `block` lie innermost. */
#define SCALE(D, T)                                                                     \
  static jfl_status scale_filters_##D(const jf_kargs *k)                                \
  {                                                                                     \
    const jf_conv *a = k->attr;                                                         \
    const int64_t n = jf_numel(&k->in[0].shape), block = a->packed ? a->block : 1;      \
    const int64_t of_block = n ? n / k->in[0].shape.d[0] : 1;                           \
    const T *f = k->in[0].data, *line = k->in[1].data;                                  \
    T *y = k->out[0].data;                                                              \
    for (int64_t i = 0; i < n && !jf_loop_ends_at(i, 1); i++)                      \
      y[i] = f[i] * line[i / of_block * block + i % block];                             \
    return JFL_OK;                                                                      \
  }
JF_EACH_FLOAT(SCALE)

/* Packs the filters where the convolution wants them so. */
static int scale_filters_layout(jf_layout *c)
{
  jf_conv *a = c->attr;
  const int64_t *f = c->in_shape[0]->d, block = jf_layout_block(c);
  if (c->node->in[0]->dtype != JFL_F32 || !block || c->in_shape[0]->n != 4) return 0;
  if (!jf_conv_packs(a, f[1], f[0], block)) return 0;
  a->block = block;
  a->packed = 1;
  c->in[0] = c->out[0] = JF_PACKED;
  c->in[1] = JF_PLAIN;
  return 1;
}

JFL_OP(scale_filters, .doc = "filters, each multiplied by a number of line.",
  .in = {"filters", "line"}, .out = {"y"}, JF_WITH(attrs, jf_conv), .infer = scale_filters_infer,
  .cpu = JF_KERNELS(JF_FLOATS(scale_filters_)), .layout = scale_filters_layout)
