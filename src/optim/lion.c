/* Lion (Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023, algorithm 2):
   a step of the same size along each coordinate, and decoupled weight decay. */
#include "optim/rule.h"

JF_TWICE(jf_lion_options_text,
typedef struct lion { double beta1, beta2, weight_decay; } lion;
)

JF_ATTRS(attrs,
  JF_RANGE(lion, beta1, NUM, "0.9", JF_BELOW_ONE,
           "what the step takes of the mean, against the gradient"),
  JF_RANGE(lion, beta2, NUM, "0.99", JF_BELOW_ONE, "decay of the gradients' mean"),
  JF_RANGE(lion, weight_decay, NUM, "0", JF_AMOUNT,
           "lr times this share of a weight is taken from it"))

#define lion_slots(S) S(m, LIKE, 0)
#define lion_scalars(S) \
  S(beta1, a->beta1) S(rest1, 1 - a->beta1) S(beta2, a->beta2) S(rest2, 1 - a->beta2) \
  S(weight_decay, a->weight_decay)
JF_RULE(lion, lion, 0,
  const T mixed = beta1 * m + rest1 * g;
  const T sign = mixed > 0 ? (T)1 : mixed < 0 ? (T)-1 : mixed;
  m = beta2 * m + rest2 * g;
  w -= lr * (sign + weight_decay * w))

JFL_OPTIM(Lion, .doc = "Steps along the signs of a mean of gradients.", JF_WITH(attrs, lion),
  .only = &lion_rule, .text = { jf_lion_options_text })
