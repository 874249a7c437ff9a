/* Attributes of pad and pad_grad. */
#ifndef JF_OP_PAD_H
#define JF_OP_PAD_H

#include "dev/kernel.h"

/* paddings: before and after the first axis, then those of the second, ... */
typedef struct jf_pad_sides {
  jf_ints paddings;
  const char *mode;
  double constant_value;
} jf_pad_sides;

/* Where elements of padding come from: the number constant_value, the mirrored inside, the nearest
   element of it, or its other end. */
typedef enum jf_pad_mode { JF_PAD_CONSTANT, JF_PAD_REFLECT, JF_PAD_REPLICATE, JF_PAD_CIRCULAR }
jf_pad_mode;
jf_pad_mode jf_pad_mode_of(const jf_pad_sides *a);

struct jfl_graph;
struct jfl_value;
/* Emits v with so many zeros behind its elements along the axis. */
struct jfl_value *jf_emit_longer(struct jfl_graph *g, struct jfl_value *v, int axis, int64_t more);

#endif
