/* Attributes of max_pool2d, avg_pool2d and their gradients. */
#ifndef JF_OP_POOL2D_H
#define JF_OP_POOL2D_H

#include "dev/kernel.h"

/* Windows over height and width of (N, C, H, W), of (N, H, W, C) as "NHWC" says, or of (N, C /
   block, H, W, block). Cells outside x take no part: the maximum is over the valid cells, and the
   average divides by their number. A maximum's gradient goes to its first occurrence in the window,
   row by row.
     max_pool2d(x) -> y      max_pool2d_grad(x, y, dy) -> dx
     avg_pool2d(x) -> y      avg_pool2d_grad(dy) -> dx, whose height and width are `size` */
typedef struct jf_pool2d {
  jf_ints ksize, strides;
  jf_pad padding;
  const char *data_format;       /* "NCHW" or "NHWC" */
  int ceil_mode;
  jf_ints size;                  /* of avg_pool2d_grad */
  /* Filled by infer. */
  int64_t kernel[2], stride[2];
  int64_t pad[4];                /* top, bottom, left, right, with what ceil_mode adds */
  int axis;                      /* of height; width follows it */
  /* Set by passes; 0: channels are not cut into blocks. */
  int64_t block;
} jf_pool2d;

#endif
