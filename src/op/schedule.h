/* Attributes of learning rate schedules. */
#ifndef JF_OP_SCHEDULE_H
#define JF_OP_SCHEDULE_H

#include "dev/kernel.h"

/* values[i] for the first i with step <= boundaries[i], else the last. While step < warmup_steps
   the rate is values[0] * warmup_multiplier ("constant"), or goes from there to values[0] in a
   straight line ("linear"); warmup is "none" or NULL where there is no such start. */
typedef struct jf_piecewise {
  jf_nums boundaries, values;
  const char *warmup;
  int64_t warmup_steps;
  double warmup_multiplier;
} jf_piecewise;

#endif
