/* Run time: session, variables, jobs, requests, queue, executor, profile. */
#ifndef JF_RUN_H
#define JF_RUN_H

#include <pthread.h>

#include "plan/plan.h"
#include "system/system.h"

/* What a session keeps of a variable on one device. Its memory never moves. */
typedef struct jf_var_shard {
  struct jf_site *site;        /* whose device has the memory */
  int member;                  /* of the variable's group: whose part it is */
  jfl_shape shape;             /* of the part */
  jf_packing packing;
  jf_storage *storage;         /* a tensor of the shape, packed so */
} jf_var_shard;

/* A variable of the session. Its contents belong to whoever holds the run token
   (jf_session_acquire). The first plan with the variable chose where it lies and how its shards are
   packed; what leaves or enters the session is whole and plain. */
typedef struct jf_var {
  jfl_variable_spec spec;      /* of the whole; spec.name is owned */
  int place;                   /* a device's or a group's */
  const jf_group *group;       /* or NULL */
  jfl_distribution distribution;       /* over the group: broadcast or split */
  int written;                 /* by the host or a checkpoint, not by runs alone */
  int deferred;                /* it has zeros until its values are drawn after this seed */
  uint64_t seed;
  uint64_t changed;            /* what session->changes became when it changed last */
  int n_shard; jf_var_shard shard[];   /* those of this process, by member */
} jf_var;

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

/* What is done in the order of calls beside runs: a save, a reading of variables. */
typedef struct jf_task {
  const char *many;            /* what several are, for messages: "saves" */
  /* On the worker, in its turn, with the run token. */
  jfl_status (*take)(jfl_request *r);
  /* What is left to do then, without the token, on the thread behind (behind.c); or NULL. */
  jfl_status (*finish)(jfl_request *r);
  void (*free)(void *state);
} jf_task;

/* What a task that compiles has, and what runs of its plan need to know before it is made: the
   inputs, which passes may change. */
typedef struct jf_compiling {
  jfl_job *job;
  jfl_graph *graph;            /* counted */
  jfl_plan *plan;              /* in the end */
  int n_in;
  struct { jfl_dtype dtype; jfl_shape shape; const char *name; } in[];
} jf_compiling;

/* A run of a plan, or a task. */
struct jfl_request {
  jf_tag tag;
  atomic_int refs, done;
  jfl_session *session;
  jfl_job *job;                /* which is run or compiled; or NULL */
  jfl_plan *plan;              /* what is run; NULL of a task, and of a run whose plan */
  jfl_request *compiling;      /* is yet to be made, by this one */
  const jf_task *task; void *state;            /* owned; or NULL */
  int is_low;                  /* what is left of a task is done with the lowest priority */
  int *in_flight;              /* how many of its kind are queued or not done; guarded by mu */
  jfl_array **in, **out; int n_in, n_out;      /* owned */
  char **name;                 /* of the results of a task, owned; or NULL */
  jfl_status status;
  jf_error *error;             /* when status is not JFL_OK; owned; NULL: memory was out */
  jfl_request *next;           /* queue */
  jf_execution *execution;     /* of a run that was sent: what runs it, */
  uint64_t number;             /* and its number */
};

/* How often a job ran before, as a loaded checkpoint says. */
typedef struct jf_runs { char *job; uint64_t n; } jf_runs;

/* Memory through which the inputs of a run come to a device and its results go from there, and what
   happens when they are there (plan/staging.c). The executions of all plans share it. */
typedef struct jf_staging {
  char *device, *host;
  void *event;
  int busy;                    /* a run that was sent has it; guarded by mu */
} jf_staging;

/* A device that the session uses, and what all plans share there. */
typedef struct jf_site {
  jf_device *device;
  int place;                   /* its number in the session */
  void *stream;                /* NULL on the host */
  void *arena; size_t arena_size;              /* the temporaries of the plan that runs */
  void *block; size_t block_size;      /* for the operands of ops that run at once; or NULL */
  jf_run_record *record;       /* in the device's memory; NULL on the host */
  jf_run_record begin;         /* what it is at the beginning of the run */
  jf_fault found;              /* what was there when the device was last waited for */
  /* staging[1] is made when it is first needed; both are as big as any plan wants. */
  jf_staging staging[JF_STAGING_BUFFERS]; size_t staging_size;
  int is_alone;                /* there is no memory for staging[1] */
} jf_site;

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

/* What is known of how runs fare on all threads and on one (pace.c). */
typedef struct jf_pace {
  int alone, trial, warm;      /* goes on one thread; the other way is on trial; after a block */
  int blocks;                  /* before a trial */
  double seconds, runs;        /* of the present block */
  double mean[2], best;        /* a run on all threads and on one; the former at best */
  int threads;
} jf_pace;

/* Whether a run asks if it is to stop: one that nobody waits for does once the worker is to end. */
typedef enum jf_asks { JF_ASKS_NEVER, JF_ASKS, JF_ASKS_AT_THE_END } jf_asks;

/* What ranks that make a run together have come to (shared.c): all is well, so what changes
   variables may begin; it is not, so the run is over; what this rank knows of its own. */
typedef struct jf_agreement {
  int agreed, over;
  jfl_status failed; jf_error *error;
} jf_agreement;

/* A derived value of plans; those that have it count as refs. */
enum { JF_DERIVED_NAME = 80 };
typedef struct jf_derived {
  char name[JF_DERIVED_NAME];  /* in session->derived; "": it is not there */
  int refs;
  jf_device *device;
  void *memory;
  uint64_t made;               /* what session->changes was when it was made; 0: it was not */
} jf_derived;

/* What a plan's prologue has made, and makes. The executions of a plan that use the session's
   streams share one, as they run in turn. */
typedef struct jf_prologue {
  uint64_t valid;              /* what session->changes was when all was last found to be valid */
  uint64_t *newest;            /* by step: when what it depends on changed last */
  char *wanted;                /* by step: whether a run that renews makes it */
  jf_derived *derived[];       /* by number */
} jf_prologue;

/* All that a run of a plan changes but for variables, so that several executions of one plan can go
   on at once. Whoever runs it owns it; the plan itself is immutable. */
struct jf_execution {
  const jfl_plan *plan;
  jfl_session *session;
  /* By place; NULL: those of the session, whose arenas and streams go to who has the run token. */
  jf_site **own_site;
  int staging;                 /* number of the staging buffer that it uses, if the plan has one */
  jf_kargs *k;                 /* the calls of all steps, with their addresses */
  jf_tensor *operand;          /* those of all steps, in the order that jf_patch says */
  void **event;                /* of steps that record one */
  uint64_t bound;              /* what session->arenas was when the addresses were set; 0: never */
  jf_prologue *prologue;
  uint64_t changes;            /* what session->changes is for this run, */
  int renew;                   /* which therefore makes a part of the prologue, or all */
  uint64_t number;             /* of the run */
  jf_asks asks;
  jf_agreement *agreement;     /* of a run that ranks make together, or NULL */
  /* The run as the device repeats it, or NULL, and the seed of the random bits that it draws;
     whether a run has gone step by step. */
  void *work; uint64_t work_seed; int is_warm;
  void **saved;                /* in a checked run: copies of the variables */
  jf_pace pace;
  int account;                 /* which one it had in the last profile with it */
};


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
  unsigned passes_off;         /* bit i: pass i of the table is left out */
  double memory_limit;         /* bytes; 0: none */
  double callback_seconds;     /* below 0: nobody has set it */
  double inline_limit;         /* plans of less work run at once when they are submitted */
} jf_settings;

struct jfl_session {
  jf_tag tag;
  uint64_t id;                 /* not 0; no other has it, also none that gets this one's memory */
  pthread_mutex_t mu; jf_fork_lock at_fork;
  pthread_cond_t changed;      /* queue, running or done changed */
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
  int n_saves, n_reads, n_compiles;
  uint64_t finished;           /* runs finished by the worker; guarded by mu */
  int fd;                      /* eventfd or -1; guarded by mu */
  unsigned forks;              /* fork generation the locks belong to */
  /* owner thread, and whoever holds the run token: */
  jf_var **var; int n_var, cap_var;
  int defers;                  /* how often values of new variables are to be drawn later */
  jfl_job *jobs;
  jf_map var_names, job_names; /* of these */
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

/* What an execution has of a device; the memory that it uses, of a plan with a staging buffer. */
static inline jf_site *jf_execution_site(const jf_execution *e, int place)
{
  return e->own_site ? e->own_site[place] : e->session->site[place];
}
static inline jf_staging *jf_execution_staging(const jf_execution *e)
{
  return &jf_execution_site(e, e->plan->staging.place)->staging[e->staging];
}

/* The first step to run: those of the prologue are left out while none of its variables changes. */
static inline int jf_execution_first(const jf_execution *e)
{
  return e->renew ? 0 : e->plan->n_prologue;
}

/* ---- prologues (derived.c) ---- */

/* Takes memory for the prologue of an execution, whose caller has the run token; and gives it back,
   where e->prologue is not NULL. */
jfl_status jf_prologue_take(jf_execution *e);
void jf_prologue_leave(jf_execution *e);
/* Whether something of it must be made, as a variable has changed; notes which steps do. */
int jf_prologue_wants(jf_execution *e);
/* Notes that they did. */
void jf_prologue_made(const jf_execution *e);
/* Notes that a run has gone well. */
static inline void jf_execution_made(const jf_execution *e)
{
  if (e->renew) jf_prologue_made(e);
}

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
jfl_status jf_session_group_of(jfl_session *s, const char *name, const jf_group_member *member,
                               int n, int *place);
/* Places what jobs put on no device on all devices, unless the user has chosen. */
jfl_status jf_session_place_jobs(jfl_session *s);
void jf_groups_free(jfl_session *s);
/* Settles by which devices the ranks of a group exchange data (link.c). All ranks call it. */
jfl_status jf_session_link(jfl_session *s, jf_group *g);
/* The site where ops run that are in no job. */
jf_site *jf_session_own_site(const jfl_session *s);

/* ---- ops that run at once (call.c) ---- */

/* Gives what serves that call of op, described in g's arena; if nothing does, its choice says so.
   It is good until the next call. */
jfl_status jf_ready_for(jfl_session *s, jfl_graph *g, const jfl_op *op, const jf_kargs *k,
                        jf_ready **out);
/* Makes the call; its operands are in host memory. The caller holds the run token. */
jfl_status jf_ready_run(jfl_session *s, const jf_ready *r);
void jf_ready_free(jfl_session *s);

/* ---- what is had of a device (device.c) ---- */

/* Takes a stream and a record for a site of which only the device is set; and frees all it has but
   the device. */
jfl_status jf_site_set_up(jf_site *t);
void jf_site_free(jf_site *t);
/* Another one of the same device, with a stream and memory of its own. */
jfl_status jf_site_beside(const jf_site *t, jf_site **out);
/* Queues the writing of the record that a run of that number begins with; not for the host. */
jfl_status jf_site_begin(jf_site *t, jf_run_record *to, uint64_t number);
/* Waits for all that was queued, and gives what went wrong, also what the record says; not for the
   host. */
jfl_status jf_site_settle(jf_site *t, const jf_run_record *r);
/* Copies between host memory and the device; done when they return. */
jfl_status jf_site_put(jf_site *t, void *to, const void *from, size_t size);
jfl_status jf_site_get(jf_site *t, void *to, const void *from, size_t size);

/* Checks that a variable's initializer serves its dtype and shape; puts what it says in memory of
   the host, in plain order. */
jfl_status jf_initial_check(const jfl_variable_spec *spec);
jfl_status jf_initial_fill(const jfl_session *s, uint64_t seed, const jfl_variable_spec *spec,
                           void *data);

/* ---- what several ranks do together (agree.c); without others these do nothing ---- */

/* Gives `size` bytes to all ranks and gets what each gave, in their order; a wait that the user or
   the session's end stops. */
jfl_status jf_session_gather(jfl_session *s, const void *mine, size_t size, void *all);
/* All ranks call this with the same text and hash, such as "save './mlp'", and wait for each other;
   where they differ all fail, with both texts and ranks. */
jfl_status jf_session_agree(jfl_session *s, const char *doing);
jfl_status jf_session_agree_on(jfl_session *s, const char *doing, uint64_t hash);
/* The same for "save checkpoint" and the name, of which all counts, however long it is. */
jfl_status jf_session_agree_to(jfl_session *s, const char *what, const char *name);
/* Gives `mine`, with its error, if that is a failure; else the failure of the first rank that has
   one, with "rank 2 (node3): " before its text. All ranks call it. */
jfl_status jf_session_agree_status(jfl_session *s, jfl_status mine);
/* Before a run of a plan that the ranks run together. */
jfl_status jf_plan_agree(const jfl_plan *p);

/* Finds a variable by name; NULL if there is none. */
jf_var *jf_session_var(const jfl_session *s, const char *name);
/* Fails if a variable has another shape or dtype than a job wants of that name. */
jfl_status jf_var_check(const jf_var *v, const jfl_variable_spec *spec);
/* Gives memory and contents to a variable of jf_var_new and adds it to the session; takes it. */
jfl_status jf_session_add_var(jfl_session *s, jf_var *v);

/* ---- what a session keeps of a variable (shard.c) ---- */

/* Describes a variable that lies so at a place; its packings may be changed until it is added. */
jfl_status jf_var_new(const jfl_session *s, const jfl_variable_spec *spec, int place,
                      jfl_distribution d, jf_var **out);
void jf_var_free(jf_var *v);
/* Takes memory for its shards. */
jfl_status jf_var_take(jf_var *v);
/* The shard of that member, which is on that device; NULL where this process has none. */
jf_var_shard *jf_var_shard_of(jf_var *v, int place, int member);
/* Of the whole. */
size_t jf_var_bytes(const jf_var *v);
jfl_status jf_var_no_memory(const jf_var *v, size_t size);
/* The contents where they are whole and in plain order in host memory, or NULL. */
void *jf_var_data(const jf_var *v);
/* Copies the contents, in their plain order, to or from host memory of the size of the whole. Parts
   that this process does not have are left out. */
jfl_status jf_var_read(const jf_var *v, void *out);
jfl_status jf_var_write(jf_var *v, const void *from);
/* Writing in two parts, of which the second only fails where the device does: puts plain contents,
   which jf_free frees, into the form of the shards; copies them to these. */
jfl_status jf_var_pack(const jf_var *v, void **contents);
jfl_status jf_var_store(jf_var *v, const void *contents);
/* Whether shards have plain contents as they are, so that jf_var_store takes these. */
int jf_var_takes_plain(const jf_var *v);

/* Of what one member has, in plain order, where this process has that member: how many bytes it is;
   copying it; putting it to its place in the whole. */
size_t jf_var_part_bytes(const jf_var *v, int member);
jfl_status jf_var_read_part(jf_var *v, int member, void *part);
void jf_var_join_part(const jf_var *v, int member, const void *part, void *whole);

/* ---- contents between processes (across.c); the caller holds the run token ---- */

/* Makes the bytes those of rank 0. */
jfl_status jf_hand_out(void *data, size_t size);
/* Makes a block that of rank 0; elsewhere it becomes new memory, which jf_free frees. */
jfl_status jf_hand_out_block(jfl_session *s, void **data, size_t *size);
/* Whether rank `to`, or some rank where that is -1, lacks a part of the variable. */
int jf_var_is_sharded(const jf_var *v, int to);
/* Reads such a variable on rank `to`, or on all ranks where that is -1. Others only give what they
   have, and `out` may be NULL. `mine` is what this process has come to. */
jfl_status jf_var_gather(jfl_session *s, jf_var *v, int to, void *out, jfl_status mine);

jfl_job *jf_session_job(const jfl_session *s, const char *name);
void jf_runs_free(jf_runs *v, int n);

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

/* ---- runs that are sent (send.c) ---- */

/* Mu: takes a staging buffer for a run, and the right to send it; 0: it cannot be sent now. */
int jf_send_begin(jfl_session *s, jfl_request *r);
/* Sends the run; one that cannot be sent is landed in its turn. Takes a reference over. */
void jf_send(jfl_session *s, jfl_request *r, jfl_array *const *in);
/* Mu, which it leaves meanwhile: ends the oldest run that was sent. */
void jf_send_land(jfl_session *s);

/* ---- what tasks leave to do (behind.c) ---- */

/* Mu: leaves the rest of a task, whose turn is over, to the thread behind. */
void jf_behind_add(jfl_session *s, jfl_request *r);
/* Waits until nothing is queued, running or left. */
void jf_behind_wait(jfl_session *s);
/* Finishes all that is left, and ends the thread. */
void jf_behind_stop(jfl_session *s);

/* ---- the queue (queue.c); stop waits for runs in progress and fails what is queued ---- */

/* Queues a task, whose state it takes, unless as many of its kind are under way as may be. */
jfl_status jf_task_submit(jfl_session *s, const jf_task *task, void *state, int *in_flight,
                          jfl_request **out);
/* The same for one that compiles, any number of which may be under way. Until they are done the
   session's own thread keeps off what plans change (jf_compiles_wait): the list of variables, and
   the plans of jobs. */
jfl_status jf_compile_submit(jfl_session *s, const jf_task *task, jf_compiling *state,
                             jfl_request **out);
/* Waits until nothing is being compiled. */
void jf_compiles_wait(jfl_session *s);

void jf_queue_stop(jfl_session *s);
/* Ends the worker, whose priority cannot be raised again; the caller holds the run token. */
void jf_queue_end_worker(jfl_session *s);

void jf_job_free(jfl_job *j);
/* Takes a job that has no plans out of its session, and frees it. */
void jf_job_remove(jfl_job *j);
/* Gives a plan to its job: variables, room for temporaries, pointers. On failure the session is as
   it was, but for variables that were made. */
jfl_status jf_job_admit(jfl_job *j, jfl_plan *p);
/* The same for a caller who has the run token. */
jfl_status jf_job_admit_now(jfl_job *j, jfl_plan *p);
/* Makes arenas and staging buffers as big as the plan needs them. */
jfl_status jf_job_need_room(jfl_session *s, const jfl_plan *p);
/* Does so for one site. */
jfl_status jf_site_need_room(jfl_session *s, jf_site *t, const jfl_plan *p);
/* Makes the staging buffer of that number where the site has none; 0: there is no memory for it. */
int jf_staging_is_there(jf_site *t, int staging);
void jf_lanes_free(jf_site *t);
/* Adds to an error about memory which temporary of the plan is the largest at a place, or at any if
   that is -1, and which line asked for it. */
jfl_status jf_room_blame(jfl_status st, const jfl_plan *p, int place);
/* A copy that jf_free frees, or NULL. */
char *jf_name_copy(const char *name);

jfl_status jf_plan_check_inputs(const jfl_plan *p, jfl_array *const *in);
/* The same for one input. */
jfl_status jf_check_input(const char *name, jfl_dtype t, const jfl_shape *s, const jfl_array *in);
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
/* ---- executions (execution.c) ---- */

/* Makes one for a plan that has been given to a job; it uses the session's sites, and of these the
   staging buffer of that number. The caller holds the run token when it runs. */
jfl_status jf_execution_new(const jfl_plan *p, int staging, jf_execution **out);
/* Makes one with streams and memory of its own, while the caller holds the run token: it can run
   while others do, as long as none changes variables. */
jfl_status jf_execution_new_separate(const jfl_plan *p, jf_execution **out);
void jf_execution_free(jf_execution *e);
/* Sets all addresses that are the same in each run, if memory was moved since it was last done. */
jfl_status jf_execution_bind(jf_execution *e);
/* Sets those of inputs and results; not for a plan with a staging buffer. */
void jf_execution_point(jf_execution *e, jfl_array *const *in, jfl_array *const *out);

/* ---- the loop over steps (steps.c) ---- */

/* Who watches a run; each function may be NULL. */
typedef struct jf_observer {
  /* Before a step: a failure ends the run; *done = 1 leaves the step out. */
  jfl_status (*before)(jf_execution *e, int step, int *done);
  /* After a step that went well, or was queued: a failure ends the run. */
  jfl_status (*after)(jf_execution *e, int step);
  /* The run failed at the step: JFL_OK, and it goes on. */
  jfl_status (*failed)(jf_execution *e, int step, jfl_status s);
} jf_observer;
/* Asks whether to stop; lets devices tell what they found wrong before variables change; lets ranks
   agree; looks at what a step did; at what lies beside that (zones.c); times it. */
extern const jf_observer jf_watch_stop, jf_watch_barrier, jf_watch_ranks, jf_watch_finite,
                         jf_watch_zones, jf_watch_profile;
/* Makes all steps from `first` on, or queues them. The list of observers ends with NULL; they are
   called in its order. */
jfl_status jf_steps(jf_execution *e, int first, const jf_observer *const *o);

/* ---- runs of several ranks together (shared.c); e->agreement is set ---- */

/* Ranks agree on which run they begin; and, of a run whose preparation has come to s, on whether it
   goes on; ends a run that has come to s. */
jfl_status jf_shared_begin(const jf_execution *e);
jfl_status jf_shared_ready(const jf_execution *e, jfl_status s);
jfl_status jf_shared_end(const jf_execution *e, jfl_status s);

/* ---- checked runs (finite.c) ---- */

/* Looks at what a run begins with and keeps what it will change; ends a run that has come to s.
   Variables become what they were, unless s is JFL_OK. */
jfl_status jf_finite_begin(jf_execution *e, jfl_array *const *in);
void jf_finite_end(jf_execution *e, jfl_status s);

/* ---- asynchronous devices (async.c) ---- */

/* Begins a run; queues a step; and ends a run that has come to s, waiting for all devices. */
jfl_status jf_async_begin(jf_execution *e);
/* What all devices found wrong so far; waits for them. */
jfl_status jf_async_barrier(const jf_execution *e);
/* Queues a step that waits for no other, whatever is in its operands: other ranks count on it. */
void jf_async_keep_pace(const jf_execution *e, int step);
jfl_status jf_async_step(jf_execution *e, int step);
jfl_status jf_async_end(jf_execution *e, jfl_status s);
/* Adds to an error of a step which one it was. */
jfl_status jf_step_blame(const jfl_plan *p, jfl_status s, int step);
/* Waits for a step that was queued last. */
jfl_status jf_async_finish_step(const jf_execution *e, int step);

/* ---- runs through staging buffers (staging.c) ---- */

/* Copies the plan's constants to its device, and frees them there. */
jfl_status jf_staging_keep(jfl_session *s, jfl_plan *p);
void jf_staging_release(jfl_plan *p);
/* Fills the host's part of the staging buffer for the run of that number, and reads its results
   there. */
void jf_staging_load(const jf_execution *e, jfl_array *const *in);
void jf_staging_unload(const jf_execution *e, jfl_array *const *out);
/* Whether the next run of a plan can be given to its device as a whole. */
int jf_staging_repeats(const jfl_plan *p);
/* Does that; and waits for the end of a run that has come to s. */
jfl_status jf_staging_launch(jf_execution *e);
/* Frees what the device repeats, when its addresses change. */
void jf_staging_forget(jf_execution *e);
jfl_status jf_staging_end(const jf_execution *e, jfl_status s);
/* Of a run that has ended: what it found wrong in its data. */
jfl_status jf_staging_found(const jf_execution *e);
/* Takes an execution whose staging buffer is free for a run of p, under the session's mu, or gives
   NULL. */
jf_execution *jf_staging_take(const jfl_plan *p);
/* Does what jf_staging_launch does, so that jf_staging_reach can wait for the end of this run
   alone. After a failure of either jf_staging_settle waits for the device, and what was sent later
   is not done. */
jfl_status jf_staging_send(jf_execution *e);
jfl_status jf_staging_reach(const jf_execution *e);
jfl_status jf_staging_settle(const jf_execution *e);

/* A request with room for results; arrays agree with the plan or it fails. */
jfl_status jf_request_new(jfl_plan *p, jfl_array *const *in, jfl_request **out);
/* The same for a plan that is being made: arrays agree with what it will take. */
jfl_status jf_request_new_behind(jfl_request *compiling, jfl_array *const *in, jfl_request **out);
/* Gives it copies of its inputs. */
jfl_status jf_request_keep(jfl_request *r, jfl_array *const *in);
/* Runs it on the caller, who holds the run token. */
void jf_request_run(jfl_request *r, jfl_array *const *in);
/* Notes what it has come to, for an error with this thread's message. */
void jf_request_set(jfl_request *r, jfl_status s);
/* A request of a task, whose state it takes, also where it fails. */
jfl_status jf_request_new_task(jfl_session *s, const jf_task *task, void *state,
                               jfl_request **out);

/* Makes the run of that number, which the caller counts, with the arrays given. */
jfl_status jf_execution_run(jf_execution *e, uint64_t number, jfl_array *const *in,
                            jfl_array *const *out, jf_asks asks);
/* Gives a run to its device, by way of a staging buffer, and returns; the run has that number. */
jfl_status jf_execute_send(jf_execution *e, uint64_t number, jfl_array *const *in);
/* Makes the next run of p's job; the caller holds the run token. */
jfl_status jf_execute(const jfl_plan *p, jfl_array *const *in, jfl_array *const *out);
/* The same, but ends early where stop_asked says so and no variable has changed yet. */
jfl_status jf_execute_unless_stopped(const jfl_plan *p, jfl_array *const *in,
                                     jfl_array *const *out);
/* Whether the next run of a plan goes on one thread; counts a run, which could have had so many
   (pace.c). */
int jf_pace_alone(const jf_pace *a);
void jf_pace_ran(jf_pace *a, int threads, double seconds);
/* Makes the arrays that p's outputs are written to. */
jfl_status jf_plan_outputs_new(const jfl_plan *p, jfl_array **out);

#endif
