/* Checks of optimizers' options. */
#ifndef JF_OPTIM_OPTION_H
#define JF_OPTIM_OPTION_H

#include "ir/ir.h"

/* The options of optimizers that keep means of gradients and of their squares. EPSILON: its
   default. */
#define JF_MEANS_FIELDS(type, EPSILON) \
  JF_FIELD(type, beta1, NUM, "0.9", "decay of the gradients' mean"),         \
  JF_FIELD(type, beta2, NUM, "0.999", "decay of the mean of their squares"), \
  JF_FIELD(type, epsilon, NUM, EPSILON, "what is added to its root")

/* Fails unless the option is in [0, 1). */
jfl_status jf_check_decay(const char *name, double value);
/* Fails unless the option is a finite number of at least 0. */
jfl_status jf_check_amount(const char *name, double value);
/* Fails unless beta1 and beta2 are such, and epsilon an amount. */
jfl_status jf_check_means(double beta1, double beta2, double epsilon);

#endif
