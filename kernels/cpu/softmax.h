/* Softmax of one line of floats. */
#ifndef JF_VEC_SOFTMAX_H
#define JF_VEC_SOFTMAX_H

#include "vector.h"

#include <math.h>

JF_BODY float jf_line_max(const float *x, int64_t n)
{
  jf_vec m, v;
  jf_load_part(x, n < JF_LANES ? n : JF_LANES, -INFINITY, &m);
  for (int64_t i = JF_LANES; i < n; i += JF_LANES) {
    jf_load_part(x + i, n - i < JF_LANES ? n - i : JF_LANES, -INFINITY, &v);
    m = JF_SELECT(v > m, v, m);
  }
  float l[JF_LANES];
  memcpy(l, &m, sizeof l);
  for (int i = 1; i < JF_LANES; i++) l[0] = l[i] > l[0] ? l[i] : l[0];
  return l[0];
}

enum { JF_LINE_BLOCK = 64 * JF_LANES };

/* y = exp(x - max) for n <= JF_LINE_BLOCK; returns the sum of y. x and y may be the same memory; if
   y is NULL, there is only the sum. */
JF_BODY float jf_block_exp(const float *x, float *y, int64_t n, float max)
{
  jf_vec sum = { 0 }, v;
  for (int64_t i = 0; i < n; i += JF_LANES) {
    const int64_t some = n - i < JF_LANES ? n - i : JF_LANES;
    jf_load_part(x + i, some, -INFINITY, &v);
    v -= max;
    jf_exp(&v);
    if (y) jf_store_part(y + i, some, &v);
    sum += v;
  }
  return jf_lane_sum(&sum);
}

/* The same for any n; the sums of blocks are added in double. */
JF_BODY double jf_line_exp(const float *x, float *y, int64_t n, float max)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i += JF_LINE_BLOCK)
    sum += (double)jf_block_exp(x + i, y ? y + i : NULL,
                                n - i < JF_LINE_BLOCK ? n - i : JF_LINE_BLOCK, max);
  return sum;
}

#endif
