/* What the files of the queue of calls share. They call each other downwards: queue.c, deliver.c,
   failed.c, calls.c. */
#ifndef JF_QUEUE_H
#define JF_QUEUE_H

#include "bind/bind.h"

#include <math.h>

/* What the registry keeps. CALLS is a list of the requests in the queue, in any order; FAILED one
   with three items for each error: itself, the request, and what failed; DEBUG is debug.traceback;
   WARN, MISUSE, LATE and MANY are the front end's. */
enum { WARN, MISUSE, LATE, MANY, CALLS, FAILED, DEBUG, DELIVER, TRACEBACK, N_ANCHOR };

enum { CALLBACK = 0, RUN = -1 };   /* what failed; a number above 0 is that of a watch handler */

enum { DELIVER_FUNCTION = 3 };     /* where on the stack of jf_l_deliver() the user's function is */

static inline jf_queue *jf_queue_of(lua_State *L) { return &jf_state_of(L)->queue; }

/* No callback runs inside a callback, nor inside a body, where its ops would join the job. */
static inline int jf_is_busy(const jf_queue *q) { return q->running || q->in_body; }

/* The oldest call whose functions run in Lua. */
static inline jf_lrequest *jf_first_call(const jf_queue *q)
{
  jf_lrequest *r = q->head;
  while (r && r->done) r = r->next;
  return r;
}

static inline int jf_has_errors(const jf_queue *q) { return q->told < q->failed || q->overflow; }

static inline void jf_push_anchor(lua_State *L, const jf_queue *q, int which)
{
  lua_rawgeti(L, LUA_REGISTRYINDEX, q->ref[which]);
}

/* Pops a value. The slot is there, so no memory is needed. */
static inline void jf_set_anchor(lua_State *L, const jf_queue *q, int which)
{
  lua_rawseti(L, LUA_REGISTRYINDEX, q->ref[which]);
}

/* ---- the calls (calls.c) ---- */

/* Updates the descriptor, if a host asked for it, to say whether anything is due. */
void jf_tell_due(lua_State *L, const jf_queue *q);
/* Puts requests that are done behind, and are not over, after calls made up to the last one. */
void jf_postpone(lua_State *L, jf_queue *q, uint64_t last);
/* Pushes a request that is in the queue; and takes it out. */
void jf_push_call(lua_State *L, const jf_queue *q, const jf_lrequest *r);
void jf_dequeue(lua_State *L, jf_queue *q, jf_lrequest *r);

/* ---- errors that are kept (failed.c) ---- */

/* Makes room for one error of each function that runs. */
void jf_reserve_error(lua_State *L, jf_queue *q);
/* Pops the error of a function of the request at i. */
void jf_keep_error(lua_State *L, jf_queue *q, int i, int what);
void jf_forget_error(lua_State *L, jf_queue *q, int k);
/* Pushes error k as a message, "train: error in a callback: ...". */
const char *jf_push_error(lua_State *L, jf_queue *q, int k);
/* Pushes what is said of errors that were not kept, and forgets them. */
const char *jf_push_overflow(lua_State *L, jf_queue *q);
/* Raises error k, and forgets it. */
void jf_raise_error(lua_State *L, jf_queue *q, int k);
/* Raises the oldest error that was kept, if there is one. */
void jf_check_errors(lua_State *L, jf_queue *q);
/* Tells of the first error that is kept, as it may be long until it is raised. */
void jf_warn_once(lua_State *L, jf_queue *q);
/* Tells of many calls whose functions wait, once until the queue is empty. */
void jf_warn_many(lua_State *L, jf_queue *q);

/* ---- running functions (deliver.c) ---- */

/* deliver(request, delivery): runs the next function of a request. */
int jf_l_deliver(lua_State *L);
/* The message handler of that. */
int jf_l_queue_traceback(lua_State *L);
/* Takes an error that keeps a request from being delivered for the outcome of its run. */
void jf_give_up(lua_State *L, int i, int error);
/* Whether the oldest request is there, is of a call up to the last one, and its next function may
   begin now. */
int jf_may_deliver(lua_State *L, jf_queue *q, const jf_allowance *a, uint64_t last);
/* Runs the next function of the oldest request, whose time is taken from the allowance. Returns how
   many ran, or -1 with an error on the stack: that the program is to stop, or what kept the
   function from beginning. */
int jf_deliver_next(lua_State *L, jf_queue *q, jf_allowance *a);
/* Without a limit: what waits for calls on purpose. */
static inline jf_allowance jf_allow_all(jf_waits waits)
{
  return (jf_allowance){ .left = INFINITY, .limit = INFINITY, .least = 1, .waits = waits };
}

#endif
