/* Adam (Kingma and Ba, ICLR 2015), in the form given at the end of its section 2: the bias
   correction is a factor of the rate, and epsilon is not rescaled by it. */
#include "optim/rule.h"

typedef struct adam {
  double beta1, beta2, epsilon;
  int do_bias_correction;
} adam;

static const jf_attr attrs[] = {
  JF_FIELD(adam, beta1, NUM, "0.9", "decay of the gradients' mean"),
  JF_FIELD(adam, beta2, NUM, "0.999", "decay of the mean of their squares"),
  JF_FIELD(adam, epsilon, NUM, "1e-08", "what is added to its root"),
  JF_FIELD(adam, do_bias_correction, BOOL, "true",
           "makes up for means that start at 0 by larger steps at first"),
  {0},
};

static jfl_status adam_check(const void *attr)
{
  const adam *a = attr;
  if (!(a->beta1 >= 0 && a->beta1 < 1))
    return jf_fail_argument(JFL_EINVAL, "beta1", "must be in [0, 1), got %.14g", a->beta1);
  if (!(a->beta2 >= 0 && a->beta2 < 1))
    return jf_fail_argument(JFL_EINVAL, "beta2", "must be in [0, 1), got %.14g", a->beta2);
  if (!(a->epsilon >= 0 && isfinite(a->epsilon)))
    return jf_fail_argument(JFL_EINVAL, "epsilon", "must be a finite number of at least 0, "
                            "got %.14g", a->epsilon);
  return JFL_OK;
}

/* rest1 and rest2 are 1 - beta1 and 1 - beta2, computed in double: in float32, 1 - 0.999f is off by
   1e-5 of its value. */
#define adam_slots(S) S(m, LIKE, 0) S(v, LIKE, 0)
#define adam_scalars(S) S(beta1) S(rest1) S(beta2) S(rest2) S(epsilon)
JF_RULE(adam, 0,
  m = beta1 * m + rest1 * g;
  v = beta2 * v + rest2 * g * g;
  w -= lr * m / (sqrt(v) + epsilon))

static const jf_rule *adam_choose(const void *attr)
{
  (void)attr;
  return &adam_rule;
}

static void adam_scalars_of(const void *attr, int64_t t, double *scalar)
{
  const adam *a = attr;
  double *own = scalar + JF_FIRST_SCALAR;
  own[0] = a->beta1;
  own[1] = 1 - a->beta1;
  own[2] = a->beta2;
  own[3] = 1 - a->beta2;
  own[4] = a->epsilon;
  if (a->do_bias_correction)
    scalar[JF_RATE] *= sqrt(1 - pow(a->beta2, (double)t)) / (1 - pow(a->beta1, (double)t));
}

JFL_OPTIM(Adam, .doc = "Adam: the mean of gradients over the root of the mean of their squares.",
  .attr = attrs, .attr_size = sizeof(adam), .check = adam_check, .rule = adam_choose,
  .scalars = adam_scalars_of)
