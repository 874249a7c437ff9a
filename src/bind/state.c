/* The module's state, one for each lua_State, and the session in it. */
#include "bind/bind.h"

#include <string.h>

static const char key[] = "jfl.state";       /* registry: the state */

/* Ends the session when the lua_State is closed, after the run in progress. The memory of the state
   stays until later finalizers, which see that there is no session, have run. */
static int state_gc(lua_State *L)
{
  jf_state *st = lua_touserdata(L, 1);
  jfl_session *s = st->session;
  st->session = NULL;
  st->generation++;
  st->closed = 1;
  jfl_session_free(s);
  return 0;
}

jf_state *jf_push_state(lua_State *L)
{
  jf_state *st = lua_newuserdata(L, sizeof *st);
  memset(st, 0, sizeof *st);
  lua_newtable(L);
  lua_pushcfunction(L, state_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, key);
  lua_newtable(L);
  st->ops_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  return st;
}

jf_state *jf_find_state(lua_State *L)
{
  lua_getfield(L, LUA_REGISTRYINDEX, key);
  jf_state *st = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return st;
}

jfl_session *jf_session(lua_State *L)
{
  jf_state *st = jf_state_of(L);
  if (st->closed) jf_raise(L, "the lua state is closing");
  if (!st->session) {
    int rank, size;
    jf_check(L, jfl_session_new(&st->session));
    jf_world_meet(L, &rank, &size);
    jf_share_interrupt(st);
    if (st->profiles) jf_check(L, jfl_profile_start(st->session, st->profile_events));
    st->profiles = 0;
  }
  return st->session;
}
