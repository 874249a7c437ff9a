/* Arrays to and from nested Lua tables, strings, and compressed data. */
#include "bind/bind.h"

#include <math.h>
#include <string.h>

/* A nested table that is being copied into memory. path: the indices of the current element. */
typedef struct convert_reader {
  const char *what;            /* how a message calls the table */
  jfl_dtype dtype;
  void *data;
  jfl_shape shape;
  int type;                    /* Lua's, of the first element: the others have it too */
  int path[JFL_MAXDIM];
} convert_reader;

/* Pushes "[2][1]", the first n steps of the path. */
static const char *push_path(lua_State *L, const convert_reader *r, int n)
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

/* Raises the error for the table at stack top, which is no list of numbers. */
static void no_elements(lua_State *L, const char *what)
{
  lua_pushnil(L);
  if (!lua_next(L, -2))
    jf_raise(L, "%s must be an array or a list of numbers, got an empty table", what);
  if (lua_type(L, -2) == LUA_TSTRING)
    jf_raise(L, "%s must be an array or a list of numbers, got a table with the name '%s'", what,
             lua_tostring(L, -2));
  jf_raise(L, "%s must be an array or a list of numbers from index 1 on, got a table without one",
           what);
}

/* Reads the shape off the first element of each level of the table at i. */
static void convert_measure(lua_State *L, int i, convert_reader *r)
{
  lua_pushvalue(L, i);
  while (lua_istable(L, -1)) {
    size_t n = lua_objlen(L, -1);
    if (n == 0) no_elements(L, r->what);
    if (r->shape.n == JFL_MAXDIM)
      jf_raise(L, "%s must be nested at most %d deep", r->what, (int)JFL_MAXDIM);
    r->shape.d[r->shape.n++] = (int64_t)n;
    lua_rawgeti(L, -1, 1);
    lua_remove(L, -2);
  }
  r->type = lua_type(L, -1);
  lua_pop(L, 1);
}

/* Raises the error for a table, at stack top, that holds more than its elements 1 to n. */
static void fail_key(lua_State *L, const convert_reader *r, int level, size_t n)
{
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    double k = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
    if (!(k >= 1 && k <= (double)n && k == floor(k))) break;
    lua_pop(L, 1);
  }
  const char *path = push_path(L, r, level);
  if (lua_type(L, -3) == LUA_TNUMBER)
    jf_raise(L, "%s%s must have no gap, got %f elements and then one at [%f]", r->what, path,
             (lua_Number)n, lua_tonumber(L, -3));
  jf_raise(L, "%s%s must have elements 1 to %f alone, got a key %s", r->what, path, (lua_Number)n,
           lua_type(L, -3) == LUA_TSTRING ? lua_tostring(L, -3) : jf_type_name(L, -3));
}

/* Whether the table at stack top holds more than its elements 1 to n. Of a list, nothing comes
   after element n in the order of next(), which is quick to see; otherwise all keys are counted. */
static int has_more(lua_State *L, size_t n)
{
  lua_pushnumber(L, (lua_Number)n);
  if (!lua_next(L, -2)) return 0;
  lua_pop(L, 2);
  size_t count = 0;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) count++;
  return count != n;
}

/* Stores the number at stack top, popped. */
static void read_number(lua_State *L, convert_reader *r, int64_t at)
{
  if (!jf_is_number(L, -1)) {
    const char *type = jf_type_name(L, -1);
    const char *hint = lua_type(L, -1) == LUA_TSTRING ? "; tonumber(text) gives its number" : "";
    jf_raise(L, "%s%s must be a number, got %s%s", r->what, push_path(L, r, r->shape.n), type,
             hint);
  }
  if (lua_type(L, -1) != r->type) {
    const char *type = jf_type_name(L, -1);
    jf_raise(L, "%s%s must be a %s like those before it, got %s", r->what,
             push_path(L, r, r->shape.n), lua_typename(L, r->type), type);
  }
  double v = jf_to_number(L, -1);
  if (!jfl_number_fits(r->dtype, v))
    jf_raise(L, "%s%s must fit %s, got %f", r->what, push_path(L, r, r->shape.n),
             jfl_dtype_name(r->dtype), v);
  jfl_number_put(r->dtype, r->data, at, v);
  lua_pop(L, 1);
}

/* Checks that the table at stack top belongs to a level of the shape. */
static void check_level(lua_State *L, const convert_reader *r, int level)
{
  if (!lua_istable(L, -1)) {
    const char *type = jf_type_name(L, -1);
    jf_raise(L, "%s%s must be a table of %f elements, got %s", r->what, push_path(L, r, level),
             (lua_Number)r->shape.d[level], type);
  }
  size_t n = lua_objlen(L, -1);
  if (n != (size_t)r->shape.d[level])
    jf_raise(L, "%s%s must have %f elements like those before it, got %f", r->what,
             push_path(L, r, level), (lua_Number)r->shape.d[level], (lua_Number)n);
  if (has_more(L, n)) fail_key(L, r, level, n);
}

/* Reads the table at stack top, popped, into the elements from `at`; returns how many. */
static int64_t read_level(lua_State *L, convert_reader *r, int level, int64_t at)
{
  int64_t n = 0;
  check_level(L, r, level);
  for (int i = 1; i <= (int)r->shape.d[level]; i++) {
    r->path[level] = i;
    jf_heed_at(L, at + n);
    lua_rawgeti(L, -1, i);
    if (level + 1 < r->shape.n) n += read_level(L, r, level + 1, at + n);
    else read_number(L, r, at + n++);
  }
  lua_pop(L, 1);
  return n;
}

/* Pushes an array made from the nested table at i. what: how a message calls it. */
static jf_larray *push_from_table(lua_State *L, int i, jfl_dtype t, const char *what)
{
  convert_reader r = { .what = what, .dtype = t };
  if (!lua_istable(L, i)) jf_raise(L, "%s must be a table, got %s", what, jf_type_name(L, i));
  luaL_checkstack(L, 4 * JFL_MAXDIM, NULL);
  convert_measure(L, i, &r);
  jf_larray *b = jf_push_new(L, r.dtype, &r.shape);
  r.data = b->data;
  lua_pushvalue(L, i);
  read_level(L, &r, 0, 0);
  return b;
}

jf_larray *jf_to_array(lua_State *L, int i, jfl_dtype t, const char *what)
{
  jf_larray *b = jf_test(L, i, JF_ARRAY);
  if (b) {
    jf_check_freed(L, b, what);
    return b->dtype == t ? b : jf_push_cast(L, b, t, 1, what);
  }
  if (lua_istable(L, i)) return push_from_table(L, i, t, what);
  if (!jf_is_number(L, i))
    jf_raise(L, "%s must be an array, a table or a number, got %s", what, jf_type_name(L, i));
  jfl_shape one = { .n = 1, .d = { 1 } };
  double v = jf_to_number(L, i);
  b = jf_push_new(L, t, &one);
  jf_fill(L, b, 0, 1, v, what);
  return b;
}

/* from_table(t, dtype [, shape [, what]]); what: how a message calls the table. */
JF_LUA(from_table)
{
  jfl_shape s;
  const char *what = lua_isnoneornil(L, 4) ? "values" : jf_need_string(L, 4, "from_table", "what");
  jfl_dtype t = jf_need_dtype(L, 2, what);
  lua_settop(L, 4);
  if (!lua_isnil(L, 3)) jf_need_shape(L, 3, what, &s);
  jf_larray *b = push_from_table(L, 1, t, what);
  if (!lua_isnil(L, 3) && !jf_shape_same(b->shape, &s))
    jf_raise(L, "%s must be of shape %s, got %s", what, jf_push_shape_text(L, &s),
             jf_push_shape_text(L, b->shape));
  lua_settop(L, 5);
  return 1;
}

/* ramp(dtype, count, start, step, who): start, start + step, ... */
JF_LUA(ramp)
{
  jfl_shape s;
  jfl_dtype t = jf_need_dtype(L, 1, "ramp");
  jf_need_shape(L, 2, "ramp", &s);
  double start = jf_need_number(L, 3, "ramp", "start"), step = jf_need_number(L, 4, "ramp", "step");
  const char *who = jf_need_string(L, 5, "ramp", "who");
  jf_larray *b = jf_push_new(L, t, &s);
  for (int64_t i = 0, n = jf_shape_size(&s); i < n; i++) {
    double v = start + (double)i * step;
    jf_heed_at(L, i);
    if (!jfl_number_fits(t, v))
      jf_raise(L, "%s: a value must fit %s, got %f", who, jfl_dtype_name(t), v);
    jfl_number_put(t, b->data, i, v);
  }
  return 1;
}

/* Pushes a level of b as a table that begins with element *at, which is moved past its last. */
static void push_level(lua_State *L, const jf_larray *b, int level, int64_t *at)
{
  int n = (int)b->shape->d[level];
  lua_createtable(L, n, 0);
  for (int i = 1; i <= n; i++) {
    jf_heed_at(L, *at);
    if (level + 1 < b->shape->n) push_level(L, b, level + 1, at);
    else lua_pushnumber(L, jfl_number_get(b->dtype, b->data, (*at)++));
    lua_rawseti(L, -2, i);
  }
}

JF_LUA(to_table)
{
  int64_t at = 0;
  luaL_checkstack(L, 2 * JFL_MAXDIM, NULL);
  jf_larray *b = jf_need_array(L, 1, "to_table");
  jf_need_numbers(L, b, "to_table");
  if (b->shape->n == 0) return lua_pushnumber(L, jfl_number_get(b->dtype, b->data, 0)), 1;
  push_level(L, b, 0, &at);
  return 1;
}

static size_t byte_size(const jf_larray *b)
{
  return (size_t)jf_shape_size(b->shape) * jfl_dtype_size(b->dtype);
}

JF_LUA(bytes)
{
  jf_larray *b = jf_need_array(L, 1, "bytes");
  lua_pushlstring(L, b->data, byte_size(b));
  return 1;
}

/* from_bytes(string, dtype, shape) */
JF_LUA(from_bytes)
{
  size_t n;
  jfl_shape s;
  const char *data = jf_need_bytes(L, 1, "from_bytes", "data", &n);
  jfl_dtype t = jf_need_dtype(L, 2, "from_bytes");
  jf_need_shape_of(L, 3, "from_bytes", t, &s);
  jf_larray *b = jf_push_new(L, t, &s);
  if (n != byte_size(b))
    jf_raise(L, "from_bytes: data must be %f bytes for %s %s, got %f", (lua_Number)byte_size(b),
             jfl_dtype_name(t), jf_push_shape_text(L, &s), (lua_Number)n);
  memcpy(b->data, data, n);
  return 1;
}

/* The unsigned number in `size` bytes at p, in either byte order. */
static uint64_t read_unit(const unsigned char *p, int size, int big)
{
  uint64_t v = 0;
  for (int i = 0; i < size; i++) v = v << 8 | p[big ? i : size - 1 - i];
  return v;
}

static void write_unit(void *data, size_t size, int64_t i, uint64_t v)
{
  switch (size) {
  case 1: ((uint8_t *)data)[i] = (uint8_t)v; break;
  case 2: ((uint16_t *)data)[i] = (uint16_t)v; break;
  case 4: ((uint32_t *)data)[i] = (uint32_t)v; break;
  default: ((uint64_t *)data)[i] = v;
  }
}

/* Elements of a file as numpy describes them: "<u2" is little-endian, unsigned, of two bytes. */
typedef struct convert_units {
  const char *data;
  int64_t n;
  int size, big;
  char kind;
} convert_units;

static convert_units read_units(lua_State *L, int code, int data)
{
  size_t n;
  const char *c = jf_need_string(L, code, "decode", "code");
  if (strlen(c) != 3 || !strchr("<>|=", c[0]) || !strchr("1248", c[2]))
    jf_raise(L, "decode: code must be a byte order, a kind and a size as in <u2, got '%s'", c);
  convert_units u = { .size = c[2] - '0', .big = c[0] == '>', .kind = c[1] };
  u.data = jf_need_bytes(L, data, "decode", "data", &n);
  u.n = (int64_t)(n / (size_t)u.size);
  return u;
}

/* Writes u to the elements of b from `first`. Signed numbers keep their sign in wider elements. */
static void convert_widen(lua_State *L, const convert_units *u, const jf_larray *b, int64_t first,
                          const char *who)
{
  const size_t size = jfl_dtype_size(b->dtype);
  const int is_u64 = u->kind == 'u' && u->size == 8;
  const uint64_t sign = u->kind == 'i' ? (uint64_t)1 << (8 * u->size - 1) : 0;
  for (int64_t i = 0; i < u->n; i++) {
    uint64_t v = read_unit((const unsigned char *)u->data + i * u->size, u->size, u->big);
    jf_heed_at(L, i);
    if (is_u64 && v >> 63)
      jf_raise(L, "%s: element %f in memory must fit %s, got %f", who, (lua_Number)(first + i),
               jfl_dtype_name(b->dtype), (lua_Number)v);
    write_unit(b->data, size, first + i, (v ^ sign) - sign);
  }
}

/* decode(a, first, code, string, who): sets the elements of a from `first`, counted from 0, to
   those that the string holds in numpy's code. a's dtype is as wide, or wider for integers. */
JF_LUA(decode)
{
  jf_larray *b = jf_need_array(L, 1, "decode");
  double first = jf_need_number(L, 2, "decode", "first");
  convert_units u = read_units(L, 3, 4);
  const char *who = jf_need_string(L, 5, "decode", "who");
  size_t size = jfl_dtype_size(b->dtype);
  if (!(first >= 0 && first + (double)u.n <= (double)jf_shape_size(b->shape)))
    jf_raise(L, "decode: elements must be within the array, got %f from %f on", (lua_Number)u.n,
             first);
  if (size < (size_t)u.size)
    jf_raise(L, "decode: dtype must be at least %d bytes wide, got %s", u.size,
             jfl_dtype_name(b->dtype));
  if (size > (size_t)u.size || u.big || u.kind == 'u') convert_widen(L, &u, b, (int64_t)first, who);
  else memcpy((char *)b->data + (size_t)first * size, u.data, (size_t)u.n * size);
  return 0;
}

/* crc32(array or string): the checksum of its bytes, as in gzip and zip files. */
JF_LUA(crc32)
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
