/* Attributes of activations and of clipping. */
#ifndef JF_OP_ACTIVATION_H
#define JF_OP_ACTIVATION_H

typedef struct jf_leaky { double alpha; } jf_leaky;             /* leaky_relu, elu */
typedef struct jf_clip { double min_value, max_value; } jf_clip;

#endif
