/* Reading arguments: strings, numbers, dtypes, shapes, op attributes. */
#include "bind/bind.h"

#include <math.h>
#include <string.h>

enum { MAX_NEST = 8 };       /* levels of a list */

const char *jf_need_bytes(lua_State *L, int i, const char *who, const char *what, size_t *n)
{
  if (lua_type(L, i) != LUA_TSTRING)
    jf_raise(L, "%s: %s must be a string, got %s", who, what, jf_type_name(L, i));
  return lua_tolstring(L, i, n);
}

const char *jf_need_string(lua_State *L, int i, const char *who, const char *what)
{
  size_t n;
  const char *s = jf_need_bytes(L, i, who, what, &n);
  if (strlen(s) != n) jf_raise(L, "%s: %s must not hold a zero byte", who, what);
  return s;
}

double jf_need_number(lua_State *L, int i, const char *who, const char *what)
{
  if (lua_type(L, i) != LUA_TNUMBER)
    jf_raise(L, "%s: %s must be a number, got %s", who, what, jf_type_name(L, i));
  return lua_tonumber(L, i);
}

int jf_is_number(lua_State *L, int i)
{
  int t = lua_type(L, i);
  return t == LUA_TNUMBER || t == LUA_TBOOLEAN;
}

double jf_to_number(lua_State *L, int i)
{
  return lua_isboolean(L, i) ? lua_toboolean(L, i) : lua_tonumber(L, i);
}

jfl_dtype jf_need_dtype(lua_State *L, int i, const char *who)
{
  jfl_dtype t = JFL_F32;
  jf_check_for(L, jfl_dtype_parse(jf_need_string(L, i, who, "dtype"), &t), who);
  return t;
}

/* Pops an extent off the stack. `at` is its number in the shape, for messages. */
static int64_t extent(lua_State *L, int at, const char *who)
{
  double d = lua_tonumber(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER || d != floor(d) || fabs(d) > 0x1p53)
    jf_raise(L, "%s: shape[%d] must be a whole number, got %s", who, at,
             lua_type(L, -1) == LUA_TNUMBER ? lua_tostring(L, -1) : jf_type_name(L, -1));
  lua_pop(L, 1);
  return (int64_t)d;
}

/* Fails unless the table at i is empty: a scalar's shape. */
static void check_no_keys(lua_State *L, int i, const char *who)
{
  lua_pushnil(L);
  if (lua_next(L, i < 0 ? i - 1 : i))
    jf_raise(L, "%s: shape must be a list of numbers, got a table with a key %s", who,
             lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : jf_type_name(L, -2));
}

void jf_need_shape(lua_State *L, int i, const char *who, jfl_shape *out)
{
  memset(out, 0, sizeof *out);
  if (lua_type(L, i) == LUA_TNUMBER) {
    lua_pushvalue(L, i);
    out->d[out->n++] = extent(L, 1, who);
    return;
  }
  if (!lua_istable(L, i))
    jf_raise(L, "%s: shape must be a table of numbers, got %s", who, jf_type_name(L, i));
  size_t n = lua_objlen(L, i);
  if (n > JFL_MAXDIM)
    jf_raise(L, "%s: shape must have at most %d dimensions, got %d", who, (int)JFL_MAXDIM, (int)n);
  if (n == 0) check_no_keys(L, i, who);
  while (out->n < (int)n) {
    lua_rawgeti(L, i, out->n + 1);
    out->d[out->n] = extent(L, out->n + 1, who);
    out->n++;
  }
}

void jf_push_shape(lua_State *L, const jfl_shape *s)
{
  lua_createtable(L, s->n, 0);
  for (int i = 0; i < s->n; i++) {
    lua_pushnumber(L, (lua_Number)s->d[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

const char *jf_push_shape_text(lua_State *L, const jfl_shape *s)
{
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "(");
  for (int i = 0; i < s->n; i++) {
    if (i) luaL_addstring(&b, ", ");
    lua_pushnumber(L, (lua_Number)s->d[i]);
    luaL_addvalue(&b);
  }
  luaL_addstring(&b, ")");
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

int jf_shape_same(const jfl_shape *a, const jfl_shape *b)
{
  return a->n == b->n && !memcmp(a->d, b->d, (size_t)a->n * sizeof *a->d);
}

int64_t jf_shape_size(const jfl_shape *s)
{
  int64_t n = 1;
  for (int i = 0; i < s->n; i++) n *= s->d[i];
  return n;
}

/* Counts the numbers of the nested list at stack top and, where out is given, writes them there. */
static size_t flatten(lua_State *L, const char *who, const char *name, int level, double *out)
{
  size_t n = 0, len = lua_objlen(L, -1);
  if (level == MAX_NEST)
    jf_raise(L, "%s: '%s' must be nested at most %d deep", who, name, MAX_NEST);
  luaL_checkstack(L, 8, NULL);
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
    jf_raise(L, "%s: '%s' must be a number, boolean, string or list, got %s", who, name,
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

void jf_set_string(lua_State *L, const char *key, const char *value)
{
  if (!value) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

void jf_set_number(lua_State *L, const char *key, double value)
{
  lua_pushnumber(L, value);
  lua_setfield(L, -2, key);
}
