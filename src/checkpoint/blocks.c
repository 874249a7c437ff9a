/* Numbers in blocks, as GGUF files have them: some numbers with a scale, each in a few bits. */
#include "checkpoint/checkpoint.h"
#include "dev/half.h"

#include <math.h>
#include <string.h>

static float block_half(const unsigned char *p)
{
  uint16_t h;
  memcpy(&h, p, sizeof h);
  return jf_from_f16(h);
}

/* Writes the scale as a half, and gives what numbers are multiplied by. */
static float block_scale(unsigned char *p, float scale)
{
  const uint16_t h = jf_to_f16(scale);
  memcpy(p, &h, sizeof h);
  return scale != 0 ? 1 / scale : 0;
}

/* A whole number from least to most; what is no number becomes the least. */
static int block_whole(float v, int least, int most)
{
  return v >= (float)least ? v <= (float)most ? (int)v : most : least;
}

/* ---- 32 numbers ---- */

/* A scale, and 8 bits for each. */
static void q8_0_unpack(const unsigned char *from, int64_t n, float *out)
{
  for (; n--; from += 34, out += 32) {
    const float scale = block_half(from);
    const int8_t *q = (const int8_t *)from + 2;
    for (int i = 0; i < 32; i++) out[i] = (float)q[i] * scale;
  }
}

static void q8_0_pack(const float *from, int64_t n, unsigned char *out)
{
  for (; n--; from += 32, out += 34) {
    float most = 0;
    for (int i = 0; i < 32; i++) most = fmaxf(most, fabsf(from[i]));
    const float by = block_scale(out, most / 127);
    for (int i = 0; i < 32; i++)
      out[2 + i] = (unsigned char)block_whole(roundf(from[i] * by), -127, 127);
  }
}

/* A scale, and 4 bits for each, from -8 on: numbers i and i + 16 share a byte. */
static void q4_0_unpack(const unsigned char *from, int64_t n, float *out)
{
  for (; n--; from += 18, out += 32) {
    const float scale = block_half(from);
    for (int i = 0; i < 16; i++) {
      out[i] = (float)((from[2 + i] & 15) - 8) * scale;
      out[i + 16] = (float)((from[2 + i] >> 4) - 8) * scale;
    }
  }
}

static int q4_0_round(float v) { return block_whole(v + 8.5f, 0, 15); }

/* The number that is farthest from 0 becomes -8, whichever sign it has. */
static void q4_0_pack(const float *from, int64_t n, unsigned char *out)
{
  for (; n--; from += 32, out += 18) {
    float most = 0;
    for (int i = 0; i < 32; i++)
      if (fabsf(from[i]) > fabsf(most)) most = from[i];
    const float by = block_scale(out, most / -8);
    for (int i = 0; i < 16; i++)
      out[2 + i] = (unsigned char)(q4_0_round(from[i] * by) | q4_0_round(from[i + 16] * by) << 4);
  }
}

/* ---- 256 numbers ---- */

/* Scale and offset of part i of eight: 6 bits each, in 12 bytes. */
static void q4_k_part(const unsigned char *p, int i, int *scale, int *offset)
{
  if (i < 4) {
    *scale = p[i] & 63;
    *offset = p[i + 4] & 63;
  } else {
    *scale = (p[i + 4] & 15) | p[i - 4] >> 6 << 4;
    *offset = p[i + 4] >> 4 | p[i] >> 6 << 4;
  }
}

/* Two scales, of the parts' scales and of their offsets; those; 4 bits for each number, of which
   32 share their bytes with the 32 behind. */
static void q4_k_unpack(const unsigned char *from, int64_t n, float *out)
{
  for (; n--; from += 144) {
    const float of_scales = block_half(from), of_offsets = block_half(from + 2);
    const unsigned char *q = from + 16;
    for (int part = 0; part < 8; part++, out += 32, q += part % 2 ? 0 : 32) {
      int scale, offset;
      q4_k_part(from + 4, part, &scale, &offset);
      const float by = of_scales * (float)scale, less = of_offsets * (float)offset;
      const int shift = part % 2 * 4;
      for (int i = 0; i < 32; i++) out[i] = by * (float)(q[i] >> shift & 15) - less;
    }
  }
}

/* The lower 4 bits of each, the upper 2, scales of 16 numbers each, and a scale of those. */
static void q6_k_unpack(const unsigned char *from, int64_t n, float *out)
{
  for (; n--; from += 210) {
    const float scale = block_half(from + 208);
    const unsigned char *low = from, *high = from + 128;
    const int8_t *part = (const int8_t *)from + 192;
    for (int half = 0; half < 2; half++, low += 64, high += 32, part += 8)
      for (int k = 0; k < 4; k++, out += 32)
        for (int i = 0; i < 32; i++) {
          const int bits = low[i + k % 2 * 32] >> k / 2 * 4 & 15;
          const int q = (bits | (high[i] >> 2 * k & 3) << 4) - 32;
          out[i] = scale * (float)part[2 * k + i / 16] * (float)q;
        }
  }
}

const jf_blocks jf_block_forms[JF_N_BLOCKS] = {
  { "Q4_0", 32, 18, q4_0_unpack, q4_0_pack }, { "Q8_0", 32, 34, q8_0_unpack, q8_0_pack },
  { "Q4_K", 256, 144, q4_k_unpack, NULL }, { "Q6_K", 256, 210, q6_k_unpack, NULL },
};
