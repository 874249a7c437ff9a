/* Reading arguments: strings, numbers, dtypes, shapes. */
#include "bind/bind.h"

#include <math.h>
#include <string.h>

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

int64_t jf_need_whole(lua_State *L, int i, const char *who, const char *what, double lo, double hi)
{
  double v = jf_need_number(L, i, who, what);
  if (v != floor(v)) jf_raise(L, "%s: %s must be a whole number, got %f", who, what, v);
  if (!(v >= lo && v <= hi))
    jf_raise(L, "%s: %s must be from %f to %f, got %f", who, what, lo, hi, v);
  return (int64_t)v;
}

int jf_need_word(lua_State *L, int i, const char *who, const char *what, const char *const *words)
{
  const char *word = jf_need_string(L, i, who, what);
  luaL_Buffer b;
  for (int k = 0; words[k]; k++)
    if (!strcmp(words[k], word)) return k;
  luaL_buffinit(L, &b);
  for (int k = 0; words[k]; k++) {
    if (k) luaL_addstring(&b, words[k + 1] ? ", " : " or ");
    luaL_addstring(&b, words[k]);
  }
  luaL_pushresult(&b);
  return jf_raise(L, "%s: %s must be %s, got '%s'", who, what, lua_tostring(L, -1), word);
}

double jf_number_field(lua_State *L, int i, const char *who, const char *name)
{
  lua_getfield(L, i, name);
  const double v = lua_isnil(L, -1) ? 0 : jf_need_number(L, -1, who, name);
  lua_pop(L, 1);
  return v;
}

int64_t jf_whole_field(lua_State *L, int i, const char *who, const char *name, double lo,
                       double hi)
{
  lua_getfield(L, i, name);
  const int64_t v = lua_isnil(L, -1) ? 0 : jf_need_whole(L, -1, who, name, lo, hi);
  lua_pop(L, 1);
  return v;
}

int jf_true_field(lua_State *L, int i, const char *name)
{
  lua_getfield(L, i, name);
  const int is = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is;
}

int jf_word_field(lua_State *L, int i, const char *who, const char *name, const char *const *words)
{
  lua_getfield(L, i, name);
  const int word = lua_isnil(L, -1) ? 0 : jf_need_word(L, -1, who, name, words);
  lua_pop(L, 1);
  return word;
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

void jf_need_shape_of(lua_State *L, int i, const char *who, jfl_dtype t, jfl_shape *out)
{
  const int block = jfl_dtype_numbers(t);
  jf_need_shape(L, i, who, out);
  int64_t *last = out->n ? &out->d[out->n - 1] : NULL;
  if (block > 1 && (!last || *last % block))
    jf_raise(L, "%s: shape must have a last extent that is a multiple of %d, the numbers in a "
             "block of %s, got %s", who, block, jfl_dtype_name(t), jf_push_shape_text(L, out));
  if (block > 1) *last /= block;
}

static const char shape_mark[] = "jfl.shape";

/* The text of a shape, or of whatever a script made of its table: "(2, 3)". */
static int shape_tostring(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  const int n = (int)lua_objlen(L, 1);
  if (n > JFL_MAXDIM) return luaL_error(L, "shape: %d extents are too many", n);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "(");
  for (int i = 1; i <= n; i++) {
    if (i > 1) luaL_addstring(&b, ", ");
    lua_rawgeti(L, 1, i);
    if (!lua_isstring(L, -1)) return luaL_error(L, "shape: extent %d is no number", i);
    luaL_addvalue(&b);
  }
  luaL_addstring(&b, ")");
  luaL_pushresult(&b);
  return 1;
}

void jf_make_shape(lua_State *L)
{
  if (luaL_newmetatable(L, shape_mark)) {
    lua_pushcfunction(L, shape_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushlightuserdata(L, (void *)shape_mark);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
  }
  lua_setmetatable(L, -2);
}

void jf_push_shape(lua_State *L, const jfl_shape *s)
{
  lua_createtable(L, s->n, 0);
  for (int i = 0; i < s->n; i++) {
    lua_pushnumber(L, (lua_Number)s->d[i]);
    lua_rawseti(L, -2, i + 1);
  }
  jf_make_shape(L);
}

void jf_push_shape_of(lua_State *L, jfl_dtype t, const jfl_shape *s)
{
  jfl_shape wide = *s;
  if (wide.n) wide.d[wide.n - 1] *= jfl_dtype_numbers(t);
  jf_push_shape(L, &wide);
}

int jf_is_shape(lua_State *L, int i)
{
  if (!lua_getmetatable(L, i)) return 0;
  lua_pushlightuserdata(L, (void *)shape_mark);
  lua_rawget(L, -2);
  int is = lua_toboolean(L, -1);
  lua_pop(L, 2);
  return is;
}

const char *jf_push_shape_text(lua_State *L, const jfl_shape *s)
{
  lua_pushcfunction(L, shape_tostring);
  jf_push_shape(L, s);
  lua_call(L, 1, 1);
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

void jf_set_flag(lua_State *L, const char *key, int value)
{
  lua_pushboolean(L, value != 0);
  lua_setfield(L, -2, key);
}
