/* Attributes of reshape and of the other ops whose result is a view. */
#ifndef JF_OP_RESHAPE_H
#define JF_OP_RESHAPE_H

#include "ir/ir.h"

typedef struct jf_reshape { jf_ints shape; } jf_reshape;      /* infer replaces the -1 */
typedef struct jf_flatten { int64_t start_dim, end_dim; } jf_flatten;
typedef struct jf_squeeze { jf_ints axis; } jf_squeeze;       /* empty: all of extent 1 */
typedef struct jf_expand_dims { int64_t axis; } jf_expand_dims;

/* Emits v under a shape of as many elements. Gives v itself if it has that shape, and NULL for
   NULL. */
jfl_value *jf_emit_view(jfl_graph *g, jfl_value *v, const jfl_shape *s);
/* Does what jf_axis does for an argument of another name. */
jfl_status jf_dim(int64_t *dim, int rank, const char *argument);

#endif
