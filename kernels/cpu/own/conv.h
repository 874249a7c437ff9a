/* What convolutions (conv.c) and their gradients for filters (conv_filter.c) share: where the
   elements of images lie, and which of them meet. */
#ifndef JF_OWN_CONV_H
#define JF_OWN_CONV_H

#include "own.h"

/* Images of one group. Channels lie beside each other in runs of `run` (all of them, a block, or
   1); from one run to the next, and from one cell of an axis to the next, it is so many floats. */
typedef struct jf_own_images {
  int64_t channels, size[3], run, by_run, by_image, by_group, step[3];
} jf_own_images;

/* Taps of a window along an axis, in order of the phase that they serve: where results are cells
   phase, phase + phases, ..., of which there are `count`, cell i reads cell
   i * stride + shift of the source. Tap j of the axis is index[j] in the filters. */
typedef struct jf_own_axis {
  int64_t phases, stride;
  int64_t *start, *index, *shift;      /* phases + 1 numbers, and as many as there are taps */
} jf_own_axis;

jf_own_images jf_own_images_of(const jf_primitive_conv *c, int64_t channels, const int64_t size[3],
                               int blocked);
/* Gives the axes of a convolution or of its gradient for the data; they lie behind each other.
   Refuses windows that want huge tables. */
jfl_status jf_own_axes(const jf_primitive_conv *c, int turned, jf_own_axis axis[3]);

/* The results along an axis for which tap u reads a cell of the source, which has `from` cells and
   gives `to` results. */
typedef struct jf_own_range { int64_t lo, hi; } jf_own_range;
jf_own_range jf_own_meets(const jf_own_axis *a, int64_t from, int64_t to, int64_t u);

/* Where a cell of an image lies. */
static inline int64_t jf_own_cell(const jf_own_images *x, const int64_t at[3])
{
  return at[0] * x->step[0] + at[1] * x->step[1] + at[2] * x->step[2];
}

/* How many of n results are of a phase. */
static inline int64_t jf_own_count(const jf_own_axis *a, int64_t n, int64_t phase)
{
  return (n - phase + a->phases - 1) / a->phases;
}

/* The number of taps of all axes. */
static inline int64_t jf_own_taps(const jf_primitive_conv *c)
{
  return c->kernel[0] * c->kernel[1] * c->kernel[2];
}

/* Whether each channel is a group, and the unit for those. */
int jf_own_is_depthwise(const jf_primitive_conv *c);
jfl_status jf_own_depthwise(const jf_primitive_conv *c, jf_primitive_kind kind,
                            jf_primitive_make *make);
/* Units for results or their gradients for the data, and for filters. */
jfl_status jf_own_conv_data(const jf_primitive_conv *c, jf_primitive_kind kind,
                            jf_primitive_make *make);
jfl_status jf_own_conv_filter(const jf_primitive_conv *c, jf_primitive_make *make);

#endif
