/* A C program with LuaJIT inside, an event loop of its own, and jfl in its Lua. Nothing of jfl runs
   on the program's thread but in the calls below.

     cc examples/host.c -I/usr/include/luajit-2.1 -lluajit-5.1 -o host && ./host build examples */
#include <lauxlib.h>
#include <lualib.h>

#include <poll.h>
#include <stdio.h>
#include <time.h>

/* Calls a function of the table at index 1, without arguments; -1 after an error. */
static int call(lua_State *L, const char *name, int n_results)
{
  lua_getfield(L, 1, name);
  if (!lua_pcall(L, 0, n_results, 0)) return 0;
  fprintf(stderr, "host: %s\n", lua_tostring(L, -1));
  lua_pop(L, 1);
  return -1;
}

/* Lets scripts find jfl.so in a folder, and leaves what host.lua returns at index 1. */
static int load(lua_State *L, const char *build, const char *scripts)
{
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_pushfstring(L, "%s/?.so", build);
  lua_setfield(L, -2, "cpath");
  lua_settop(L, 0);
  if (!luaL_dofile(L, lua_pushfstring(L, "%s/host.lua", scripts))) {
    lua_replace(L, 1);
    lua_settop(L, 1);
    return 0;
  }
  fprintf(stderr, "host: %s\n", lua_tostring(L, -1));
  return -1;
}

static double now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Frames of 16 ms: waits for their end or for callbacks that are due, whichever comes first. */
static int loop(lua_State *L)
{
  if (call(L, "fd", 1)) return -1;
  struct pollfd due = { .fd = (int)lua_tointeger(L, -1), .events = POLLIN };
  lua_pop(L, 1);
  int frames = 0, more = 1;
  double next = now_ms() + 16;
  while (more) {
    double left = next - now_ms();
    if (left <= 0) {
      frames++;                        /* here the program would draw */
      next += 16;
      continue;
    }
    if (poll(&due, 1, (int)left + 1) == 0) continue;
    if (call(L, "poll", 1)) return -1;
    more = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  if (call(L, "report", 1)) return -1;
  printf("host: %s, %d frames\n", lua_tostring(L, -1), frames);
  return 0;
}

int main(int argc, char **argv)
{
  lua_State *L = luaL_newstate();
  if (!L) return 1;
  int failed = load(L, argc > 1 ? argv[1] : "build", argc > 2 ? argv[2] : "examples");
  failed = failed || call(L, "start", 0) || loop(L);
  lua_close(L);                        /* runs the callbacks of calls that are out */
  return failed ? 1 : 0;
}
