/* Attributes of sparse_softmax_cross_entropy_with_logits and of its gradient. */
#ifndef JF_OP_CROSS_ENTROPY_H
#define JF_OP_CROSS_ENTROPY_H

#include "dev/kernel.h"

/* The share label_smoothing of the label's mass is spread evenly over all classes.
     sparse_softmax_cross_entropy_with_logits(labels, logits) -> loss, most, inverse
     sparse_softmax_cross_entropy_grad(labels, logits, most, inverse, dy...) -> dlogits
   most is the greatest logit of a sample, and inverse 1 / sum exp(logits - most), so that its
   probabilities are exp(logits - most) inverse: there are too many to keep. In the gradient
   dlogits = scale dy (prob - mass). If there is no input dy, its elements count as 1. */
typedef struct jf_cross_entropy {
  double label_smoothing, scale;
  /* Set by passes: */
  int64_t classes;             /* so many logits of a sample count, and the gradient of those behind
                                  them is 0; 0: all */
  jf_halves halves;
} jf_cross_entropy;

struct jf_node;
/* Whether n is a loss for which `classes` may be set, before its gradient is made. */
int jf_entropy_counts(const struct jf_node *n);

/* How many classes a call has. */
static inline int64_t jf_entropy_classes(const jf_kargs *k)
{
  const jf_cross_entropy *a = k->attr;
  const jfl_shape *logits = &k->in[1].shape;
  return a->classes ? a->classes : logits->d[logits->n - 1];
}

enum { JF_ENTROPY_MOST = 2, JF_ENTROPY_INVERSE, JF_ENTROPY_DY };       /* inputs of the gradient */

#endif
