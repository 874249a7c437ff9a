/* What an op's record states about it for passes to act on, which name no op themselves. */
#ifndef JF_FACTS_H
#define JF_FACTS_H

#include "base/base.h"

typedef struct jf_node jf_node;

/* Bit i of inputs: where input i is that number throughout, the result is the other input, bit for
   bit, if shapes allow. -0.0 changes nothing that it is added to; integers have 0 alone. */
typedef struct jf_neutral { unsigned inputs; double number; } jf_neutral;

/* What a folding rule sees. It gives a value that equals output 0 bit for bit, or NULL; nodes that
   it emits on the way may stay unused. */
typedef struct jf_foldctx {
  jfl_graph *g;
  const jf_node *node;
  /* Whether nothing but the node reads v, which it does once. */
  int (*is_alone)(const struct jf_foldctx *c, const jfl_value *v);
} jf_foldctx;

/* The op is `op`, an elementwise one, but that input 1 is a line: it has a number for each index of
   an axis of output 0, whose number is the int at `axis` of the attributes. */
typedef struct jf_line { const jfl_op *op; size_t axis; } jf_line;

/* What follows a product may become part of it: of the op `fused`, whose first attributes are this
   op's and which has a jf_epilogue at `epilogue` of them. A bias runs along that axis of the
   product; -1: the last. */
typedef struct jf_ending { const jfl_op *fused; size_t epilogue; int axis; } jf_ending;

/* The op can also give, as that output, the sums of an input over all axes but one: where the int
   at `asked` of its attributes is set. */
typedef struct jf_side_sum { int input, axis, output; size_t asked; } jf_side_sum;

#endif
