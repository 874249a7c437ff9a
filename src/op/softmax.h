/* Attributes of softmax, logsoftmax and their gradients. */
#ifndef JF_OP_SOFTMAX_H
#define JF_OP_SOFTMAX_H

#include "dev/kernel.h"

typedef struct jf_softmax { int64_t axis; } jf_softmax;   /* infer makes axis count from 0 */

#endif
