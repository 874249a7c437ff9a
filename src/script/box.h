/* The restricted state of a script: a second Lua state, in which texts run that nobody trusts. It
   has no library that reaches the system, and no value of the first state, the front end's: what
   goes from one to the other is copied (numbers, texts, tables) or wrapped (functions, objects). So
   whatever a text does to a value that it has, the front end's own tables and cdata are out of its
   reach. What a wrapped object lets a text do is decided by lua/jfl/sandbox/gate.lua, which runs in
   the front end's state.

   The files call each other downwards: restrict.c, library.c, pattern.c and cross.c, meter.c. */
#ifndef JF_BOX_H
#define JF_BOX_H

#include <lua.h>
#include <lauxlib.h>

#include "base/base.h"
#include "bind/other.h"

/* ---- how much a script may do (meter.c) ---- */

typedef enum jf_over { JF_NOT_OVER, JF_OVER_INSTRUCTIONS, JF_OVER_SECONDS } jf_over;

/* Limits of what one entry from C may use; 0: none. Owner thread, but for the deadline. */
typedef struct jf_meter {
  double most_instructions, most_seconds;
  double instructions;         /* run since the entry */
  double deadline;             /* of CLOCK_MONOTONIC; INFINITY: none, or nothing is entered */
  jf_over over;                /* which limit was passed */
  lua_State *state[2];         /* those that it watches, or NULL */
  jf_budget *budget;           /* the memory that both may take */
  size_t relief;               /* bytes in use at which garbage is collected */
} jf_meter;

/* The meter of a state, as its allocator was given it. */
jf_meter *jf_meter_of(lua_State *L);
/* From here on L is watched: its code is interpreted, since compiled loops do not ask. */
void jf_meter_watch(jf_meter *m, lua_State *L, int i);
void jf_meter_begin(jf_meter *m);
void jf_meter_end(jf_meter *m);
/* Whether the deadline has passed; on any thread. */
int jf_meter_is_due(void *meter);
/* Whether a limit is passed; what runs is ended then. */
int jf_meter_check(jf_meter *m);
/* Counts work that was done in C, and raises the error where a limit is passed. */
void jf_meter_charge(lua_State *L, double instructions);
/* Raises the error of a meter that is over, or that the deadline has passed. */
void jf_meter_stop(lua_State *L);
/* Collects garbage of both states where much of the memory is in use. */
void jf_meter_relieve(jf_meter *m);
/* "ran for more than 1 s"; NULL: no limit was passed. Written to `out` of `size` bytes. */
const char *jf_meter_says(const jf_meter *m, char *out, size_t size);

/* ---- values that cross (cross.c) ---- */

enum {
  JF_NESTED = 48,              /* calls within calls that go through C */
  /* Slots that reading a value takes of the stack it is on, so that nothing there grows meanwhile.
     Collecting garbage may make a stack smaller: what may do so is followed by a check. */
  JF_CROSS_ROOM = 136
};

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
/* Pushes on inner, in which this must be called, what the value at i of the front end is there. */
void jf_cross_in(jf_box *box, int i);
/* The same the other way round, called in the front end. */
void jf_cross_out(jf_box *box, int i);
/* lua_call in C functions that Lua functions may call again and again: they raise an error before
   the C stack ends. */
void jf_box_call(lua_State *L, int n_arg, int n_result);
jf_box *jf_box_of(lua_State *L);

/* ---- what a text finds there (library.c, pattern.c) ---- */

/* Makes the globals of the inner state. */
void jf_box_libraries(lua_State *L);
extern const luaL_Reg jf_pattern_functions[];

#endif
