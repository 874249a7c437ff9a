/* Attributes of loss_scale_update. */
#ifndef JF_OPTIM_LOSS_SCALE_H
#define JF_OPTIM_LOSS_SCALE_H

#include "base/base.h"

/* A step with a gradient that is not finite divides the scale by multiplier, down to 1; so many
   good steps one after the other multiply it. */
#define JF_LOSS_SCALE \
  typedef struct jf_loss_scale { int64_t increment_period; double multiplier; } jf_loss_scale;
JF_LOSS_SCALE
jfl_status jf_check_loss_scale(const jf_loss_scale *a);

#endif
