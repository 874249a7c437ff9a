/* Attributes of conv2d and its gradients. */
#ifndef JF_OP_CONV2D_H
#define JF_OP_CONV2D_H

#include "dev/kernel.h"

/* y[n, o, i, j] = sum over c, u, v of filters[o, c, u, v] x[n, c, row, column], where
     row = i stride[0] - pad[0] + u dilation[0],  column = j stride[1] - pad[2] + v dilation[1],
   and c is within the group of o. x is (N, C, H, W), filters (O, C / groups, U, V), y (N, O, I, J).
     conv2d(in, filters) -> out
     conv2d_data_grad(filters, dy) -> dx, whose height and width are `size`
     conv2d_filter_grad(in, dy) -> dfilters, whose height and width are `size` */
typedef struct jf_conv2d {
  jf_ints strides;
  jf_pad padding;
  const char *data_format;       /* "NCHW" */
  jf_ints dilations;
  int64_t groups;
  jf_ints size;                  /* of the gradient ops */
  /* Filled by infer. */
  int64_t stride[2], dilation[2];
  int64_t pad[4];                /* top, bottom, left, right */
} jf_conv2d;

#endif
