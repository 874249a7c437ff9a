/* Attributes of tril, triu and fused_scale_tril. */
#ifndef JF_OP_TRIL_H
#define JF_OP_TRIL_H

#include "dev/kernel.h"

/* The last diagonal that tril keeps, or the first one of triu, counted from the main one up; scale
   is 1 but for fused_scale_tril. */
typedef struct jf_tril { int64_t diagonal; double fill_value, scale; } jf_tril;

#endif
