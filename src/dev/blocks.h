/* Numbers as blocks of few bits (JFL_BLOCK_DTYPES), which are those of GGUF. Scales are float16. */
#ifndef JF_BLOCKS_H
#define JF_BLOCKS_H

#include "base/base.h"

/* A number is d q. */
typedef struct jf_q8_0 { uint16_t d; int8_t q[32]; } jf_q8_0;
/* A number is d (q - 8); q[i] has that of number i in its low four bits, of 16 + i in the high
   ones. */
typedef struct jf_q4_0 { uint16_t d; uint8_t q[16]; } jf_q4_0;
/* Eight parts of 32: a number is d scale q - dmin least. Scales and leasts have six bits each
   (jf_q4_k_part). Of two parts that follow each other the first has the low four bits of q's 32
   bytes. */
typedef struct jf_q4_k { uint16_t d, dmin; uint8_t part[12], q[128]; } jf_q4_k;
/* Sixteen parts of 16: a number is d scale (q - 32). Number l + 32 j of a half of 128 has its low
   four bits in low[l + 32 (j % 2)], where j < 2 the lower ones, and bits 2 j of high[l] above. */
typedef struct jf_q6_k { uint8_t low[128], high[64]; int8_t scale[16]; uint16_t d; } jf_q6_k;

/* Scale and least of part j of a q4_k. */
static inline void jf_q4_k_part(const uint8_t *p, int j, int *scale, int *least)
{
  *scale = j < 4 ? p[j] & 63 : (p[j + 4] & 15) | p[j - 4] >> 6 << 4;
  *least = j < 4 ? p[j + 4] & 63 : p[j + 4] >> 4 | p[j] >> 6 << 4;
}

/* Converts n blocks of dtype t, and back: rounded to the nearest, with scales chosen so that the
   error is small; the same numbers give the same blocks. Not-a-number becomes 0. */
void jf_blocks_get(jfl_dtype t, const void *from, int64_t n, float *to);
void jf_blocks_put(jfl_dtype t, const float *from, int64_t n, void *to);

#endif
