/* optimizer_scalars(step, lr, set, [scale], [skip...]) gives the numbers of a step as a float64
   tensor: the scale of gradients, the rate, and the scalars of the optimizer's rule. `set`, float64
   (2), says whether the host has set the rate, and to what. It is a state variable, so checkpoints
   keep it. The scale becomes -1, which skips the step, if `scale` or any of `skip` is negative. */
#ifndef JF_OPTIM_SCALARS_H
#define JF_OPTIM_SCALARS_H

#define JF_RATE_NUMBERS enum { JF_IS_SET, JF_SET_RATE, JF_N_SET };
JF_RATE_NUMBERS

/* The names of the variables `set` begin with this: "System-Train-LearningRate-<job>" is that of a
   job's first optimizer, "System-Train-LearningRate2-<job>" that of its second. */
#define JF_RATE_PREFIX "System-Train-LearningRate"

#endif
