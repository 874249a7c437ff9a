/* Stochastic gradient descent. Without momentum: w -= lr g. With it the rate is folded into the
   velocity, so that a later rate does not rescale what has gathered there. */
#include "optim/rule.h"

typedef struct sgd { double momentum; } sgd;

static const jf_attr attrs[] = {
  JF_FIELD(sgd, momentum, NUM, "0.9", "decay of the velocity; 0 keeps none"),
  {0},
};

static jfl_status sgd_check(const void *attr)
{
  const double momentum = ((const sgd *)attr)->momentum;
  if (momentum >= 0 && isfinite(momentum)) return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, "momentum", "must be a finite number of at least 0, "
                          "got %.14g", momentum);
}

#define plain_slots(S)
#define plain_scalars(S)
JF_RULE(plain, 1, w -= lr * g)

#define heavy_slots(S) S(momentum, LIKE, 0)
#define heavy_scalars(S) S(beta)
JF_RULE(heavy, 0, momentum = beta * momentum - lr * g; w += momentum)

static const jf_rule *sgd_rule(const void *attr)
{
  return ((const sgd *)attr)->momentum == 0 ? &plain_rule : &heavy_rule;
}

static void sgd_scalars(const void *attr, int64_t t, double *scalar)
{
  const double beta = ((const sgd *)attr)->momentum;
  (void)t;
  if (beta != 0) scalar[JF_FIRST_SCALAR] = beta;
}

JFL_OPTIM(SGD, .doc = "Stochastic gradient descent, with momentum.", .attr = attrs,
  .attr_size = sizeof(sgd), .check = sgd_check, .rule = sgd_rule, .scalars = sgd_scalars)
