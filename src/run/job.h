/* Jobs: their plans, and how often they ran. */
#ifndef JF_RUN_JOB_H
#define JF_RUN_JOB_H

#include "run/site.h"

struct jfl_job {
  jf_tag tag;
  jfl_session *session;
  char *name;
  jfl_mode mode;
  jfl_plan **plan; int n_plan, cap_plan;
  uint64_t run;                /* runs so far: the random stream's counter; run token */
  int in_flight;               /* queued or running; guarded by mu */
  int n_sent;                  /* of those, the ones that a device has; guarded by mu */
  jfl_job *next;
};

/* How often a job ran before, as a loaded checkpoint says. */
typedef struct jf_runs { char *job; uint64_t n; } jf_runs;

jfl_job *jf_session_job(const jfl_session *s, const char *name);

void jf_runs_free(jf_runs *v, int n);

void jf_job_free(jfl_job *j);
/* Takes a job that has no plans out of its session, and frees it. */
void jf_job_remove(jfl_job *j);
/* Gives a plan to its job: variables, room for temporaries, pointers. On failure the session is as
   it was, but for variables that were made. */
jfl_status jf_job_admit(jfl_job *j, jfl_plan *p);
/* Gives a plan to its job; the caller has the run token. */
jfl_status jf_job_admit_now(jfl_job *j, jfl_plan *p);

/* Where the data of a plan's variable are (shard.c). */
void *jf_plan_data(const jfl_plan *p, int i);
/* Of its variables in mapped files (mapped.c): fails where such a file is not what it was; gives
   back the memory of those that its prologue alone reads. */
jfl_status jf_plan_is_whole(const jfl_plan *p);
void jf_plan_rest(const jfl_plan *p);

/* Makes arenas and staging buffers as big as the plan needs them. */
jfl_status jf_job_need_room(jfl_session *s, const jfl_plan *p);
/* Does so for one site. */
jfl_status jf_site_need_room(jfl_session *s, jf_site *t, const jfl_plan *p);
/* Makes the staging buffer of that number where the site has none; 0: there is no memory for it. */
int jf_staging_is_there(jf_site *t, int staging);
/* Makes what its inputs go ahead by; 0: they do not. */
int jf_staging_goes_ahead(jf_site *t, int staging);
void jf_lanes_free(jf_site *t);
/* Adds to an error about memory which temporary of the plan is the largest at a place, or at any if
   that is -1, and which line asked for it. */
jfl_status jf_room_blame(jfl_status st, const jfl_plan *p, int place);

#endif
