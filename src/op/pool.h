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
  JF_WORD(jf_pool2d, data_format, "NCHW", "NCHW NHWC", "the order of axes"),   \
  JF_FIELD(jf_pool2d, ceil_mode, BOOL, "false", "with a padding list: count a last, partial window")
/* Places the windows on in[0], x or dy of whose height and width only `in` is known: completes the
   attributes and gives the pooled height and width. */
jfl_status jf_pool_place(jf_infer *c, const int64_t in[2], int64_t out[2]);
/* in[0]'s height and width. */
jfl_status jf_pool_size(const jf_infer *c, int64_t size[2]);
/* Result 0 is in[0] with another height and width. */
void jf_pool_result(jf_infer *c, const int64_t size[2]);
/* The record's infer: x gives y. */
jfl_status jf_pool_infer(jf_infer *c);
/* The record's layout rule, of gradients too. */
struct jf_layout;
int jf_pool_layout(struct jf_layout *c);

/* The valid cells of a window: rows top..bottom-1 and columns left..right-1 of x. */
typedef struct jf_cells { int64_t top, bottom, left, right; } jf_cells;

/* One window: of element `number` of the pooled tensor, over every `inner`th element from `first`
   on of the full one, in rows of `width` cells. */
typedef struct jf_pooling { int64_t number, first, width, inner; jf_cells cells; } jf_pooling;
/* Calls use for every window; full and pooled are the shapes of x and y. */
void jf_pool_each(const jf_kargs *k, const jfl_shape *full, const jfl_shape *pooled,
                  void (*use)(const jf_kargs *k, const jf_pooling *w));
/* Where cell (i, j) of x is in its tensor. */
static inline int64_t jf_pool_at(const jf_pooling *w, int64_t i, int64_t j)
{
  return w->first + (i * w->width + j) * w->inner;
}

#endif
