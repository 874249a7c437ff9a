/* The Lua front end as embedded in the binary; the build makes the table from lua/jfl. */
#ifndef JF_EMBED_H
#define JF_EMBED_H

#include <stddef.h>

typedef struct jf_lua_module {
  const char *name, *chunk;        /* "jfl.job.job" for require, "=jfl/job/job.lua" for messages */
  const char *text;
  size_t size;
} jf_lua_module;

extern const jf_lua_module jf_lua_modules[];   /* ended by a NULL name */

#endif
