/* Runs epilogues, or the activation at their end, where a row's library does not do so itself. */
#ifndef JF_FINISH_H
#define JF_FINISH_H

#include "op/epilogue.h"

/* The bounds between which relu and relu6 keep numbers. */
typedef struct jf_bounds { float low, high; } jf_bounds;
/* Whether the activation (or NULL) keeps numbers between bounds; gives them. */
int jf_bounds_of(const char *act, jf_bounds *b);
/* Keeps `lines` lines of n numbers of a float type, which lie `apart` numbers apart, between the
   bounds. A NaN stays one. */
void jf_bound(const jf_bounds *b, jfl_dtype t, void *y, int64_t lines, int64_t n, int64_t apart);

/* Applies epilogue e to the product in k->out[0], in parallel. The channels lie along the axis; if
   `blocked`, the last axis holds channels too. */
jfl_status jf_finish(const jf_kargs *k, const jf_epilogue *e, int axis, int blocked);

#endif
