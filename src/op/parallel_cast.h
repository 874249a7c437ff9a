/* Attributes of parallel_cast. */
#ifndef JF_OP_PARALLEL_CAST_H
#define JF_OP_PARALLEL_CAST_H

#include "ir/ir.h"

/* Texts of distributions (jf_distribution_read). */
typedef struct jf_parallel_cast { const char *distribute, *gradient_distribute; } jf_parallel_cast;

#endif
