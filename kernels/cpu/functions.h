/* Loops that are faster than those in the ops' records. */
#ifndef JF_VEC_FUNCTIONS_H
#define JF_VEC_FUNCTIONS_H

#include "dev/cpu/cpu.h"

/* The fast loop of an op for inputs of dtype t, or NULL. */
jf_loop jf_vec_loop(const char *op, jfl_dtype t);

/* The loops of dropout (dropout.c). They draw the plain kernel's masks. */
void jf_dropout_loop(const jf_loop_args *t);
void jf_dropout_grad_loop(const jf_loop_args *t);

#endif
