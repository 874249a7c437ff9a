/* Attributes of transpose. */
#ifndef JF_OP_TRANSPOSE_H
#define JF_OP_TRANSPOSE_H

#include "dev/kernel.h"

typedef struct jf_transpose { jf_ints perm; } jf_transpose;   /* y's axis i is x's axis perm[i] */

struct jf_node;
/* Whether n swaps axes 1 and 2 of four, and no others. */
int jf_transposes_inner(const struct jf_node *n);

#endif
