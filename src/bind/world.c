/* The processes that run a script together, in Lua. */
#include "bind/bind.h"

#include <string.h>

enum { MOST_BYTES = 512 };

/* world_set(hosts, port, rank | nil) */
static int l_world_set(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  const int n = (int)lua_objlen(L, 1);
  const char **host = lua_newuserdata(L, ((size_t)n + 1) * sizeof *host);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, 1, i + 1);
    host[i] = lua_tostring(L, -1);     /* the list keeps it */
    lua_pop(L, 1);
  }
  const int port = (int)jf_need_whole(L, 2, "world_set", "port", 0, 65535);
  const int rank = lua_isnoneornil(L, 3) ? -1 : (int)jf_need_whole(L, 3, "world_set", "rank", 0, n);
  jf_check(L, jfl_world_set(host, n, port, rank));
  return 0;
}

void jf_world_meet(lua_State *L, int *rank, int *size)
{
  jf_check(L, jfl_world_join(rank, size));
  if (!*rank) return;
  lua_getfield(L, LUA_REGISTRYINDEX, "jfl.quieten");
  if (lua_isfunction(L, -1)) lua_call(L, 0, 0);
  else lua_pop(L, 1);
}

/* world(): this rank, and how many there are. Meets the others first. */
static int l_world(lua_State *L)
{
  int rank, size;
  jf_world_meet(L, &rank, &size);
  lua_pushinteger(L, rank);
  lua_pushinteger(L, size);
  return 2;
}

/* world_host(rank): the name of its host. */
static int l_world_host(lua_State *L)
{
  lua_pushstring(L, jfl_world_host((int)jf_need_whole(L, 1, "world_host", "rank", 0, 1 << 20)));
  return 1;
}

/* world_trouble(): why the ranks have parted, or nil. */
static int l_world_trouble(lua_State *L)
{
  const char *text = jfl_world_trouble();
  if (text) lua_pushstring(L, text);
  else lua_pushnil(L);
  return 1;
}

/* world_gather(text): a list of what each rank gave, as many bytes all of them. */
static int l_world_gather(lua_State *L)
{
  int rank, size;
  size_t n = strlen(jf_need_string(L, 1, "world_gather", "text"));
  if (!n || n > MOST_BYTES) jf_raise(L, "world_gather: text must have 1 to %d bytes", MOST_BYTES);
  jf_check(L, jfl_world_join(&rank, &size));
  char *all = lua_newuserdata(L, n * (size_t)size);
  jf_check(L, jfl_world_gather(lua_tostring(L, 1), n, all));
  lua_createtable(L, size, 0);
  for (int i = 0; i < size; i++) {
    lua_pushlstring(L, all + (size_t)i * n, n);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

const luaL_Reg jf_world_functions[] = {
  { "world", l_world }, { "world_set", l_world_set }, { "world_host", l_world_host },
  { "world_trouble", l_world_trouble }, { "world_gather", l_world_gather }, { NULL, NULL },
};
