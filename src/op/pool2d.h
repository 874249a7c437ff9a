/* Attributes of max_pool2d, avg_pool2d and their gradients. */
#ifndef JF_OP_POOL2D_H
#define JF_OP_POOL2D_H

#include "dev/kernel.h"

/* Windows over height and width of x, which is (N, C, H, W), or (N, H, W, C) where data_format is
   "NHWC", or (N, C / block, H, W, block). Cells outside x take no part: the maximum is over the
   valid cells, and the average divides by their number. The gradient of a maximum goes to its first
   occurrence in the window, row by row.
     max_pool2d(x) -> y      max_pool2d_grad(x, y, dy) -> dx
     avg_pool2d(x) -> y      avg_pool2d_grad(dy) -> dx, whose height and width are `size` */
typedef struct jf_pool2d {
  jf_ints ksize, strides;
  jf_pad padding;
  const char *data_format;       /* "NCHW" or "NHWC" */
  int ceil_mode;
  jf_ints size;                  /* height and width of dx, for avg_pool2d_grad */
  /* Set by infer: */
  int64_t kernel[2], stride[2];
  int64_t pad[4];                /* top, bottom, left, right; with what ceil_mode adds */
  int axis;                      /* the axis of height; width is the next one */
  /* Set by passes: channels in a block, or 0 where they are not cut into blocks. */
  int64_t block;
} jf_pool2d;

/* The valid cells of window i along height (axis 0) or width of an x that has `size` there. */
typedef struct jf_pool_range { int64_t lo, hi; } jf_pool_range;
static inline jf_pool_range jf_pool_window(const jf_pool2d *a, int axis, int64_t size, int64_t i)
{
  const int64_t from = i * a->stride[axis] - a->pad[2 * axis], to = from + a->kernel[axis];
  return (jf_pool_range){ from < 0 ? 0 : from, to > size ? size : to };
}

#endif
