/* Attributes of dim_gather and dim_scatter_add. */
#ifndef JF_OP_DIM_GATHER_H
#define JF_OP_DIM_GATHER_H

#include "dev/kernel.h"

typedef struct jf_dim_gather { int64_t dim; } jf_dim_gather;

#endif
