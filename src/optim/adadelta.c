/* Adadelta (Zeiler, 2012, algorithm 1), with a rate: the step has the size of the mean of steps so
   far over that of gradients. */
#include "optim/rule.h"

JF_TWICE(jf_adadelta_options_text,
typedef struct adadelta { double rho, epsilon; } adadelta;
)

JF_ATTRS(attrs,
  JF_RANGE(adadelta, rho, NUM, "0.9", JF_BELOW_ONE, "decay of the means of squares"),
  JF_RANGE(adadelta, epsilon, NUM, "1e-06", JF_AMOUNT, "what is added to them, in the roots"))

#define adadelta_slots(S) S(square_avg, LIKE, 0) S(acc_delta, LIKE, 0)
#define adadelta_scalars(S) S(rho, a->rho) S(rest, 1 - a->rho) S(epsilon, a->epsilon)
JF_RULE(adadelta, adadelta, 0,
  square_avg = rho * square_avg + rest * g * g;
  const T step = sqrt(acc_delta + epsilon) / sqrt(square_avg + epsilon) * g;
  acc_delta = rho * acc_delta + rest * step * step;
  w -= lr * step)

JFL_OPTIM(Adadelta, .doc = "Steps of the size of former steps over that of gradients.",
  JF_WITH(attrs, adadelta), .only = &adadelta_rule, .text = { jf_adadelta_options_text })
