/* The session: its settings, devices, token and queue. */
#ifndef JF_RUN_SESSION_H
#define JF_RUN_SESSION_H

#include <pthread.h>
#include <stdatomic.h>

#include "run/call.h"
#include "run/job.h"
#include "run/request.h"
#include "run/variable.h"
#include "system/system.h"

/* The most that may be asked for. */
enum { JF_MAX_THREADS = 1024, JF_MAX_CPU_DEVICES = 64 };

typedef struct jf_settings {
  int threads, max_inflight;
  int background;              /* the most threads of a loop in the background; 0: as usual */
  int place;                   /* of what jobs put on no device: a site's, or a group's */
  int is_placed;               /* the user chose it; else it follows from how many devices there
                                  are */
  int cpu_devices;             /* in how many shares the processor's cores are used as devices */
  int check_finite;            /* whether runs are checked (finite.c) */
  int kernels;                 /* 0, JF_DIRECT or JF_REFERENCE */
  int tf32;                    /* JF_TF32 or 0 */
  int zones;                   /* JF_ZONES or 0 */
  uint64_t passes_off;         /* bit i: pass i of the table is left out */
  double memory_limit;         /* bytes; 0: none */
  double callback_seconds;     /* below 0: nobody has set it */
  double inline_limit;         /* plans of less work run at once when they are submitted */
} jf_settings;

struct jfl_session {
  jf_tag tag;
  uint64_t id;                 /* not 0; no other has it, also none that gets this one's memory */
  pthread_mutex_t mu; jf_fork_lock at_fork;
  jf_condition changed;        /* queue, running or done changed */
  pthread_t worker; int has_worker, stop;          /* guarded by mu */
  jf_budget *budget;           /* in which its memory counts, or NULL; immutable */
  jfl_request *head, *tail;    /* queued runs; guarded by mu */
  jfl_request *current;        /* what the worker runs or sends; guarded by mu */
  /* Runs that devices have, oldest first; whether someone sends or settles one now. They hold the
     run token together. Guarded by mu. */
  jfl_request *sent; int n_sent, sending;
  int n_queued, running;       /* running: someone holds the run token; guarded by mu */
  /* Tasks that are finished behind, oldest first, on a thread of its own; how many tasks of a kind
     are not done. Guarded by mu. */
  jfl_request *behind;
  pthread_t writer; int has_writer, writer_stop;
  int n_saves, n_reads, n_settings, n_compiles;
  uint64_t finished;           /* runs finished by the worker; guarded by mu */
  int fd;                      /* eventfd or -1; guarded by mu */
  unsigned forks;              /* fork generation the locks belong to */
  /* owner thread, and whoever holds the run token: */
  jf_var **var; int n_var, cap_var;
  int has_mapped;              /* some variable is in a mapped file, or was */
  int blocked;                 /* who has the token blocks SIGBUS otherwise (jf_mapping_begin) */
  int defers;                  /* how often values of new variables are to be drawn later */
  jfl_job *jobs;
  jf_map var_names, job_names; /* of these; variables are added under mu, too */
  jf_map derived;              /* what plans share of variables, by name */
  jf_runs *ahead; int n_ahead; /* of jobs that are not defined yet, by name */
  jf_site **site; int n_site, cap_site;        /* by place; site 0 is the host */
  jf_group **group; int n_group, cap_group;    /* by place less JF_GROUPS */
  uint64_t arenas;             /* how often an arena was replaced */
  uint64_t changes;            /* 1 + how often variables changed */
  uint64_t seed; int seeded;   /* seeded: the user chose it */
  uint64_t eager_calls;        /* stream counter of random ops run at once */
  jf_ready *ready[JF_READY];   /* by hash: calls of ops that ran at once; or NULL */
  jf_settings settings;
  jfl_profile *profile;        /* NULL: runs are not timed */
  atomic_uint disturbances;    /* runs that failed or were not made, variables that were set */
  int (*stop_asked)(void *ctx); void *stop_ctx;    /* whether synchronous runs end early; or NULL */
};

/* Waits until nothing is queued or running, and keeps the worker out until release. */
void jf_session_acquire(jfl_session *s);
void jf_session_release(jfl_session *s);
/* The site of a device, "gpu:1", which is opened when it is first asked for. */
jfl_status jf_session_site(jfl_session *s, const char *name, jf_site **out);
void jf_sites_free(jfl_session *s);
/* The place that a text names: devices of processes, "gpu 0:0-3,1:0-3", where 0-3 stands for
   several and what is before the colon is the process, or "gpu:1" or "gpu:0-1", which are devices
   of every process. Those of this process are opened. The members of a group are in the order of
   processes, then of devices. Where there is one process, one device is its site. */
jfl_status jf_session_group(jfl_session *s, const char *text, int *place);
/* The place of the group of that name and these members, which is added where there is none. The
   members count as they are, also where one occurs twice. */
jfl_status jf_session_group_of(jfl_session *s, const char *name, const jf_kind *kind,
                               const jf_group_member *member, int n, int *place);
/* Places what jobs put on no device on all devices, unless the user has chosen. */
jfl_status jf_session_place_jobs(jfl_session *s);
void jf_groups_free(jfl_session *s);
/* Settles by which devices the ranks of a group exchange data (link.c). All ranks call it. */
jfl_status jf_session_link(jfl_session *s, jf_group *g);
/* The site where ops run that are in no job. */
jf_site *jf_session_own_site(const jfl_session *s);

/* ---- what several ranks do together (agree.c); without others these do nothing ---- */

/* Gives `size` bytes to all ranks and gets what each gave, in their order; a wait that the user or
   the session's end stops. */
jfl_status jf_session_gather(jfl_session *s, const void *mine, size_t size, void *all);
/* All ranks call this with the same text and hash, such as "save './mlp'", and wait for each other;
   where they differ all fail, with both texts and ranks. */
jfl_status jf_session_agree(jfl_session *s, const char *doing);
jfl_status jf_session_agree_on(jfl_session *s, const char *doing, uint64_t hash);
/* All ranks call this with the same text, "save checkpoint", and a name, however long it is. */
jfl_status jf_session_agree_to(jfl_session *s, const char *what, const char *name);
/* Gives `mine`, with its error, if that is a failure; else the failure of the first rank that has
   one, with "rank 2 (node3): " before its text. All ranks call it. */
jfl_status jf_session_agree_status(jfl_session *s, jfl_status mine);
/* Before a run of a plan that the ranks run together. */
jfl_status jf_plan_agree(const jfl_plan *p);

/* ---- the lock and the token (token.c); but for the first, what says "mu" holds it ---- */

void jf_session_init_locks(jfl_session *s);
void jf_session_lock(jfl_session *s);
void jf_session_unlock(jfl_session *s);
/* Mu: fails a request that was taken out of the queue, or all that are in it. */
void jf_session_fail(jfl_request *r, const char *why);
void jf_session_drop(jfl_session *s, const char *why);
/* Mu: makes the file descriptor readable; gives the token back, unless runs that were sent have it;
   does so and says that a run is done; does that for a request. */
void jf_session_make_readable(jfl_session *s);
void jf_session_yield(jfl_session *s);
void jf_session_announce(jfl_session *s);
void jf_session_finish(jfl_session *s, jfl_request *r);

/* A copy that jf_free frees, or NULL. */
char *jf_name_copy(const char *name);

#endif
