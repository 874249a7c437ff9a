/* Attributes of non_max_suppression. */
#ifndef JF_OP_SUPPRESS_H
#define JF_OP_SUPPRESS_H

#include <stdint.h>

typedef struct jf_suppress {
  int64_t max_output;
  double iou_threshold, score_threshold;
} jf_suppress;

#endif
