/* Pictures in other sizes, axis by axis: each result is a weighted sum of a few neighbours. */
#ifndef JF_RESAMPLE_H
#define JF_RESAMPLE_H

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* AREA weighs each source by how much of it lies under the result, BILINEAR takes the two nearest
   centres, NEAREST the source at the result's beginning, TRIANGLE those around the result's centre,
   less the farther they are, as PIL resizes. AUTO is AREA where an axis shrinks and BILINEAR where
   it grows; so is AREA. CORNERS is BILINEAR, but the centres of the outermost sources are those of
   the outermost results. */
typedef enum jf_filter {
  JF_NEAREST, JF_BILINEAR, JF_AREA, JF_AUTO, JF_TRIANGLE, JF_CORNERS
} jf_filter;

/* Result i of an axis is the sum of weight[i * width + k] times source first[i] + k. Where pixels
   may be infinite, what has no weight must not be multiplied. */
typedef struct jf_taps { int64_t n; int64_t width; int64_t *first; double *weight; } jf_taps;

/* From `extent` sources that begin at `begin` of `limit` ones, n results. beyond: with TRIANGLE,
   sources before and after these count, too. */
typedef struct jf_stretch {
  int64_t n, limit;
  double begin, extent;
  jf_filter filter;
  int beyond;
} jf_stretch;

/* Bytes that the taps of an axis take. */
size_t jf_taps_size(const jf_stretch *s);
/* Makes them in so many bytes of memory. */
jf_taps jf_taps_in(const jf_stretch *s, void *memory);

/* One picture. Steps are in elements. dtype: U8 and F32 give U8 or F32, F64 gives F64. Every result
   is multiplied by `scale`; U8 is rounded. */
typedef struct jf_resize {
  const jf_taps *y, *x;
  const void *src;
  jfl_dtype from, to;
  int64_t channels, src_row;   /* channels lie side by side in src */
  void *dst;
  int64_t row, column, channel;      /* steps of dst */
  double scale;
} jf_resize;
/* Bytes of memory that jf_resize_rows needs for a source of that width. */
size_t jf_resize_line(int64_t width, int64_t channels);
/* Makes rows first .. last - 1 of the result. */
void jf_resize_rows(const jf_resize *r, int64_t first, int64_t last, void *line);

#ifdef __cplusplus
}
#endif
#endif
