/* Source text of the GPU's kernels for ops on a few numbers (op/small.h). */
#ifndef JF_CUDA_SMALL_H
#define JF_CUDA_SMALL_H

#include "op/small.h"

/* Writes the source of a kernel `small` for a call of op with these attributes, whose texts are
   s. */
void jf_small_source(jf_text *to, const jfl_op *op, const void *attr, const jf_small *s);

#endif
