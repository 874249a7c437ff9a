/* Adam (Kingma and Ba, ICLR 2015), in the form given at the end of its section 2: the bias
   correction is a factor of the rate, and epsilon is not rescaled by it. AdamW also decays weights
   by the rate without that factor (Loshchilov and Hutter, "Decoupled weight decay regularization",
   ICLR 2019, algorithm 2). amsgrad: Reddi et al., "On the convergence of Adam and beyond", ICLR
   2018. */
#include "optim/option.h"
#include "optim/rule.h"

JF_TWICE(jf_adam_options_text,
typedef struct adam {
  double beta1, beta2, epsilon;
  int do_bias_correction, amsgrad;
  double weight_decay;         /* of AdamW */
} adam;
)

#define MEANS JF_MEANS_FIELDS(adam, "1e-08")
#define CHOICES \
  JF_FIELD(adam, do_bias_correction, BOOL, "true",                          \
           "makes up for means that start at 0 by larger steps at first"),  \
  JF_FIELD(adam, amsgrad, BOOL, "false", "divides by the largest mean of squares so far")

JF_ATTRS(adam_attrs, MEANS, CHOICES)
JF_ATTRS(adamw_attrs,
  MEANS, CHOICES,
  JF_RANGE(adam, weight_decay, NUM, "0", JF_AMOUNT,
           "lr times this share of a weight is taken from it"))
JF_ATTRS(lazy_attrs, MEANS)

/* A rate that makes up for means that began at 0: after t steps they lack these shares. */
JF_TWICE(jf_adam_rate_text,
JF_LOCAL double adam_rate(const adam *a, int64_t t, double lr)
{
  return lr * sqrt(1 - pow(a->beta2, (double)t)) / (1 - pow(a->beta1, (double)t));
})

/* rest1 and rest2 are 1 - beta1 and 1 - beta2, computed in double: in float32, 1 - 0.999f is off by
   1e-5 of its value. */
#define adam_slots(S) S(m, LIKE, 0) S(v, LIKE, 0)
#define adam_means(S) \
  S(beta1, a->beta1) S(rest1, 1 - a->beta1) S(beta2, a->beta2) S(rest2, 1 - a->beta2) \
  S(epsilon, a->epsilon)
#define adam_scalars(S) \
  adam_means(S) S(rate, a->do_bias_correction ? adam_rate(a, t, lr) : lr)
JF_RULE(adam, adam, 0,
  m = beta1 * m + rest1 * g;
  v = beta2 * v + rest2 * g * g;
  w -= rate * m / (sqrt(v) + epsilon))

#define adamw_slots(S) adam_slots(S)
#define adamw_scalars(S) adam_scalars(S) S(decay, lr * a->weight_decay)
JF_RULE(adamw, adam, 0,
  m = beta1 * m + rest1 * g;
  v = beta2 * v + rest2 * g * g;
  w -= decay * w + rate * m / (sqrt(v) + epsilon))

#define amsgrad_slots(S) adam_slots(S) S(max_v, LIKE, 0)
#define amsgrad_scalars(S) adamw_scalars(S)
JF_RULE(amsgrad, adam, 0,
  m = beta1 * m + rest1 * g;
  v = beta2 * v + rest2 * g * g;
  max_v = max_v > v ? max_v : v;
  w -= decay * w + rate * m / (sqrt(max_v) + epsilon))

/* An element whose gradient is exactly 0 is left alone: rows of a table that no lookup read. */
#define lazy_slots(S) adam_slots(S)
#define lazy_scalars(S) adam_means(S) S(rate, adam_rate(a, t, lr))
JF_RULE(lazy, adam, 0,
  m = g != 0 ? beta1 * m + rest1 * g : m;
  v = g != 0 ? beta2 * v + rest2 * g * g : v;
  w = g != 0 ? w - rate * m / (sqrt(v) + epsilon) : w)

static const jf_rule *adam_choose(const void *attr)
{
  const adam *a = attr;
  if (a->amsgrad) return &amsgrad_rule;
  return a->weight_decay != 0 ? &adamw_rule : &adam_rule;
}

JFL_OPTIM(Adam, .doc = "Adam: the mean of gradients over the root of the mean of their squares.",
  JF_WITH(adam_attrs, adam), .rule = adam_choose,
  .text = { jf_adam_options_text, jf_adam_rate_text })

JFL_OPTIM(AdamW, .doc = "Adam with decoupled weight decay.", JF_WITH(adamw_attrs, adam),
  .rule = adam_choose, .text = { jf_adam_options_text, jf_adam_rate_text })

JFL_OPTIM(LazyAdam, .doc = "Adam that leaves elements alone whose gradient is exactly 0, such as "
  "rows of a table that no lookup read.", JF_WITH(lazy_attrs, adam), .only = &lazy_rule,
  .text = { jf_adam_options_text, jf_adam_rate_text })
