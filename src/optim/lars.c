/* LARS (You, Gitman and Ginsburg, "Large batch training of convolutional networks", 2017), as
   OneFlow computes it: norms are roots of means of squares, and in the first step the decay is left
   out of the rate's denominator.

     local = lr lars_coefficient |w| / (epsilon + |g| + weight_decay |w|)
     momentum = momentum_beta momentum - local (g + weight_decay w); w += momentum */
#include "optim/option.h"
#include "optim/rule.h"

JF_TWICE(jf_lars_options_text,
typedef struct lars { double momentum_beta, epsilon, lars_coefficient, weight_decay; } lars;
)

static const jf_attr attrs[] = {
  JF_FIELD(lars, momentum_beta, NUM, "0.9", "decay of the velocity"),
  JF_FIELD(lars, epsilon, NUM, "1e-09", "what is added to the gradient's norm"),
  JF_FIELD(lars, lars_coefficient, NUM, "0.0001", "how far a step goes against the weight's norm"),
  JF_FIELD(lars, weight_decay, NUM, "0", "the share of a weight that is added to its gradient"),
  {0},
};

static jfl_status lars_check(const void *attr)
{
  const lars *a = attr;
  JF_TRY(jf_check_decay("momentum_beta", a->momentum_beta));
  JF_TRY(jf_check_amount("epsilon", a->epsilon));
  JF_TRY(jf_check_amount("lars_coefficient", a->lars_coefficient));
  return jf_check_amount("weight_decay", a->weight_decay);
}

/* decay_of_norm is weight_decay, but for the first step, in which it is 0. */
#define lars_slots(S) S(momentum, LIKE, 0)
#define lars_scalars(S) \
  S(beta, a->momentum_beta) S(epsilon, a->epsilon) S(coefficient, a->lars_coefficient) \
  S(weight_decay, a->weight_decay) S(decay_of_norm, t == 1 ? 0 : a->weight_decay)
#define lars_sums(S) S(squares_of_w) S(squares_of_g)
#define lars_measured(S)
#define lars_stepped(S) lars_slots(S)
JF_MEASURED_RULE(lars, lars,
  squares_of_w += (double)w * (double)w; squares_of_g += (double)g * (double)g,
  const T size = (T)sqrt(squares_of_w / elements);
  const T local = lr * coefficient * size /
                  (epsilon + (T)sqrt(squares_of_g / elements) + decay_of_norm * size),
  momentum = beta * momentum - local * (g + weight_decay * w);
  w += momentum)

static const jf_rule *lars_choose(const void *attr)
{
  (void)attr;
  return &lars_rule;
}

JFL_OPTIM(LARS, .doc = "Momentum whose steps have a size that fits each variable's norm.",
  .attr = attrs, .attr_size = sizeof(lars), .check = lars_check, .rule = lars_choose,
  .text = { jf_lars_options_text })
