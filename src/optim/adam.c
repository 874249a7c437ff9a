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

static const jf_attr adam_attrs[] = { MEANS, CHOICES, {0} };
static const jf_attr adamw_attrs[] = {
  MEANS, CHOICES,
  JF_FIELD(adam, weight_decay, NUM, "0", "lr times this share of a weight is taken from it"),
  {0},
};
static const jf_attr lazy_attrs[] = { MEANS, {0} };

static jfl_status adam_check(const void *attr)
{
  const adam *a = attr;
  JF_TRY(jf_check_means(a->beta1, a->beta2, a->epsilon));
  return jf_check_amount("weight_decay", a->weight_decay);
}

/* rest1 and rest2 are 1 - beta1 and 1 - beta2, computed in double: in float32, 1 - 0.999f is off by
   1e-5 of its value. decay is lr weight_decay, before the bias correction. */
#define adam_slots(S) S(m, LIKE, 0) S(v, LIKE, 0)
#define adam_scalars(S) S(beta1) S(rest1) S(beta2) S(rest2) S(epsilon)
JF_RULE(adam, 0,
  m = beta1 * m + rest1 * g;
  v = beta2 * v + rest2 * g * g;
  w -= lr * m / (sqrt(v) + epsilon))

#define adamw_slots(S) adam_slots(S)
#define adamw_scalars(S) adam_scalars(S) S(decay)
JF_RULE(adamw, 0,
  m = beta1 * m + rest1 * g;
  v = beta2 * v + rest2 * g * g;
  w -= decay * w + lr * m / (sqrt(v) + epsilon))

#define amsgrad_slots(S) adam_slots(S) S(max_v, LIKE, 0)
#define amsgrad_scalars(S) adamw_scalars(S)
JF_RULE(amsgrad, 0,
  m = beta1 * m + rest1 * g;
  v = beta2 * v + rest2 * g * g;
  max_v = max_v > v ? max_v : v;
  w -= decay * w + lr * m / (sqrt(max_v) + epsilon))

/* An element whose gradient is exactly 0 is left alone: rows of a table that no lookup read. */
#define lazy_slots(S) adam_slots(S)
#define lazy_scalars(S) adam_scalars(S)
JF_RULE(lazy, 0,
  m = g != 0 ? beta1 * m + rest1 * g : m;
  v = g != 0 ? beta2 * v + rest2 * g * g : v;
  w = g != 0 ? w - lr * m / (sqrt(v) + epsilon) : w)

static const jf_rule *adam_choose(const void *attr)
{
  const adam *a = attr;
  if (a->amsgrad) return &amsgrad_rule;
  return a->weight_decay != 0 ? &adamw_rule : &adam_rule;
}

static const jf_rule *lazy_choose(const void *attr)
{
  (void)attr;
  return &lazy_rule;
}

/* A rate that makes up for means that began at 0: after t steps they lack these shares. */
JF_TWICE(jf_adam_scalars_text,
JF_LOCAL double adam_corrected(const adam *a, int64_t t, double rate)
{
  return rate * sqrt(1 - pow(a->beta2, (double)t)) / (1 - pow(a->beta1, (double)t));
}

JF_LOCAL void adam_means(const adam *a, double *own)
{
  own[0] = a->beta1;
  own[1] = 1 - a->beta1;
  own[2] = a->beta2;
  own[3] = 1 - a->beta2;
  own[4] = a->epsilon;
}

JF_LOCAL void adam_scalars_of(const void *attr, int64_t t, double *scalar)
{
  const adam *a = (const adam *)attr;
  double *own = scalar + JF_FIRST_SCALAR;
  adam_means(a, own);
  if (a->amsgrad || a->weight_decay != 0) own[5] = scalar[JF_RATE] * a->weight_decay;
  if (a->do_bias_correction) scalar[JF_RATE] = adam_corrected(a, t, scalar[JF_RATE]);
}

JF_LOCAL void lazy_scalars_of(const void *attr, int64_t t, double *scalar)
{
  const adam *a = (const adam *)attr;
  adam_means(a, scalar + JF_FIRST_SCALAR);
  scalar[JF_RATE] = adam_corrected(a, t, scalar[JF_RATE]);
})

JFL_OPTIM(Adam, .doc = "Adam: the mean of gradients over the root of the mean of their squares.",
  .attr = adam_attrs, .attr_size = sizeof(adam), .check = adam_check, .rule = adam_choose,
  JF_SCALARS(adam_scalars_of, jf_adam_options_text, jf_adam_scalars_text))

JFL_OPTIM(AdamW, .doc = "Adam with decoupled weight decay.", .attr = adamw_attrs,
  .attr_size = sizeof(adam), .check = adam_check, .rule = adam_choose,
  JF_SCALARS(adam_scalars_of, jf_adam_options_text, jf_adam_scalars_text))

JFL_OPTIM(LazyAdam, .doc = "Adam that leaves elements alone whose gradient is exactly 0, such as "
  "rows of a table that no lookup read.", .attr = lazy_attrs, .attr_size = sizeof(adam),
  .check = adam_check, .rule = lazy_choose,
  JF_SCALARS(lazy_scalars_of, jf_adam_options_text, jf_adam_scalars_text))
