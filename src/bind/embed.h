/* The Lua front end as embedded in the binary, each file compressed as gzip does; the build makes
   the table from lua/jfl. */
#ifndef JF_EMBED_H
#define JF_EMBED_H

typedef struct jf_lua_module {
  const char *name, *chunk;        /* "jfl.job.job" for require, "=jfl/job/job.lua" for messages */
  const char *packed, *end;
} jf_lua_module;

extern const jf_lua_module jf_lua_modules[];   /* ended by a NULL name */

#endif
