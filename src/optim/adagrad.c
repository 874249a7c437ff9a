/* Adagrad (Duchi et al., JMLR 12, 2011): sum += g g; w -= lr_t g / (sqrt(sum) + epsilon), where
   lr_t = lr / (1 + (t - 1) lr_decay) in step t. The sum begins at initial_accumulator_value, which
   the slot leaves out. */
#include "optim/option.h"
#include "optim/rule.h"

JF_TWICE(jf_adagrad_options_text,
typedef struct adagrad { double lr_decay, initial_accumulator_value, epsilon; } adagrad;
)

static const jf_attr attrs[] = {
  JF_FIELD(adagrad, lr_decay, NUM, "0", "how the rate falls with the steps"),
  JF_FIELD(adagrad, initial_accumulator_value, NUM, "0", "what the sum of squares begins with"),
  JF_FIELD(adagrad, epsilon, NUM, "1e-10", "what is added to its root"),
  {0},
};

static jfl_status adagrad_check(const void *attr)
{
  const adagrad *a = attr;
  JF_TRY(jf_check_amount("lr_decay", a->lr_decay));
  JF_TRY(jf_check_amount("initial_accumulator_value", a->initial_accumulator_value));
  return jf_check_amount("epsilon", a->epsilon);
}

#define adagrad_slots(S) S(sum, LIKE, 0)
#define adagrad_scalars(S) \
  S(rate, lr / (1 + (double)(t - 1) * a->lr_decay)) S(first, a->initial_accumulator_value) \
  S(epsilon, a->epsilon)
JF_RULE(adagrad, adagrad, 0, sum += g * g; w -= rate * g / (sqrt(first + sum) + epsilon))

static const jf_rule *adagrad_choose(const void *attr)
{
  (void)attr;
  return &adagrad_rule;
}

JFL_OPTIM(Adagrad, .doc = "The gradient over the root of the sum of all its squares so far.",
  .attr = attrs, .attr_size = sizeof(adagrad), .check = adagrad_check, .rule = adagrad_choose,
  .text = { jf_adagrad_options_text })
