/* Attributes of dropout, and which elements a run keeps. */
#ifndef JF_OP_DROPOUT_H
#define JF_OP_DROPOUT_H

#include "dev/kernel.h"

/* dropout(x) -> y, mask; dropout_grad(dy, mask) -> dx. mask (int8) is 1 where x was kept; what is
   kept is multiplied by 1 / (1 - rate). */
typedef struct jf_dropout { double rate; } jf_dropout;

/* Element i is kept if the upper 24 bits of word i % 4 of jf_philox_at(key, run, i / 4) are not
   below this, so that every kernel draws the same mask. */
static inline uint32_t jf_dropout_threshold(double rate)
{
  uint32_t t = (uint32_t)(rate * 0x1p24);
  return t + (t < rate * 0x1p24);
}

#endif
