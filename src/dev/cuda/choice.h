/* Which of several ways to do the same work is the fastest on a device: measured at first, kept on
   disk from then on, so that later programs use the same and measure nothing. */
#ifndef JF_CUDA_CHOICE_H
#define JF_CUDA_CHOICE_H

#include "dev/cuda/cuda.h"

/* The byte that trials are made on: of it consist small numbers of every dtype. Products of zeros
   take less power, so that a GPU does them at another speed than those of numbers. */
enum { JF_CUDA_TRIAL = 0x3c };

/* Queues the work, done in way i, on a stream; gives 0 if it cannot be done so. */
typedef int (*jf_cuda_way)(void *ctx, int i, jf_cu_stream *s);
/* Gives the fastest of n ways, of which the first is likely the fastest. `work` is a text that says
   what the work is and by what version of which library it is done; the device is added to it. The
   caller has entered the device. */
int jf_cuda_choose(jf_cuda *c, const char *work, int n, jf_cuda_way way, void *ctx);

#endif
