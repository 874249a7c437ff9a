/* What the front end asks of the system and standard Lua does not offer. */
#include "bind/bind.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

double jf_clock(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* now(): a clock of seconds that pass; os.clock counts the CPU time of all threads instead. */
static int l_now(lua_State *L)
{
  lua_pushnumber(L, jf_clock());
  return 1;
}

/* columns(fd): the width of the terminal that the descriptor writes to; nil if it is no
   terminal. */
static int l_columns(lua_State *L)
{
  double fd = jf_need_number(L, 1, "columns", "fd");
  struct winsize size = { 0 };
  if (!(fd >= 0 && fd <= INT_MAX) || !isatty((int)fd)) return lua_pushnil(L), 1;
  if (ioctl((int)fd, TIOCGWINSZ, &size) || !size.ws_col) size.ws_col = 80;
  lua_pushinteger(L, size.ws_col);
  return 1;
}

/* process(): the number of this process, and the name of the machine. */
static int l_process(lua_State *L)
{
  char name[256] = "";
  if (gethostname(name, sizeof name - 1)) strcpy(name, "localhost");
  lua_pushinteger(L, getpid());
  lua_pushstring(L, name);
  return 2;
}

/* make_directory(path): makes a directory, and those above it that are missing; true, or nil and
   what went wrong. */
static int l_make_directory(lua_State *L)
{
  const char *path = jf_need_string(L, 1, "make_directory", "path");
  size_t n = strlen(path);
  char *part = lua_newuserdata(L, n + 1);
  for (size_t i = n ? 1 : 0; i <= n; i++) {
    if (i < n && path[i] != '/') continue;
    memcpy(part, path, i);
    part[i] = '\0';
    if (mkdir(part, 0777) && errno != EEXIST && i == n)
      return lua_pushnil(L), lua_pushstring(L, strerror(errno)), 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

static void close_list(void *d) { closedir(d); }

/* directory(path) -> names of what it holds; nil where there is no directory. */
static int l_directory(lua_State *L)
{
  const char *path = jf_need_string(L, 1, "directory", "path");
  jf_holder *h = jf_push_holder(L, close_list);
  h->p = opendir(path);
  if (!h->p && errno == ENOENT) return lua_pushnil(L), 1;
  if (!h->p) jf_raise(L, "%s: cannot list the directory: %s", path, strerror(errno));
  lua_newtable(L);
  int n = 0;
  for (const struct dirent *e; (e = readdir(h->p));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    lua_pushstring(L, e->d_name);
    lua_rawseti(L, -2, ++n);
  }
  lua_insert(L, -2);
  lua_pop(L, 1);
  closedir(h->p);
  h->p = NULL;
  return 1;
}

/* is_file(path) */
static int l_is_file(lua_State *L)
{
  struct stat st;
  lua_pushboolean(L, !stat(jf_need_string(L, 1, "is_file", "path"), &st) && S_ISREG(st.st_mode));
  return 1;
}

/* is_directory(path) */
static int l_is_directory(lua_State *L)
{
  struct stat st;
  const char *path = jf_need_string(L, 1, "is_directory", "path");
  lua_pushboolean(L, !stat(path, &st) && S_ISDIR(st.st_mode));
  return 1;
}

/* clock() -> seconds since 1970, microseconds. */
static int l_clock(lua_State *L)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  lua_pushnumber(L, (double)t.tv_sec);
  lua_pushnumber(L, (double)(t.tv_nsec / 1000));
  return 2;
}

const luaL_Reg jf_system_functions[] = {
  { "now", l_now }, { "columns", l_columns }, { "process", l_process },
  { "make_directory", l_make_directory }, { "directory", l_directory }, { "is_file", l_is_file },
  { "is_directory", l_is_directory },
  { "clock", l_clock }, { NULL, NULL }
};
