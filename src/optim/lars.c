/* LARS (You, Gitman and Ginsburg, "Large batch training of convolutional networks", 2017), as
   OneFlow computes it: norms are roots of means of squares, and in the first step the decay is left
   out of the rate's denominator.

     local = lr lars_coefficient |w| / (epsilon + |g| + weight_decay |w|)
     momentum = momentum_beta momentum - local (g + weight_decay w); w += momentum */
#include "optim/rule.h"

JF_TWICE(jf_lars_options_text,
typedef struct lars { double momentum_beta, epsilon, lars_coefficient, weight_decay; } lars;
)

JF_ATTRS(attrs,
  JF_RANGE(lars, momentum_beta, NUM, "0.9", JF_BELOW_ONE, "decay of the velocity"),
  JF_RANGE(lars, epsilon, NUM, "1e-09", JF_AMOUNT, "what is added to the gradient's norm"),
  JF_RANGE(lars, lars_coefficient, NUM, "0.0001", JF_AMOUNT,
           "how far a step goes against the weight's norm"),
  JF_RANGE(lars, weight_decay, NUM, "0", JF_AMOUNT,
           "the share of a weight that is added to its gradient"))

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

JFL_OPTIM(LARS, .doc = "Momentum whose steps have a size that fits each variable's norm.",
  JF_WITH(attrs, lars), .only = &lars_rule, .text = { jf_lars_options_text })
