/* What is done to a product or convolution before it is written. */
#ifndef JF_OP_EPILOGUE_H
#define JF_OP_EPILOGUE_H

#include "dev/kernel.h"

/* y = act(product + bias + residual). The inputs after the operands are the bias (one number a
   channel, or a column of a matrix), then the residual (like y), where there are any. */
typedef struct jf_epilogue {
  int bias, residual;
  const char *act;               /* an elementwise op of one input without attributes, or NULL */
  const jf_tile *tile;           /* its loops, by dtype */
} jf_epilogue;

#endif
