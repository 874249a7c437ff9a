/* clip_scale(tensors...) gives the factor that clips gradients: multiplied by it, all of them
   together have a norm of at most clip. It is clip / max(norm, clip), a float64 (1). */
#ifndef JF_OP_CLIP_SCALE_H
#define JF_OP_CLIP_SCALE_H

typedef struct jf_clip_scale { double clip; } jf_clip_scale;

/* Computes the factor from the sum of all squares. */
double jf_clip_factor(double clip, double squares);

#endif
