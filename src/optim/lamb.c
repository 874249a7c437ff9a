/* LAMB (You et al., "Large batch optimization for deep learning", ICLR 2020, algorithm 2), as
   OneFlow computes it: the ratio of norms leaves weight decay out, and the bias corrections of step
   t, from 1, have the power t + 1.

     u = m / (1 - beta1^(t+1)) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
     w -= lr |w| / |u| (u + weight_decay w)

   The ratio is 1 where either norm is 0. */
#include "optim/option.h"
#include "optim/rule.h"

JF_TWICE(jf_lamb_options_text,
typedef struct lamb { double beta1, beta2, epsilon, weight_decay; } lamb;
)

JF_ATTRS(attrs,
  JF_MEANS_FIELDS(lamb, "1e-06"),
  JF_RANGE(lamb, weight_decay, NUM, "0", JF_AMOUNT,
           "the share of a weight that is added to its step"))

/* Makes up for a mean that began at 0. */
JF_TWICE(jf_lamb_unbiased_text,
JF_LOCAL double lamb_unbiased(double beta, int64_t t)
{
  return 1 / (1 - pow(beta, (double)t + 1));
})

#define lamb_slots(S) S(m, LIKE, 0) S(v, LIKE, 0)
#define lamb_scalars(S) \
  S(beta1, a->beta1) S(rest1, 1 - a->beta1) S(beta2, a->beta2) S(rest2, 1 - a->beta2) \
  S(epsilon, a->epsilon) S(weight_decay, a->weight_decay) \
  S(of_mean, lamb_unbiased(a->beta1, t)) S(of_squares, lamb_unbiased(a->beta2, t))
#define lamb_sums(S) S(squares_of_w) S(squares_of_step)
#define lamb_measured(S) lamb_slots(S)
#define lamb_stepped(S)
JF_MEASURED_RULE(lamb, lamb,
  m = beta1 * m + rest1 * g;
  v = beta2 * v + rest2 * g * g;
  const T step = of_mean * m / (sqrt(of_squares * v) + epsilon);
  squares_of_w += (double)w * (double)w;
  squares_of_step += (double)step * (double)step,
  const int any = squares_of_w > 0 && squares_of_step > 0;
  const T trust = lr * (T)(any ? sqrt(squares_of_w / squares_of_step) : 1.0),
  w -= trust * (of_mean * m / (sqrt(of_squares * v) + epsilon) + weight_decay * w))

JFL_OPTIM(LAMB, .doc = "Adam whose steps have a size that fits each variable's norm.",
  JF_WITH(attrs, lamb), .only = &lamb_rule, .text = { jf_lamb_options_text, jf_lamb_unbiased_text })
