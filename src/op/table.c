/* The table of all ops. */
#include "op/op.h"

const jfl_op *const jf_ops[] = {
#define OP(id) &jf_op_##id,
#include "gen/oplist.h"
#undef OP
  NULL
};
