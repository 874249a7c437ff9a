/* Attributes of array: data that is part of a graph. */
#ifndef JF_OP_ARRAY_H
#define JF_OP_ARRAY_H

#include "dev/kernel.h"

typedef struct jf_array { const jfl_array *value; } jf_array;

#endif
