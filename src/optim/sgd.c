/* Stochastic gradient descent. Without momentum: w -= lr g. With it the rate is folded into the
   velocity, so that a later rate does not rescale what has gathered there. SGDW also decays
   weights, outside of the velocity (Loshchilov and Hutter, "Decoupled weight decay
   regularization", ICLR 2019). */
#include "optim/rule.h"

JF_TWICE(jf_sgd_options_text,
typedef struct sgd { double momentum; int nesterov; } sgd;
typedef struct sgdw { sgd base; double weight_decay; } sgdw;
)

#define MOMENTUM(T, field) \
  { "momentum", JF_ATTR_NUM, offsetof(T, field), "0.9", "decay of the velocity; 0 keeps none", \
    JF_AMOUNT }

JF_ATTRS(sgd_attrs,
  MOMENTUM(sgd, momentum),
  JF_FIELD(sgd, nesterov, BOOL, "false", "steps along the velocity that comes next"))

JF_ATTRS(sgdw_attrs,
  MOMENTUM(sgdw, base.momentum),
  JF_RANGE(sgdw, weight_decay, NUM, "0", JF_AMOUNT,
           "lr times this share of a weight is taken from it"))

static jfl_status sgd_check(const void *attr)
{
  const sgd *a = attr;
  if (!a->nesterov || a->momentum > 0) return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, "momentum", "must be above 0 for nesterov, got %.14g",
                          a->momentum);
}

#define plain_slots(S)
#define plain_scalars(S)
JF_RULE(plain, sgd, 1, w -= lr * g)

#define heavy_slots(S) S(momentum, LIKE, 0)
#define heavy_scalars(S) S(beta, a->momentum)
JF_RULE(heavy, sgd, 0, momentum = beta * momentum - lr * g; w += momentum)

#define nesterov_slots(S) heavy_slots(S)
#define nesterov_scalars(S) heavy_scalars(S)
JF_RULE(nesterov, sgd, 0, momentum = beta * momentum - lr * g; w += beta * momentum - lr * g)

#define decayed_slots(S)
#define decayed_scalars(S) S(weight_decay, a->weight_decay)
JF_RULE(decayed, sgdw, 0, w -= lr * (g + weight_decay * w))

#define heavy_decayed_slots(S) heavy_slots(S)
#define heavy_decayed_scalars(S) S(beta, a->base.momentum) decayed_scalars(S)
JF_RULE(heavy_decayed, sgdw, 0,
  momentum = beta * momentum - lr * g;
  w += momentum - lr * weight_decay * w)

static const jf_rule *sgd_rule(const void *attr)
{
  const sgd *a = attr;
  if (a->momentum == 0) return &plain_rule;
  return a->nesterov ? &nesterov_rule : &heavy_rule;
}

static const jf_rule *sgdw_rule(const void *attr)
{
  const sgdw *a = attr;
  if (a->weight_decay == 0) return sgd_rule(&a->base);
  return a->base.momentum == 0 ? &decayed_rule : &heavy_decayed_rule;
}

JFL_OPTIM(SGD, .doc = "Stochastic gradient descent, with momentum.", JF_WITH(sgd_attrs, sgd),
  .check = sgd_check, .rule = sgd_rule, .text = { jf_sgd_options_text })

JFL_OPTIM(SGDW, .doc = "Stochastic gradient descent with momentum and decoupled weight decay.",
  JF_WITH(sgdw_attrs, sgdw), .rule = sgdw_rule, .text = { jf_sgd_options_text })
