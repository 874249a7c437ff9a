/* What the files of the C module jfl.core share. It belongs to the thread that runs its lua_State.

   Every C function of the module has the state as upvalue 1. A function that raises holds nothing
   that needs freeing: an object of the core is put into a userdata that was made before it.

   The files call each other downwards only:

       module
       index  op  part  run  task  checkpoint  profile
       session  queue
       convert  graph  deliver
       failed
       calls
       request  notes  sample
       options  compress  output  picture  csv  system  text  tokenizer
       array    body
       args     state  collect
       kinds    error  interrupt */
#ifndef JF_BIND_H
#define JF_BIND_H

#include <lua.h>
#include <lauxlib.h>
#include <signal.h>

#include "bind/other.h"
#include "jfl.h"

/* Userdata types. A holder frees something of the core that must not outlive an error. */
typedef enum jf_object_kind {
  JF_ARRAY, JF_BLOB, JF_GRAPH, JF_JOB, JF_PLAN, JF_REQUEST, JF_HOLDER, JF_N_KIND
} jf_object_kind;

/* Every userdata starts with a tag, an address in the state that tells the kind. Comparing it costs
   half of what fetching and comparing the metatable does, and nothing else in Lua can have it.

   array is NULL before the first and after the last use; the next three are read from it once. */
typedef struct jf_larray {
  const void *tag;
  jfl_array *array;                /* counted */
  void *data;
  const jfl_shape *shape;
  jfl_dtype dtype;
  size_t owned;                    /* bytes that were accounted for; 0 for a view */
} jf_larray;

/* Its environment is the table that its blobs have as theirs too: {graph}. So a graph lives as long
   as its blobs, which need no finalizer. */
typedef struct jf_lgraph {
  const void *tag;
  jfl_graph *graph;                /* counted; NULL once finalized, maybe before its blobs */
  int part;                        /* the device, counted from 1, that the body describes alone, as
                                      others get arrays of other sizes; 0: all of them */
  char job[];                      /* the job's name */
} jf_lgraph;

typedef struct jf_lblob { const void *tag; jfl_value *value; jf_lgraph *owner; } jf_lblob;

typedef struct jf_holder {
  const void *tag;
  union {
    void *p;                       /* NULL: it holds nothing, yet or any more */
    char *text;
    jfl_checkpoint *checkpoint;
    jfl_csv *csv;
    jfl_encoding *encoding;
    jfl_loader *loader;
    jfl_output *output;
    jfl_pack *pack;
    jfl_profile *profile;
    jfl_report *report;
    jfl_request *request;
    jfl_tokenizer *tokenizer;
  };
  void (*drop)(void *p);
} jf_holder;

/* How the program around the state asks for what runs to end: it sets *asked to 1; stop clears that
   and raises the error. Or due(ctx), which any thread calls, gives other than 0; over raises the
   error. */
typedef struct jf_interrupt {
  const volatile sig_atomic_t *asked;        /* NULL: it asks by due alone */
  void (*stop)(lua_State *L);
  int (*due)(void *ctx);                     /* or NULL */
  void *ctx;
  void (*over)(lua_State *L);
} jf_interrupt;

/* Calls whose callbacks have not run, in the order of calls. Userdata are linked by their pointers;
   so that they live, the registry has a list of them. Whatever changes this is done in C, and
   allocates before it changes anything: an error that a debug hook or a finalizer raises, or memory
   that runs out, leaves it as it was. */
typedef struct jf_queue {
  struct jf_lrequest *head, *tail;
  uint64_t calls;                  /* made so far */
  int running;                     /* functions of requests that run, one within another */
  int in_body;                     /* a body runs, or something that belongs to it */
  struct jf_delivery *delivery;    /* of the innermost of them; NULL */
  int watched;                     /* a host watches the descriptor */
  int ending; uint64_t last;       /* calls after the last one are refused */
  int refused;                     /* how many were */
  int never_waits;                 /* a call for which there is no room is not made */
  int never_new;                   /* nor one whose plan is being made */
  int length, room;                /* of the queue; of the list in the registry */
  int told_length;                 /* the user was told that it is long */
  int failed, told, cap_failed;    /* errors kept; how many of them were raised; room for them */
  int overflow;                    /* errors beyond those that are kept */
  int warned;                      /* of the oldest of them the user was told */
  int ref[9];                      /* registry slots of what has to live */
} jf_queue;

/* A C function that runs functions of the user, each at this index of its stack. */
typedef struct jf_runner { lua_CFunction run; int index; } jf_runner;

#define JF_CORE "jfl.core"           /* registry: the module's table */

/* Defines a function of the module, jfl.core.NAME. The build lists the lines that begin so. */
#define JF_LUA(name) int jf_l_##name(lua_State *L)
#define FUNCTION(name) JF_LUA(name);
#include "gen/lualist.h"
#undef FUNCTION

/* One per lua_State, kept in the registry. */
typedef struct jf_state {
  jfl_session *session;            /* made at first need */
  unsigned generation;             /* sessions dropped so far, with their jobs and plans */
  int profiles;                    /* a profile begins with the session, */
  size_t profile_events;           /* and keeps the start of so many steps */
  int closed;                      /* lua_close has finalized this */
  int collecting;
  int pointed;                     /* Lua has got pointers to arrays; each keeps its array alive */
  jf_lgraph *traced;               /* the graph that ops append to; NULL: none */
  int traced_ref;                  /* registry slot of its environment */
  jf_interrupt *interrupt;         /* NULL: nobody asks */
  int ops_ref;                     /* registry slot of the op closures made so far, by name */
  jf_queue queue;
  jf_runner body, callback;        /* what runs these */
  size_t live, begin, limit;       /* bytes of arrays; how many make steps of a collection due, */
  double owed;                     /* a full one; kilobytes of steps that are due */
  char kind[JF_N_KIND];            /* whose addresses are the tags */
  int mt_ref[JF_N_KIND];           /* registry slots of the metatables */
  char complete[JF_BLOB + 1];      /* whether the front end has said what arrays, blobs do */
  int require_ref;                 /* registry slot of the global require, as it was at first */
} jf_state;

static inline jf_state *jf_state_of(lua_State *L)
{
  return lua_touserdata(L, lua_upvalueindex(1));
}

/* ---- errors (error.c) ---- */

/* Pushes "train.lua:12: ", the position of the first caller outside the front end, or "". */
const char *jf_where(lua_State *L);
/* Says that what the graph gets from here on is asked for at that line. */
void jf_set_line(lua_State *L, jfl_graph *g);
/* Replaces the string on top by what jfl_printable makes of it. */
void jf_make_printable(lua_State *L);
/* Raises a message, formatted as by lua_pushfstring (counts as %f), at the user's line. */
_Noreturn int jf_raise(lua_State *L, const char *fmt, ...);
/* Raises this thread's message unless s is JFL_OK. */
void jf_check(lua_State *L, jfl_status s);
/* Raises it with a prefix, "who: ", unless who is NULL. */
void jf_check_for(lua_State *L, jfl_status s, const char *who);
/* Raises it for an array that the message calls `what`, of which the error's argument is an
   element. */
void jf_check_element(lua_State *L, jfl_status s, const char *what);
int jf_l_fail(lua_State *L);

/* ---- the state (state.c) ---- */

/* Makes the state and pushes it; the registry keeps it. */
jf_state *jf_push_state(lua_State *L);
/* The state, where jfl.core was opened; NULL otherwise. For C functions outside of the module,
   which get it as upvalue 1 in order to use what is declared here. */
jf_state *jf_find_state(lua_State *L);
/* The state's session, made at first need. */
jfl_session *jf_session(lua_State *L);

/* ---- userdata (kinds.c) ---- */

/* Makes the metatable of a kind and leaves it on the stack. */
void jf_new_kind(lua_State *L, jf_state *st, jf_object_kind kind, lua_CFunction gc);
/* Pushes a userdata, zeroed but for its tag. */
void *jf_push(lua_State *L, jf_object_kind kind, size_t size);
/* The userdata at i if it is of that kind, else NULL. A light userdata has length 0. */
static inline void *jf_test(lua_State *L, int i, jf_object_kind kind)
{
  const void **p = lua_touserdata(L, i);
  return p && lua_objlen(L, i) >= sizeof *p && *p == &jf_state_of(L)->kind[kind] ? p : NULL;
}
/* "array", "graph", "table", "nothing"; for messages. */
const char *jf_type_name(lua_State *L, int i);
jf_holder *jf_push_holder(lua_State *L, void (*drop)(void *p));
/* Has h, which is on top, keep what the core has put into it, and returns 1; or raises why the core
   failed, as jf_check_for does. */
int jf_give_held(lua_State *L, jf_holder *h, jfl_status s, const char *who);
/* The holder at 1 of something with that drop, which a message calls `what`. */
jf_holder *jf_need_held(lua_State *L, void (*drop)(void *p), const char *who, const char *what);
void jf_drop_held(jf_holder *h);
void jf_drop_text(void *text);        /* what a holder of a text of the core needs */
/* Calls what the front end has under that name for the object at 1, with all that is on the stack;
   gives `results`, which are on top then. */
int jf_call_event(lua_State *L, const char *event, int results);
int jf_holder_gc(lua_State *L);

/* ---- arguments (args.c) ---- */

/* A string of n bytes, any of which may be zero; and one that ends at its only zero. */
const char *jf_need_bytes(lua_State *L, int i, const char *who, const char *what, size_t *n);
const char *jf_need_string(lua_State *L, int i, const char *who, const char *what);
double jf_need_number(lua_State *L, int i, const char *who, const char *what);
/* A whole number from lo to hi. */
int64_t jf_need_whole(lua_State *L, int i, const char *who, const char *what, double lo, double hi);
/* Which of some texts, ended by NULL, the one at i is. */
int jf_need_word(lua_State *L, int i, const char *who, const char *what, const char *const *words);
/* The field of that name of the table at i, 0 where it is nil: a number, a whole one from lo to hi,
   whether it is other than nil and false, which of some texts it is. */
double jf_number_field(lua_State *L, int i, const char *who, const char *name);
int64_t jf_whole_field(lua_State *L, int i, const char *who, const char *name, double lo,
                       double hi);
int jf_true_field(lua_State *L, int i, const char *name);
int jf_word_field(lua_State *L, int i, const char *who, const char *name,
                  const char *const *words);
int jf_is_number(lua_State *L, int i);      /* or a boolean, which counts as 0 or 1 */
double jf_to_number(lua_State *L, int i);
jfl_dtype jf_need_dtype(lua_State *L, int i, const char *who);
/* A table of whole numbers, or one number. */
void jf_need_shape(lua_State *L, int i, const char *who, jfl_shape *out);
/* Scripts say shapes in numbers, jfl.h in elements, which may be blocks of several: these two read
   and push the shape of something of dtype t. */
void jf_need_shape_of(lua_State *L, int i, const char *who, jfl_dtype t, jfl_shape *out);
void jf_push_shape_of(lua_State *L, jfl_dtype t, const jfl_shape *s);
/* Pushes a table of the extents, whose text is "(2, 3)". */
void jf_push_shape(lua_State *L, const jfl_shape *s);
/* Makes such a table of the one on top. */
void jf_make_shape(lua_State *L);
/* Whether a value is such a table; fails in no way. */
int jf_is_shape(lua_State *L, int i);
/* Set a field of the table on top; a NULL text sets none. */
void jf_set_string(lua_State *L, const char *key, const char *value);
void jf_set_number(lua_State *L, const char *key, double value);
void jf_set_flag(lua_State *L, const char *key, int value);        /* a boolean */
/* Pushes "(2, 3)". */
const char *jf_push_shape_text(lua_State *L, const jfl_shape *s);
int jf_shape_same(const jfl_shape *a, const jfl_shape *b);
int64_t jf_shape_size(const jfl_shape *s);
/* ---- arrays (array.c, convert.c, index.c) ---- */

/* Makes the metatable of arrays, the module's field array_mt. */
void jf_open_array(lua_State *L, jf_state *st, int module);
/* Gives that metatable its indexing, and the module the table of methods. */
void jf_open_index(lua_State *L, jf_state *st, int module);
/* Pushes a userdata without an array yet. */
jf_larray *jf_push_array(lua_State *L);
/* Puts a into b, which takes the reference. */
void jf_set_array(jf_larray *b, jfl_array *a);
/* Counts the bytes of b and collects garbage as far as is due, so each array must be in a userdata;
   collects all garbage; sets the limit by which it is due to what is live now, but no higher than
   `most` (collect.c). */
void jf_account(lua_State *L, jf_larray *b);
void jf_collect(lua_State *L);
void jf_limit_arrays(jf_state *st, size_t most);
/* Has b, which is on top, count as what the core has put into b->array, and returns 1; or raises
   why the core failed, as jf_check_for does. */
int jf_give_array(lua_State *L, jf_larray *b, jfl_status s, const char *who);
jf_larray *jf_push_new(lua_State *L, jfl_dtype t, const jfl_shape *s);
/* Pushes a copy of b, which a message calls `what`, under another dtype. */
jf_larray *jf_push_cast(lua_State *L, const jf_larray *b, jfl_dtype t, int lossless,
                        const char *what);
/* The array at i; anything else, or a freed one, is an error. */
jf_larray *jf_need_array(lua_State *L, int i, const char *who);
void jf_check_freed(lua_State *L, const jf_larray *b, const char *who);
/* Fails if b's elements are blocks, which are no numbers. */
void jf_need_numbers(lua_State *L, const jf_larray *b, const char *who);
/* The extent of b's first axis; a scalar is an error. */
int64_t jf_row_count(lua_State *L, const jf_larray *b, const char *who);
/* The array, number or nested table at i as an array of that dtype: itself, or pushed. */
jf_larray *jf_to_array(lua_State *L, int i, jfl_dtype t, const char *what);
/* Sets elements first .. first+n-1 to v, which a message calls `what`. */
void jf_fill(lua_State *L, const jf_larray *b, int64_t first, int64_t n, double v,
             const char *what);

/* ---- options (options.c) ---- */

/* Reads an attribute; a list leaves its numbers on the stack, which anchors them. */
void jf_read_arg(lua_State *L, int i, const char *who, const char *name, jfl_arg *out);
/* Reads a table of named attributes, nil being none; leaves an anchor or more on the stack. */
jfl_arg *jf_read_args(lua_State *L, int i, const char *who, int *n);

/* ---- graphs and ops (graph.c, node.c, op.c, op_list.c, part.c) ---- */

void jf_open_graph(lua_State *L, jf_state *st, int module);
jf_lgraph *jf_need_graph(lua_State *L, int i, const char *who);
jfl_mode jf_need_mode(lua_State *L, int i, const char *who);
/* The blob at i, of graph g, or of any if that is NULL. what: how a message calls it, such as
   "gradients: y". */
jf_lblob *jf_need_blob(lua_State *L, int i, const jf_lgraph *g, const char *what);
/* Pushes a blob userdata without a value, of the graph whose environment is at env. */
jf_lblob *jf_push_blob(lua_State *L, int env);

/* ---- sessions (session.c, run.c) ---- */

/* Their environment is the table {job}, so a plan's job userdata lives as long; that of a plan with
   an owner has more. No finalizers: jobs and plans belong to the session. */
enum { PLAN_JOB = 1, PLAN_CLASS, PLAN_READ, PLAN_WATCHES, PLAN_COMPILING, PLAN_SLOTS = 5 };

typedef struct jf_ljob {
  const void *tag;
  jfl_job *job;
  unsigned generation;             /* of the session */
  char name[];
} jf_ljob;

typedef struct jf_linput { const char *name; jfl_dtype dtype; const jfl_shape *shape; } jf_linput;

typedef struct jf_lplan {
  const void *tag;
  jfl_plan *plan;                  /* NULL once freed, and until it is made */
  jf_holder *compiling;            /* of the request that makes it, in the environment; or NULL */
  jf_ljob *job;
  int pinned;                      /* calls that are about to run it: it cannot be freed */
  int owned;                       /* own() gave it what calls need */
  int reads;                       /* own() gave it what makes the value of the results */
  int is_task;                     /* it stands for what is done among runs (task.c) */
  int n_watch;                     /* handlers that are shown values before the callback */
  double width;                    /* calls that may be under way; 0: any number */
  int n_in, n_out;
  jf_linput in[];
} jf_lplan;

void jf_open_session(lua_State *L, jf_state *st);
/* Sets item i + 1 of the list on top to what is known of a parameter. */
void jf_set_param(lua_State *L, int i, const jfl_param *p);
int jf_session_l_set(lua_State *L);
int jf_session_l_get(lua_State *L);
/* The plan at i; a freed one, or one of a session that was cleared, is an error. It waits for one
   that is being made, and raises why it cannot be made. */
jf_lplan *jf_need_plan(lua_State *L, int i, const char *who);
/* The plan at i without waiting: it may be yet to be made. */
jf_lplan *jf_need_plan_soon(lua_State *L, int i, const char *who);
/* Raises an error if the plan was freed meanwhile, or its session cleared. */
void jf_check_plan(lua_State *L, jf_lplan *p);

/* ---- requests (request.c) ---- */

/* What is in a request's environment. VALUE is the list of results, the one result or, if the run
   failed, the message; READ what is made of that list. */
enum { REQUEST_PLAN = 1, REQUEST_CALLBACK, REQUEST_ON_ERROR, REQUEST_VALUE, REQUEST_READ,
       REQUEST_SLOTS = 5 };

typedef struct jf_lrequest {
  const void *tag;
  jf_holder *run;                  /* of a jfl_request, in VALUE's place; NULL: it is over */
  jf_lplan *plan;
  struct jf_lrequest *next;        /* in the queue */
  int place;                       /* in the registry's list; 0: it is not in the queue */
  uint64_t number;                 /* of the call, from 1 */
  int n_out;                       /* results; of a task known once it is over */
  int n_watch, shown;              /* watch handlers; how many began */
  jfl_script_done done; void *ud;  /* of a call of C, which its host runs outside of Lua; NULL */
  uint8_t reads, single;           /* as the plan does; the one result is the value */
  uint8_t ok, is_read;             /* the run succeeded; READ is there */
  uint8_t has_callback;            /* one was registered */
  uint8_t busy;                    /* it was not made, as there was no room */
  uint8_t behind;                  /* it may end long after later calls: none waits for it */
  uint8_t told;                    /* its failure was raised, or nobody is to be told */
  uint8_t tries;                   /* how often its delivery failed before a function began */
} jf_lrequest;

/* NULL once the outcome is in the environment. It has no finalizer, its holder has one: so what a
   small run leaves behind is cheap to collect. */
static inline jfl_request *jf_run_of(const jf_lrequest *r) { return r->run ? r->run->p : NULL; }

static inline int jf_is_over(const jf_lrequest *r)
{
  return !jf_run_of(r) || jfl_request_done(jf_run_of(r));
}

enum { JF_FEW = 16 };              /* arrays kept on the C stack */

void jf_open_request(lua_State *L, jf_state *st);
jf_lrequest *jf_need_request(lua_State *L, int i, const char *who);
/* Pushes a request of the plan at that index, without a run. */
jf_lrequest *jf_push_request(lua_State *L, int plan);
/* Pushes a holder for a run of the request at i; returns where jfl_submit is to put it. */
jfl_request **jf_push_run(lua_State *L, int i);
/* Takes the run out of its holder. */
jfl_request *jf_take_run(lua_State *L, int i);
/* The environment's slot of the userdata at i: pushes its value, or pops one into it, for which no
   memory is needed. */
void jf_get_slot(lua_State *L, int i, int slot);
void jf_set_slot(lua_State *L, int i, int slot);
/* Room for n arrays: few, or an array that is pushed. */
jfl_array **jf_need_room(lua_State *L, jfl_array **few, int n);
/* Pushes userdata for the results of a run; returns their stack index. */
int jf_push_results(lua_State *L, const jf_lrequest *r);
/* Gives the request at i the results, which it takes, in the userdata at `at`; counts their
   bytes. */
void jf_keep_results(lua_State *L, int i, int at, jfl_array *const *out);
void jf_account_results(lua_State *L, const jf_lrequest *r, int at);
/* Pops the message of a run that failed. */
void jf_keep_failure(lua_State *L, int i);
/* Waits for the request at i and keeps its outcome. */
void jf_settle(lua_State *L, int i);
/* Pushes the value of a settled request, or its message. */
void jf_push_value(lua_State *L, int i);

/* ---- callbacks (queue.c, deliver.c, calls.c) ---- */

void jf_open_queue(lua_State *L, jf_state *st);
/* Makes room in the queue for one more call. */
void jf_reserve_call(lua_State *L);
/* Puts the request at i there, by its number; as the latest call if it has none. Nothing is
   allocated. */
void jf_enqueue(lua_State *L, int i);
/* Pops why the request at i is not made; nobody need be told. */
void jf_refuse(lua_State *L, int i);
/* Waits until no files are being written that somebody may read. */
void jf_wait_for_files(lua_State *L);
/* What an entry waits for: nothing; runs; also for what is done behind them. */
typedef enum jf_waits { JF_WAITS_NOT, JF_WAITS_FOR_RUNS, JF_WAITS_FOR_ALL } jf_waits;
/* What an entry may spend on functions of other calls: it begins `least` of them, and further ones
   as long as there are seconds left, which waits for runs do not use up. The user is told
   of one that takes longer than the limit. */
typedef struct jf_allowance {
  double left, limit;
  double ended;                    /* of jf_now: when the function before ended; 0: none did */
  int least;
  jf_waits waits;                  /* where the oldest call is not over */
  int behind;                      /* functions of earlier calls are left */
} jf_allowance;
/* By flow.config.callback_seconds, for an entry that is on its way to something else. */
jf_allowance jf_allow(lua_State *L, jf_waits waits);
/* Runs functions of the calls made so far, as far as they are allowed; their errors are kept. The
   plan stays meanwhile. */
void jf_run_due(lua_State *L, jf_lplan *p, jf_allowance *a);
/* Whether the job of p has as many calls under way as it may. */
int jf_is_full(lua_State *L, const jf_lplan *p);
/* Shows the request at i, which is in the queue, to its watch handlers, and takes it out; if one of
   them fails the rest stays due. */
void jf_show(lua_State *L, int i);

/* ---- bodies (body.c) ---- */

void jf_open_body(jf_state *st);

/* ---- what LuaJIT compiles wrongly (miscompiled.c) ---- */

/* Leaves the function on top and those within it to the interpreter where LuaJIT's compiler would
   get them wrong. */
void jf_spare_miscompiled(lua_State *L);
/* Does so for each function that L parses from now on, by the event "bc" of jit.attach. For states
   of jfl's own. */
void jf_watch_miscompiled(lua_State *L);

/* ---- ending waits (interrupt.c) ---- */

/* For the program around a state, before it opens jfl.core. */
void jf_set_interrupt(lua_State *L, const volatile sig_atomic_t *asked, void (*stop)(lua_State *L));
void jf_open_interrupt(lua_State *L, jf_state *st);
/* Has waits end when due(ctx), such as a clock, says so, too; once jfl.core is open. */
void jf_set_due(lua_State *L, jf_state *st, int (*due)(void *ctx), void *ctx,
                void (*over)(lua_State *L));
/* Has synchronous runs of the state's session end early when it is asked for. */
void jf_share_interrupt(jf_state *st);
/* Seconds that a wait sleeps before it looks again whether it was asked to end. */
#define JF_SLICE 0.05
/* Raises the error if it was asked for; the second is for loops over elements, of which it looks
   before one in 2^14. */
void jf_heed_interrupt(lua_State *L);
static inline void jf_heed_at(lua_State *L, int64_t i)
{
  if (!(i & ((1 << 14) - 1))) jf_heed_interrupt(L);
}
/* Whether the error at i is how the command or luajit stops a program, or came as a clock did. */
int jf_is_interruption(lua_State *L, int i);
/* jfl_session_wait, and a wait for all pending runs; both raise the error when it is asked for. */
void jf_wait(lua_State *L, const jfl_request *r, double seconds);
void jf_wait_for_all(lua_State *L);

/* ---- lists of texts (notes.c) ---- */

/* Room for n things in a userdata that is pushed; it may be followed by an error. */
void *jf_push_room(lua_State *L, int n, size_t size);
/* The strings of the list at i, in a userdata that is pushed; nothing is an empty list. */
const char **jf_push_list(lua_State *L, int i, const char *who, const char *what, int *n);
/* Pushes an array of those in the list at index i, which keeps them, one for each name. */
jfl_array **jf_push_arrays(lua_State *L, int i, const char *who, const char *const *names, int n);
/* The notes whose keys and values are the lists at i and i + 1, in a userdata that is pushed. */
const jfl_note *jf_push_notes(lua_State *L, int i, int *n);

/* ---- pictures (picture.c) and ranks (world.c) ---- */

/* Reads { fit =, channels =, height =, width =, shorter =, area =, aspect =, flip =, planes =,
   dtype = } at i. */
jfl_picture_spec jf_need_picture_spec(lua_State *L, int i);

/* Meets the other ranks and tells which one this is, of how many; all but the first print nothing
   from then on. */
void jf_world_meet(lua_State *L, int *rank, int *size);

#endif
