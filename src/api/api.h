/* What every entry of the public API that builds in an arena does first. */
#ifndef JF_API_H
#define JF_API_H

#include "run/run.h"

/* From here on an arena that cannot grow returns JFL_ENOMEM from this function, the graph being of
   no further use. The one setjmp of the library. */
#define JF_ENTER(g)                                                          \
  jmp_buf enter_;                                                            \
  (g)->arena->unwind = &enter_;                                              \
  if (setjmp(enter_)) return jf_out_of_memory(g)

jfl_status jf_out_of_memory(jfl_graph *g);

#endif
