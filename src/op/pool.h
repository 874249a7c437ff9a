/* What max_pool2d and avg_pool2d share. */
#ifndef JF_OP_POOL_H
#define JF_OP_POOL_H

#include "op/pool2d.h"
#include "op/window.h"

/* Their attributes in OneFlow's order, and the shape rule for an input of this height and width. */
#define JF_POOL_FIELDS                                                                            \
  JF_FIELD(jf_pool2d, ksize, INTS, NULL, "the window: one number, or height and width"),          \
  JF_FIELD(jf_pool2d, strides, INTS, "none", "step of the window; its size, unless given"),       \
  JF_FIELD(jf_pool2d, padding, PAD, "VALID", "SAME (odd cell first), SAME_UPPER, VALID or list"), \
  JF_WORD(jf_pool2d, data_format, "NCHW", "NCHW NHWC", "the order of axes; NCHW is supported"),   \
  JF_FIELD(jf_pool2d, ceil_mode, BOOL, "false", "with a padding list: count a last, partial window")
jfl_status jf_pool_place(const jf_infer *c, const int64_t in[2], int64_t out[2]);
/* The record's infer: x (N, C, H, W) gives y. */
jfl_status jf_pool_infer(jf_infer *c);

/* The valid cells of window (i, j): rows and columns of an input of height h and width w. */
typedef struct jf_cells { int64_t top, bottom, left, right; } jf_cells;
jf_cells jf_pool_cells(const jf_pool2d *a, int64_t h, int64_t w, int64_t i, int64_t j);

/* Window `number` of the pooled tensor, and where its plane of the full tensor starts; planes are
   `width` wide. */
typedef struct jf_pooling { int64_t number, plane, width; jf_cells cells; } jf_pooling;
/* Calls use for every window; full and pooled are the shapes of x and y. */
void jf_pool_each(const jf_kargs *k, const jfl_shape *full, const jfl_shape *pooled,
                  void (*use)(const jf_kargs *k, const jf_pooling *w));

#endif
