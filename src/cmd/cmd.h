/* The jfl command. */
#ifndef JF_CMD_H
#define JF_CMD_H

#include <lua.h>
#include <signal.h>

/* Of src/bind: makes the front end's modules known to require, without loading any. */
int luaopen_jfl_preload(lua_State *L);
/* Of src/bind: what waits in C heeds *asked; stop(L) shall clear it and raise an error. */
void jf_set_interrupt(lua_State *L, const volatile sig_atomic_t *asked, void (*stop)(lua_State *L));

/* ---- reading lines (line.c, history.c) ---- */

/* Pushes two functions. read(prompt, complete, fd, deliver) gives a line without its end, false for
   one given up with Ctrl-C, or nil at the end of input and the number of the signal that asked for
   it, or 0. On a terminal it edits; complete(before, columns) gives what goes on after the text
   before the cursor, and if that is "" a text that lists the ways it may. While it waits, deliver()
   is called when fd, which may be nil, becomes readable. keep(text) remembers what was typed. */
void jf_push_line_reader(lua_State *L);

/* Remembered lines in a file, one entry a line: what would break a line is written as \ooo. */
typedef struct jf_history {
  char path[1024];             /* "": none */
  char *last;                  /* entry, freed by jf_history_close */
} jf_history;
/* Calls add on each entry that the file keeps, oldest first. Without a file there are none. */
void jf_history_open(jf_history *h, int (*add)(const char *entry));
/* Adds one at the end of the file, unless it is the last one again: then 0. What cannot be written
   is forgotten. */
int jf_history_keep(jf_history *h, const char *entry);
void jf_history_close(jf_history *h);

/* ---- Ctrl-C (interrupt.c) ---- */

/* Makes this the state and the thread that Ctrl-C concerns. */
void jf_interrupt_open(lua_State *L);
/* lua_pcall during which Ctrl-C raises the error "interrupted". Where it finds no place to raise
   it, a second one ends the process. */
int jf_interrupt_call(lua_State *L, int n_arg, int n_result, int handler);
/* Whether Ctrl-C stopped a call since this was last asked. */
int jf_interrupt_came(void);

#endif
