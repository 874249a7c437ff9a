/* Files that keep which places are reached. */
#ifndef COVER_H
#define COVER_H

#include <stddef.h>

/* Bytes shared by all processes that take this name, in the folder that JFL_COVER names; NULL
   without one. */
void *cover_share(const char *name, size_t size);

/* What src/bind/module.c calls in place of luaL_loadbufferx. */
struct lua_State;
int cover_load(struct lua_State *L, const char *text, size_t size, const char *name,
               const char *mode);

#endif
