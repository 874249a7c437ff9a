/* Softmax of one line of floats. */
#ifndef JF_VEC_SOFTMAX_H
#define JF_VEC_SOFTMAX_H

#include "vector.h"

#include <math.h>

/* The greatest of n >= 1 floats. */
JF_BODY float jf_line_max(const float *x, int64_t n)
{
  jf_vec m[4], v;
  int64_t i = 0;
  for (int j = 0; j < 4; j++) m[j] = (jf_vec){ 0 } - INFINITY;
  for (; i + 4 * JF_LANES <= n; i += 4 * JF_LANES)
    for (int j = 0; j < 4; j++) {
      v = JF_LOAD(x + i + j * JF_LANES);
      m[j] = JF_SELECT(v > m[j], v, m[j]);
    }
  for (; i < n; i += JF_LANES) {
    jf_load_part(x + i, n - i < JF_LANES ? n - i : JF_LANES, -INFINITY, &v);
    m[0] = JF_SELECT(v > m[0], v, m[0]);
  }
  for (int j = 1; j < 4; j++) m[0] = JF_SELECT(m[j] > m[0], m[j], m[0]);
  v = JF_LANES_FROM(m[0], 8);
  m[0] = JF_SELECT(v > m[0], v, m[0]);
  v = JF_LANES_FROM(m[0], 4);
  m[0] = JF_SELECT(v > m[0], v, m[0]);
  v = JF_LANES_FROM(m[0], 2);
  m[0] = JF_SELECT(v > m[0], v, m[0]);
  v = JF_LANES_FROM(m[0], 1);
  return v[0] > m[0][0] ? v[0] : m[0][0];
}

enum { JF_LINE_BLOCK = 64 * JF_LANES };

/* y = exp(x - max) for n <= JF_LINE_BLOCK; returns the sum of y. x and y may be the same memory; if
   y is NULL, there is only the sum. */
JF_BODY float jf_block_exp(const float *x, float *y, int64_t n, float max)
{
  jf_vec sum = { 0 }, v;
  int64_t i = 0;
  for (; i + JF_LANES <= n; i += JF_LANES) {
    v = JF_LOAD(x + i) - max;
    jf_exp_below(&v);
    if (y) JF_STORE(y + i, v);
    sum += v;
  }
  if (i < n) {
    jf_load_part(x + i, n - i, -INFINITY, &v);
    v -= max;
    jf_exp_below(&v);
    if (y) jf_store_part(y + i, n - i, &v);
    sum += v;
  }
  return jf_lane_sum(&sum);
}

/* y = exp(x - max) for any n, and the sum of y; the sums of blocks are added in double. */
JF_BODY double jf_line_exp(const float *x, float *y, int64_t n, float max)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i += JF_LINE_BLOCK)
    sum += (double)jf_block_exp(x + i, y ? y + i : NULL,
                                n - i < JF_LINE_BLOCK ? n - i : JF_LINE_BLOCK, max);
  return sum;
}

#endif
