/* Attributes of sparse_softmax_cross_entropy_with_logits and of its gradient. */
#ifndef JF_OP_CROSS_ENTROPY_H
#define JF_OP_CROSS_ENTROPY_H

/* The share label_smoothing of the label's mass is spread evenly over all classes. In the gradient
   dlogits = scale dy (prob - mass). If there is no input dy, its elements count as 1. */
typedef struct jf_cross_entropy { double label_smoothing, scale; } jf_cross_entropy;

#endif
