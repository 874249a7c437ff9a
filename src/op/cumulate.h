/* Attributes of cumsum, cumprod and cumprod_grad. */
#ifndef JF_OP_CUMULATE_H
#define JF_OP_CUMULATE_H

#include "dev/kernel.h"

/* exclusive: a result does not count the element at its own place. reverse: results count from the
   end. */
typedef struct jf_cumulate { int64_t axis; int exclusive, reverse; } jf_cumulate;

#endif
