/* Arrays to and from nested Lua tables, strings, and compressed data. */
#include "bind/bind.h"

#include <string.h>

/* A nested table on its way into memory. path: where it is now, from 1. */
typedef struct reader {
  const char *who;
  jfl_dtype dtype;             /* of data */
  jfl_dtype wanted;            /* what the numbers must fit */
  void *data;
  jfl_shape shape;
  int path[JFL_MAXDIM];
} reader;

/* Pushes "[2][1]", the first n steps of the path. */
static const char *push_path(lua_State *L, const reader *r, int n)
{
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 0; i < n; i++) {
    lua_pushfstring(L, "[%d]", r->path[i]);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

/* The table at stack top is no list of numbers. */
static void no_elements(lua_State *L, const char *who)
{
  lua_pushnil(L);
  if (!lua_next(L, -2)) jf_raise(L, "%s: an empty table has no shape", who);
  if (lua_type(L, -2) == LUA_TSTRING)
    jf_raise(L, "%s: expected an array or a list of numbers, got a table with the name '%s'", who,
             lua_tostring(L, -2));
  jf_raise(L, "%s: expected an array or a list of numbers from index 1 on, got a table without one",
           who);
}

/* Reads the shape off the first element of each level of the table at i. */
static void measure(lua_State *L, int i, reader *r)
{
  lua_pushvalue(L, i);
  while (lua_istable(L, -1)) {
    size_t n = lua_objlen(L, -1);
    if (n == 0) no_elements(L, r->who);
    if (r->shape.n == JFL_MAXDIM)
      jf_raise(L, "%s: tables are nested deeper than %d levels", r->who, (int)JFL_MAXDIM);
    r->shape.d[r->shape.n++] = (int64_t)n;
    lua_rawgeti(L, -1, 1);
    lua_remove(L, -2);
  }
  lua_pop(L, 1);
}

/* Stores the number at stack top, popped. */
static void read_number(lua_State *L, reader *r, int64_t at)
{
  if (!jf_is_number(L, -1)) {
    const char *type = jf_type_name(L, -1);
    jf_raise(L, "%s: %s should be a number, got %s", r->who, push_path(L, r, r->shape.n), type);
  }
  double v = jf_to_number(L, -1);
  if (!jf_fits(r->wanted, v))
    jf_raise(L, "%s: %s is %f, which does not fit %s", r->who, push_path(L, r, r->shape.n), v,
             jfl_dtype_name(r->wanted));
  jf_store(r->data, r->dtype, at, v);
  lua_pop(L, 1);
}

/* Checks that the table at stack top belongs to a level of the shape. */
static void check_level(lua_State *L, const reader *r, int level)
{
  if (!lua_istable(L, -1)) {
    const char *type = jf_type_name(L, -1);
    jf_raise(L, "%s: %s should be a table of %f elements, got %s", r->who, push_path(L, r, level),
             (lua_Number)r->shape.d[level], type);
  }
  size_t n = lua_objlen(L, -1);
  if (n != (size_t)r->shape.d[level])
    jf_raise(L, "%s: %s has %f elements, those before it have %f", r->who, push_path(L, r, level),
             (lua_Number)n, (lua_Number)r->shape.d[level]);
}

/* Reads the table at stack top, popped, into the elements from `at`; returns how many. */
static int64_t read_level(lua_State *L, reader *r, int level, int64_t at)
{
  int64_t n = 0;
  check_level(L, r, level);
  for (int i = 1; i <= (int)r->shape.d[level]; i++) {
    r->path[level] = i;
    lua_rawgeti(L, -1, i);
    if (level + 1 < r->shape.n) n += read_level(L, r, level + 1, at + n);
    else read_number(L, r, at + n++);
  }
  lua_pop(L, 1);
  return n;
}

jf_larray *jf_push_from_table(lua_State *L, int i, jfl_dtype t, const char *who)
{
  int two_bytes = t == JFL_F16 || t == JFL_BF16;
  reader r = { .who = who, .dtype = two_bytes ? JFL_F64 : t, .wanted = t };
  if (!lua_istable(L, i)) jf_raise(L, "%s: expected a table, got %s", who, jf_type_name(L, i));
  luaL_checkstack(L, 4 * JFL_MAXDIM, NULL);
  measure(L, i, &r);
  jf_larray *b = jf_push_new(L, r.dtype, &r.shape);
  r.data = b->data;
  lua_pushvalue(L, i);
  read_level(L, &r, 0, 0);
  if (!two_bytes) return b;
  b = jf_push_cast(L, b, t, 0, who);
  lua_remove(L, -2);
  return b;
}

jf_larray *jf_to_array(lua_State *L, int i, jfl_dtype t, const char *who)
{
  jf_larray *b = jf_test(L, i, JF_ARRAY);
  if (b) {
    jf_check_freed(L, b, who);
    return b->dtype == t ? b : jf_push_cast(L, b, t, 1, who);
  }
  if (lua_istable(L, i)) return jf_push_from_table(L, i, t, who);
  if (!jf_is_number(L, i))
    jf_raise(L, "%s: expected an array, a table or a number, got %s", who, jf_type_name(L, i));
  jfl_shape one = { .n = 1, .d = { 1 } };
  double v = jf_to_number(L, i);
  b = jf_push_new(L, t, &one);
  jf_fill(L, b, 0, 1, v, who);
  return b;
}

/* from_table(t, dtype [, shape [, who]]); who is for messages. */
static int l_from_table(lua_State *L)
{
  jfl_shape s;
  const char *who = lua_isnoneornil(L, 4) ? "array" : jf_need_string(L, 4, "from_table", "who");
  jfl_dtype t = jf_need_dtype(L, 2, who);
  lua_settop(L, 4);
  if (!lua_isnil(L, 3)) jf_need_shape(L, 3, who, &s);
  jf_larray *b = jf_push_from_table(L, 1, t, who);
  if (!lua_isnil(L, 3) && !jf_shape_same(b->shape, &s))
    jf_raise(L, "%s: expected shape %s, got %s", who, jf_push_shape_text(L, &s),
             jf_push_shape_text(L, b->shape));
  lua_settop(L, 5);
  return 1;
}

/* Pushes a level of b as a table; at: its first element, moved past its last. */
static void push_level(lua_State *L, const jf_larray *b, int level, int64_t *at)
{
  int n = (int)b->shape->d[level];
  lua_createtable(L, n, 0);
  for (int i = 1; i <= n; i++) {
    if (level + 1 < b->shape->n) push_level(L, b, level + 1, at);
    else lua_pushnumber(L, jf_load(b, (*at)++));
    lua_rawseti(L, -2, i);
  }
}

static int l_to_table(lua_State *L)
{
  int64_t at = 0;
  luaL_checkstack(L, 2 * JFL_MAXDIM, NULL);
  jf_larray *b = jf_need_array(L, 1, "to_table");
  push_level(L, b, 0, &at);
  return 1;
}

static size_t byte_size(const jf_larray *b)
{
  return (size_t)jf_shape_size(b->shape) * jfl_dtype_size(b->dtype);
}

static int l_bytes(lua_State *L)
{
  jf_larray *b = jf_need_array(L, 1, "bytes");
  lua_pushlstring(L, b->data, byte_size(b));
  return 1;
}

/* from_bytes(string, dtype, shape) */
static int l_from_bytes(lua_State *L)
{
  size_t n;
  jfl_shape s;
  const char *data = jf_need_bytes(L, 1, "from_bytes", "data", &n);
  jfl_dtype t = jf_need_dtype(L, 2, "from_bytes");
  jf_need_shape(L, 3, "from_bytes", &s);
  jf_larray *b = jf_push_new(L, t, &s);
  if (n != byte_size(b))
    jf_raise(L, "from_bytes: %s array of shape %s takes %f bytes, got %f", jfl_dtype_name(t),
             jf_push_shape_text(L, &s), (lua_Number)byte_size(b), (lua_Number)n);
  memcpy(b->data, data, n);
  return 1;
}

/* inflate(string, "gzip" | "zlib" | "raw" [, size_hint [, what it is, for messages]]) */
static int l_inflate(lua_State *L)
{
  static const char *const names[] = { "gzip", "zlib", "raw" };
  size_t n;
  int kind = 0;
  lua_settop(L, 4);
  const char *data = jf_need_bytes(L, 1, "inflate", "data", &n);
  const char *name = jf_need_string(L, 2, "inflate", "format");
  while (kind < 3 && strcmp(name, names[kind])) kind++;
  if (kind == 3) jf_raise(L, "inflate: format should be gzip, zlib or raw, got '%s'", name);
  double hint = lua_isnil(L, 3) ? 0 : jf_need_number(L, 3, "inflate", "size_hint");
  jf_larray *b = jf_push_array(L);
  jfl_array *a;
  size_t size_hint = hint > 0 && hint < 0x1p47 ? (size_t)hint : 0;
  jfl_status e = jfl_inflate(data, n, (jfl_deflate)kind, size_hint, &a);
  if (lua_isnil(L, 4)) jf_check(L, e);
  else jf_check_for(L, e, jf_need_string(L, 4, "inflate", "what"));
  jf_set_array(b, a);
  jf_account(L, b);
  return 1;
}

/* crc32(array or string): the checksum of its bytes, as in gzip and zip files. */
static int l_crc32(lua_State *L)
{
  size_t n;
  const jf_larray *b = jf_test(L, 1, JF_ARRAY);
  const void *data = b ? b->data : jf_need_bytes(L, 1, "crc32", "data", &n);
  if (b) {
    jf_check_freed(L, b, "crc32");
    n = byte_size(b);
  }
  lua_pushnumber(L, (lua_Number)jfl_crc32(data, n));
  return 1;
}

const luaL_Reg jf_convert_functions[] = {
  { "from_table", l_from_table }, { "to_table", l_to_table }, { "bytes", l_bytes },
  { "from_bytes", l_from_bytes }, { "inflate", l_inflate }, { "crc32", l_crc32 },
  { NULL, NULL }
};
