/* What the front end asks of the system and standard Lua does not offer. */
#include "bind/bind.h"

#include <limits.h>
#include <time.h>
#include <unistd.h>

/* core.now(): seconds that pass, which os.clock (CPU time of all threads) does not count. */
static int l_now(lua_State *L)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  lua_pushnumber(L, (double)t.tv_sec + 1e-9 * (double)t.tv_nsec);
  return 1;
}

/* core.is_terminal(fd): whether a person reads what is written there. */
static int l_is_terminal(lua_State *L)
{
  double fd = jf_need_number(L, 1, "is_terminal", "fd");
  lua_pushboolean(L, fd >= 0 && fd <= INT_MAX && isatty((int)fd));
  return 1;
}

const luaL_Reg jf_host_functions[] = {
  { "now", l_now }, { "is_terminal", l_is_terminal }, { NULL, NULL }
};
