/* Checks of optimizers' options. */
#ifndef JF_OPTIM_OPTION_H
#define JF_OPTIM_OPTION_H

#include "base/base.h"

/* Fails unless the option is in [0, 1). */
jfl_status jf_check_decay(const char *name, double value);
/* Fails unless the option is a finite number of at least 0. */
jfl_status jf_check_amount(const char *name, double value);

#endif
