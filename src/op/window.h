/* Windows that slide over height and width: what convolution and pooling share. */
#ifndef JF_OP_WINDOW_H
#define JF_OP_WINDOW_H

#include "ir/ir.h"

/* Height and width at index 0 and 1. extent: of a window, dilation included. */
typedef struct jf_window {
  int64_t in[2], extent[2], stride[2];
  int64_t pad[4];                        /* top, bottom, left, right */
  int64_t out[2];
} jf_window;

/* JFL_ENOSYS unless "NCHW". */
jfl_status jf_check_nchw(const char *data_format);
/* Input i must be (N, C, H, W); what: how a message calls that shape. */
jfl_status jf_check_rank4(const jf_infer *c, int i, const char *what);
/* One number for both axes or one for each, positive; an empty list is `def` twice. */
jfl_status jf_pair(const char *name, const jf_ints *list, int64_t def,
                   int64_t out[2]);
/* The reach of `cells` cells that are `step` apart. */
jfl_status jf_window_extent(int64_t cells, int64_t step, int64_t *out);
/* Sets pad and out from in, extent and stride. */
enum { JF_CEIL = 1 };    /* a last, partial window counts too */
jfl_status jf_window_place(const jf_pad *padding, int flags, jf_window *w);

/* The indices i of [0, n) for which i * stride + offset is in [lo, hi). */
typedef struct jf_range { int64_t lo, hi; } jf_range;
jf_range jf_range_within(int64_t n, int64_t stride, int64_t offset, int64_t lo, int64_t hi);

#endif
