/* Layout rules: how ops run on tensors in blocks of channels, and conversions between forms as
   nodes. */
#ifndef JF_OP_LAYOUT_H
#define JF_OP_LAYOUT_H

#include "dev/dev.h"
#include "dev/form.h"
#include "ir/ir.h"

/* Whether `split` is s with axes cut into several; sets first[i] to where the parts of axis i
   begin, also of the one behind the last. */
int jf_cuts_axes(const jfl_shape *s, const jfl_shape *split, int first[JFL_MAXDIM + 1]);
/* Emits a conversion: views, and a transpose if elements move, in place of the one that made v if
   such did. */
jfl_value *jf_emit_relayout(jfl_graph *g, const jf_relayout *r, jfl_value *v);
/* Emits v (N, C, H, W) with the channels last, or back; where that undoes a transpose, gives what
   was transposed. */
jfl_value *jf_emit_turned(jfl_graph *g, jfl_value *v, int to_last);

/* Whether n gives its input (N, H, W, C) with the channels first, or if `to_last` the other way
   round, by a transpose or by a view. */
int jf_turns_channels(const jf_node *n, int to_last);

/* Copies a whole tensor from its plain shape to a packed one, and back. */
void jf_pack_tensor(const jf_packing *p, jfl_dtype t, const jfl_shape *plain, const void *from,
                    void *to);
void jf_unpack_tensor(const jf_packing *p, jfl_dtype t, const jfl_shape *plain, const void *from,
                      void *to);

/* What an op's layout rule reads and writes. The rule sees a node and the form in which each input
   was made. If the op can run on blocks, the rule sets the forms that it takes and gives, changes
   op and attr to suit, and returns 1. A plain output may have another shape than before, provided
   that its elements are in the same order. */
typedef struct jf_layout {
  const jf_node *node;
  const jf_kind *kind;                  /* the kind of device that runs the node */
  const jfl_shape *const *in_shape;     /* plain shapes of inputs and outputs; the */
  const jfl_shape *const *out_shape;    /* values may have the shapes of other forms */
  jf_form *in;                          /* how each input was made; the rule sets what it takes */
  jf_form *out;                         /* of each output: plain, unless the rule sets another */
  const jfl_op *op;                     /* the node's op */
  void *attr;                           /* a copy of the node's; its lists may be changed */
  jf_arena *arena;                      /* memory for longer lists */
} jf_layout;

/* How many channels a block has on the node's device; 0: the device wants no blocks. */
int64_t jf_layout_block(const jf_layout *c);
/* Sets all inputs and all outputs to this form. */
void jf_layout_all(jf_layout *c, jf_form form);
/* Whether at least one input was made in blocks and all inputs can be converted to them. */
int jf_layout_blocks(const jf_layout *c);

/* ---- channels first ----

   Rules of the field channels_first see a node of which the tensors of four axes are (N, H, W, C),
   the first input among them; in what stands for it these are (N, C, H, W), and all others are as
   they were. */

/* Where axis i of a tensor with channels last stands in one with channels first. */
static inline int64_t jf_first_axis(int64_t i) { return i ? i % 3 + 1 : 0; }
/* Gives a list with `each` entries for each of four axes the order of channels first. */
void jf_first_list(jf_ints *list, int each);

#endif
