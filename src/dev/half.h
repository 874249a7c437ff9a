/* Floats of 16 bits: conversions to and from float, without branches or calls, so that loops of
   them become vector code. They round to the nearest number, halfway cases to even. */
#ifndef JF_HALF_H
#define JF_HALF_H

#include "base/base.h"
#include "dev/variants.h"

#include <math.h>
#include <string.h>

static inline float jf_bits_to_float(uint32_t u)
{
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

static inline uint32_t jf_float_to_bits(float f)
{
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

static inline float jf_from_bf16(uint16_t h) { return jf_bits_to_float((uint32_t)h << 16); }

static inline uint16_t jf_to_bf16(float v)
{
  const uint32_t u = jf_float_to_bits(v);
  const uint32_t even = (u + 0x7fff + (u >> 16 & 1)) >> 16;
  return (uint16_t)(v != v ? u >> 16 | 0x40 : even);
}

static inline float jf_from_f16(uint16_t h)
{
  const uint32_t magnitude = h & 0x7fff, widen = magnitude < 0x7c00 ? 112u << 23 : 224u << 23;
  const float normal = jf_bits_to_float((magnitude << 13) + widen);
  const float small = (float)(int)magnitude * 0x1p-24f;
  const uint32_t bits = jf_float_to_bits(magnitude < 0x400 ? small : normal);
  return jf_bits_to_float(bits | (uint32_t)(h & 0x8000) << 16);
}

/* Adding 0.5 to a number below 2^-14 makes the last place of the sum 2^-24, as that of small
   halves. */
static inline uint16_t jf_to_f16(float v)
{
  const uint32_t u = jf_float_to_bits(v), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
  const float size = jf_bits_to_float(magnitude);
  const uint32_t normal = ((magnitude + 0xfff + (u >> 13 & 1)) >> 13) - (112 << 10);
  const uint32_t small = jf_float_to_bits(size + 0.5f) - (126 << 23);
  const uint32_t finite = size < 0x1p-14f ? small : normal;
  const uint32_t h = v != v ? 0x7e00 : size >= 65520 ? 0x7c00 : finite;
  return (uint16_t)(sign | h);
}

static inline uint64_t jf_double_to_bits(double v)
{
  uint64_t u;
  memcpy(&u, &v, sizeof u);
  return u;
}

/* Rounds once, where by way of float it would round twice. */
static inline uint16_t jf_double_to_f16(double v)
{
  uint64_t u = jf_double_to_bits(v), sign = u >> 48 & 0x8000, magnitude = u & INT64_MAX;
  double size = fabs(v);
  uint64_t normal = ((magnitude + 0x1ffffffffff + (u >> 42 & 1)) >> 42) - (1008 << 10);
  uint64_t small = jf_double_to_bits(size + 0x1p28) & 0x7ff;
  uint64_t h = size < 0x1p-14 ? small : size < 65520 ? normal : v != v ? 0x7e00 : 0x7c00;
  return (uint16_t)(sign | h);
}

/* Whether a dtype is one of these. */
static inline int jf_is_half(jfl_dtype t) { return t == JFL_F16 || t == JFL_BF16; }

#endif
