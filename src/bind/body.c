/* Bodies of jobs: the function that runs them, and what is set while one runs. */
#include "bind/bind.h"

enum { WITHIN_FUNCTION = 5 };

/* Pops a context and makes it the one that the table at 1 tells of under the key at 2. */
static void set_context(lua_State *L)
{
  lua_pushvalue(L, 2);
  lua_insert(L, -2);
  lua_rawset(L, 1);
}

/* within(t, key, context, graph | nil, f, ...): calls f while t[key] is the context and ops append
   to the graph. Returns as pcall does. f cannot yield: what is set here would be gone by the time
   it is resumed. t must have the key, so that no memory is needed to set it back. */
JF_LUA(within)
{
  jf_state *st = jf_state_of(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkany(L, 5);
  jf_lgraph *g = lua_isnil(L, 4) ? NULL : jf_need_graph(L, 4, "within"), *outer = st->traced;
  int in_body = st->queue.in_body, n = lua_gettop(L) - WITHIN_FUNCTION;
  luaL_checkstack(L, n + 8, "too many arguments");
  lua_pushvalue(L, 2);
  lua_rawget(L, 1);
  lua_insert(L, 6);                              /* the outer context */
  lua_rawgeti(L, LUA_REGISTRYINDEX, st->traced_ref);
  lua_insert(L, 7);                              /* the outer graph's environment */
  lua_pushvalue(L, WITHIN_FUNCTION);
  lua_insert(L, 8);
  if (lua_isnil(L, 6)) jf_raise(L, "within: the table has no such key");
  if (g) lua_getfenv(L, 4);
  else lua_pushboolean(L, 0);
  lua_rawseti(L, LUA_REGISTRYINDEX, st->traced_ref);
  st->traced = g;
  lua_pushvalue(L, 3);
  set_context(L);
  st->queue.in_body = lua_toboolean(L, 3);
  int status = lua_pcall(L, n, LUA_MULTRET, 0);
  st->queue.in_body = in_body;
  lua_pushvalue(L, 6);
  set_context(L);
  lua_pushvalue(L, 7);
  lua_rawseti(L, LUA_REGISTRYINDEX, st->traced_ref);
  st->traced = outer;
  lua_pushboolean(L, !status);
  lua_replace(L, 7);
  return lua_gettop(L) - 6;
}

/* leave(t, key): leaves the callback or the body that runs, which is not returned to. */
JF_LUA(leave)
{
  jf_state *st = jf_state_of(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  lua_pushboolean(L, 0);
  set_context(L);
  lua_pushboolean(L, 0);
  lua_rawseti(L, LUA_REGISTRYINDEX, st->traced_ref);
  st->traced = NULL;
  return 0;
}

void jf_open_body(jf_state *st) { st->body = (jf_runner){ jf_l_within, WITHIN_FUNCTION }; }
