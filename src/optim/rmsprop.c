/* RMSProp (Tieleman and Hinton, lecture 6.5 of "Neural networks for machine learning", 2012):
   w -= lr g / sqrt(mean_square + epsilon). Centered, the mean's square is taken from mean_square
   (Graves, "Generating sequences with recurrent neural networks", 2013, equations 38 to 41). */
#include "optim/rule.h"

JF_TWICE(jf_rmsprop_options_text,
typedef struct rmsprop { double decay_rate, epsilon; int centered; } rmsprop;
)

JF_ATTRS(attrs,
  JF_RANGE(rmsprop, decay_rate, NUM, "0.99", JF_BELOW_ONE, "decay of the means"),
  JF_RANGE(rmsprop, epsilon, NUM, "1e-08", JF_AMOUNT,
           "what is added to the mean of squares, in the root"),
  JF_FIELD(rmsprop, centered, BOOL, "false", "divides by an estimate of the standard deviation"))

#define rms_slots(S) S(mean_square, LIKE, 0)
#define rms_scalars(S) \
  S(decay, a->decay_rate) S(rest, 1 - a->decay_rate) S(epsilon, a->epsilon)
JF_RULE(rms, rmsprop, 0,
  mean_square = decay * mean_square + rest * g * g;
  w -= lr * g / sqrt(mean_square + epsilon))

#define centered_slots(S) rms_slots(S) S(mean_gradient, LIKE, 0)
#define centered_scalars(S) rms_scalars(S)
JF_RULE(centered, rmsprop, 0,
  mean_square = decay * mean_square + rest * g * g;
  mean_gradient = decay * mean_gradient + rest * g;
  w -= lr * g / sqrt(mean_square - mean_gradient * mean_gradient + epsilon))

static const jf_rule *rmsprop_rule(const void *attr)
{
  return ((const rmsprop *)attr)->centered ? &centered_rule : &rms_rule;
}

JFL_OPTIM(RMSProp, .doc = "The gradient over the root of the mean of its squares.",
  JF_WITH(attrs, rmsprop), .rule = rmsprop_rule, .text = { jf_rmsprop_options_text })
