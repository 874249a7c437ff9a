/* Stochastic gradient descent. Without momentum: w -= lr g. With it the rate is folded into the
   buffer: m = beta m - lr g; w += m. */
#include "op/sgd.h"
#include "optim/optim.h"

typedef struct sgd { double momentum; } sgd;

static const jf_attr attrs[] = {
  JF_FIELD(sgd, momentum, NUM, "0.9", "decay of the velocity; 0 keeps none"),
  {0},
};

static void optim_sgd_emit(const jf_update *u)
{
  double beta = ((const sgd *)u->attr)->momentum;
  if (beta == 0) jf_emit_update(u, &jf_op_sgd_update, &(jf_sgd_update){ 0 });
  else jf_emit_update(u, &jf_op_momentum_update, &(jf_momentum_update){ .beta = beta });
}

JFL_OPTIM(SGD, .doc = "Stochastic gradient descent with momentum.",
  .attr = attrs, .attr_size = sizeof(sgd), .emit = optim_sgd_emit)
