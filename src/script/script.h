/* A script: a Lua state of the library's own, which C programs run texts in. What the files of the
   room share. They call each other downwards: sandbox.c and call.c; job.c and value.c; script.c;
   restrict.c and lua.c; allocate.c.

   Everything is entered through jf_script_enter, in which errors of Lua end. So a function that is
   entered may raise, and holds nothing then that needs freeing. */
#ifndef JF_SCRIPT_H
#define JF_SCRIPT_H

#include <pthread.h>
#include <stddef.h>

#include "base/base.h"
#include "base/need.h"
#include "bind/bind.h"
#include "box/box.h"

/* Of src/bind. */
int luaopen_jfl_core(lua_State *L);
int luaopen_jfl_preload(lua_State *L);

/* Belongs to the thread that made it, but for what says otherwise. */
struct jfl_script {
  jf_tag tag;
  lua_State *L;
  jf_state *state;             /* of src/bind, in L */
  pthread_t owner;
  jfl_script_options options;  /* its texts are copies */
  jf_meter meter;              /* what it does, and the memory that it has */
  int reserved;                /* some of that is kept, to collect garbage with, */
  int spare;                   /* and some for an entry that finds nothing else left */
  jf_budget *outer;            /* that of the thread, while Lua runs */
  jf_box *box;                 /* its restricted state, or NULL */
  struct jf_reach *reach;      /* with one: what it may open */
  lua_State *outside;          /* of a sandbox: the state that has entered it, or NULL */
  int *dropped;                /* numbers of functions of that state that the box has no more, */
  int n_dropped, cap_dropped, n_given;       /* and how many numbers there are, those among them */
  const jf_state *outside_state;
  int hosted;                  /* they come from the host's allocator */
  struct jf_early *early;      /* what states took while they were made */
  int entered;                 /* Lua runs */
  int delivering;              /* callbacks of C run */
  int closing;                 /* what its jobs still do is of no use */
  int freed;                   /* to be freed once nothing of it runs */
  lua_CFunction entry;         /* what is entered, */
  void *arg;                   /* and its argument */
  char *traceback;             /* of the last error, or NULL */
  sig_atomic_t asked;          /* 1: to be interrupted, which any thread may write over a 0: a call
                                  of C is under way; -1: none is */
  int host;                    /* registry slot of jfl.job.host, or 0 */
  struct jfl_script_job *jobs; /* handles that were given out */
};

/* ---- memory (allocate.c) ---- */

/* The script of a meter, which the allocators of its states have. */
static inline jfl_script *jf_script_with(void *meter)
{
  return (jfl_script *)((char *)meter - offsetof(jfl_script, meter));
}
/* A new state; NULL: memory ran out. And frees what states took
   while they were made, once they are closed. */
lua_State *jf_script_new_state(jfl_script *s);
void jf_script_free_early(jfl_script *s);

/* ---- entering (script.c) ---- */

/* Runs entry in Lua with the state as upvalue 1 and the script as upvalue 2, whose field arg it
   reads; n_result values stay on the stack. Errors of it become a status. */
jfl_status jf_script_enter(jfl_script *s, lua_CFunction entry, void *arg, int n_result);
/* Whether a public function may enter it. */
jfl_status jf_script_check(const char *function, const jfl_script *s);
#define JF_NEED_SCRIPT(s) JF_TRY(jf_script_check(__func__, s))
/* Whether the call that is under way is to be interrupted, which is told once. */
int jf_script_is_asked(jfl_script *s);
/* The end of a public function that has entered s: frees it where that was asked for meanwhile.
   Gives code. */
jfl_status jf_script_left(jfl_script *s, jfl_status code);
static inline jfl_script *jf_script_of(lua_State *L)
{
  return lua_touserdata(L, lua_upvalueindex(2));
}

/* ---- jobs (job.c) ---- */

struct jfl_script_job {
  jf_tag tag;
  jfl_script *script;
  struct jfl_script_job *next;
  char name[];
};

/* Whether a public function may enter its script. */
jfl_status jf_job_check(const char *function, const jfl_script_job *j);
#define JF_NEED_JOB(j) JF_TRY(jf_job_check(__func__, j))

/* What a call of a job is about to run. */
typedef struct jf_prepared {
  jfl_plan *plan;
  int n_result;
  int watched;                 /* handlers are to be shown values */
  jfl_array **in;              /* the arguments and what goes behind them; from jf_new */
  int n_in, n_rate;            /* the last n_rate are counted */
} jf_prepared;
/* Finds out, within an entry, on an empty stack, at whose bottom it leaves the plan's userdata.
   What jf_prepared_drop frees is set only where it succeeds. */
void jf_job_prepare(lua_State *L, const jfl_script_job *j, jfl_array *const *in, int n_in,
                    jf_prepared *out);
void jf_prepared_drop(jf_prepared *p);
/* After a call that was prepared and not made. */
void jf_job_recount(jfl_script_job *j);
/* Pushes a function of jfl.job.host. */
void jf_push_host(lua_State *L, jfl_script *s, const char *name);

/* ---- what it may do, and how much (restrict.c) ---- */

/* Called before anything runs: from then on all that works for the script opens what it may. */
jfl_status jf_script_confine(jfl_script *s);
/* Called in Lua when all is open, before the first text. It may raise. */
void jf_script_restrict(lua_State *L, jfl_script *s);
/* Called around what is entered, outside of Lua: they must not raise. */
void jf_script_begin(jfl_script *s);
void jf_script_end(jfl_script *s);
/* Closes the restricted state before, and frees it, with what it may open, after L is closed. */
void jf_script_close(jfl_script *s);
void jf_script_free_box(jfl_script *s);
/* Why the last entry was ended: JFL_ELIMIT, with this thread's error set, or JFL_OK: by something
   else. */
jfl_status jf_script_limit(jfl_script *s);
/* Pushes a function of L that runs the text in the state that is meant for it, or a message. Gives
   what luaL_loadbufferx would. */
int jf_script_load(lua_State *L, jfl_script *s, const char *text, size_t n, const char *name);
/* Pushes what has a path there, "rates.hidden", which begins with a global, as it is in L. */
void jf_script_global(lua_State *L, jfl_script *s, const char *path);
/* Pops a value of L and gives what it is there that path. */
void jf_script_set_global(lua_State *L, jfl_script *s, const char *path);

#endif
