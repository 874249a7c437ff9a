/* Updates of many tensors as one step. The inputs are param, grad and slots of each tensor in turn,
   then lr and, where gradients are scaled, scale: float64 (1) both. */
#ifndef JF_OP_MULTI_UPDATE_H
#define JF_OP_MULTI_UPDATE_H

#include "op/update.h"

typedef struct jf_multi_update {
  const char *update;          /* the op that says how one tensor is updated */
  jf_nums options;  /* its attributes in their order; those not given have their defaults */
  const jfl_op *op;            /* infer's: that op, */
  const void *attr;            /* its attribute struct, */
  int stride, n;  /* how many inputs each tensor takes, and how many tensors there are */
} jf_multi_update;

/* The arguments for all of tensor i. */
jf_update_args jf_multi_update_args(const jf_kargs *k, int i);

#endif
