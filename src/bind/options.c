/* Reading the attributes of ops, the options of optimizers and settings: numbers, texts, lists and
   arrays. */
#include "bind/bind.h"

#include <string.h>

enum { MAX_NEST = 8 };       /* levels of a list */

/* Fails if the table at stack top has a name: what was meant as an option would be lost. */
static void check_no_names(lua_State *L, const char *who, const char *name)
{
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
    if (lua_type(L, -2) == LUA_TSTRING)
      jf_raise(L, "%s: '%s' must be a list of numbers, got a table with the name '%s'", who, name,
               lua_tostring(L, -2));
}

/* Counts the numbers of the nested list at stack top and, where out is given, writes them there. */
static size_t flatten(lua_State *L, const char *who, const char *name, int level, double *out)
{
  size_t n = 0, len = lua_objlen(L, -1);
  if (level == MAX_NEST)
    jf_raise(L, "%s: '%s' must be nested at most %d deep", who, name, MAX_NEST);
  luaL_checkstack(L, 8, NULL);
  if (!out) check_no_names(L, who, name);
  for (size_t i = 1; i <= len; i++) {
    lua_rawgeti(L, -1, (int)i);
    if (lua_istable(L, -1)) {
      n += flatten(L, who, name, level + 1, out ? out + n : NULL);
    } else {
      if (lua_isnil(L, -1))
        jf_raise(L, "%s: '%s'[%d] is nil; lists count from 1: x.shape[1] is the first extent", who,
                 name, (int)i);
      if (!jf_is_number(L, -1))
        jf_raise(L, "%s: '%s'[%d] must be a number, got %s", who, name, (int)i,
                 jf_type_name(L, -1));
      if (out) out[n] = jf_to_number(L, -1);
      n++;
    }
    lua_pop(L, 1);
  }
  return n;
}

/* Replaces the list at stack top by a userdata with its numbers. */
static void read_list(lua_State *L, const char *who, jfl_arg *out)
{
  size_t n = flatten(L, who, out->name, 0, NULL);
  double *list = lua_newuserdata(L, n * sizeof *list + 1);
  lua_insert(L, -2);
  flatten(L, who, out->name, 0, list);
  lua_pop(L, 1);
  out->kind = JFL_ARG_LIST;
  out->list = list;
  out->n_list = (int)n;
}

void jf_read_arg(lua_State *L, int i, const char *who, const char *name, jfl_arg *out)
{
  *out = (jfl_arg){ .name = name, .kind = JFL_ARG_NUMBER };
  switch (lua_type(L, i)) {
  case LUA_TNUMBER:
    out->number = lua_tonumber(L, i);
    return;
  case LUA_TBOOLEAN:
    out->kind = JFL_ARG_BOOL;
    out->number = lua_toboolean(L, i);
    return;
  case LUA_TSTRING:
    out->kind = JFL_ARG_STRING;
    out->string = lua_tostring(L, i);
    return;
  case LUA_TTABLE:
    lua_pushvalue(L, i);
    read_list(L, who, out);
    return;
  default:
    if (jf_test(L, i, JF_ARRAY)) {
      out->kind = JFL_ARG_ARRAY;
      out->array = jf_need_array(L, i, who)->array;
      return;
    }
    jf_raise(L, "%s: '%s' must be a number, boolean, string, list or array, got %s", who, name,
             jf_type_name(L, i));
  }
}

/* Counts the fields of the table at i. A key that is not a name is an error. */
static int count_names(lua_State *L, int i, const char *who)
{
  int n = 0;
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1), n++)
    if (lua_type(L, -2) != LUA_TSTRING)
      jf_raise(L, "%s: options must have names, got one under a %s", who, luaL_typename(L, -2));
  return n;
}

jfl_arg *jf_read_args(lua_State *L, int i, const char *who, int *n)
{
  *n = 0;
  if (lua_isnoneornil(L, i)) return NULL;
  if (!lua_istable(L, i))
    jf_raise(L, "%s: options must be a table, got %s", who, jf_type_name(L, i));
  int count = count_names(L, i, who), k = 0;
  jfl_arg *arg = lua_newuserdata(L, (size_t)count * sizeof *arg + 1);
  luaL_checkstack(L, count + 16, NULL);
  for (lua_pushnil(L); k < count && lua_next(L, i); k++) {
    int top = lua_gettop(L);
    jf_read_arg(L, top, who, lua_tostring(L, top - 1), &arg[k]);
    lua_remove(L, top);          /* the value is still in the table; a list is now above the key */
    if (lua_gettop(L) == top) lua_insert(L, top - 1);
  }
  *n = k;
  return arg;
}
