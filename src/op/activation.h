/* Attributes of activations and of clipping. */
#ifndef JF_OP_ACTIVATION_H
#define JF_OP_ACTIVATION_H

typedef struct jf_leaky { double alpha; } jf_leaky;             /* leaky_relu, elu */
typedef struct jf_clip { double min_value, max_value; } jf_clip;
typedef struct jf_hardtanh { double min_val, max_val; } jf_hardtanh;
typedef struct jf_shrink { double lambd; } jf_shrink;           /* softshrink, hardshrink */

#endif
