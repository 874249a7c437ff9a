/* Attributes of roll. */
#ifndef JF_OP_ROLL_H
#define JF_OP_ROLL_H

#include "dev/kernel.h"

/* infer makes shift at least 0 and less than the axis's extent. */
typedef struct jf_roll { int64_t shift, axis; } jf_roll;

#endif
