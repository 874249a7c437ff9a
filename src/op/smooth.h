/* Attributes of smooth activations. */
#ifndef JF_OP_SMOOTH_H
#define JF_OP_SMOOTH_H

typedef struct jf_swish { double beta; } jf_swish;

#endif
