/* Attributes of transpose. */
#ifndef JF_OP_TRANSPOSE_H
#define JF_OP_TRANSPOSE_H

#include "dev/kernel.h"

typedef struct jf_transpose { jf_ints perm; } jf_transpose;   /* y's axis i is x's axis perm[i] */

struct jf_node;
/* If v is made by a transpose that swaps the last two axes and no others, gives its node; else
   NULL. */
const struct jf_node *jf_swapped_last(const jfl_value *v);

#endif
