/* Attributes of learning rate schedules. */
#ifndef JF_OP_SCHEDULE_H
#define JF_OP_SCHEDULE_H

#include "dev/kernel.h"

/* While step < warmup_steps the rate is base * warmup_multiplier ("constant") or goes from there to
   base in a straight line ("linear"). */
typedef struct jf_warmup { const char *warmup; int64_t warmup_steps; double warmup_multiplier; } jf_warmup;

/* values[i] for the first i with step <= boundaries[i], else the last. */
typedef struct jf_piecewise { jf_nums boundaries, values; jf_warmup warmup; } jf_piecewise;

#endif
