/* Keeps which places of the Lua front end are reached. scripts/map/marks.lua has put a call of
   `__c(NUMBER)` at each place of the files that are embedded, each of which begins by HEAD and so
   gives its chunk for the function that is called. */
#include "cover.h"

#include "bind/other.h"

#include <lauxlib.h>
#include <string.h>

#include "gen/marks.h"

static char *marks;

static int l_mark(lua_State *L)
{
  const lua_Integer n = lua_tointeger(L, 1);
  if (marks && n >= 0 && n < COVER_MARKS) marks[n] = 1;
  return 0;
}

int cover_load(lua_State *L, const char *text, size_t size, const char *name, const char *mode)
{
  static const char head[] = "local __c = ...";
  static int is_open;
  const int status = luaL_loadbufferx(L, text, size, name, mode);
  if (status || size < sizeof head || memcmp(text, head, sizeof head - 1)) return status;
  if (!is_open++) marks = cover_share("lua", COVER_MARKS);
  lua_pushcclosure(L, l_mark, 0);
  lua_call(L, 1, 1);
  return 0;
}
