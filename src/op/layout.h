/* How ops run on tensors in blocks: conversions as nodes, and what an op's layout rule says. */
#ifndef JF_OP_LAYOUT_H
#define JF_OP_LAYOUT_H

#include "dev/dev.h"
#include "dev/form.h"
#include "ir/ir.h"

/* Emits a conversion: views, and a transpose where elements move. */
jfl_value *jf_emit_relayout(jfl_graph *g, const jf_relayout *r, jfl_value *v);

/* Copies of a whole tensor from its plain shape to a packed one, and back. */
void jf_pack_tensor(const jf_packing *p, jfl_dtype t, const jfl_shape *plain, const void *from,
                    void *to);
void jf_unpack_tensor(const jf_packing *p, jfl_dtype t, const jfl_shape *plain, const void *from,
                      void *to);

/* What an op's layout rule sees, and what it says. It is shown a node with the form that each
   input was made in. Where the op can run on blocks, the rule says which forms it takes and gives,
   changes op and attr to suit, and returns 1. An output that is plain may come out under another
   shape, with its elements in the same order. */
typedef struct jf_layout {
  const jf_node *node;
  const jf_kind *kind;                  /* of the device that runs it */
  const jfl_shape *const *in_shape;     /* of inputs and outputs when plain; the values' own may */
  const jfl_shape *const *out_shape;    /* be those of other forms */
  jf_form *in;                          /* as made; then as taken */
  jf_form *out;                         /* as given: plain, unless the rule says otherwise */
  const jfl_op *op;                     /* the node's */
  void *attr;                           /* a copy of the node's, with lists of its own */
  jf_arena *arena;                      /* for longer lists */
} jf_layout;

/* Channels in a block; 0: the device wants none. */
int64_t jf_layout_block(const jf_layout *c);
/* Takes every input in this form, and gives every output in it. */
void jf_layout_all(jf_layout *c, jf_form form);
/* Whether some input was made in blocks, and all can be had in them. */
int jf_layout_blocks(const jf_layout *c);

#endif
