/* Numbers of weights that are stored in few bits, on the GPU. The source is given W, the type of
   what is stored, and NUMBERS, how many numbers a W has: one, if it is a float of 16 bits. */
#ifndef JF_BLOCKS_CUH
#define JF_BLOCKS_CUH

#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"

/* Adds the text that a source needs before it whose W has that dtype. */
void jf_blocks_define(jf_text *t, jfl_dtype w);
#endif

#if defined(JF_DEVICE)

/* Blocks, as dev/blocks.h tells. */
struct jf_q8_0 { jf_f16 d; int8_t q[32]; };
struct jf_q4_0 { jf_f16 d; uint8_t q[16]; };
struct jf_q4_k { jf_f16 d, dmin; uint8_t part[12], q[128]; };
struct jf_q6_k { uint8_t low[128], high[64]; int8_t scale[16]; jf_f16 d; };

/* Number i of a block. */
JF_INLINE float block_at(const jf_f16 &b, int) { return jf_load(b); }
JF_INLINE float block_at(const jf_bf16 &b, int) { return jf_load(b); }
JF_INLINE float block_at(const jf_q8_0 &b, int i) { return jf_load(b.d) * (float)b.q[i]; }
JF_INLINE float block_at(const jf_q4_0 &b, int i)
{
  return jf_load(b.d) * (float)((b.q[i & 15] >> i / 16 * 4 & 15) - 8);
}
JF_INLINE float block_at(const jf_q4_k &b, int i)
{
  const int j = i / 32;
  const uint8_t *p = b.part;
  const int scale = j < 4 ? p[j] & 63 : (p[j + 4] & 15) | p[j - 4] >> 6 << 4;
  const int least = j < 4 ? p[j + 4] & 63 : p[j + 4] >> 4 | p[j] >> 6 << 4;
  const float q = (float)(b.q[j / 2 * 32 + i % 32] >> 4 * (j & 1) & 15);
  return jf_load(b.d) * (float)scale * q - jf_load(b.dmin) * (float)least;
}
JF_INLINE float block_at(const jf_q6_k &b, int i)
{
  const int j = i / 32, l = i % 32;
  const int low = b.low[j / 4 * 64 + j % 2 * 32 + l] >> j % 4 / 2 * 4 & 15;
  const int high = b.high[j / 4 * 32 + l] >> j % 4 * 2 & 3;
  return jf_load(b.d) * (float)b.scale[i / 16] * (float)((low | high << 4) - 32);
}

/* Number i of a row. */
JF_INLINE float block_number(const W *row, int64_t i)
{
  return block_at(row[i / NUMBERS], (int)(i % NUMBERS));
}

#endif
#endif
