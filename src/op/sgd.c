/* Parameter updates of stochastic gradient descent, with and without momentum. */
#include "op/sgd.h"
#include "op/update.h"

static const jf_attr sgd_attrs[] = {
  JF_FIELD(jf_sgd_update, weight_decay, NUM, "0", "share of param taken off, per rate"),
  {0},
};
static const jf_attr momentum_attrs[] = {
  JF_FIELD(jf_momentum_update, beta, NUM, "0.9", "how much of the last step is kept"),
  JF_FIELD(jf_momentum_update, weight_decay, NUM, "0", "share of param taken off, per rate"),
  {0},
};

JF_UPDATE_RULE(sgd_update, jf_sgd_update, 0, w -= lr * (g + (T)p.weight_decay * w))

JF_UPDATE_RULE(momentum_update, jf_momentum_update, 1,
  s[0] = (T)p.beta * s[0] - lr * g;
  w += s[0] - lr * (T)p.weight_decay * w)

JFL_OP(sgd_update, .doc = "param -= lr (scale grad + weight_decay param).",
  .in = {"param", "grad", "lr", "scale"}, .attr = sgd_attrs, .attr_size = sizeof(jf_sgd_update),
  .mutates = 1, JF_UPDATE(sgd_update))

JFL_OP(momentum_update,
  .doc = "momentum = beta momentum - lr scale grad; param += momentum - lr weight_decay param.",
  .in = {"param", "grad", "lr", "momentum", "scale"}, .attr = momentum_attrs,
  .attr_size = sizeof(jf_momentum_update), .mutates = 1 | 8, JF_UPDATE(momentum_update))
