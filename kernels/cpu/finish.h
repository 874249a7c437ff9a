/* Epilogues of rows whose library does not run them itself. */
#ifndef JF_FINISH_H
#define JF_FINISH_H

#include "op/epilogue.h"

/* Does to the product in k->out[0] what e says, in parallel. The channels are along axis, in blocks
   along the last one too if it is blocked. */
jfl_status jf_finish(const jf_kargs *k, const jf_epilogue *e, int axis, int blocked);

#endif
