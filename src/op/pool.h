/* What max_pool2d and avg_pool2d share. */
#ifndef JF_OP_POOL_H
#define JF_OP_POOL_H

#include "op/pool2d.h"
#include "op/window.h"

/* The attributes that max_pool2d and avg_pool2d share, in OneFlow's order. */
#define JF_POOL_FIELDS                                                                            \
  JF_FIELD(jf_pool2d, ksize, INTS, NULL, "the window: one number, or height and width"),          \
  JF_FIELD(jf_pool2d, strides, INTS, "none", "step of the window; its size, unless given"),       \
  JF_FIELD(jf_pool2d, padding, PAD, "VALID", "SAME (odd cell first), SAME_UPPER, VALID or list"), \
  JF_WORD(jf_pool2d, data_format, "NCHW", "NCHW NHWC", "the order of axes"),   \
  JF_FIELD(jf_pool2d, ceil_mode, BOOL, "false", "with a padding list: count a last, partial window")
/* Completes the attributes for an input of height and width `in` and gives the pooled height and
   width. in[0] of c may be x or dy; only its layout of axes is used. */
jfl_status jf_pool_place(jf_infer *c, const int64_t in[2], int64_t out[2]);
/* Gives in[0]'s height and width. */
jfl_status jf_pool_size(const jf_infer *c, int64_t size[2]);
/* Sets result 0 to in[0]'s dtype and shape with another height and width. */
void jf_pool_result(jf_infer *c, const int64_t size[2]);
/* The infer rule of the records: x gives y. */
jfl_status jf_pool_infer(jf_infer *c);
/* Images and channels may be split, of the records, gradients included. */
void jf_pool_signatures(jf_signatures *c);
/* The cells of all windows; of the records, and of the gradients. */
double jf_pool_flop(const jf_kargs *k);
double jf_pool_grad_flop(const jf_kargs *k);
/* The layout rule of the records, gradients included. */
struct jf_layout;
int jf_pool_layout(struct jf_layout *c);

/* One window. Its result is element `number` of the pooled tensor. Its valid cells are elements of
   the full tensor, `inner` apart from `first` on, in rows of `width` cells. */
typedef struct jf_pooling {
  int64_t number, first, width, inner;
  jf_pool_range rows, columns;
} jf_pooling;
/* Calls `use` for every window. full and pooled are the shapes of x and y. */
void jf_pool_each(const jf_kargs *k, const jfl_shape *full, const jfl_shape *pooled,
                  void (*use)(const jf_kargs *k, const jf_pooling *w));
/* The element of x's tensor that is cell (i, j). */
static inline int64_t jf_pool_at(const jf_pooling *w, int64_t i, int64_t j)
{
  return w->first + (i * w->width + j) * w->inner;
}

#endif
