/* The jfl command. */
#ifndef JF_CMD_H
#define JF_CMD_H

#include <lua.h>
#include <signal.h>

#include "cmd/options.h"

/* The library that edits lines, opened when it is needed. */
#define JF_LIBEDIT "libedit.so.2"

/* Of src/bind: makes the front end's modules known to require, without loading any. */
int luaopen_jfl_preload(lua_State *L);
/* Of src/bind: has functions that LuaJIT compiles wrongly interpreted. */
void jf_watch_miscompiled(lua_State *L);
/* Of src/bind: waits in C look at *asked and, once it is set, call stop(L), which must clear it and
   raise an error. */
void jf_set_interrupt(lua_State *L, const volatile sig_atomic_t *asked, void (*stop)(lua_State *L));

/* Prints the versions of jfl and LuaJIT, and which optional libraries are there. */
void jf_print_version(int with_parts);

/* ---- reading lines (line.c, history.c) ---- */

/* Pushes two functions.

   read(prompt, complete, fd, deliver) reads a line and gives it without its end. It gives false for
   a line given up with Ctrl-C, and at the end of input nil and the number of the signal that ended
   it, or 0. On a terminal the line can be edited. complete(before, columns), given the text before
   the cursor, gives the text to insert there and, if that is "", a list of what could follow, to be
   shown. While read waits it calls deliver() whenever fd, which may be nil, is readable.

   keep(text) adds what was typed to the history. */
void jf_push_line_reader(lua_State *L);

/* Whether what is written to this descriptor may have colours. */
int jf_has_colours(int fd);

/* The history: a file with one entry on each line. Characters that would end a line are written as
   \ooo. */
typedef struct jf_history {
  char path[1024];             /* "": none */
  char *last;                  /* entry, freed by jf_history_close */
} jf_history;
/* Calls add on each entry of the file, from the oldest on. A missing file is an empty one. */
void jf_history_open(jf_history *h, int (*add)(const char *entry));
/* Adds an entry at the end of the file and gives 1, or 0 if it equals the last one. It is not an
   error if the file cannot be written. */
int jf_history_keep(jf_history *h, const char *entry);
void jf_history_close(jf_history *h);

/* ---- scripts that nobody trusts (sandbox.c) ---- */

/* Does what "--sandbox", the first option, says: starts a process behind walls, in which it returns
   0 and leaves the rest of the command line, to go on with; here it waits for that one, gives the
   status with which to end, and returns 1. */
int jf_sandbox(jf_options *o, int *status);

/* ---- programs in one file (bundle.c) ---- */

/* Whether this program is one: its command line belongs to the script in it. */
int jf_is_bundle(void);
/* Pushes the digits that say where its parts lie. */
void jf_push_bundle_mark(lua_State *L);
/* Pushes a table of functions on files that Lua lacks. */
void jf_push_bundle_tools(lua_State *L);

/* ---- several processes (ranks.c) ---- */

/* Runs n processes of this program with these arguments, and again up to `restarts` times if one
   fails. Gives the status with which to end. */
int jf_run_ranks(int n, int restarts, char **argv);
/* Nothing that this process prints on standard output is seen any more, unless JFL_PRINT is all. */
void jf_quieten(void);
/* Keeps what jfl --ranks hears errors by from the programs that a rank starts. */
void jf_report_open(void);
/* Gives an error to jfl --ranks, which prints equal ones of several ranks once. Gives whether it
   went there. */
int jf_report(const char *message);

/* ---- Ctrl-C (interrupt.c) ---- */

/* Makes this the state and the thread that Ctrl-C concerns. */
void jf_interrupt_open(lua_State *L);
/* lua_pcall during which Ctrl-C raises the error "interrupted". Where it finds no place to raise
   it, a second one ends the process. */
int jf_interrupt_call(lua_State *L, int n_arg, int n_result, int handler);
/* Raises the error if Ctrl-C came during that and it was not raised yet. */
void jf_interrupt_heed(lua_State *L);
/* Whether Ctrl-C stopped a call since this was last asked. */
int jf_interrupt_came(void);

#endif
