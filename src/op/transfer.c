/* The op transfer: a copy of a value on another device. */
#include "ir/ir.h"

JFL_OP(transfer, .doc = "A copy of x on another device.", .in = {"x"}, .out = {"y"},
  .flags = JF_TRANSFER | JF_INTERNAL | JF_BLOCKS, .infer = jf_infer_same)
