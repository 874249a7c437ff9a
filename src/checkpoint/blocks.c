/* Numbers in blocks, as GGUF files have them: some numbers with a scale, each in a few bits. */
#include "checkpoint/checkpoint.h"
#include "dev/half.h"

#include <string.h>

static float block_half(const unsigned char *p)
{
  uint16_t h;
  memcpy(&h, p, sizeof h);
  return jf_from_f16(h);
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
  { "Q4_0", 32, 18, q4_0_unpack }, { "Q8_0", 32, 34, q8_0_unpack },
  { "Q4_K", 256, 144, q4_k_unpack }, { "Q6_K", 256, 210, q6_k_unpack },
};
