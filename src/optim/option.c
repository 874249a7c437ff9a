/* Checks that several optimizers make of their options. */
#include "optim/option.h"

#include <math.h>

jfl_status jf_check_decay(const char *name, double value)
{
  if (value >= 0 && value < 1) return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, name, "must be in [0, 1), got %.14g", value);
}

jfl_status jf_check_amount(const char *name, double value)
{
  if (value >= 0 && isfinite(value)) return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, name, "must be a finite number of at least 0, got %.14g",
                          value);
}

jfl_status jf_check_means(double beta1, double beta2, double epsilon)
{
  JF_TRY(jf_check_decay("beta1", beta1));
  JF_TRY(jf_check_decay("beta2", beta2));
  return jf_check_amount("epsilon", epsilon);
}
