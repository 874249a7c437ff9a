/* The kinds of userdata that the module has: how they are made, told apart and named in
   messages. */
#include "bind/bind.h"

#include <string.h>

static const char *const names[JF_N_KIND] = {
  "array", "blob", "graph", "job", "plan", "request", "holder"
};

void jf_new_kind(lua_State *L, jf_state *st, jf_object_kind kind, lua_CFunction gc)
{
  lua_newtable(L);
  lua_pushvalue(L, -1);
  st->mt_ref[kind] = luaL_ref(L, LUA_REGISTRYINDEX);
  if (!gc) return;
  lua_pushlightuserdata(L, st);
  lua_pushcclosure(L, gc, 1);
  lua_setfield(L, -2, "__gc");
}

/* Copies the entries of class[from], if there is such a table, into the table on top, which it
   pops. The class is below that. */
static void add_entries(lua_State *L, const char *from)
{
  lua_getfield(L, -2, from);
  if (lua_istable(L, -1))
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
      lua_pushvalue(L, -2);
      lua_pushvalue(L, -2);
      lua_rawset(L, -6);
    }
  lua_pop(L, 2);
}

/* Pushes the table of methods or fields that objects of the kind have. */
static void push_table(lua_State *L, jf_object_kind kind, const char *what)
{
  lua_getfield(L, LUA_REGISTRYINDEX, JF_CORE);
  lua_pushfstring(L, "%s_%s", names[kind], what);
  lua_gettable(L, -2);
  lua_remove(L, -2);
}

/* Takes what objects of a kind do from the module of the front end that says it: metamethods,
   methods, fields, and what looks up a name that is none of these. */
static void complete(lua_State *L, jf_state *st, jf_object_kind kind)
{
  const char *module = kind == JF_ARRAY ? "jfl.nd.class" : "jfl.net.blob";
  st->complete[kind] = 1;                        /* arrays may be made meanwhile */
  luaL_checkstack(L, 16, "too many values");
  lua_rawgeti(L, LUA_REGISTRYINDEX, st->require_ref);
  lua_pushstring(L, module);
  st->complete[kind] = !lua_pcall(L, 1, 1, 0);
  if (!st->complete[kind]) lua_error(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, st->mt_ref[kind]);
  add_entries(L, "events");
  push_table(L, kind, "methods");
  lua_newtable(L);
  lua_getfield(L, -3, "unknown");
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  add_entries(L, "methods");
  if (kind == JF_BLOB) {
    push_table(L, kind, "fields");
    add_entries(L, "fields");
  }
  lua_pop(L, 1);
}

void *jf_push(lua_State *L, jf_object_kind kind, size_t size)
{
  jf_state *st = jf_state_of(L);
  if (kind <= JF_BLOB && !st->complete[kind]) complete(L, st, kind);
  const void **p = memset(lua_newuserdata(L, size), 0, size);
  *p = &st->kind[kind];
  lua_rawgeti(L, LUA_REGISTRYINDEX, st->mt_ref[kind]);
  lua_setmetatable(L, -2);
  return p;
}

int jf_call_event(lua_State *L, const char *event, int results)
{
  int n = lua_gettop(L);
  if (!luaL_getmetafield(L, 1, event)) return jf_raise(L, "index: there is no '%s'", event);
  lua_insert(L, 1);
  lua_call(L, n, results);
  return results;
}

/* The kind of the userdata at i, or -1. */
static int kinds_kind_of(lua_State *L, int i)
{
  for (int k = 0; k < JF_HOLDER; k++)
    if (jf_test(L, i, (jf_object_kind)k)) return k;
  return -1;
}

const char *jf_type_name(lua_State *L, int i)
{
  int k = kinds_kind_of(L, i);
  if (k >= 0) return names[k];
  return lua_isnone(L, i) ? "nothing" : luaL_typename(L, i);
}

JF_LUA(type)
{
  int k = kinds_kind_of(L, 1);
  if (k < 0) lua_pushnil(L);
  else lua_pushstring(L, names[k]);
  return 1;
}

jf_holder *jf_push_holder(lua_State *L, void (*drop)(void *p))
{
  jf_holder *h = jf_push(L, JF_HOLDER, sizeof *h);
  h->drop = drop;
  return h;
}

int jf_give_held(lua_State *L, jf_holder *h, jfl_status s, const char *who)
{
  if (s) h->p = NULL;
  jf_check_for(L, s, who);
  return 1;
}

jf_holder *jf_need_held(lua_State *L, void (*drop)(void *p), const char *who, const char *what)
{
  jf_holder *h = jf_test(L, 1, JF_HOLDER);
  if (!h || !h->p || h->drop != drop) jf_raise(L, "%s: %s is not open", who, what);
  return h;
}

void jf_drop_text(void *text) { jfl_text_free(text); }

void jf_drop_held(jf_holder *h)
{
  if (h->p) h->drop(h->p);
  h->p = NULL;
}

int jf_holder_gc(lua_State *L)
{
  jf_holder *h = jf_test(L, 1, JF_HOLDER);
  if (h) jf_drop_held(h);
  return 0;
}
