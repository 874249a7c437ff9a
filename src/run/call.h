/* Calls of ops that are in no job. */
#ifndef JF_RUN_CALL_H
#define JF_RUN_CALL_H

#include "choose/choose.h"
#include "plan/plan.h"

/* A call of an op that is in no job, prepared. The session keeps it for others like it (call.c). */
enum { JF_READY = 64 };
typedef struct jf_ready {
  jfl_graph *graph;            /* in whose arena it lies; it is kept as long */
  jf_device *device;           /* for which, and with which flags and threads, it was chosen */
  int flags, threads;
  jf_kargs k;
  jf_choice choice;
  double work;                 /* as jf_work says */
} jf_ready;

/* ---- ops that run at once (call.c) ---- */

/* Gives what serves that call of op, described in g's arena; if nothing does, its choice says so.
   It is good until the next call. */
jfl_status jf_ready_for(jfl_session *s, jfl_graph *g, const jfl_op *op, const jf_kargs *k,
                        jf_ready **out);
/* Makes the call; its operands are in host memory. The caller holds the run token. */
jfl_status jf_ready_run(jfl_session *s, const jf_ready *r);
void jf_ready_free(jfl_session *s);

#endif
