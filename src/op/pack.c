/* The op pack: a value as the kernel that reads it wants it in memory. Only plans make it
   (plan/packing.c); the row of that kernel runs it, by its function `pack`. */
#include "op/pack.h"

JFL_OP(pack, .doc = "x as the kernel that reads it wants it in memory.", .in = {"x"}, .out = {"y"},
  .flags = JF_INTERNAL, .infer = jf_infer_same)

const jfl_op *jf_packer(void) { return &jf_op_pack; }
