/* Attributes of cast, which converts numbers. */
#ifndef JF_OP_CAST_H
#define JF_OP_CAST_H

#include "dev/kernel.h"

typedef struct jf_cast { jfl_dtype dtype; } jf_cast;

#endif
