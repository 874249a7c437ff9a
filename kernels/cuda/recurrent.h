/* Source text of the GPU's kernels for recurrent layers. */
#ifndef JF_CUDA_RECURRENT_H
#define JF_CUDA_RECURRENT_H

#include "op/recurrent.h"

/* Writes what stands before the source for a cell whose extents are d and whose tensors have that
   dtype. */
void jf_recurrent_define(jf_text *to, jfl_dtype t, jf_recurrent_cell kind,
                         const jf_recurrent_dims *d);

#endif
