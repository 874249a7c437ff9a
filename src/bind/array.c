/* Arrays in Lua: their userdata, the memory they account for, and what makes them. */
#include "bind/bind.h"

#include <string.h>

jf_larray *jf_push_array(lua_State *L)
{
  return jf_push(L, JF_ARRAY, sizeof(jf_larray));
}

void jf_set_array(jf_larray *b, jfl_array *a)
{
  b->array = a;
  b->data = jfl_array_data(a);
  b->shape = jfl_array_shape(a);
  b->dtype = jfl_array_dtype(a);
}

/* Takes what the core has put into b->array; fails where it failed. */
static int array_take(lua_State *L, jf_larray *b, jfl_status s, const char *who)
{
  if (s) b->array = NULL;
  jf_check_for(L, s, who);
  jf_set_array(b, b->array);
  return 1;
}

int jf_give_array(lua_State *L, jf_larray *b, jfl_status s, const char *who)
{
  array_take(L, b, s, who);
  jf_account(L, b);
  return 1;
}

jf_larray *jf_push_new(lua_State *L, jfl_dtype t, const jfl_shape *s)
{
  jf_larray *b = jf_push_array(L);
  jfl_status e = jfl_array_new(t, s, &b->array);
  if (e == JFL_ENOMEM) {
    b->array = NULL;
    jf_collect(L);
    e = jfl_array_new(t, s, &b->array);
  }
  jf_give_array(L, b, e, NULL);
  return b;
}

jf_larray *jf_push_cast(lua_State *L, const jf_larray *b, jfl_dtype t, int lossless,
                        const char *what)
{
  jf_larray *out = jf_push_array(L);
  jf_check_freed(L, b, what);
  jfl_status e = jfl_array_cast(b->array, t, lossless, &out->array);
  if (e) out->array = NULL;
  jf_check_element(L, e, what);
  jf_give_array(L, out, e, what);
  return out;
}

void jf_check_freed(lua_State *L, const jf_larray *b, const char *who)
{
  if (!b->array) jf_raise(L, "%s: the array was freed", who);
}

jf_larray *jf_need_array(lua_State *L, int i, const char *who)
{
  jf_larray *b = jf_test(L, i, JF_ARRAY);
  if (!b) jf_raise(L, "%s: argument %d must be an array, got %s", who, i, jf_type_name(L, i));
  jf_check_freed(L, b, who);
  return b;
}

void jf_fill(lua_State *L, const jf_larray *b, int64_t first, int64_t n, double v, const char *what)
{
  enum { MOST = 1 << 18 };     /* elements between two looks at whether it is to end */
  const size_t size = jfl_dtype_size(b->dtype);
  char *to = (char *)b->data + (size_t)first * size;
  if (!jfl_number_fits(b->dtype, v))
    jf_raise(L, "%s must fit %s, got %f", what, jfl_dtype_name(b->dtype), v);
  if (n > 0) jfl_number_put(b->dtype, to, 0, v);
  for (int64_t done = 1, more; done < n; done += more) {
    more = done < n - done ? done : n - done;
    if (more > MOST) more = MOST;
    jf_heed_interrupt(L);
    memcpy(to + (size_t)done * size, to, (size_t)more * size);
  }
}

static void bind_array_drop(lua_State *L, jf_larray *b)
{
  if (!b->array) return;
  jfl_array_unref(b->array);
  jf_state_of(L)->live -= b->owned;
  *b = (jf_larray){ .tag = b->tag };
}

static int gc(lua_State *L)
{
  jf_larray *b = jf_test(L, 1, JF_ARRAY);
  if (b) bind_array_drop(L, b);
  return 0;
}

void jf_need_numbers(lua_State *L, const jf_larray *b, const char *who)
{
  if (jfl_dtype_numbers(b->dtype) > 1)
    jf_raise(L, "%s: the array is of %s, whose numbers lie in blocks; a:astype(\"float32\") gives "
             "them", who, jfl_dtype_name(b->dtype));
}

int64_t jf_row_count(lua_State *L, const jf_larray *b, const char *who)
{
  if (b->shape->n == 0)
    jf_raise(L, "%s: a scalar has no rows; a:item() and a:get() give its number", who);
  return b->shape->d[0];
}

static int len(lua_State *L)
{
  lua_pushnumber(L, (lua_Number)jf_row_count(L, jf_need_array(L, 1, "array"), "array"));
  return 1;
}

JF_LUA(free)
{
  bind_array_drop(L, jf_need_array(L, 1, "free"));
  return 0;
}

JF_LUA(is_freed)
{
  const jf_larray *b = jf_test(L, 1, JF_ARRAY);
  lua_pushboolean(L, b && !b->array);
  return 1;
}

JF_LUA(is_shape)
{
  lua_pushboolean(L, jf_is_shape(L, 1));
  return 1;
}

JF_LUA(array)
{
  jfl_shape s;
  jfl_dtype t = jf_need_dtype(L, 1, "array");
  jf_need_shape_of(L, 2, "array", t, &s);
  jf_push_new(L, t, &s);
  return 1;
}

/* rows(a, first, count): a view of some rows, counted from 0. */
JF_LUA(rows)
{
  jf_larray *b = jf_need_array(L, 1, "rows");
  double first = jf_need_number(L, 2, "rows", "first"), n = jf_need_number(L, 3, "rows", "count");
  double rows = (double)jf_row_count(L, b, "rows");
  if (!(first >= 0 && n >= 0 && first + n <= rows))
    jf_raise(L, "rows: rows must be within the array of %f, got %f from %f on", rows, n, first);
  jf_larray *out = jf_push_array(L);
  jf_check_freed(L, b, "rows");
  jfl_status e = jfl_array_rows(b->array, (int64_t)first, (int64_t)n, &out->array);
  return array_take(L, out, e, "rows");
}

/* Replaces an extent of -1 by the one with which the shape has n elements. */
static void bind_array_complete(lua_State *L, jfl_shape *s, int64_t n)
{
  int open = -1, fits = 1;
  int64_t rest = 1;
  for (int i = 0; i < s->n && fits; i++) {
    if (s->d[i] == -1 && open >= 0)
      jf_raise(L, "reshape: shape must have one extent of -1 at most");
    if (s->d[i] == -1) open = i;
    else if (s->d[i] == 0) rest = 0;
    else if (rest && (fits = s->d[i] > 0 && (n == 0 || s->d[i] <= n / rest))) rest *= s->d[i];
  }
  if (!fits || (open < 0 ? rest != n : rest == 0 || n % rest != 0))
    jf_raise(L, "reshape: shape must have room for %f elements, got %s", (lua_Number)n,
             jf_push_shape_text(L, s));
  if (open >= 0) s->d[open] = n / rest;
}

JF_LUA(reshape)
{
  jfl_shape s;
  jf_larray *b = jf_need_array(L, 1, "reshape");
  jf_need_shape_of(L, 2, "reshape", b->dtype, &s);
  jf_larray *out = jf_push_array(L);
  jf_check_freed(L, b, "reshape");
  bind_array_complete(L, &s, jfl_array_size(b->array));
  return array_take(L, out, jfl_array_reshape(b->array, &s, &out->array), NULL);
}

/* cast(a, dtype, lossless): a copy; a itself where the dtype is the same and lossless is given. */
JF_LUA(cast)
{
  jf_larray *b = jf_need_array(L, 1, "cast");
  jfl_dtype t = jf_need_dtype(L, 2, "cast");
  if (t == b->dtype && !lua_isnoneornil(L, 3)) lua_pushvalue(L, 1);
  else jf_push_cast(L, b, t, lua_toboolean(L, 3), "cast: array");
  return 1;
}

JF_LUA(copy)
{
  jf_larray *b = jf_need_array(L, 1, "copy");
  jf_push_cast(L, b, b->dtype, 0, "copy");
  return 1;
}

JF_LUA(pointer)
{
  jf_state_of(L)->pointed = 1;
  lua_pushlightuserdata(L, jf_need_array(L, 1, "pointer")->data);
  return 1;
}

/* view(a, dtype, shape): the same bytes as something else. */
JF_LUA(view)
{
  jfl_shape s;
  jf_larray *b = jf_need_array(L, 1, "view");
  const jfl_dtype t = jf_need_dtype(L, 2, "view");
  jf_need_shape_of(L, 3, "view", t, &s);
  jf_larray *out = jf_push_array(L);
  jf_check_freed(L, b, "view");
  return array_take(L, out, jfl_array_view(b->array, t, &s, &out->array), NULL);
}

JF_LUA(live_bytes)
{
  lua_pushnumber(L, (lua_Number)jf_state_of(L)->live);
  return 1;
}

/* The bytes of a number of each dtype; or of those in blocks how many a block holds. */
static void push_dtypes(lua_State *L, int of_blocks)
{
  lua_newtable(L);
  for (int t = 0; t < JFL_N_DTYPE; t++) {
    const int numbers = jfl_dtype_numbers((jfl_dtype)t);
    if ((numbers > 1) != of_blocks) continue;
    lua_pushnumber(L, of_blocks ? numbers : (lua_Number)jfl_dtype_size((jfl_dtype)t));
    lua_setfield(L, -2, jfl_dtype_name((jfl_dtype)t));
  }
}

void jf_open_array(lua_State *L, jf_state *st, int module)
{
  jf_limit_arrays(st, SIZE_MAX);
  push_dtypes(L, 0);
  lua_setfield(L, module, "dtypes");
  push_dtypes(L, 1);
  lua_setfield(L, module, "blocks");
  jf_new_kind(L, st, JF_ARRAY, gc);
  lua_pushlightuserdata(L, st);
  lua_pushcclosure(L, len, 1);
  lua_setfield(L, -2, "__len");
  lua_setfield(L, module, "array_mt");
}
