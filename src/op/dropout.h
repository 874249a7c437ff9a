/* Attributes of dropout, and the rule by which a run keeps elements. */
#ifndef JF_OP_DROPOUT_H
#define JF_OP_DROPOUT_H

#include "dev/kernel.h"

/* dropout(x) -> y, mask; dropout_grad(dy, mask) -> dx. mask (int8) is 1 where x was kept; kept
   elements are multiplied by 1 / (1 - rate). */
typedef struct jf_dropout { double rate; } jf_dropout;

/* Element i is kept unless the upper 24 bits of word i % 4 of jf_philox_at(key, run, i / 4) are
   below this threshold. All kernels follow the rule, so all draw the same mask. */
static inline uint32_t jf_dropout_threshold(double rate)
{
  uint32_t t = (uint32_t)(rate * 0x1p24);
  return t + (t < rate * 0x1p24);
}

#endif
