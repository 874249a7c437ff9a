/* Requests: runs and tasks that a session makes in the order of calls. */
#ifndef JF_RUN_REQUEST_H
#define JF_RUN_REQUEST_H

#include <stdatomic.h>

#include "plan/plan.h"

/* What is done in the order of calls beside runs: a save, a reading or setting of variables. */
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
/* Queues a task that compiles, any number of which may be under way. Until they are done the
   session's own thread keeps off what plans change (jf_compiles_wait): the list of variables, and
   the plans of jobs. */
jfl_status jf_compile_submit(jfl_session *s, const jf_task *task, jf_compiling *state,
                             jfl_request **out);
/* Queues a task that frees a plan, which counts as one that compiles. 0: nothing is queued or
   running, or memory is out, so the caller may as well free it. */
int jf_removal_submit(jfl_session *s, const jf_task *task, jfl_plan *p);
/* Waits until nothing is being compiled. */
void jf_compiles_wait(jfl_session *s);

void jf_queue_stop(jfl_session *s);
/* Ends the worker, whose priority cannot be raised again; the caller holds the run token. */
void jf_queue_end_worker(jfl_session *s);

/* A request with room for results; arrays agree with the plan or it fails. */
jfl_status jf_request_new(jfl_plan *p, jfl_array *const *in, jfl_request **out);
/* A request for a plan that is being made: arrays agree with what it will take. */
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

#endif
