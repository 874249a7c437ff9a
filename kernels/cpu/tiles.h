/* Loops that are faster than those of the ops' records. */
#ifndef JF_VEC_TILES_H
#define JF_VEC_TILES_H

#include "dev/kernel.h"

/* The loop for an op whose first input has dtype t, or NULL. */
jf_tile jf_vec_tile(const char *op, jfl_dtype t);

#endif
