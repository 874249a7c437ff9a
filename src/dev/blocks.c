/* Numbers as blocks of few bits, and back. */
#include "dev/blocks.h"
#include "dev/half.h"

/* ---- blocks to numbers ---- */

JF_BODY void q8_0_get(const jf_q8_0 *b, float *to)
{
  const float d = jf_from_f16(b->d);
  for (int i = 0; i < 32; i++) to[i] = d * (float)b->q[i];
}

JF_BODY void q4_0_get(const jf_q4_0 *b, float *to)
{
  const float d = jf_from_f16(b->d);
  for (int i = 0; i < 16; i++) {
    to[i] = d * (float)((b->q[i] & 15) - 8);
    to[i + 16] = d * (float)((b->q[i] >> 4) - 8);
  }
}

JF_BODY void q4_k_get(const jf_q4_k *b, float *to)
{
  const float d = jf_from_f16(b->d), dmin = jf_from_f16(b->dmin);
  for (int j = 0; j < 8; j++) {
    const uint8_t *q = b->q + j / 2 * 32;
    int scale, least;
    jf_q4_k_part(b->part, j, &scale, &least);
    const float s = d * (float)scale, m = dmin * (float)least;
    for (int i = 0; i < 32; i++) to[32 * j + i] = s * (float)(q[i] >> 4 * (j & 1) & 15) - m;
  }
}

JF_BODY void q6_k_get(const jf_q6_k *b, float *to)
{
  const float d = jf_from_f16(b->d);
  for (int j = 0; j < 8; j++) {
    const uint8_t *low = b->low + j / 4 * 64 + j % 2 * 32, *high = b->high + j / 4 * 32;
    const int up = j % 4 / 2 * 4, bits = j % 4 * 2;
    for (int i = 0; i < 32; i++) {
      const int q = (low[i] >> up & 15) | (high[i] >> bits & 3) << 4;
      to[32 * j + i] = d * (float)b->scale[2 * j + i / 16] * (float)(q - 32);
    }
  }
}

JF_BODY void blocks_get_body(jfl_dtype t, const void *from, int64_t n, float *to)
{
#define EACH(type, get) for (int64_t i = 0; i < n; i++) get((const type *)from + i, to + i * width)
  const int width = jfl_dtype_numbers(t);
  switch ((int)t) {
  case JFL_Q8_0: EACH(jf_q8_0, q8_0_get); break;
  case JFL_Q4_0: EACH(jf_q4_0, q4_0_get); break;
  case JFL_Q4_K: EACH(jf_q4_k, q4_k_get); break;
  default: EACH(jf_q6_k, q6_k_get);
  }
#undef EACH
}
JF_DISPATCH_FEW(blocks_get, (jfl_dtype t, const void *from, int64_t n, float *to), (t, from, n, to))

void jf_blocks_get(jfl_dtype t, const void *from, int64_t n, float *to)
{
  blocks_get(t, from, n, to);
}

/* ---- numbers to blocks ---- */

/* The number of the largest magnitude. */
static float extreme(const float *x, int n)
{
  float most = 0;
  for (int i = 0; i < n; i++)
    if (fabsf(x[i]) > fabsf(most)) most = x[i];
  return most;
}

static int clip(float v, int least, int most)
{
  const float r = rintf(v);
  return r < (float)least || r != r ? least : r > (float)most ? most : (int)r;
}

static void q8_0_put(const float *x, jf_q8_0 *b)
{
  const float d = fabsf(extreme(x, 32)) / 127;
  b->d = jf_to_f16(d);
  for (int i = 0; i < 32; i++) b->q[i] = (int8_t)(d > 0 ? clip(roundf(x[i] / d), -127, 127) : 0);
}

/* The extreme becomes -8 exactly, whatever its sign. */
static void q4_0_put(const float *x, jf_q4_0 *b)
{
  const float d = extreme(x, 32) / -8;
  uint8_t q[32];
  b->d = jf_to_f16(d);
  for (int i = 0; i < 32; i++) q[i] = (uint8_t)(d != 0 ? clip(floorf(x[i] / d + 8.5f), 0, 15) : 8);
  for (int i = 0; i < 16; i++) b->q[i] = (uint8_t)(q[i] | q[i + 16] << 4);
}

/* x is about scale q + least with q from 0 to 15, where least is at most 0. */
typedef struct blocks_line { float scale, least; } blocks_line;

static double line_error(const float *x, blocks_line l)
{
  double e = 0;
  for (int i = 0; i < 32; i++) {
    const int q = l.scale > 0 ? clip((x[i] - l.least) / l.scale, 0, 15) : 0;
    const double d = (double)x[i] - l.scale * (double)q - l.least;
    e += d * d;
  }
  return e;
}

/* The line of least squares for the q that l gives; l itself where there is no better one. */
static blocks_line refit(const float *x, blocks_line l)
{
  double q1 = 0, q2 = 0, x1 = 0, xq = 0;
  for (int i = 0; i < 32; i++) {
    const double q = clip((x[i] - l.least) / l.scale, 0, 15);
    q1 += q, q2 += q * q, x1 += x[i], xq += q * (double)x[i];
  }
  const double det = 32 * q2 - q1 * q1;
  if (!(det > 0)) return l;
  blocks_line fit = { (float)((32 * xq - q1 * x1) / det), (float)((q2 * x1 - q1 * xq) / det) };
  if (fit.least > 0) fit = (blocks_line){ (float)(xq / q2), 0 };
  return fit.scale > 0 && line_error(x, fit) < line_error(x, l) ? fit : l;
}

static blocks_line fit_line(const float *x)
{
  enum { ROUNDS = 4 };
  blocks_line l = { 0, 0 };
  float most = 0;
  for (int i = 0; i < 32; i++) {
    if (x[i] < l.least) l.least = x[i];
    if (x[i] > most) most = x[i];
  }
  l.scale = (most - l.least) / 15;
  for (int i = 0; i < ROUNDS && l.scale > 0; i++) l = refit(x, l);
  return l;
}

/* Six bits each of scales and leasts, as jf_q4_k_part reads them. */
static void put_parts(const int *scale, const int *least, uint8_t *p)
{
  for (int j = 0; j < 4; j++) {
    p[j] = (uint8_t)(scale[j] | scale[j + 4] >> 4 << 6);
    p[j + 4] = (uint8_t)(least[j] | least[j + 4] >> 4 << 6);
    p[j + 8] = (uint8_t)((scale[j + 4] & 15) | (least[j + 4] & 15) << 4);
  }
}

static void q4_k_put(const float *x, jf_q4_k *b)
{
  blocks_line l[8];
  int scale[8], least[8];
  float most = 0, low = 0;
  for (int j = 0; j < 8; j++) {
    l[j] = fit_line(x + 32 * j);
    if (l[j].scale > most) most = l[j].scale;
    if (-l[j].least > low) low = -l[j].least;
  }
  b->d = jf_to_f16(most / 63);
  b->dmin = jf_to_f16(low / 63);
  const float d = jf_from_f16(b->d), dmin = jf_from_f16(b->dmin);
  memset(b->q, 0, sizeof b->q);
  for (int j = 0; j < 8; j++) {
    scale[j] = d > 0 ? clip(l[j].scale / d, 0, 63) : 0;
    least[j] = dmin > 0 ? clip(-l[j].least / dmin, 0, 63) : 0;
    const float s = d * (float)scale[j], m = dmin * (float)least[j];
    for (int i = 0; i < 32; i++) {
      const int q = s > 0 ? clip((x[32 * j + i] + m) / s, 0, 15) : 0;
      b->q[j / 2 * 32 + i] |= (uint8_t)(q << 4 * (j & 1));
    }
  }
  put_parts(scale, least, b->part);
}

/* The scale of 16 numbers as q from -32 to 31: that of least squares for the q which the extreme
   gives. */
static float fit_scale(const float *x)
{
  const float first = extreme(x, 16) / -32;
  double xq = 0, qq = 0;
  for (int i = 0; i < 16 && first != 0; i++) {
    const double q = clip(x[i] / first, -32, 31);
    xq += q * (double)x[i], qq += q * q;
  }
  return qq > 0 ? (float)(xq / qq) : 0;
}

static void q6_k_put(const float *x, jf_q6_k *b)
{
  float s[16];
  for (int j = 0; j < 16; j++) s[j] = fit_scale(x + 16 * j);
  b->d = jf_to_f16(extreme(s, 16) / -128);
  const float d = jf_from_f16(b->d);
  memset(b->low, 0, sizeof b->low);
  memset(b->high, 0, sizeof b->high);
  for (int j = 0; j < 16; j++) {
    b->scale[j] = (int8_t)(d != 0 ? clip(s[j] / d, -128, 127) : 0);
    const float own = d * (float)b->scale[j];
    for (int i = 0; i < 16; i++) {
      const int q = own != 0 ? clip(x[16 * j + i] / own, -32, 31) + 32 : 32;
      const int part = j / 2 % 4, l = j % 2 * 16 + i;
      b->low[j / 8 * 64 + part % 2 * 32 + l] |= (uint8_t)((q & 15) << part / 2 * 4);
      b->high[j / 8 * 32 + l] |= (uint8_t)(q >> 4 << part * 2);
    }
  }
}

void jf_blocks_put(jfl_dtype t, const float *from, int64_t n, void *to)
{
#define EACH(type, put) for (int64_t i = 0; i < n; i++) put(from + i * width, (type *)to + i)
  const int width = jfl_dtype_numbers(t);
  switch ((int)t) {
  case JFL_Q8_0: EACH(jf_q8_0, q8_0_put); break;
  case JFL_Q4_0: EACH(jf_q4_0, q4_0_put); break;
  case JFL_Q4_K: EACH(jf_q4_k, q4_k_put); break;
  default: EACH(jf_q6_k, q6_k_put);
  }
#undef EACH
}
