/* Loops that are faster than those of the ops' records. */
#ifndef JF_VEC_FUNCTIONS_H
#define JF_VEC_FUNCTIONS_H

#include "dev/cpu/cpu.h"

/* The loop for an op whose first input has dtype t, or NULL. */
jf_loop jf_vec_loop(const char *op, jfl_dtype t);

/* Of dropout.c: they draw the plain kernel's masks. */
void jf_dropout_loop(const jf_loop_args *t);
void jf_dropout_grad_loop(const jf_loop_args *t);

#endif
