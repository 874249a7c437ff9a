/* Options of optimizers. */
#ifndef JF_OPTIM_OPTION_H
#define JF_OPTIM_OPTION_H

#include "ir/ir.h"

/* The options of optimizers that keep means of gradients and of their squares. EPSILON: its
   default. */
#define JF_MEANS_FIELDS(type, EPSILON) \
  JF_RANGE(type, beta1, NUM, "0.9", JF_BELOW_ONE, "decay of the gradients' mean"),         \
  JF_RANGE(type, beta2, NUM, "0.999", JF_BELOW_ONE, "decay of the mean of their squares"), \
  JF_RANGE(type, epsilon, NUM, EPSILON, JF_AMOUNT, "what is added to its root")

#endif
