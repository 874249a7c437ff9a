/* Attributes of upsample_2d and its gradient. */
#ifndef JF_OP_UPSAMPLE_H
#define JF_OP_UPSAMPLE_H

#include "dev/kernel.h"

/* y is x at another height and width. x is (N, C, H, W), or (N, H, W, C) where data_format is
   "NHWC", or (N, C / block, H, W, block). Along each axis element i of y lies between two elements
   of x, or on one; jf_upsample_source tells which.
     upsample_2d(x) -> y, whose height and width are `size`
     upsample_2d_grad(dy) -> dx, whose height and width are `size` */
typedef struct jf_upsample {
  jf_ints size;
  const char *interpolation;   /* "nearest" or "bilinear" */
  int align_corners;
  const char *data_format;
  /* Set by infer: */
  int axis;                    /* the axis of height; width is the next one */
  int linear;
  /* Set by passes: channels in a block, or 0 where they are not cut into blocks. */
  int64_t block;
} jf_upsample;

/* Where an element comes from: (1 - share) of element `low` and `share` of element `high`; where
   these are the same, share is 0. */
typedef struct jf_pixel_source { int64_t low, high; double share; } jf_pixel_source;

/* The source of element i of an axis that goes from extent n to extent m. Pixels are squares whose
   centres are mapped; with align_corners the centres of the outermost pixels stay where they are.
   The nearest pixel is that whose square holds the left edge of the new one, as in PyTorch. */
static inline jf_pixel_source jf_upsample_source(const jf_upsample *a, int64_t n, int64_t m,
                                                 int64_t i)
{
  if (!a->linear) return (jf_pixel_source){ i * n / m, i * n / m, 0 };
  double at = ((double)i + 0.5) * (double)n / (double)m - 0.5;
  if (a->align_corners) at = m > 1 ? (double)i * (double)(n - 1) / (double)(m - 1) : 0;
  if (at < 0) at = 0;
  jf_pixel_source s = { .low = (int64_t)at };
  if (s.low > n - 1) s.low = n - 1;
  s.high = s.low + 1 < n && at > (double)s.low ? s.low + 1 : s.low;
  if (s.high > s.low) s.share = at - (double)s.low;
  return s;
}

/* (1 - share) a + share b; a alone where b has no share, so that an infinite b does no harm. */
static inline double jf_upsample_mix(double a, double b, double share)
{
  return share > 0 ? (1 - share) * a + share * b : a;
}

/* A call: planes of two axes, with `inner` elements that lie together in each cell. n: extents of
   x; m: of y. */
typedef struct jf_upsampling { int64_t outer, n[2], m[2], inner; } jf_upsampling;
static inline jf_upsampling jf_upsampling_of(const jf_upsample *a, const jfl_shape *x,
                                             const jfl_shape *y)
{
  jf_upsampling u = { 1, { x->d[a->axis], x->d[a->axis + 1] },
                      { y->d[a->axis], y->d[a->axis + 1] }, 1 };
  for (int i = 0; i < a->axis; i++) u.outer *= x->d[i];
  for (int i = a->axis + 2; i < x->n; i++) u.inner *= x->d[i];
  return u;
}

#endif
