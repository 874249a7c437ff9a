/* Attributes of constant. */
#ifndef JF_OP_CONSTANT_H
#define JF_OP_CONSTANT_H

#include "dev/kernel.h"

typedef struct jf_constant { double value; jfl_dtype dtype; jf_ints shape; } jf_constant;

#endif
