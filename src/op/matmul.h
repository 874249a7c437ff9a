/* Attributes of matmul. */
#ifndef JF_OP_MATMUL_H
#define JF_OP_MATMUL_H

#include "dev/kernel.h"

/* The last two axes of a (or b) are read the other way round. */
typedef struct jf_matmul { int transpose_a, transpose_b; } jf_matmul;

#endif
