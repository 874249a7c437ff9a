/* Elements and rows: a[i], a[i] = v, get and set, fill and assign. */
#include "bind/bind.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Copies src, of b's dtype, over the elements of b from first; they may overlap. */
static void copy_in(const jf_larray *b, int64_t first, const jf_larray *src)
{
  size_t size = jfl_dtype_size(b->dtype);
  memmove((char *)b->data + (size_t)first * size, src->data,
          (size_t)jf_shape_size(src->shape) * size);
}

/* Sets the elements from first, whose shape is s, to the number, array or nested table at i. */
static void assign_values(lua_State *L, const jf_larray *b, int64_t first, const jfl_shape *s,
                          int i, const char *what)
{
  int64_t n = jf_shape_size(s);
  if (jf_is_number(L, i)) {
    jf_fill(L, b, first, n, jf_to_number(L, i), what);
    return;
  }
  const jf_larray *src = jf_to_array(L, i, b->dtype, what);
  jf_check_freed(L, b, what);
  if (jf_shape_same(src->shape, s)) copy_in(b, first, src);
  else if (jf_shape_size(src->shape) == 1)
    jf_fill(L, b, first, n, jfl_number_get(src->dtype, src->data, 0), what);
  else
    jf_raise(L, "%s must be of shape %s, got %s", what, jf_push_shape_text(L, s),
             jf_push_shape_text(L, src->shape));
}

/* The shape of a row. */
static jfl_shape row_shape(const jfl_shape *s)
{
  jfl_shape r = { .n = s->n - 1 };
  memcpy(r.d, s->d + 1, (size_t)r.n * sizeof *r.d);
  if (r.n == 0) r.d[r.n++] = 1;
  return r;
}

static int bad_position(lua_State *L, double d, int64_t rows, const char *who)
{
  if (d >= 1 && d <= (double)rows) jf_raise(L, "%s: index must be a whole number, got %f", who, d);
  const char *hint = d == 0 ? "; indices count from 1" : "";
  if (d < 0 && !strcmp(who, "array")) hint = "; a[{ -1 }] counts from the end";
  return jf_raise(L, "%s: index must be from 1 to %f, got %f%s", who, (lua_Number)rows, d, hint);
}

/* Checks index d, which counts from 1, on an axis with so many rows; gives it counted from 0. */
static inline int64_t position(lua_State *L, double d, int64_t rows, const char *who)
{
  int64_t i = d >= 1 && d <= (double)rows ? (int64_t)d : 0;
  if ((double)i != d || i == 0) bad_position(L, d, rows, who);
  return i - 1;
}

/* Pushes row i, which shares b's memory. */
static void bind_index_push_row(lua_State *L, const jf_larray *b, int64_t i)
{
  jf_larray *row = jf_push_array(L);
  jfl_array *one, *a;
  jf_check_freed(L, b, "array");
  jfl_shape s = row_shape(b->shape);
  jf_check(L, jfl_array_rows(b->array, i, 1, &one));
  jfl_status e = jfl_array_reshape(one, &s, &a);
  jfl_array_unref(one);
  jf_check(L, e);
  jf_set_array(row, a);
}

static int is_array(lua_State *L, int i) { return !strcmp(jf_type_name(L, i), "array"); }

/* Pushes the method or field whose name is at index 2. Methods are upvalue 2, a table with a
   metatable that raises an error for an unknown name and suggests a known one. */
static int field(lua_State *L, const jf_larray *b)
{
  if (lua_type(L, 2) == LUA_TTABLE) {
    jf_check_freed(L, b, "array");
    return jf_call_event(L, "__part", 1);
  }
  if (lua_type(L, 2) != LUA_TSTRING)
    jf_raise(L, "array: index must be a number, a list or a name, got %s; %s", jf_type_name(L, 2),
             is_array(L, 2) ? "a:take(places) gives rows by their numbers from 1, "
                                 "flow.gather(a, places) from 0, and a:boolean_mask(mask) those "
                                 "whose mask is not 0"
                               : "a[{i, j}] gives an element");
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(2));
  if (!lua_isnil(L, -1)) return 1;
  const char *key = lua_tostring(L, 2);
  if (strcmp(key, "shape") && strcmp(key, "dtype") && strcmp(key, "size")) {
    lua_pushvalue(L, 2);
    lua_gettable(L, lua_upvalueindex(2));
    return 1;
  }
  jf_check_freed(L, b, "array");
  if (key[1] == 'h') jf_push_shape_of(L, b->dtype, b->shape);
  else if (key[0] == 'd') lua_pushstring(L, jfl_dtype_name(b->dtype));
  else lua_pushnumber(L, (lua_Number)jf_shape_size(b->shape) * jfl_dtype_numbers(b->dtype));
  return 1;
}

static int read_index(lua_State *L)
{
  jf_larray *b = jf_test(L, 1, JF_ARRAY);
  if (!b) jf_raise(L, "array: argument 1 must be an array, got %s", jf_type_name(L, 1));
  if (lua_type(L, 2) != LUA_TNUMBER) return field(L, b);
  if (!b->array) jf_check_freed(L, b, "array");
  if (b->shape->n == 1) jf_need_numbers(L, b, "array");
  int64_t i = position(L, lua_tonumber(L, 2), jf_row_count(L, b, "array"), "array");
  if (b->shape->n == 1) lua_pushnumber(L, jfl_number_get(b->dtype, b->data, i));
  else bind_index_push_row(L, b, i);
  return 1;
}

static int write_index(lua_State *L)
{
  jf_larray *b = jf_need_array(L, 1, "array");
  if (lua_type(L, 2) == LUA_TTABLE) return jf_call_event(L, "__setpart", 0);
  if (lua_type(L, 2) != LUA_TNUMBER)
    jf_raise(L, "array: cannot set '%s', only elements, rows and parts can be set%s",
             lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : jf_type_name(L, 2),
             is_array(L, 2) ? "; a = flow.where(mask, value, a) sets those of a mask" : "");
  int64_t i = position(L, lua_tonumber(L, 2), jf_row_count(L, b, "array"), "array");
  if (b->shape->n == 1 && lua_type(L, 3) == LUA_TNUMBER) {
    jf_fill(L, b, i, 1, lua_tonumber(L, 3), "array: value");
  } else {
    jfl_shape s = row_shape(b->shape);
    assign_values(L, b, i * jf_shape_size(&s), &s, 3, "array: value");
  }
  return 0;
}

/* The element at the indices from stack index `at` on, one per dimension. */
static int64_t element(lua_State *L, const jf_larray *b, int at, const char *who)
{
  int n = lua_gettop(L) - at + 1;
  int64_t e = 0;
  jf_need_numbers(L, b, who);
  if (n != b->shape->n)
    jf_raise(L, "%s: takes %d %s for shape %s, got %d", who, b->shape->n,
             b->shape->n == 1 ? "index" : "indices", jf_push_shape_text(L, b->shape), n);
  for (int k = 0; k < n; k++) {
    double d = jf_need_number(L, at + k, who, "an index");
    e = e * b->shape->d[k] + position(L, d, b->shape->d[k], who);
  }
  return e;
}

/* get(a, i, j, ...), or get(key) of a setting. */
JF_LUA(get)
{
  if (lua_type(L, 1) == LUA_TSTRING) return jf_session_l_get(L);
  jf_larray *b = jf_need_array(L, 1, "get");
  lua_pushnumber(L, jfl_number_get(b->dtype, b->data, element(L, b, 2, "get")));
  return 1;
}

/* set(a, v, i, j, ...), or set(key, value) of a setting. */
JF_LUA(set)
{
  if (lua_type(L, 1) == LUA_TSTRING) return jf_session_l_set(L);
  jf_larray *b = jf_need_array(L, 1, "set");
  if (!jf_is_number(L, 2))
    jf_raise(L, "set: value must be a number, got %s", jf_type_name(L, 2));
  jf_fill(L, b, element(L, b, 3, "set"), 1, jf_to_number(L, 2), "set: value");
  return 0;
}

/* digits(a, i, j, ...): an element of an integer dtype as text, exact beyond 2^53 too. */
JF_LUA(digits)
{
  char text[24];
  jf_larray *b = jf_need_array(L, 1, "digits");
  int64_t e = element(L, b, 2, "digits");
  if (b->dtype == JFL_I64) snprintf(text, sizeof text, "%" PRId64, ((const int64_t *)b->data)[e]);
  else snprintf(text, sizeof text, "%.0f", jfl_number_get(b->dtype, b->data, e));
  lua_pushstring(L, text);
  return 1;
}

JF_LUA(fill)
{
  jf_larray *b = jf_need_array(L, 1, "fill");
  double v = jf_need_number(L, 2, "fill", "value");
  jf_fill(L, b, 0, jf_shape_size(b->shape), v, "fill: value");
  return 0;
}

JF_LUA(assign)
{
  jf_larray *b = jf_need_array(L, 1, "assign");
  jfl_shape s = *b->shape;
  assign_values(L, b, 0, &s, 2, "assign: value");
  return 0;
}

void jf_open_index(lua_State *L, jf_state *st, int module)
{
  lua_getfield(L, module, "array_mt");
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, module, "array_methods");
  lua_pushlightuserdata(L, st);
  lua_insert(L, -2);
  lua_pushcclosure(L, read_index, 2);
  lua_setfield(L, -2, "__index");
  lua_pushlightuserdata(L, st);
  lua_pushcclosure(L, write_index, 1);
  lua_setfield(L, -2, "__newindex");
  lua_pop(L, 1);
}
