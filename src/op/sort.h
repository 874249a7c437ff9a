/* Attributes of sort, argsort and top_k. */
#ifndef JF_OP_SORT_H
#define JF_OP_SORT_H

#include "dev/kernel.h"

typedef struct jf_sort { int64_t axis; const char *direction; } jf_sort;
typedef struct jf_top_k { int64_t axis, k; int sorted; } jf_top_k;

/* Whether a sort with these attributes begins with the largest. */
static inline int jf_sort_falls(const jf_sort *a) { return a->direction[0] == 'D'; }

#endif
