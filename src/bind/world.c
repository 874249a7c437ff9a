/* The processes that run a script together, in Lua. */
#include "bind/bind.h"

#include <string.h>

enum { MOST_BYTES = 512 };

/* world_set(hosts, port, rank | nil) */
JF_LUA(world_set)
{
  int n;
  const char **host = jf_push_list(L, 1, "world_set", "host", &n);
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
JF_LUA(world)
{
  int rank, size;
  jf_world_meet(L, &rank, &size);
  lua_pushinteger(L, rank);
  lua_pushinteger(L, size);
  return 2;
}

/* world_host(rank): the name of its host. */
JF_LUA(world_host)
{
  lua_pushstring(L, jfl_world_host((int)jf_need_whole(L, 1, "world_host", "rank", 0, 1 << 20)));
  return 1;
}

/* world_trouble(): why the ranks have parted, or nil. */
JF_LUA(world_trouble)
{
  lua_pushstring(L, jfl_world_trouble());
  return 1;
}

/* world_gather(text): a list of what each rank gave, as many bytes all of them. */
JF_LUA(world_gather)
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
