/* Opening: the module jfl.core, and the embedded front end as modules to require. */
#include "bind/bind.h"
#include "bind/embed.h"

#include <string.h>

JFL_API int luaopen_jfl_core(lua_State *L);
int luaopen_jfl_sandbox(lua_State *L);       /* of src/script */
JFL_API int luaopen_jfl_preload(lua_State *L);
JFL_API int luaopen_jfl(lua_State *L);

/* The text of a module as an array of bytes. */
static jfl_status module_text(const jf_lua_module *m, jfl_array **out)
{
  return jfl_inflate(m->packed, (size_t)(m->end - m->packed), JFL_GZIP, 0, out);
}

/* source(name): the text of a module of the front end; nil for another. */
JF_LUA(source)
{
  const char *name = jf_need_string(L, 1, "source", "name");
  const jf_lua_module *m = jf_lua_modules;
  while (m->name && strcmp(m->name, name)) m++;
  if (!m->name) return lua_pushnil(L), 1;
  jf_larray *b = jf_push_array(L);
  jf_give_array(L, b, module_text(m, &b->array), NULL);
  lua_pushlstring(L, b->data, b->owned);
  return 1;
}

static void fill_module(lua_State *L)
{
  static const luaL_Reg functions[] = {
#define FUNCTION(name) { #name, jf_l_##name },
#include "gen/lualist.h"
#undef FUNCTION
    { NULL, NULL }
  };
  jf_state *st = jf_push_state(L);
  lua_pushvalue(L, 1);
  lua_pushlightuserdata(L, st);
  luaL_setfuncs(L, functions, 1);
  lua_pop(L, 1);
  /* fail has string.format as a second upvalue, as it was when the module was opened. */
  lua_pushlightuserdata(L, st);
  lua_getglobal(L, "string");
  lua_getfield(L, -1, "format");
  lua_remove(L, -2);
  lua_pushcclosure(L, jf_l_fail, 2);
  lua_setfield(L, 1, "fail");
  lua_getglobal(L, "require");
  st->require_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  jf_open_interrupt(L, st);
  lua_pushstring(L, jfl_version());
  lua_setfield(L, 1, "version");
  jf_open_array(L, st, 1);
  jf_open_index(L, st, 1);
  jf_open_graph(L, st, 1);
  jf_open_session(L, st);
  jf_open_request(L, st);
  jf_open_queue(L, st);
  jf_open_body(st);
}

/* Raises an error in a Lua that is not LuaJIT. It uses only what every Lua has. */
static void need_luajit(lua_State *L)
{
  if (!luaJIT_setmode)
    luaL_error(L, "jfl needs LuaJIT 2.1, not another Lua; run the script with luajit or jfl");
}

/* Loads and runs the chunk of the front end's module at index 1, with the arguments behind it. */
static int run_module(lua_State *L)
{
  const jf_lua_module *m = lua_touserdata(L, 1);
  jfl_array *text;
  if (module_text(m, &text)) return luaL_error(L, "%s", jfl_errmsg());
  const size_t size = (size_t)jfl_array_size(text);
  int wrong = luaL_loadbufferx(L, jfl_array_data(text), size, m->chunk, "t");
  jfl_array_unref(text);
  if (wrong) return lua_error(L);
  jf_spare_miscompiled(L);
  lua_replace(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

/* Runs the module of upvalue 1. LuaJIT's require has marked it as one that is being loaded
   and leaves the mark where that fails, such as by memory that ran out: it goes, so that the next
   require tries again. */
static int load_module(lua_State *L)
{
  const jf_lua_module *m = lua_touserdata(L, lua_upvalueindex(1));
  lua_pushcfunction(L, run_module);
  lua_insert(L, 1);
  lua_pushlightuserdata(L, (void *)(uintptr_t)m);
  lua_insert(L, 2);
  if (!lua_pcall(L, lua_gettop(L) - 1, 1, 0)) return 1;
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_pushnil(L);
  lua_setfield(L, -2, m->name);
  lua_pop(L, 1);
  return lua_error(L);
}

static void push_loader(lua_State *L, const jf_lua_module *m)
{
  lua_pushlightuserdata(L, (void *)(uintptr_t)m);
  lua_pushcclosure(L, load_module, 1);
}

/* Makes the core and the front end known to require. */
int luaopen_jfl_preload(lua_State *L)
{
  need_luajit(L);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, luaopen_jfl_core);
  lua_setfield(L, -2, "jfl.core");
  lua_pushcfunction(L, luaopen_jfl_sandbox);
  lua_setfield(L, -2, "jfl.sandbox.core");
  for (const jf_lua_module *m = jf_lua_modules; m->name; m++) {
    push_loader(L, m);
    lua_setfield(L, -2, m->name);
  }
  lua_pop(L, 2);
  return 0;
}

/* Whether the front end can be required, of which the core takes what arrays and blobs do. */
static int is_known(lua_State *L)
{
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "preload");
  lua_getfield(L, -1, "jfl");
  const int known = !lua_isnil(L, -1);
  lua_pop(L, 3);
  return known;
}

/* Gives the module's table, which is made at the first call. */
int luaopen_jfl_core(lua_State *L)
{
  need_luajit(L);
  lua_settop(L, 0);
  lua_getfield(L, LUA_REGISTRYINDEX, JF_CORE);
  if (lua_istable(L, 1)) return 1;
  lua_settop(L, 0);
  if (!is_known(L)) luaopen_jfl_preload(L);
  lua_newtable(L);
  fill_module(L);
  lua_settop(L, 1);
  lua_pushvalue(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, JF_CORE);
  return 1;
}

/* What `require "jfl"` calls. It cannot require jfl itself, so it calls the loader of jfl
   directly. */
int luaopen_jfl(lua_State *L)
{
  const jf_lua_module *m = jf_lua_modules;
  luaopen_jfl_preload(L);
  while (m->name && strcmp(m->name, "jfl")) m++;
  if (!m->name) return luaL_error(L, "jfl: the front end is not part of this library");
  push_loader(L, m);
  lua_pushliteral(L, "jfl");
  lua_call(L, 1, 1);
  return 1;
}
