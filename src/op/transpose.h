/* Attributes of transpose. */
#ifndef JF_OP_TRANSPOSE_H
#define JF_OP_TRANSPOSE_H

#include "dev/kernel.h"

typedef struct jf_transpose { jf_ints perm; } jf_transpose;   /* y's axis i is x's axis perm[i] */

#endif
