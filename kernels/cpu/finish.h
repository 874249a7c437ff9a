/* Runs epilogues for rows whose library does not run them itself. */
#ifndef JF_FINISH_H
#define JF_FINISH_H

#include "op/epilogue.h"

/* Applies epilogue e to the product in k->out[0], in parallel. The channels lie along the axis; if
   `blocked`, the last axis holds channels too. */
jfl_status jf_finish(const jf_kargs *k, const jf_epilogue *e, int axis, int blocked);

#endif
