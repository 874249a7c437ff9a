/* Adam with Nesterov's momentum (Dozat, "Incorporating Nesterov momentum into Adam", ICLR workshop
   2016), with the momentum's schedule of its section 2: mu_t = beta1 (1 - 0.96^(t momentum_decay) /
   2). With b1 = the product of all mu so far and b2 = beta2^t,
   w -= lr (mu_(t+1) m / (1 - b1 mu_(t+1)) + (1 - mu_t) g / (1 - b1)) / (sqrt(v / (1 - b2)) +
   epsilon). */
#include "optim/option.h"
#include "optim/rule.h"

JF_TWICE(jf_nadam_options_text,
typedef struct nadam { double beta1, beta2, epsilon, momentum_decay; } nadam;
)

JF_ATTRS(attrs,
  JF_MEANS_FIELDS(nadam, "1e-08"),
  JF_RANGE(nadam, momentum_decay, NUM, "0.004", JF_AMOUNT, "how soon the momentum reaches beta1"))

JF_TWICE(jf_nadam_scalars_text,
JF_LOCAL double mu_at(const nadam *a, int64_t t)
{
  return a->beta1 * (1 - 0.5 * pow(0.96, (double)t * a->momentum_decay));
}

/* The product of mu_1 to mu_t. Factors are below beta1, and what is below the precision of 1 is as
   good as 0. */
JF_LOCAL double nadam_product(const nadam *a, int64_t t)
{
  const double ratio = pow(0.96, a->momentum_decay);
  double product = 1, power = 1;
  for (int64_t i = 0; i < t && product > 1e-18; i++) {
    power *= ratio;
    product *= a->beta1 * (1 - 0.5 * power);
  }
  return product;
}

/* The factors of m and g: the rate, and what makes up for means that began at 0. */
JF_LOCAL double nadam_of_mean(const nadam *a, int64_t t, double lr)
{
  const double next = mu_at(a, t + 1);
  return lr * next / (1 - nadam_product(a, t) * next);
}

JF_LOCAL double nadam_of_g(const nadam *a, int64_t t, double lr)
{
  return lr * (1 - mu_at(a, t)) / (1 - nadam_product(a, t));
}

JF_LOCAL double nadam_root(const nadam *a, int64_t t)
{
  return 1 / sqrt(1 - pow(a->beta2, (double)t));
})

#define nadam_slots(S) S(m, LIKE, 0) S(v, LIKE, 0)
#define nadam_scalars(S) \
  S(beta1, a->beta1) S(rest1, 1 - a->beta1) S(beta2, a->beta2) S(rest2, 1 - a->beta2) \
  S(epsilon, a->epsilon) S(of_mean, nadam_of_mean(a, t, lr)) S(of_g, nadam_of_g(a, t, lr)) \
  S(root, nadam_root(a, t))
JF_RULE(nadam, nadam, 0,
  m = beta1 * m + rest1 * g;
  v = beta2 * v + rest2 * g * g;
  w -= (of_mean * m + of_g * g) / (root * sqrt(v) + epsilon))

JFL_OPTIM(NAdam, .doc = "Adam with Nesterov's momentum.", JF_WITH(attrs, nadam),
  .only = &nadam_rule, .text = { jf_nadam_options_text, jf_nadam_scalars_text })
