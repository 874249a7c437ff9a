/* Attributes of bias_add. */
#ifndef JF_OP_BIAS_ADD_H
#define JF_OP_BIAS_ADD_H

#include "dev/kernel.h"

typedef struct jf_bias_add {
  const char *data_format;
  int axis;                  /* set by infer: the axis of value that bias runs along */
} jf_bias_add;

#endif
