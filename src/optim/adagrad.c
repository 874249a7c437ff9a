/* Adagrad (Duchi et al., JMLR 12, 2011): sum += g g; w -= lr_t g / (sqrt(sum) + epsilon), where
   lr_t = lr / (1 + (t - 1) lr_decay) in step t. The sum begins at initial_accumulator_value, which
   the slot leaves out. */
#include "optim/rule.h"

JF_TWICE(jf_adagrad_options_text,
typedef struct adagrad { double lr_decay, initial_accumulator_value, epsilon; } adagrad;
)

JF_ATTRS(attrs,
  JF_RANGE(adagrad, lr_decay, NUM, "0", JF_AMOUNT, "how the rate falls with the steps"),
  JF_RANGE(adagrad, initial_accumulator_value, NUM, "0", JF_AMOUNT,
           "what the sum of squares begins with"),
  JF_RANGE(adagrad, epsilon, NUM, "1e-10", JF_AMOUNT, "what is added to its root"))

#define adagrad_slots(S) S(sum, LIKE, 0)
#define adagrad_scalars(S) \
  S(rate, lr / (1 + (double)(t - 1) * a->lr_decay)) S(first, a->initial_accumulator_value) \
  S(epsilon, a->epsilon)
JF_RULE(adagrad, adagrad, 0, sum += g * g; w -= rate * g / (sqrt(first + sum) + epsilon))

JFL_OPTIM(Adagrad, .doc = "The gradient over the root of the sum of all its squares so far.",
  JF_WITH(attrs, adagrad), .only = &adagrad_rule, .text = { jf_adagrad_options_text })
