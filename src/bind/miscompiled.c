/* Functions that the LuaJIT of Debian 12 compiles wrongly. They are left to its interpreter.

     for k, v in pairs(t) do ... end     where another loop runs within, also in a function that is
                                         called, the outer one may end early (LuaJIT's issue 827),
                                         or its key may become one of the inner loop's table
     f(); local a, b = ...               a may be the second value, behind a call (issue 864)

   Both were mended in the months after that version. */
#include "bind/bind.h"

#include <string.h>

#define MISCOMPILING "LuaJIT 2.1.0-beta3"

/* In the registry: whether all functions of this state are looked at as they are parsed. */
#define WATCHED "jfl.watched"

/* Operations of LuaJIT 2.1's bytecode, whose numbers are those of its lj_bc.h. */
enum { CALLM = 65, CALL, CALLMT, CALLT, ITERC, ITERN, VARG, ISNEXT };

/* Pushes what the library of this name has under another; nil if the library is not there. */
static void push_of_library(lua_State *L, const char *library, const char *name)
{
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, library);
  if (lua_istable(L, -1)) lua_getfield(L, -1, name);
  else lua_pushnil(L);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* Pushes a function of jit.util, which is loaded when it is first required; nil if it cannot be. */
static void push_of_util(lua_State *L, const char *name)
{
  lua_getglobal(L, "require");
  lua_pushliteral(L, "jit.util");
  if (lua_pcall(L, 1, 1, 0) || !lua_istable(L, -1)) lua_pushnil(L);
  else lua_getfield(L, -1, name);
  lua_remove(L, -2);
}

static int state_miscompiles(lua_State *L)
{
  push_of_library(L, "jit", "version");
  const char *version = lua_tostring(L, -1);
  const int does = version && !strcmp(version, MISCOMPILING);
  lua_pop(L, 1);
  return does;
}

/* Pushes what the function of jit.util at `util` says of item i of the function, or of its
   prototype, at `function`. */
static void push_item(lua_State *L, int util, int function, int i)
{
  lua_pushvalue(L, util);
  lua_pushvalue(L, function);
  lua_pushinteger(L, i);
  lua_call(L, 2, 1);
}

/* Whether the function at `function` has one of the two. Reads its bytecode by jit.util.funcbc. */
static int is_miscompiled(lua_State *L, int funcbc, int function)
{
  int is = 0, calls = 0;
  for (int i = 0, more = 1; more && !is; i++) {
    push_item(L, funcbc, function, i);
    more = !lua_isnil(L, -1);
    const uint32_t instruction = (uint32_t)lua_tointeger(L, -1), op = instruction & 0xff;
    lua_pop(L, 1);
    const uint32_t n_value = instruction >> 24;          /* one more than them, or 0 for all */
    calls |= op >= CALLM && op <= ITERN;
    is = more && (op == ISNEXT || (op == VARG && n_value && calls));
  }
  return is;
}

/* Leaves the function at `function`, and those within it, to the interpreter where need be. */
static void spare_all(lua_State *L, int funcbc, int funck, int function)
{
  luaL_checkstack(L, 8, "functions within functions");
  if (is_miscompiled(L, funcbc, function))
    luaJIT_setmode(L, function, LUAJIT_MODE_FUNC | LUAJIT_MODE_OFF);
  for (int i = -1;; i--) {                               /* constants have numbers below 0 */
    push_item(L, funck, function, i);
    const int ended = lua_isnil(L, -1);
    if (!strcmp(luaL_typename(L, -1), "proto")) spare_all(L, funcbc, funck, lua_gettop(L));
    lua_pop(L, 1);
    if (ended) return;
  }
}

void jf_spare_miscompiled(lua_State *L)
{
  const int function = lua_gettop(L);
  lua_getfield(L, LUA_REGISTRYINDEX, WATCHED);
  const int watched = lua_toboolean(L, -1);
  lua_settop(L, function);
  if (watched || !state_miscompiles(L)) return;
  push_of_util(L, "funcbc");
  push_of_util(L, "funck");
  if (lua_isfunction(L, -2) && lua_isfunction(L, -1))
    spare_all(L, function + 1, function + 2, function);
  else
    luaJIT_setmode(L, function, LUAJIT_MODE_ALLFUNC | LUAJIT_MODE_OFF);
  lua_settop(L, function);
}

/* What LuaJIT calls with the prototype of each function that it has parsed. */
static int l_parsed(lua_State *L)
{
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  if (is_miscompiled(L, 2, 1)) luaJIT_setmode(L, 1, LUAJIT_MODE_FUNC | LUAJIT_MODE_OFF);
  return 0;
}

void jf_watch_miscompiled(lua_State *L)
{
  if (!state_miscompiles(L)) return;
  lua_pushboolean(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, WATCHED);
  push_of_library(L, "jit", "attach");
  push_of_util(L, "funcbc");
  lua_pushcclosure(L, l_parsed, 1);
  lua_pushliteral(L, "bc");
  lua_call(L, 2, 0);
  /* The one function of LuaJIT's own with a loop over pairs. */
  push_of_library(L, "table", "foreach");
  luaJIT_setmode(L, -1, LUAJIT_MODE_FUNC | LUAJIT_MODE_OFF);
  lua_pop(L, 1);
}
