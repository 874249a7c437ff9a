/* clip_scale(by, tensors...) gives the factor of gradients that are `by` times too large: it takes
   that out, and clips them so that all of them together have a norm of at most clip. It is
   clip / max(norm, clip) / by, a float64 (1), where the norm is that after division by `by`. It is
   -1, which makes updates skip their step, if a gradient is not finite and `skips` is set. */
#ifndef JF_OP_CLIP_SCALE_H
#define JF_OP_CLIP_SCALE_H

#include "dev/kernel.h"

/* clip 0: nothing is clipped. */
typedef struct jf_clip_scale { double clip; int skips; } jf_clip_scale;

/* The inputs: `by`, a float64 (1), then the gradients. */
enum { JF_CLIP_BY, JF_CLIP_FIRST };

/* Computes the factor for call k from the sum of all squares. */
double jf_clip_factor(const jf_kargs *k, double squares);

#endif
