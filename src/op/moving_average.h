/* Attributes of moving_average. */
#ifndef JF_OP_MOVING_AVERAGE_H
#define JF_OP_MOVING_AVERAGE_H

#include "dev/kernel.h"

typedef struct jf_moving_average { double momentum; } jf_moving_average;

#endif
