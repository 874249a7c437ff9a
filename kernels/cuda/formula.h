/* Source text of the GPU's elementwise kernels, made of the formulas in the records of ops. */
#ifndef JF_CUDA_FORMULA_H
#define JF_CUDA_FORMULA_H

#include "dev/cuda/cuda.h"
#include "op/fused.h"

/* The C++ type in which elements of a dtype are stored, and the one in which they are computed. */
const char *jf_cuda_stored(jfl_dtype t);
const char *jf_cuda_computed(jfl_dtype t);

enum { JF_FORMULA_POINTERS = 64 };
/* The parameter of such a kernel. */
typedef struct jf_formula_args {
  int64_t n;                           /* elements of the space */
  uint64_t key;                        /* of random bits */
  const jf_fault *fault;               /* the first field of the run's record */
  void *data[JF_FORMULA_POINTERS];     /* inputs, then outputs */
} jf_formula_args;

/* Writes a type A, in which elements of dtype t are computed, and a function act of one such
   number: what the op of that name computes, which has no attributes, or for NULL the number. */
jfl_status jf_formula_act(jf_text *to, const char *op, jfl_dtype t);
/* Writes the source of a kernel `fused` for a program without sums. */
void jf_formula_source(jf_text *to, const jf_fused *f);

#endif
