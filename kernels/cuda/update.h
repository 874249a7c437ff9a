/* Source text of the GPU's kernels for optimizers' updates. */
#ifndef JF_CUDA_UPDATE_H
#define JF_CUDA_UPDATE_H

#include "optim/optim.h"

/* Gives the source of a kernel `update`, and of `measure` where the rule measures parameters, for
   parameters of that dtype. The caller frees it. */
jfl_status jf_update_source(const jf_update *a, jfl_dtype param, char **out);

#endif
