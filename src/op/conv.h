/* Attributes of convolutions and their gradients. */
#ifndef JF_OP_CONV_H
#define JF_OP_CONV_H

#include "op/epilogue.h"

/* y[n, o, i, j] = sum over c, u, v of filters[o, c, u, v] x[n, c, row, column], where
     row = i stride[1] - pad[2] + u dilation[1],  column = j stride[2] - pad[4] + v dilation[2],
   and c is within the group of o. x is (N, C, H, W), filters (O, C / groups, U, V), y (N, O, I,
   J); with data_format "NHWC" x is (N, H, W, C), filters (O, U, V, C / groups), y (N, I, J, O).
     conv2d(in, filters) -> out
     conv2d_fused(in, filters, extra...) -> out, after the epilogue
     conv2d_data_grad(filters, dy) -> dx, whose height and width are `size`
     conv2d_filter_grad(in, dy) -> dfilters, whose height and width are `size`, and with
       epilogue.bias a second output dbias (O), the sum of dy over all but channels
   Likewise conv1d, whose tensors have no H, and conv3d, whose tensors have a depth D before H;
   their formats are NCW, NWC, NCDHW and NDHWC.
   Channels may be cut into blocks that lie innermost, as vector units want them. With block_x x is
   (N, C / block, H, W, block), with block_y y is (N, O / block, I, J, block); with packed filters
   are (O / block, C / block, U, V, block of C, block of O), or (O / block, U, V, C, block of O)
   where C is no multiple of block. Groups are 1 then, and the format is NCHW. */
typedef struct jf_conv {
  jf_ints strides;
  jf_pad padding;
  const char *data_format;
  jf_ints dilations;
  int64_t groups;
  jf_ints size;                  /* spatial extents of the result of a gradient op */
  /* Set by infer; of depth, height and width, those that the tensors lack have one cell: */
  int axes;                      /* how many of them the tensors have */
  int last;                      /* whether channels are the last axis */
  int64_t stride[3], dilation[3];
  int64_t pad[6];                /* before and after each */
  /* Set by passes: */
  jf_epilogue epilogue;
  int64_t block;
  int block_x, block_y, packed;
  int f32_result;                /* operands of 16 bits have a result of float32 */
} jf_conv;

/* The attributes that convolutions and their gradients share. */
#define JF_CONV_ATTRS(first, formats)                                                           \
  JF_FIELD(jf_conv, strides, INTS, "1", "step of the window: one number, or one for each axis"), \
  JF_FIELD(jf_conv, padding, PAD, "VALID", "SAME (odd cell first), SAME_UPPER, VALID or list"),  \
  JF_WORD(jf_conv, data_format, first, formats, "the order of axes"),                            \
  JF_FIELD(jf_conv, dilations, INTS, "1", "distance between the window's cells"),                \
  JF_RANGE(jf_conv, groups, INT, "1", "at least 1",                                              \
           "channels are cut into this many independent groups")
#define JF_CONV2D_ATTRS JF_CONV_ATTRS("NCHW", "NCHW NHWC")

/* The extents of a tensor of a convolution, whatever the order of its axes: images or filters,
   channels, depth, height, width. s is its plain shape. */
typedef struct jf_conv_extents { int64_t d[5]; } jf_conv_extents;
jf_conv_extents jf_conv_extents_of(const jf_conv *a, const jfl_shape *s);
struct jf_node;
/* The attributes of n if it is conv2d, else NULL. */
const jf_conv *jf_conv_forward_of(const struct jf_node *n);
/* The number of the axis of channels. */
int jf_conv_channel_axis(const jf_conv *a);

/* Whether the fast loops want filters packed, where y is in blocks. */
int jf_conv_packs(const jf_conv *a, int64_t channels, int64_t filters, int64_t block);

/* The plain kernels, for tensors in any form. */
jfl_status jf_conv_forward(const jf_kargs *k);
jfl_status jf_conv_data_grad(const jf_kargs *k);
jfl_status jf_conv_filter_grad(const jf_kargs *k);

/* The layout rule of conv2d and conv2d_fused, whose inputs are x, filters, extra... */
struct jf_layout;
int jf_conv2d_layout(struct jf_layout *c);

#endif
