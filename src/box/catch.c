/* What catches errors, pcall, xpcall and others, as functions that ask the meter after each one. */
#include "box/box.h"

#include <string.h>

/* caught(ok, ...), of what a protected call gave: gives it back, unless a limit was passed. */
static int l_caught(lua_State *L)
{
  if (!lua_toboolean(L, 1)) jf_meter_caught(L);
  return lua_gettop(L);
}

/* A handler of xpcall: calls upvalue 1, unless a limit was passed. That has a stack of its own: on
   one that has overflowed LuaJIT writes behind its end once an error is caught there. And nothing
   is raised here: LuaJIT would call this anew for that error. */
static int l_handle(lua_State *L)
{
  if (jf_meter_check(jf_meter_of(L))) return 1;
  lua_settop(L, 1);
  lua_State *co = lua_newthread(L);
  lua_insert(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 2);
  lua_xmove(L, co, 2);
  if (jf_box_try(co, 1, 1)) return lua_pushliteral(L, "error in error handling"), 1;
  lua_xmove(co, L, 1);
  return 1;
}

/* Runs a handler in a state that is not restricted, whose handlers may look at the stack. */
static int l_handle_here(lua_State *L)
{
  if (jf_meter_check(jf_meter_of(L))) return 1;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

static int l_handler(lua_State *L)
{
  if (!lua_isfunction(L, 1))
    return luaL_error(L, "bad argument #2 to 'xpcall' (function expected, got %s)",
                      luaL_typename(L, 1));
  lua_settop(L, 1);
  lua_pushcclosure(L, jf_box_of(L) ? l_handle : l_handle_here, 1);
  return 1;
}

/* Pushes the text of a function in Lua, so that coroutines can yield in it, whose frame has room
   that it does not use. LuaJIT leaves a stack as large as it became by overflowing where an error
   is caught at its very end, makes it smaller later, and then writes behind its end. */
static void push_around(lua_State *L, int handles)
{
  enum { ROOM = 150 };
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "local catch, caught, handler = ... return function(");
  luaL_addstring(&b, handles ? "f, h, ...)" : "...)");
  luaL_addstring(&b, " if nil then local a0");
  for (int i = 1; i < ROOM; i++) {
    lua_pushfstring(L, ", a%d", i);
    luaL_addvalue(&b);
  }
  luaL_addstring(&b, " end return caught(catch(");
  luaL_addstring(&b, handles ? "f, handler(h), ...)) end" : "...)) end");
  luaL_pushresult(&b);
}

void jf_box_catcher(lua_State *L, int from, const char *name)
{
  push_around(L, !strcmp(name, "xpcall"));
  if (luaL_loadbufferx(L, lua_tostring(L, -1), lua_objlen(L, -1), "=catcher", "t")) lua_error(L);
  lua_remove(L, -2);
  lua_getfield(L, from < 0 && from > LUA_REGISTRYINDEX ? from - 1 : from, name);
  lua_pushcfunction(L, l_caught);
  lua_pushcfunction(L, l_handler);
  lua_call(L, 3, 1);
  lua_setfield(L, -2, name);
}

void jf_box_catchers(lua_State *L)
{
  lua_pushvalue(L, LUA_GLOBALSINDEX);
  jf_box_catcher(L, -1, "pcall");
  jf_box_catcher(L, -1, "xpcall");
  jf_box_catcher(L, -1, "load");
  lua_getglobal(L, "coroutine");
  jf_box_catcher(L, -1, "resume");
  lua_pop(L, 2);
}
