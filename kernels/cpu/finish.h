/* Runs epilogues, or the activation at their end, where a row's library does not do so itself. */
#ifndef JF_FINISH_H
#define JF_FINISH_H

#include "op/epilogue.h"

/* The loop of an activation on float32, if there is a fast one; else NULL, as for no activation.
   t: the dtype of what it is applied to. Of 16 bits that is rounded before, which must not
   matter. */
jf_loop jf_activation_loop(const char *act, jfl_dtype t);
/* Applies it to `lines` lines of n numbers of a float type, which lie `apart` numbers apart. */
void jf_activate(jf_loop act, jfl_dtype t, void *y, int64_t lines, int64_t n, int64_t apart);

/* Applies epilogue e to the product in k->out[0], in parallel. The channels lie along the axis; if
   `blocked`, the last axis holds channels too. */
jfl_status jf_finish(const jf_kargs *k, const jf_epilogue *e, int axis, int blocked);

#endif
