/* The kernel that follows a product which a library made. */
#ifndef JF_CUDA_FINISH_H
#define JF_CUDA_FINISH_H

#include "dev/cuda/cuda.h"
#include "op/epilogue.h"

/* Prepares a launch, by jf_cuda_run, that applies an epilogue to k->out[0], which holds the
   product; the channels are its last axis. Sets k->state, which jf_free frees. */
jfl_status jf_finish_prepare(jf_kargs *k, const jf_epilogue *e);

#endif
