/* What the state of a text that nobody trusts holds where the text sees nothing of it. */
#include "box/box.h"
#include "lua_test.h"

#include <lualib.h>

/* What jf_box_libraries finds on the stack: the front end and its print. */
static int open_libraries(lua_State *L)
{
  lua_settop(L, 0);
  lua_newtable(L);
  lua_pushcfunction(L, luaopen_base);
  jf_box_libraries(L);
  return 0;
}

/* LuaJIT uses what its ffi library has made, also where nobody has the library any more. */
static void holds_the_ffi_library(void)
{
  lua_State *L = luaL_newstate();
  CHECK(L != NULL);
  CHECK_MSG(!lua_cpcall(L, open_libraries, NULL), "%s", lua_tostring(L, -1));
  lua_getfield(L, LUA_REGISTRYINDEX, "jfl.ffi");
  CHECK(lua_istable(L, -1));
  lua_pushliteral(L, "typeof");
  if (lua_istable(L, -2)) lua_rawget(L, -2);
  CHECK(lua_iscfunction(L, -1));
  lua_close(L);
}

int main(void)
{
  RUN(holds_the_ffi_library);
  return test_done();
}
