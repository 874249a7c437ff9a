/* Executions: what a run of a plan changes, and how it goes. */
#ifndef JF_RUN_EXECUTION_H
#define JF_RUN_EXECUTION_H

#include "run/session.h"

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
  char *waits;                 /* by number: it is not packed yet, and the run reads the variable */
  int n_waiting;
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
  int is_ahead;                /* a run that was sent: its inputs go by site->copies */
  /* The run as the device repeats it, or NULL, with the copy of inputs and without; the seed of the
     random bits that it draws; whether a run has gone step by step. */
  void *work[2]; uint64_t work_seed; int is_warm;
  void **saved;                /* in a checked run: copies of the variables */
  jf_pace pace;
  int account;                 /* which one it had in the last profile with it */
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
/* Whether something of it must be made, as a variable has changed; notes which steps do, and what
   waits for a later run. */
int jf_prologue_wants(jf_execution *e);
/* Notes that they did. */
void jf_prologue_made(const jf_execution *e);
/* Notes that a run has gone well. */
static inline void jf_execution_made(const jf_execution *e)
{
  if (e->renew) jf_prologue_made(e);
}

jfl_status jf_plan_check_inputs(const jfl_plan *p, jfl_array *const *in);
/* Checks one input. */
jfl_status jf_check_input(const char *name, jfl_dtype t, const jfl_shape *s, const jfl_array *in);

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
   NULL. Where the device has a run already, large inputs will go ahead of its end. */
jf_execution *jf_staging_take(const jfl_plan *p);
/* Does what jf_staging_launch does, so that jf_staging_reach can wait for the end of this run
   alone. After a failure of either jf_staging_settle waits for the device, and what was sent later
   is not done. Inputs that go ahead are copied while the device works on the run before. */
jfl_status jf_staging_send(jf_execution *e);
jfl_status jf_staging_reach(const jf_execution *e);
void jf_staging_settle(const jf_execution *e);

/* Makes the run of that number, which the caller counts, with the arrays given. */
jfl_status jf_execution_run(jf_execution *e, uint64_t number, jfl_array *const *in,
                            jfl_array *const *out, jf_asks asks);
/* Gives a run to its device, by way of a staging buffer, and returns; the run has that number. */
jfl_status jf_execute_send(jf_execution *e, uint64_t number, jfl_array *const *in);
/* Makes the next run of p's job; the caller holds the run token. */
jfl_status jf_execute(const jfl_plan *p, jfl_array *const *in, jfl_array *const *out);
/* Makes it too, but ends early where stop_asked says so and no variable has changed yet. */
jfl_status jf_execute_unless_stopped(const jfl_plan *p, jfl_array *const *in,
                                     jfl_array *const *out);
/* Whether the next run of a plan goes on one thread; counts a run, which could have had so many
   (pace.c). */
int jf_pace_alone(const jf_pace *a);
void jf_pace_ran(jf_pace *a, int threads, double seconds);

/* Makes the arrays that p's outputs are written to. */
jfl_status jf_plan_outputs_new(const jfl_plan *p, jfl_array **out);

#endif
