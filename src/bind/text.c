/* Texts and names in Lua. */
#include "bind/bind.h"

/* printable(text): as a terminal may show it. */
static int l_printable(lua_State *L)
{
  size_t n;
  jf_need_bytes(L, 1, "printable", "text", &n);
  lua_settop(L, 1);
  jf_make_printable(L);
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

const luaL_Reg jf_text_functions[] = {
  { "printable", l_printable }, { "name_check", l_name_check }, { NULL, NULL }
};
