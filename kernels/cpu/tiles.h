/* Loops that are faster than those of the ops' records. */
#ifndef JF_VEC_TILES_H
#define JF_VEC_TILES_H

#include "dev/cpu/cpu.h"

/* The loop for an op whose first input has dtype t, or NULL. */
jf_tile jf_vec_tile(const char *op, jfl_dtype t);

/* Of dropout.c: they draw the plain kernel's masks. */
void jf_dropout_tile(const jf_tile_args *t);
void jf_dropout_grad_tile(const jf_tile_args *t);

#endif
