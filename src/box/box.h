/* The restricted state of a script: a second Lua state, in which texts run that nobody trusts. It
   has no library that reaches the system, and no value of the first state, the front end's: what
   goes from one to the other is copied (numbers, texts, tables) or wrapped (functions, objects). So
   whatever a text does to a value that it has, the front end's own tables and cdata are out of its
   reach. What a wrapped object lets a text do is decided by lua/jfl/sandbox/gate.lua, which runs in
   the front end's state.

   The files call each other downwards: library.c; catch.c, chunk.c and pattern.c; cross.c;
   meter.c. */
#ifndef JF_BOX_H
#define JF_BOX_H

#include <signal.h>

#include <lua.h>
#include <lauxlib.h>

#include "base/base.h"
#include "bind/other.h"

/* ---- how much a script may do (meter.c) ---- */

typedef enum jf_over {
  JF_NOT_OVER, JF_OVER_INSTRUCTIONS, JF_OVER_SECONDS, JF_OVER_ASKED
} jf_over;

/* Limits of what one entry from C may use; 0: none. Owner thread, but for the deadline, `over` and
   `entered`. */
typedef struct jf_meter {
  double most_instructions, most_seconds;
  double instructions;         /* run since the entry, */
  double owed;                 /* and those that were not looked at yet */
  double grace;                /* left to the front end */
  double deadline;             /* of jf_now, for the entry, and after it for what other threads do;
                                  INFINITY: none; atomic, as are the next two */
  jf_over over;                /* which limit was passed, or that another thread asked for the
                                  end, */
  const sig_atomic_t *asked;   /* by a number above 0; NULL: none can */
  int entered;                 /* an entry is under way */
  lua_State *state[2];         /* those that it watches, or NULL: a front end, a restricted state */
  jf_budget *budget;           /* the memory that both may take */
  size_t relief;               /* bytes in use at which garbage is collected */
} jf_meter;

/* The meter of a state, which its allocator has as its user data. */
jf_meter *jf_meter_of(lua_State *L);
/* From here on L is watched: its code is interpreted, since compiled loops do not ask. */
void jf_meter_watch(jf_meter *m, lua_State *L, int i);
void jf_meter_begin(jf_meter *m);
void jf_meter_end(jf_meter *m);
/* Whether a limit is passed; on any thread. */
int jf_meter_is_due(void *meter);
/* The seconds that are left, at most 0 once a limit is passed; INFINITY: any number. On any
   thread. */
double jf_meter_left(const jf_meter *m);
/* Whether a limit is passed, with which the entry then ends. */
int jf_meter_check(jf_meter *m);
/* Raises the error of a limit that is passed; in L, which may be a state of the host. */
void jf_meter_stop_in(jf_meter *m, lua_State *L);
void jf_meter_stop(lua_State *L);
/* Counts work that was done in C, and raises that error. A step is what takes as long as an
   instruction of Lua: JF_STEP_BYTES are the bytes that are copied or compared in that time. */
enum { JF_STEP_BYTES = 64, JF_STEPS = 4096 };
static inline void jf_meter_step(jf_meter *m, lua_State *L, double steps)
{
  if ((m->owed += steps) >= JF_STEPS) jf_meter_stop_in(m, L);
}
void jf_meter_charge(lua_State *L, double steps);
/* What catches errors calls this after each, with the error on top. */
void jf_meter_caught(lua_State *L);
/* Collects garbage of both states where much of the memory is in use, or where so many bytes more
   would not fit. */
void jf_meter_relieve(jf_meter *m);
void jf_meter_make_room(lua_State *L, double bytes);
/* "the script was ended: it ran for more than 1 s", or "interrupted"; NULL: neither. It may be
   written to `out` of `size` bytes. */
const char *jf_meter_says(const jf_meter *m, char *out, size_t size);

/* ---- values that cross (cross.c) ---- */

enum {
  JF_NESTED = 48,              /* calls within calls that go through C */
  /* Slots that reading a value takes of the stack it is on, so that nothing there grows meanwhile.
     Collecting garbage may make a stack smaller: what may do so is followed by a check. */
  JF_CROSS_ROOM = 136
};

/* What became of a value that is no number, text, boolean or nil. */
typedef enum jf_crossed {
  JF_PLAIN_TABLE,              /* nothing: it is a table to be copied */
  JF_CROSSED,                  /* it was pushed, */
  JF_CROSSED_ANEW              /* as another than the last time */
} jf_crossed;

/* Values that cross together. */
typedef struct jf_crossing jf_crossing;
struct jf_crossing {
  lua_State *from, *to;        /* to runs */
  void *owner;                 /* what `other` needs */
  jf_crossed (*other)(jf_crossing *x, int i);    /* pushes on to what the value at i is there */
  jf_meter *meter;
  int inward;                  /* towards the text */
  double most;                 /* bytes that to may take; 0: its own budget says */
  double bytes;                /* taken so far */
  int first, memo;             /* on to: the first value; what they became by address, or 0 */
};

/* Pushes on to the values at first .. first + n - 1 of from, which must have room for
   JF_CROSS_ROOM slots. */
void jf_cross_values(jf_crossing *x, int first, int n);
/* Counts so many bytes of a copy, before it is made. */
void jf_cross_count(jf_crossing *x, double bytes);
/* What L has for values of another state, by their addresses there, as long as L uses it: makes the
   table in L's registry; pushes what it has for an address, or gives 0; keeps the value on top. */
void jf_cross_open_made(lua_State *L, const char *key);
int jf_cross_find_made(lua_State *L, const char *key, const void *at);
void jf_cross_keep_made(lua_State *L, const char *key, const void *at);

typedef struct jf_box {
  lua_State *front, *inner;    /* inner is NULL once it is closed */
  lua_State *running;          /* the coroutine of inner that runs, or waits for the front end */
  int nested;                  /* entries, of either state, one within another */
  int front_top, inner_top;    /* of the stacks, where the other state was entered last */
} jf_box;

/* Opens it: both states learn where the box is. Called in inner, protected. */
void jf_cross_open(lua_State *inner, jf_box *box);
void jf_cross_open_front(lua_State *front, jf_box *box);
/* Pushes the metatable of all wrapped objects in that state. */
void jf_cross_push_meta(lua_State *L);
/* parameters(f), in the front end: the names of the parameters of a function of the inner state;
   nothing for any other. */
int jf_cross_l_parameters(lua_State *F);
/* Pushes on inner, in which this must be called, what the value at i of the front end is there. */
void jf_cross_in(jf_box *box, int i);
/* Pushes in the front end, in which this must be called, what the value at i of inner is there. */
void jf_cross_out(jf_box *box, int i);
/* lua_call in C functions that Lua functions may call again and again: they raise an error before
   the C stack ends. */
void jf_box_call(lua_State *L, int n_arg, int n_result);
/* As jf_box_call, but gives a status and leaves the error as one value. */
int jf_box_try(lua_State *L, int n_arg, int n_result);
jf_box *jf_box_of(lua_State *L);

/* ---- what a text finds there (library.c, catch.c, chunk.c, pattern.c) ---- */

/* Makes the globals of the inner state. */
void jf_box_libraries(lua_State *L);
/* Makes a function of the table at `from` that catches errors, such as "pcall", one of the table
   on top that asks the meter after each. And all of them, where a text shares the state of its
   front end. */
void jf_box_catcher(lua_State *L, int from, const char *name);
void jf_box_catchers(lua_State *L);
/* luaL_loadbufferx, of texts alone, whose length is counted. */
int jf_box_load(lua_State *L, const char *text, size_t n, const char *name);
extern const luaL_Reg jf_pattern_functions[];

#endif
