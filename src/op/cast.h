/* Attributes of cast, which converts numbers. */
#ifndef JF_OP_CAST_H
#define JF_OP_CAST_H

#include "dev/kernel.h"

typedef struct jf_cast { jfl_dtype dtype; } jf_cast;

/* v in that dtype: v itself if it has it. NULL for NULL. */
jfl_value *jf_emit_as(jfl_graph *g, jfl_value *v, jfl_dtype t);

#endif
