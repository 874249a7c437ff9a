/* Ops of float32 whose first result may be bfloat16. */
#ifndef JF_IR_BF16_RESULT_H
#define JF_IR_BF16_RESULT_H

#include "ir/ir.h"

/* The int in the attributes of such an op that says so, NULL for other ops. Their records have a
   jf_mixed without inputs: mixed precision sets the int where all that read the result make it
   bfloat16, so that it need not be written twice. */
static inline int *jf_bf16_result(const jfl_op *op, const void *attr)
{
  return op->mixed && !op->mixed->inputs ? (int *)(void *)((char *)attr + op->mixed->result) : NULL;
}
static inline int jf_has_bf16_result(const jfl_op *op, const void *attr)
{
  const int *is_set = jf_bf16_result(op, attr);
  return is_set && *is_set;
}

#endif
