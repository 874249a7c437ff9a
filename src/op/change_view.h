/* Attributes of change_view. */
#ifndef JF_OP_CHANGE_VIEW_H
#define JF_OP_CHANGE_VIEW_H

#include "ir/ir.h"

typedef struct jf_change_view {
  int mirrored;                /* what the result is */
  int64_t parts;               /* how many devices the values lie on */
} jf_change_view;

#endif
