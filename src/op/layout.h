/* How ops run on tensors in blocks: conversions as nodes, and what an op's layout rule says. */
#ifndef JF_OP_LAYOUT_H
#define JF_OP_LAYOUT_H

#include "ir/ir.h"
#include "op/form.h"

/* Emits a conversion: views, and a transpose where elements move. */
jfl_value *jf_emit_relayout(jfl_graph *g, const jf_relayout *r, jfl_value *v);

/* What an op's layout rule sees and says. It is given the node with every input plain or blocked, as
   its producer made it. If the op can run otherwise, the rule says which forms it wants and gives, changes op
   and attr to suit, and returns 1. An output that is plain may come out in another shape of the same
   order. */
struct jf_layout {
  const jf_node *node;
  int64_t (*block)(void);      /* of the device; 0: it wants none */
  jf_form *in;                 /* of the node's inputs: as made, then as wanted */
  jf_form out[JFL_MAXOUT];     /* JF_PLAIN unless the rule says otherwise */
  const jfl_op *op;
  void *attr;                  /* a copy of the node's */
};
typedef struct jf_layout jf_layout;

/* Wants every input in this form, and gives every output in it. */
void jf_layout_all(jf_layout *c, jf_form form);

#endif
