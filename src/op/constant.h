/* Attributes of constant. */
#ifndef JF_OP_CONSTANT_H
#define JF_OP_CONSTANT_H

#include "ir/ir.h"

typedef struct jf_constant { double value; jfl_dtype dtype; jf_ints shape; } jf_constant;

/* Whether v is a constant; if so, *out is its number. */
int jf_number(const jfl_value *v, double *out);
/* Emits a tensor of dtype t and shape s whose elements are all that number. */
jfl_value *jf_emit_number(jfl_graph *g, jfl_dtype t, const jfl_shape *s, double value);
/* Emits a constant of shape (1) and dtype t. Gradient rules use it. */
jfl_value *jf_scalar(jfl_graph *g, jfl_dtype t, double value);

#endif
