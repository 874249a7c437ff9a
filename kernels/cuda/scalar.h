/* Source text of the GPU's kernels for ops on a few numbers (op/scalar.h). */
#ifndef JF_CUDA_SCALAR_H
#define JF_CUDA_SCALAR_H

#include "op/scalar.h"

/* Writes the source of a kernel `small` for a call of op with these attributes, whose texts are
   s. */
void jf_scalar_source(jf_text *to, const jfl_op *op, const void *attr, const jf_scalar_op *s);

#endif
