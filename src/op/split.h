/* Attributes of split. */
#ifndef JF_OP_SPLIT_H
#define JF_OP_SPLIT_H

#include "dev/kernel.h"

/* infer replaces a single size by the list of all parts' sizes, unless there is one part. */
typedef struct jf_split { jf_ints sizes; int64_t axis; } jf_split;

struct jf_node;
/* Whether n splits along that axis. */
int jf_splits_along(const struct jf_node *n, int64_t axis);

#endif
