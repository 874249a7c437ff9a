/* clip_scale(tensors...): what gradients are multiplied by so that their norm, all taken together,
   is at most clip: clip / max(norm, clip), float64 (1). */
#ifndef JF_OP_CLIP_SCALE_H
#define JF_OP_CLIP_SCALE_H

typedef struct jf_clip_scale { double clip; } jf_clip_scale;

/* The factor, from the sum of squares. */
double jf_clip_factor(double clip, double squares);

#endif
