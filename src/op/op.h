/* All ops, as symbols (jf_op_NAME) and as a table. The build generates both from the JFL_OP
   lines. */
#ifndef JF_OP_H
#define JF_OP_H

#include "ir/ir.h"

#define OP(id) extern const jfl_op jf_op_##id;
#include "gen/oplist.h"
#undef OP

extern const jfl_op *const jf_ops[];   /* NULL-terminated, sorted by name */

#endif
