/* Attributes of ops on batches of pictures, and what plain and fast kernels share. */
#ifndef JF_OP_IMAGE_H
#define JF_OP_IMAGE_H

#include "data/resample.h"
#include "dev/kernel.h"

/* crop_mirror_normalize(input_blob, mirror_blob) -> y: pixels of uint8 (N, H, W, C) as float32,
   (pixel - mean) / std of the part of crop_h rows and crop_w columns. */
typedef struct jf_crop_mirror {
  const char *color_space, *output_layout;
  int64_t crop_h, crop_w;
  double crop_pos_y, crop_pos_x;       /* 0: the part is at the top or left; 1: at the other end */
  jf_nums mean, std;                   /* one number, or one a channel */
  jfl_dtype output_dtype;
} jf_crop_mirror;
/* Makes pictures first .. last - 1. */
void jf_crop_mirror_pictures(const jf_kargs *k, int64_t first, int64_t last);

/* random_crop(x) -> y, place: a part of each picture of x, which counts as surrounded by `padding`
   zeros, mirrored with probability `flip`. place, int32 (N, 3): its top and left among the rows and
   columns of the padded picture, and whether it is mirrored.
   random_crop_grad(dy, place) -> dx: dy at its places among zeros; `size` is that of dx. */
typedef struct jf_random_crop {
  jf_ints size, padding;       /* rows and columns */
  double flip;
  const char *data_format;
  int axis;                    /* that of rows; set by infer */
} jf_random_crop;
/* Moves the part of picture i: from x to y or, with back, from y to x. */
void jf_random_crop_move(const jf_kargs *k, int64_t i, int back);
/* Draws place for picture i. */
void jf_random_crop_draw(const jf_kargs *k, int64_t i);

/* image_resize(x) -> y, upsample_2d(x) -> y: pictures whose rows and columns are `size`. x is
   (N, H, W, C), (N, C, H, W) or (N, C / block, H, W, block).
   image_resize_grad(dy) -> dx, upsample_2d_grad(dy) -> dx: `size` is that of dx. */
typedef struct jf_image_resize {
  jf_ints size;
  const char *interpolation, *data_format;
  int align_corners;
  /* Set by infer: */
  int axis;                    /* that of rows */
  jf_filter filter;
  /* Set by passes: channels in a block, or 0 where they are not cut into blocks. */
  int64_t block;
} jf_image_resize;
/* A call: n pictures or planes of h by w pixels, `inner` elements each, become to_h by to_w. y and
   x: how the axes are stretched. */
typedef struct jf_resizing {
  int64_t n, h, w, inner, to_h, to_w;
  jf_stretch y, x;
} jf_resizing;
/* What a call of one of the four ops for resizing does. */
jf_resizing jf_resizing_of(const jf_kargs *k);
int jf_resizes_back(const jf_kargs *k);

#endif
