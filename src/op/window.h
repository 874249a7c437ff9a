/* Windows that slide over width, over height and width, or over depth too, as convolution and
   pooling use them. */
#ifndef JF_OP_WINDOW_H
#define JF_OP_WINDOW_H

#include "ir/ir.h"

/* Extents of n axes, the last of which is width. extent: cells that a window reaches over, dilation
   included. */
typedef struct jf_window {
  int n, last;                           /* last: channels are the last axis of the tensor */
  int64_t in[3], extent[3], stride[3];
  int64_t pad[6];                        /* before and after each axis */
  int64_t out[3];
} jf_window;

/* Checks that input i has four axes; `what` names their order in the message, as "(N, C, H, W)". */
jfl_status jf_check_rank4(const jf_infer *c, const char *what);
/* Infers pictures at another size: input 0 with `size`, one number or two, along two axes from
   `axis` on, whose extents are at most 2^30 before and after. */
jfl_status jf_infer_resized(jf_infer *c, const jf_ints *size, int axis);
/* Reads a list of one number for all n axes or of one for each, all positive; an empty list gives
   `def` n times. */
jfl_status jf_extents(const char *name, const jf_ints *list, int n, int64_t *out);
/* Gives the extent of a window of `cells` cells that are `step` apart. */
jfl_status jf_window_extent(int64_t cells, int64_t step, int64_t *out);
/* jf_window_place sets pad and out from in, extent and stride. */
enum { JF_CEIL = 1 };    /* a last, partial window counts too */
jfl_status jf_window_place(const jf_pad *padding, int flags, jf_window *w);

/* The indices i of [0, n) for which i * stride + offset is in [lo, hi). */
typedef struct jf_range { int64_t lo, hi; } jf_range;
jf_range jf_range_within(int64_t n, int64_t stride, int64_t offset, int64_t lo, int64_t hi);

#endif
