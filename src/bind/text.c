/* Texts and names in Lua. */
#include "bind/bind.h"
#include "system/system.h"

#include <string.h>

/* Bytes of a regular expression, and how many + it may have: compiled, each may double its size. */
enum { MOST_BYTES = 256, MOST_PLUS = 8 };

/* printable(text): as a terminal may show it. */
static int l_printable(lua_State *L)
{
  size_t n;
  jf_need_bytes(L, 1, "printable", "text", &n);
  lua_settop(L, 1);
  jf_make_printable(L);
  return 1;
}

/* warn(text): gives a warning to the host of the process; whether it wants them. */
static int l_warn(lua_State *L)
{
  lua_pushboolean(L, jfl_warn(jf_need_string(L, 1, "warn", "text")));
  return 1;
}

/* name_check(who, what, name): fails unless the name is one that files can hold. */
static int l_name_check(lua_State *L)
{
  const char *who = jf_need_string(L, 1, "name_check", "who");
  const char *what = jf_need_string(L, 2, who, "what");
  jf_check_for(L, jfl_name_check(what, jf_need_string(L, 3, who, what)), who);
  return 0;
}

/* What is wrong with a regular expression before it is compiled, or NULL. */
static const char *too_large(const char *expression)
{
  int n = 0;
  if (strlen(expression) > MOST_BYTES) return "more than 256 bytes";
  for (const char *c = expression; *c; c++) {
    if (*c == '{') return "a {";
    if (*c == '\\' && c[1]) c++;
    else n += *c == '+';
  }
  return n > MOST_PLUS ? "more than 8 +" : NULL;
}

/* matches(expression, text): whether POSIX's extended regular expression matches a part of the
   text; nil and what is wrong for one that cannot be read. */
static int l_matches(lua_State *L)
{
  const char *expression = jf_need_string(L, 1, "matches", "expression");
  const char *text = jf_need_string(L, 2, "matches", "text"), *wrong = too_large(expression);
  char message[128];
  if (wrong) return lua_pushnil(L), lua_pushfstring(L, "%s", wrong), 2;
  const int found = jf_matches(expression, text, message, sizeof message);
  if (found < 0) return lua_pushnil(L), lua_pushstring(L, message), 2;
  return lua_pushboolean(L, found), 1;
}

const luaL_Reg jf_text_functions[] = {
  { "printable", l_printable }, { "warn", l_warn }, { "name_check", l_name_check },
  { "matches", l_matches }, { NULL, NULL }
};
