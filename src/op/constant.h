/* Attributes of constant. */
#ifndef JF_OP_CONSTANT_H
#define JF_OP_CONSTANT_H

#include "ir/ir.h"

typedef struct jf_constant { double value; jfl_dtype dtype; jf_ints shape; } jf_constant;

/* Whether v is a constant, and then its number. */
int jf_number(const jfl_value *v, double *out);
/* A tensor that is the number throughout. */
jfl_value *jf_emit_number(jfl_graph *g, jfl_dtype t, const jfl_shape *s, double value);
/* One number as a (1) of dtype t, for gradient rules. */
jfl_value *jf_scalar(jfl_graph *g, jfl_dtype t, double value);

#endif
