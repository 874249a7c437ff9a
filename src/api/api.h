/* What the files of the public API share. */
#ifndef JF_API_H
#define JF_API_H

#include "run/run.h"

/* From here on an arena that cannot grow returns JFL_ENOMEM from this function, or JFL_ELIMIT where
   time is what it lacks, the graph being of no further use. The one setjmp of the library. */
#define JF_ENTER(g)                                                          \
  jmp_buf enter_;                                                            \
  (g)->arena->unwind = &enter_;                                              \
  if (setjmp(enter_)) return jf_unwound(g)

jfl_status jf_unwound(jfl_graph *g);

/* Fails, too, if places in g are those of another session than s. */
jfl_status jf_api_check_session(const char *function, const jfl_graph *g, const jfl_session *s);
/* Fails unless g takes more: one that was compiled, or met an error in a pass, does not. */
jfl_status jf_api_check_open(const jfl_graph *g);

/* One call of an op that is in no graph; all of it but the results lies in the arena of a graph
   that is made for the call. */
typedef struct jf_api_call {
  jfl_session *session;
  const jfl_op *op;
  jfl_array *const *in; int n_in;
  const jfl_arg *arg; int n_arg;
  void *attr;                  /* the attributes, instead of arg; or NULL */
  const jf_random_source *random;      /* what it draws from; NULL: the next of the session */
  jfl_array **out;
} jf_api_call;
/* Reads the attributes and checks the call. */
jfl_status jf_api_infer(const jf_api_call *c, jfl_graph *g, jf_infer *inf);
/* Checks and makes the call. */
jfl_status jf_api_call_run(const jf_api_call *c, jfl_graph *g);
/* What a call of that number of an op that runs at once draws from. */
jf_random_source jf_api_random(const jfl_session *s, uint64_t call);

#endif
