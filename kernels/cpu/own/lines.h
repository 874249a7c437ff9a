/* Packing the cells that bands of results of a convolution read: each once for all of its taps, in
   lines with zeros for cells beyond the image, so that a tile reads them where they lie. */
#ifndef JF_OWN_LINES_H
#define JF_OWN_LINES_H

#include "conv.h"

/* Cells of a source along an axis, `stride` apart: for i < n, cell `first` + i * stride beyond the
   one at which a band begins to read lies at place + i. */
typedef struct jf_own_stretch { int64_t first, place, n; } jf_own_stretch;

/* What `many` results beside each other read along an axis. Taps that read the same cells share a
   stretch. Those of a phase are behind each other, from the number of its first tap on. */
typedef struct jf_own_reach {
  int64_t many;
  jf_own_stretch *stretch;
  int64_t *stretches, *places;             /* of each phase: how many there are */
  int64_t *place;              /* of each tap: where the cell lies that it reads for result 0 */
} jf_own_reach;

/* Sets what `many` results of each axis read; the three lie behind each other. */
jfl_status jf_own_reaches(const jf_primitive_conv *c, const jf_own_axis axis[3],
                          const int64_t many[3],
                          jf_own_reach reach[3]);

/* Some channels of an image, from the cell `corner` on, for a phase of each axis. A place has
   `each` channels beside each other: 1 or JF_LANES. */
typedef struct jf_own_band {
  const jf_own_images *x;
  const jf_own_axis *axis;
  const jf_own_reach *reach;
  int64_t phase[3], corner[3], channel, channels, each;
  const float *from;
  float *to;
} jf_own_band;
void jf_own_pack_band(const jf_own_band *b);

#endif
