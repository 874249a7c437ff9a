/* Facts about an op that its record states. Passes act on these facts, so no pass needs to know an
   op by name. */
#ifndef JF_FACTS_H
#define JF_FACTS_H

#include "base/base.h"

typedef struct jf_node jf_node;

/* Bit i of `inputs` is set if input i may be neutral: where all its elements are `number`, the
   result is the other input bit for bit, if the shapes allow it. Adding -0.0 changes no number; for
   integers 0 and -0.0 are the same. */
typedef struct jf_neutral { unsigned inputs; double number; } jf_neutral;

/* What a folding rule sees. The rule returns a value that equals output 0 bit for bit, or NULL.
   Nodes that it emits on the way may stay unused: dce removes them. */
typedef struct jf_foldctx {
  jfl_graph *g;
  const jf_node *node;
  /* Whether the rule's node alone reads v, and reads it once. */
  int (*is_alone)(const struct jf_foldctx *c, const jfl_value *v);
} jf_foldctx;

/* Says that the op computes the elementwise `op`, except that input 1 is a line: it has one number
   for each index of one axis of output 0. The int at offset `axis` of the attributes is that
   axis. */
typedef struct jf_line { const jfl_op *op; size_t axis; } jf_line;

/* Says that what follows this product may become part of it, by turning it into the op `fused`. The
   attributes of `fused` begin with this op's and have a jf_epilogue at offset `epilogue`. A bias
   runs along the axis of the product that `axis` gives for a node. `scaled` emits what can take the
   place of the node's input 1 so that the product is multiplied by a line along that axis; NULL:
   there is nothing. `kept` has the same attributes as `fused`, and gives what the activation reads
   as output 1; NULL: no op does. */
typedef struct jf_ending {
  const jfl_op *fused, *kept;
  size_t epilogue;
  int (*axis)(const jf_node *n);
  jfl_value *(*scaled)(jfl_graph *g, const jf_node *n, jfl_value *factor, jfl_value *line);
} jf_ending;

/* Says that a node of this op can also give the sums of input number i, 0 or 1, over all axes
   except that which `axis` gives; -1: not of that input. They are output 1 of the op `with`, whose
   attributes begin with this op's and have i in the int at offset `asked`; NULL: of this op, if
   that is set. */
typedef struct jf_side_sum {
  const jfl_op *with;
  int (*axis)(const jf_node *n, int i);
  size_t asked;
} jf_side_sum;

#endif
