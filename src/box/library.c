/* The globals of a restricted script, all of them. What Lua's own libraries have is taken over
   where it can do no harm: it neither reaches the system nor runs long or deep in C. The rest is
   here. */
#include "box/box.h"

#include <luajit.h>
#include <lualib.h>
#include <string.h>
#include <time.h>

/* ---- what is taken over ---- */

static const char *const of_base[] = {
  "assert", "error", "ipairs", "next", "pairs", "rawequal", "rawget", "rawset", "select",
  "type", "unpack", NULL
};
static const char *const of_bit[] = {
  "arshift", "band", "bnot", "bor", "bswap", "bxor", "lshift", "rol", "ror", "rshift", "tobit",
  "tohex", NULL
};
static const char *const of_coroutine[] = { "isyieldable", "running", "status", "yield", NULL };
static const char *const of_math[] = {
  "abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "deg", "exp", "floor", "fmod",
  "frexp", "huge", "ldexp", "log", "log10", "max", "min", "modf", "pi", "pow", "rad", "random",
  "randomseed", "sin", "sinh", "sqrt", "tan", "tanh", NULL
};
static const char *const of_string[] = { "byte", "char", "len", NULL };
static const char *const of_table[] = { "remove", NULL };        /* which is in Lua */
/* Functions whose time grows with the texts that they are given. */
static const char *const long_of_string[] = { "lower", "reverse", "sub", "upper", NULL };

/* Sets those names of the table at `from` in the table on top. */
static void take(lua_State *L, int from, const char *const *name)
{
  for (; *name; name++) {
    lua_getfield(L, from, *name);
    lua_setfield(L, -2, *name);
  }
}

/* Pushes a new table with what is taken over of a library, and makes it a field of the globals to
   be at index 1. */
static void take_library(lua_State *L, const char *name, const char *const *list)
{
  lua_newtable(L);
  lua_getglobal(L, name);
  lua_insert(L, -2);
  take(L, lua_gettop(L) - 1, list);
  lua_remove(L, -2);
  lua_pushvalue(L, -1);
  lua_setfield(L, 1, name);
}

/* ---- what takes long ----

   Loops in C over lengths that a text chooses, and what ends them:

       upper lower reverse sub rep format concat tonumber maxn   l_measured, by length
       find match gmatch gsub                                    pattern.c, each step
       sort                                                      its comparisons, which are in Lua
       remove                                                    is in Lua
       insert                                                    l_insert, by way
       load                                                      next_piece, by length
       errors that are caught                                    l_caught of catch.c, by length
       values that cross                                         jf_cross_count, each
       byte char unpack select, results of any call              at most 8000 values
       ops, arrays made tables, texts of arrays                  what they make fits into the memory

   Instructions of Lua such as .. < next # or a text made a number look at most once at all of the
   memory. They count as one, and are looked at by the clock 100 at a time. */

static double steps_on_stack(lua_State *L)
{
  double steps = 0;
  for (int i = 1; i <= lua_gettop(L); i++)
    if (lua_type(L, i) == LUA_TSTRING) steps += (double)lua_objlen(L, i) / JF_STEP_BYTES;
    else if (lua_type(L, i) == LUA_TTABLE) steps += (double)lua_objlen(L, i);
  return steps;
}

/* A function of Lua's, upvalue 1, which asks nothing while it runs. That is not for long: what it
   looks at and what it makes fit into the memory. */
static int l_measured(lua_State *L)
{
  const int n = lua_gettop(L);
  const double steps = steps_on_stack(L);
  jf_meter_make_room(L, steps * JF_STEP_BYTES);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, n, LUA_MULTRET);
  jf_meter_charge(L, steps + steps_on_stack(L));
  return lua_gettop(L);
}

static int l_rep(lua_State *L)
{
  if (lua_isstring(L, 1) && lua_isnumber(L, 2))
    jf_meter_make_room(L, (double)(lua_objlen(L, 1) + lua_objlen(L, 3)) * lua_tonumber(L, 2));
  return l_measured(L);
}

/* A table has no more places than its state has bytes, however few of them are in use. */
static int l_maxn(lua_State *L)
{
  jf_meter_charge(L, lua_gc(L, LUA_GCCOUNT, 0) * 1024.0 / JF_STEP_BYTES);
  return l_measured(L);
}

/* Makes that function of the library at `from`, as f's upvalue, a field of the table on top. */
static void take_as(lua_State *L, int from, const char *name, lua_CFunction f)
{
  lua_getfield(L, from, name);
  lua_pushcclosure(L, f, 1);
  lua_setfield(L, -2, name);
}

/* ---- texts ---- */

/* Leaves the text of the value at i on the stack: tostring(). */
static void push_text(lua_State *L, int i)
{
  if (luaL_getmetafield(L, i, "__tostring")) {
    lua_pushvalue(L, i);
    jf_box_call(L, 1, 1);
    if (!lua_isstring(L, -1)) luaL_error(L, "'__tostring' must return a string");
    return;
  }
  switch (lua_type(L, i)) {
  case LUA_TNUMBER: case LUA_TSTRING:
    lua_pushvalue(L, i);
    lua_tostring(L, -1);
    break;
  case LUA_TBOOLEAN: lua_pushstring(L, lua_toboolean(L, i) ? "true" : "false"); break;
  case LUA_TNIL: lua_pushliteral(L, "nil"); break;
  default: lua_pushfstring(L, "%s: %p", luaL_typename(L, i), lua_topointer(L, i));
  }
}

static int l_tostring(lua_State *L)
{
  luaL_checkany(L, 1);
  push_text(L, 1);
  return 1;
}

/* string.format, upvalue 1, with objects made texts first. */
static int l_format(lua_State *L)
{
  const int n = lua_gettop(L);
  for (int i = 2; i <= n; i++) {
    if (!luaL_getmetafield(L, i, "__tostring")) continue;
    lua_pop(L, 1);
    push_text(L, i);
    lua_replace(L, i);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, n, 1);
  return 1;
}

/* print(...): the front end's, upvalue 1, gets texts. */
static int l_print(lua_State *L)
{
  const int n = lua_gettop(L);
  for (int i = 1; i <= n; i++) {
    push_text(L, i);
    lua_replace(L, i);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, n, 0);
  return 0;
}

/* ---- chunks ---- */

/* load(text, name, mode, globals), of texts alone. */
static int box_l_load(lua_State *L)
{
  size_t n;
  const char *text = luaL_checklstring(L, 1, &n);
  const char *name = luaL_optstring(L, 2, text);
  lua_settop(L, 4);
  if (jf_box_load(L, text, n, name)) {
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  if (lua_istable(L, 4)) {
    lua_pushvalue(L, 4);
    lua_setfenv(L, -2);
  }
  return 1;
}

/* require(name): jfl, upvalue 1, or a library, which is a global, upvalue 2. */
static int l_require(lua_State *L)
{
  static const char *const libraries[] = { "bit", "coroutine", "math", "os", "string", "table" };
  const char *name = luaL_checkstring(L, 1);
  if (!strcmp(name, "jfl")) return lua_pushvalue(L, lua_upvalueindex(1)), 1;
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
    if (!strcmp(name, libraries[i])) {
      lua_pushvalue(L, 1);
      lua_rawget(L, lua_upvalueindex(2));      /* a metatable of the globals is not asked */
      return 1;
    }
  return luaL_error(L, "module '%s' is not there for a restricted script, which has jfl and Lua's "
                    "own bit, coroutine, math, os, string and table", name);
}

/* ---- tables and metatables ---- */

/* As Lua's, but that of texts is nobody's. */
static int l_getmetatable(lua_State *L)
{
  luaL_checkany(L, 1);
  if (!lua_getmetatable(L, 1)) return lua_pushnil(L), 1;
  luaL_getmetafield(L, 1, "__metatable");
  return 1;
}

static int l_setmetatable(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argcheck(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "nil or table expected");
  if (luaL_getmetafield(L, 1, "__metatable"))
    return luaL_error(L, "cannot change a protected metatable");
  lua_settop(L, 2);
  lua_setmetatable(L, 1);
  return 1;
}

/* table.sort, upvalue 1. It compares by functions in Lua alone, which the meter sees: a < b,
   upvalue 2, or what upvalue 3 makes of a function in C. */
static int l_sort(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  if (lua_isnil(L, 2)) {
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_replace(L, 2);
  }
  luaL_checktype(L, 2, LUA_TFUNCTION);
  if (lua_iscfunction(L, 2)) {
    lua_pushvalue(L, lua_upvalueindex(3));
    lua_insert(L, 2);
    lua_call(L, 1, 1);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  jf_box_call(L, 2, 0);
  return 0;
}

/* table.insert, upvalue 1, for places within the table: Lua's own moves nil from any other one up
   to it, which takes as long as the way is far. */
static int l_insert(lua_State *L)
{
  if (lua_gettop(L) == 3 && lua_istable(L, 1)) {
    const lua_Number n = (lua_Number)lua_objlen(L, 1), at = luaL_checknumber(L, 2);
    luaL_argcheck(L, at >= 1 && at <= n + 1, 2, "position out of bounds");
    jf_meter_charge(L, n + 1 - at);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 0);
  return 0;
}

static int l_collectgarbage(lua_State *L)
{
  const char *what = luaL_optstring(L, 1, "count");
  if (strcmp(what, "count")) return luaL_error(L, "collectgarbage: a restricted script can only "
                                               "\"count\", got \"%s\"", what);
  lua_pushnumber(L, lua_gc(L, LUA_GCCOUNT, 0) + lua_gc(L, LUA_GCCOUNTB, 0) / 1024.0);
  return 1;
}

/* ---- time ---- */

static int box_l_clock(lua_State *L)
{
  lua_pushnumber(L, (lua_Number)clock() / CLOCKS_PER_SEC);
  return 1;
}

static int l_time(lua_State *L)
{
  lua_pushnumber(L, (lua_Number)time(NULL));
  return 1;
}

static int l_difftime(lua_State *L)
{
  lua_pushnumber(L, luaL_checknumber(L, 1) - luaL_optnumber(L, 2, 0));
  return 1;
}

/* ---- coroutines: as many within one another as the C stack bears ---- */

/* Whether co waits to be resumed; else pushes why not. */
static int can_resume(lua_State *L, lua_State *co)
{
  lua_Debug ar;
  const int status = lua_status(co);
  if (status == LUA_YIELD) return 1;
  const int busy = L == co || (status == 0 && lua_getstack(co, 0, &ar));
  if (!busy && status == 0 && lua_gettop(co) > 0) return 1;
  lua_pushfstring(L, "cannot resume %s coroutine", busy ? "non-suspended" : "dead");
  return 0;
}

/* Resumes co with the n values on top; gives how many it pushed, or -1 and a message. */
static int box_resume(lua_State *L, lua_State *co, int n)
{
  jf_box *box = jf_box_of(L);
  if (!can_resume(L, co)) return -1;
  if (box->nested >= JF_NESTED || !lua_checkstack(co, n)) {
    lua_pushliteral(L, "stack overflow: too many coroutines within coroutines");
    return -1;
  }
  lua_xmove(L, co, n);
  box->nested++;
  const int status = lua_resume(co, n);
  box->nested--;
  if (status != 0 && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    jf_meter_caught(L);
    return -1;
  }
  const int given = lua_gettop(co);
  luaL_checkstack(L, given + 1, "too many results to resume");
  lua_xmove(co, L, given);
  return given;
}

static int l_resume(lua_State *L)
{
  lua_State *co = lua_tothread(L, 1);
  luaL_argcheck(L, co, 1, "coroutine expected");
  const int n = box_resume(L, co, lua_gettop(L) - 1);
  lua_pushboolean(L, n >= 0);
  lua_insert(L, -(n < 0 ? 1 : n) - 1);
  return (n < 0 ? 1 : n) + 1;
}

static int wrap_next(lua_State *L)
{
  const int n = box_resume(L, lua_tothread(L, lua_upvalueindex(1)), lua_gettop(L));
  return n < 0 ? lua_error(L) : n;
}

static int l_create(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  return 1;
}

static int l_wrap(lua_State *L)
{
  l_create(L);
  lua_pushcclosure(L, wrap_next, 1);
  return 1;
}

/* ---- opening ---- */

/* LuaJIT's lexer opens its ffi library at a literal such as 1LL. So that is done here, and what its
   numbers can do is taken from them. */
static void disarm_cdata(lua_State *L)
{
  if (luaL_loadstring(L, "return 1LL")) lua_error(L);
  lua_call(L, 0, 1);
  if (lua_getmetatable(L, -1)) {
    for (lua_pushnil(L); lua_next(L, -2);) {
      lua_pop(L, 1);
      lua_pushvalue(L, -1);
      lua_pushnil(L);
      lua_rawset(L, -4);
    }
    lua_pushliteral(L, "cdata");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void add_string(lua_State *L)
{
  take_library(L, "string", of_string);
  lua_getglobal(L, "string");
  lua_insert(L, -2);
  for (const char *const *name = long_of_string; *name; name++) take_as(L, -2, *name, l_measured);
  take_as(L, -2, "rep", l_rep);
  lua_getglobal(L, "table");
  lua_getfield(L, -1, "concat");
  lua_remove(L, -2);
  luaL_setfuncs(L, jf_pattern_functions, 1);
  lua_getfield(L, -2, "format");
  lua_pushcclosure(L, l_measured, 1);
  lua_pushcclosure(L, l_format, 1);
  lua_setfield(L, -2, "format");
  lua_remove(L, -2);
  lua_pushliteral(L, "");
  lua_newtable(L);
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "string");
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
  lua_pop(L, 2);
}

static void add_table(lua_State *L)
{
  static const char *const compare[] = {
    "local a, b = ... return a < b", "local f = ... return function(a, b) return f(a, b) end"
  };
  take_library(L, "table", of_table);
  lua_getglobal(L, "table");
  lua_insert(L, -2);
  take_as(L, -2, "concat", l_measured);
  take_as(L, -2, "maxn", l_maxn);
  take_as(L, -2, "insert", l_insert);
  lua_getfield(L, -2, "sort");
  for (int i = 0; i < 2; i++)
    if (luaL_loadstring(L, compare[i])) lua_error(L);
  lua_pushcclosure(L, l_sort, 3);
  lua_setfield(L, -2, "sort");
  lua_pop(L, 2);
}

static void add_rest(lua_State *L)
{
  static const luaL_Reg coroutines[] = { { "create", l_create }, { "resume", l_resume },
                                         { "wrap", l_wrap }, { NULL, NULL } };
  static const luaL_Reg os[] = { { "clock", box_l_clock }, { "time", l_time },
                                 { "difftime", l_difftime }, { NULL, NULL } };
  take_library(L, "math", of_math);
  take_library(L, "bit", of_bit);
  take_library(L, "coroutine", of_coroutine);
  luaL_setfuncs(L, coroutines, 0);
  lua_newtable(L);
  luaL_setfuncs(L, os, 0);
  lua_setfield(L, 1, "os");
  lua_pop(L, 3);
}

static void add_base(lua_State *L)
{
  static const luaL_Reg base[] = {
    { "collectgarbage", l_collectgarbage }, { "getmetatable", l_getmetatable },
    { "load", box_l_load },
    { "loadstring", box_l_load }, { "setmetatable", l_setmetatable }, { "tostring", l_tostring },
    { NULL, NULL }
  };
  lua_pushvalue(L, 1);
  take(L, LUA_GLOBALSINDEX, of_base);
  luaL_setfuncs(L, base, 0);
  lua_setfield(L, 1, "_G");
  lua_pushvalue(L, 1);
  take_as(L, LUA_GLOBALSINDEX, "tonumber", l_measured);
  jf_box_catcher(L, LUA_GLOBALSINDEX, "pcall");
  jf_box_catcher(L, LUA_GLOBALSINDEX, "xpcall");
  lua_pop(L, 1);
}

/* The globals are a new table; front and print are those of the front end, on the stack. */
void jf_box_libraries(lua_State *L)
{
  const int front = lua_gettop(L) - 1, print = front + 1;
  luaL_openlibs(L);
  lua_newtable(L);
  lua_insert(L, 1);
  add_base(L);
  add_table(L);
  add_string(L);
  add_rest(L);
  disarm_cdata(L);
  lua_pushvalue(L, print + 1);
  lua_pushcclosure(L, l_print, 1);
  lua_setfield(L, 1, "print");
  lua_pushvalue(L, front + 1);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, l_require, 2);
  lua_setfield(L, 1, "require");
  lua_pushstring(L, LUA_VERSION);
  lua_setfield(L, 1, "_VERSION");
  lua_pushvalue(L, 1);
  lua_replace(L, LUA_GLOBALSINDEX);
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "ffi");
  lua_setfield(L, LUA_REGISTRYINDEX, "jfl.ffi");
  lua_pop(L, 1);
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "_PRELOAD");
}
