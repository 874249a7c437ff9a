/* Ops as copies between boxes of their tensors, on GPUs. */
#ifndef JF_CUDA_MOVE_H
#define JF_CUDA_MOVE_H

#include "base/walk.h"
#include "dev/cuda/cuda.h"

typedef struct jf_moves jf_moves;

/* Where a box lies in a tensor: its first element there, and its steps, in elements. */
typedef struct jf_move_place { int64_t at, step[JFL_MAXDIM]; } jf_move_place;

/* What output 0 is before the copies: anything, zeros, or what input 0 is. */
typedef enum jf_move_begin { JF_MOVE_NOTHING, JF_MOVE_ZEROS, JF_MOVE_INPUT } jf_move_begin;

/* Prepares the copies that `describe` adds, of which there are at most as many as k has tensors.
   k->state is freed by jf_free. */
jfl_status jf_moves_prepare(jf_kargs *k, jf_move_begin begin,
                            void (*describe)(jf_moves *m, const jf_kargs *k));
/* Adds a copy of a box from an input to an output. */
void jf_moves_add(jf_moves *m, const jf_kargs *k, int in, int out, const jfl_shape *box,
                  const jf_move_place *from, const jf_move_place *to);
jfl_status jf_moves_run(const jf_kargs *k);

#endif
