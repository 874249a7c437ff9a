/* Source text of the GPU's elementwise kernels, made of the formulas in the records of ops. */
#ifndef JF_CUDA_FORMULA_H
#define JF_CUDA_FORMULA_H

#include "dev/cuda/cuda.h"
#include "op/fused.h"

/* Writes a type A, in which elements of dtype t are computed, and a function act of one such
   number: what the op of that name computes, which has no attributes, or for NULL the number. */
jfl_status jf_formula_act(jf_text *to, const char *op, jfl_dtype t);
/* Writes a number as C++ reads it. */
void jf_formula_number(jf_text *to, double v);
/* Writes the constant of a slot, as it is in the slot's dtype. */
void jf_formula_constant(jf_text *to, const jf_fused_slot *s);
/* Writes a function fN_0, and fN_1 for a second result, of instruction N: they take its inputs and
   a random number from 0 to 1. */
void jf_formula_instruction(jf_text *to, const jf_fused *f, int number);

#endif
