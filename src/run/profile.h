/* The times of steps, for profiles. */
#ifndef JF_RUN_PROFILE_H
#define JF_RUN_PROFILE_H

#include "plan/plan.h"

/* Empty; its clock starts now. NULL when memory is out. */
jfl_profile *jf_profile_new(size_t max_events);
/* Around the steps of a run, which jf_watch_profile times. What passed since the last call is the
   step's time; or was spent waiting for other ranks; or on what comes before the steps. */
jfl_status jf_profile_begin(jfl_profile *f, jf_execution *e);
void jf_profile_waited(jfl_profile *f, const jf_execution *e);
void jf_profile_ready(jfl_profile *f);
void jf_profile_end(jfl_profile *f, const jf_execution *e);
/* Hands the text of a trace to put(), shard by shard, as long as it gives JFL_OK. */
typedef jfl_status (*jf_put)(void *to, const char *text, size_t n);
jfl_status jf_profile_tell(const jfl_profile *p, jf_put put, void *to);

#endif
