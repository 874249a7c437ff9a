/* Lists of texts in Lua, read for the core: names, and notes of checkpoints. */
#include "bind/bind.h"

void *jf_push_room(lua_State *L, int n, size_t size)
{
  return lua_newuserdata(L, ((size_t)n + 1) * size);
}

const char **jf_push_list(lua_State *L, int i, const char *who, const char *what, int *n)
{
  *n = lua_istable(L, i) ? (int)lua_objlen(L, i) : 0;
  const char **list = jf_push_room(L, *n, sizeof *list);
  for (int k = 0; k < *n; k++) {
    lua_rawgeti(L, i, k + 1);
    list[k] = jf_need_string(L, -1, who, what);        /* which the table keeps */
    lua_pop(L, 1);
  }
  return list;
}

jfl_array **jf_push_arrays(lua_State *L, int i, const char *who, const char *const *names, int n)
{
  jfl_array **list = jf_push_room(L, n, sizeof *list);
  if (!lua_istable(L, i)) jf_raise(L, "%s: arrays must be a list, got %s", who, jf_type_name(L, i));
  for (int k = 0; k < n; k++) {
    lua_rawgeti(L, i, k + 1);
    const jf_larray *a = jf_test(L, -1, JF_ARRAY);
    if (!a || !a->array)
      jf_raise(L, "%s: '%s' must be an array, got %s", who, names[k], jf_type_name(L, -1));
    list[k] = a->array;
    lua_pop(L, 1);
  }
  return list;
}

const jfl_note *jf_push_notes(lua_State *L, int i, int *n)
{
  int n_value;
  const char **keys = jf_push_list(L, i, "save", "key", n);
  const char **values = jf_push_list(L, i + 1, "save", "value", &n_value);
  if (*n != n_value)
    jf_raise(L, "save: values must be as many as the %d keys, got %d", *n, n_value);
  jfl_note *notes = jf_push_room(L, *n, sizeof *notes);
  for (int k = 0; k < *n; k++) notes[k] = (jfl_note){ keys[k], values[k] };
  return notes;
}
