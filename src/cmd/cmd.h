/* The jfl command. */
#ifndef JF_CMD_H
#define JF_CMD_H

#include <lua.h>

/* Of src/bind: makes the front end's modules known to require, without loading any. */
int luaopen_jfl_preload(lua_State *L);

/* Pushes a function that reads a line: read(prompt, complete, fd, deliver) gives the line without its
   end, false for a line given up with Ctrl-C, or nil at the end of input. On a terminal it edits and
   keeps history; complete(word) lists the words that may follow from one; while nothing is typed,
   deliver() is called when fd, which may be nil, becomes readable. Between two lines, Ctrl-C goes to
   on_interrupt. */
void jf_push_line_reader(lua_State *L, void (*on_interrupt)(int));

#endif
