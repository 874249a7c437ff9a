/* Attributes of conv2d and its gradients. */
#ifndef JF_OP_CONV2D_H
#define JF_OP_CONV2D_H

#include "op/epilogue.h"

/* y[n, o, i, j] = sum over c, u, v of filters[o, c, u, v] x[n, c, row, column], where
     row = i stride[0] - pad[0] + u dilation[0],  column = j stride[1] - pad[2] + v dilation[1],
   and c is within the group of o. x is (N, C, H, W), filters (O, C / groups, U, V), y (N, O, I, J).
     conv2d(in, filters) -> out
     conv2d_fused(in, filters, extra...) -> out, after the epilogue
     conv2d_data_grad(filters, dy) -> dx, whose height and width are `size`
     conv2d_filter_grad(in, dy) -> dfilters, whose height and width are `size`, and with
       epilogue.bias a second output dbias (O), the sum of dy over all but channels
   Channels may be cut into blocks that lie innermost, as vector units want them. With block_x x is
   (N, C / block, H, W, block), with block_y y is (N, O / block, I, J, block); with packed filters
   are (O / block, C / block, U, V, block of C, block of O), or (O / block, U, V, C, block of O)
   where C is no multiple of block. Groups are 1 then. */
typedef struct jf_conv2d {
  jf_ints strides;
  jf_pad padding;
  const char *data_format;       /* "NCHW" */
  jf_ints dilations;
  int64_t groups;
  jf_ints size;                  /* height and width of the result of a gradient op */
  /* Set by infer: */
  int64_t stride[2], dilation[2];
  int64_t pad[4];                /* top, bottom, left, right */
  /* Set by passes: */
  jf_epilogue epilogue;
  int64_t block;
  int block_x, block_y, packed;
} jf_conv2d;

/* The attributes that conv2d and its gradients share. */
#define JF_CONV2D_ATTRS                                                                           \
  JF_FIELD(jf_conv2d, strides, INTS, "1", "step of the window: one number, or height and width"), \
  JF_FIELD(jf_conv2d, padding, PAD, "VALID", "SAME (odd cell first), SAME_UPPER, VALID or list"), \
  JF_WORD(jf_conv2d, data_format, "NCHW", "NCHW NHWC", "the order of axes; NCHW is supported"),   \
  JF_FIELD(jf_conv2d, dilations, INTS, "1", "distance between the window's cells"),               \
  JF_FIELD(jf_conv2d, groups, INT, "1", "channels are cut into this many independent groups")

/* The layout rule of conv2d and conv2d_fused, whose inputs are x, filters, extra... */
struct jf_layout;
int jf_conv2d_layout(struct jf_layout *c);

#endif
