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

void *jf_push(lua_State *L, jf_object_kind kind, size_t size)
{
  jf_state *st = jf_state_of(L);
  const void **p = memset(lua_newuserdata(L, size), 0, size);
  *p = &st->kind[kind];
  lua_rawgeti(L, LUA_REGISTRYINDEX, st->mt_ref[kind]);
  lua_setmetatable(L, -2);
  return p;
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

int jf_l_type(lua_State *L)
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

void jf_drop_text(void *text) { jfl_text_free(text); }

int jf_holder_gc(lua_State *L)
{
  jf_holder *h = jf_test(L, 1, JF_HOLDER);
  if (h && h->p) h->drop(h->p);
  if (h) h->p = NULL;
  return 0;
}
