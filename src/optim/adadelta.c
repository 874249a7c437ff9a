/* Adadelta (Zeiler, 2012, algorithm 1), with a rate: the step has the size of the mean of steps so
   far over that of gradients. */
#include "optim/option.h"
#include "optim/rule.h"

JF_TWICE(jf_adadelta_options_text,
typedef struct adadelta { double rho, epsilon; } adadelta;
)

static const jf_attr attrs[] = {
  JF_FIELD(adadelta, rho, NUM, "0.9", "decay of the means of squares"),
  JF_FIELD(adadelta, epsilon, NUM, "1e-06", "what is added to them, in the roots"),
  {0},
};

static jfl_status adadelta_check(const void *attr)
{
  const adadelta *a = attr;
  JF_TRY(jf_check_decay("rho", a->rho));
  return jf_check_amount("epsilon", a->epsilon);
}

#define adadelta_slots(S) S(square_avg, LIKE, 0) S(acc_delta, LIKE, 0)
#define adadelta_scalars(S) S(rho, a->rho) S(rest, 1 - a->rho) S(epsilon, a->epsilon)
JF_RULE(adadelta, adadelta, 0,
  square_avg = rho * square_avg + rest * g * g;
  const T step = sqrt(acc_delta + epsilon) / sqrt(square_avg + epsilon) * g;
  acc_delta = rho * acc_delta + rest * step * step;
  w -= lr * step)

static const jf_rule *adadelta_choose(const void *attr)
{
  (void)attr;
  return &adadelta_rule;
}

JFL_OPTIM(Adadelta, .doc = "Steps of the size of former steps over that of gradients.",
  .attr = attrs, .attr_size = sizeof(adadelta), .check = adadelta_check,
  .rule = adadelta_choose,
  .text = { jf_adadelta_options_text })
