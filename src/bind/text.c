/* Texts and names in Lua. */
#include "bind/bind.h"
#include "bind/regex.h"

/* printable(text): as a terminal may show it. */
JF_LUA(printable)
{
  size_t n;
  jf_need_bytes(L, 1, "printable", "text", &n);
  lua_settop(L, 1);
  jf_make_printable(L);
  return 1;
}

/* warn(text): gives a warning to the host of the process; whether it wants them. */
JF_LUA(warn)
{
  lua_pushboolean(L, jfl_warn(jf_need_string(L, 1, "warn", "text")));
  return 1;
}

/* name_check(who, what, name): fails unless the name is one that files can hold. */
JF_LUA(name_check)
{
  const char *who = jf_need_string(L, 1, "name_check", "who");
  const char *what = jf_need_string(L, 2, who, "what");
  jf_check_for(L, jfl_name_check(what, jf_need_string(L, 3, who, what)), who);
  return 0;
}

/* matches(expression, text): whether the expression matches a part of the text; nil and what
   is wrong for one that cannot be read. */
JF_LUA(matches)
{
  const char *expression = jf_need_string(L, 1, "matches", "expression");
  const char *text = jf_need_string(L, 2, "matches", "text"), *wrong;
  const int found = jf_regex_matches(expression, text, &wrong);
  if (found < 0) return lua_pushnil(L), lua_pushstring(L, wrong), 2;
  return lua_pushboolean(L, found), 1;
}
