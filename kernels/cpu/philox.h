/* Random bits of several counters at once. */
#ifndef JF_VEC_PHILOX_H
#define JF_VEC_PHILOX_H

#include "dev/kernel.h"
#include "dev/variants.h"

/* The random words of eight counters. Each word has a lane of 64 bits, so that products need no
   unpacking. */
typedef uint64_t jf_philox_words __attribute__((vector_size(64)));
typedef uint32_t jf_philox_halves __attribute__((vector_size(32)));
/* Several vectors are drawn together, since each round waits for the products of the one before. */
enum { JF_PHILOX_CHAINS = 4 };

/* Philox 4x32-10 at counters `first` to `first` + 8 JF_PHILOX_CHAINS - 1: w[i] gets word i of
   each. */
JF_BODY void jf_philox_draw(const jf_random_source *r, uint64_t first,
                            jf_philox_words w[4][JF_PHILOX_CHAINS])
{
  const jf_philox_words none = { 0 };
  for (int q = 0; q < JF_PHILOX_CHAINS; q++) {
    const jf_philox_words at = first + 8u * (uint64_t)q
                               + (jf_philox_words){ 0, 1, 2, 3, 4, 5, 6, 7 };
    w[0][q] = at & UINT32_MAX;
    w[1][q] = at >> 32;
    w[2][q] = none + (r->run & UINT32_MAX);
    w[3][q] = none + (r->run >> 32);
  }
  uint32_t k0 = (uint32_t)r->key, k1 = (uint32_t)(r->key >> 32);
  for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
    for (int q = 0; q < JF_PHILOX_CHAINS; q++) {
      const jf_philox_words x = w[0][q] * 0xD2511F53u, y = w[2][q] * 0xCD9E8D57u;
      w[0][q] = y >> 32 ^ w[1][q] ^ k0;
      w[2][q] = x >> 32 ^ w[3][q] ^ k1;
      w[1][q] = y & UINT32_MAX;
      w[3][q] = x & UINT32_MAX;
    }
}

#endif
