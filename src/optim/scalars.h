/* optimizer_scalars(step, lr, set, [scale]): the numbers of a step, float64: what gradients are
   multiplied by, the rate, and the scalars of the optimizer's rule. `set`, float64 (2), is what the
   host says of the rate: whether it is set, and to what. It is a state variable, which checkpoints
   keep. */
#ifndef JF_OPTIM_SCALARS_H
#define JF_OPTIM_SCALARS_H

enum { JF_IS_SET, JF_SET_RATE, JF_N_SET };

/* What the names of such variables begin with: "System-Train-LearningRate-<job>" is that of a job's
   first optimizer, "System-Train-LearningRate2-<job>" of its second. */
#define JF_RATE_PREFIX "System-Train-LearningRate"

#endif
