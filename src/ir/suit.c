/* What the inputs of a call are converted to before the op sees them. Ops of integers and floats
   together would each need a rule; so there is one, for the ops whose records ask for it. */
#include "dev/half.h"
#include "ir/ir.h"

/* The dtype that inputs of these two dtypes share; a, if both are floats. */
static jfl_dtype suit_common(jfl_dtype a, jfl_dtype b)
{
  if (a == b || jf_is_float(a)) return a;
  if (jf_is_float(b)) return b;
  return a == JFL_I64 || b == JFL_I64 ? JFL_I64 : JFL_I32;
}

int jf_suit(const jfl_op *op, const jfl_dtype *in, int n, jfl_dtype *to)
{
  int common = -1, changes = 0;
  for (int i = 0; i < n; i++)
    if (jf_has_input(op->alike, i))
      common = (int)(common < 0 ? in[i] : suit_common((jfl_dtype)common, in[i]));
  const int narrow = common == JFL_I8 || common == JFL_U8;
  if (narrow && !(jf_op_dtypes(op) >> common & 1)) common = JFL_I32;
  for (int i = 0; i < n; i++) {
    to[i] = in[i];
    if (common >= 0 && jf_has_input(op->alike, i) && !jf_is_float(in[i])) to[i] = (jfl_dtype)common;
    if (jf_has_input(op->truth, i)) to[i] = JFL_I8;
    changes |= to[i] != in[i];
  }
  return changes;
}

const jfl_op *jf_op_for(const jfl_op *op, jfl_dtype first, jfl_dtype stored)
{
  const int is_half = op->stored.at > 0 && first == JFL_F32 && jf_is_half(stored);
  return jf_is_block(stored) || is_half ? op->stored.op : op;
}
