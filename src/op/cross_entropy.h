/* Attributes of the gradient of sparse_softmax_cross_entropy_with_logits. */
#ifndef JF_OP_CROSS_ENTROPY_H
#define JF_OP_CROSS_ENTROPY_H

/* dlogits = scale dy (prob - onehot(labels)). If there is no input dy, its elements count as 1. */
typedef struct jf_cross_entropy { double scale; } jf_cross_entropy;

#endif
