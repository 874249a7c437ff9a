/* The op that plans make where a kernel wants an input packed. */
#ifndef JF_PACK_H
#define JF_PACK_H

#include "ir/ir.h"

const jfl_op *jf_packer(void);

#endif
