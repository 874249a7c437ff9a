/* Tables in text files, in Lua. */
#include "bind/bind.h"

#include <string.h>

enum { MOST_WORDS = 1 << 16 };

static void drop_csv(void *p) { jfl_csv_free(p); }

/* Pushes room for the strings of the list in field `name` of the table at i, and fills it; the list
   keeps them. */
static const char **csv_strings(lua_State *L, int i, const char *name, int *n)
{
  lua_getfield(L, i, name);
  luaL_checktype(L, -1, LUA_TTABLE);
  const size_t count = lua_objlen(L, -1);
  if (count > MOST_WORDS) jf_raise(L, "csv: %s must be at most %d", name, (int)MOST_WORDS);
  const char **list = lua_newuserdata(L, (count + !count) * sizeof *list);
  for (size_t k = 0; k < count; k++) {
    lua_rawgeti(L, -2, (int)k + 1);
    list[k] = jf_need_string(L, -1, "csv", name);
    lua_pop(L, 1);
  }
  *n = (int)count;
  return list;
}

/* Reads { separator =, header =, missing = {...}, typed = {...}, types = {...} } at i, where types
   are "string" or dtypes. Leaves values on the stack that the spec points into. */
static jfl_csv_spec csv_need_spec(lua_State *L, int i)
{
  jfl_csv_spec s = { .header = 1 };
  int n_type;
  luaL_checktype(L, i, LUA_TTABLE);
  lua_getfield(L, i, "separator");
  s.separator = jf_need_string(L, -1, "csv", "separator")[0];
  s.header = jf_true_field(L, i, "header");
  s.missing = csv_strings(L, i, "missing", &s.n_missing);
  s.typed = csv_strings(L, i, "typed", &s.n_typed);
  const char **names = csv_strings(L, i, "types", &n_type);
  if (n_type != s.n_typed) jf_raise(L, "csv: types must be as many as columns");
  jfl_csv_type *type = lua_newuserdata(L, (size_t)(n_type + 1) * sizeof *type);
  jfl_dtype *dtype = lua_newuserdata(L, (size_t)(n_type + 1) * sizeof *dtype);
  for (int k = 0; k < n_type; k++) {
    type[k] = strcmp(names[k], "string") ? JFL_CSV_NUMBER : JFL_CSV_TEXT;
    dtype[k] = JFL_F32;
    if (type[k] == JFL_CSV_NUMBER) jf_check_for(L, jfl_dtype_parse(names[k], &dtype[k]), "csv");
  }
  s.type = type;
  s.dtype = dtype;
  return s;
}

/* Pushes column i of a table: an array, or a list of strings. */
static void csv_push_column(lua_State *L, const jfl_csv *t, int i, const char *who)
{
  const int64_t rows = jfl_csv_rows(t);
  if (!jfl_csv_is_text(t, i)) {
    jf_larray *b = jf_push_array(L);
    jf_give_array(L, b, jfl_csv_column(t, i, &b->array), who);
    return;
  }
  lua_createtable(L, rows < INT32_MAX ? (int)rows : 0, 0);
  for (int64_t row = 0; row < rows; row++) {
    const char *text;
    size_t n;
    jf_check_for(L, jfl_csv_text(t, i, row, &text, &n), who);
    lua_pushlstring(L, text, n);
    lua_rawseti(L, -2, (int)row + 1);
  }
}

/* csv(path, spec, who) -> a list of { name, column } */
JF_LUA(csv)
{
  const char *path = jf_need_string(L, 1, "csv", "path");
  const char *who = jf_need_string(L, 3, "csv", "who");
  const jfl_csv_spec spec = csv_need_spec(L, 2);
  jf_holder *h = jf_push_holder(L, drop_csv);
  jf_give_held(L, h, jfl_csv_read(path, &spec, &h->csv), who);
  const int n = jfl_csv_columns(h->csv);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_createtable(L, 2, 0);
    lua_pushstring(L, jfl_csv_name(h->csv, i));
    lua_rawseti(L, -2, 1);
    csv_push_column(L, h->csv, i, who);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, i + 1);
  }
  jf_drop_held(h);
  return 1;
}
