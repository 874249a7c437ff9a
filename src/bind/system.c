/* What the front end asks of the system and standard Lua does not offer. */
#include "bind/bind.h"
#include "system/system.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>

/* now(): a clock of seconds that pass; os.clock counts the CPU time of all threads instead. */
JF_LUA(now)
{
  lua_pushnumber(L, jf_now());
  return 1;
}

/* columns(fd): the width of the terminal that the descriptor writes to; nil if it is no
   terminal. */
JF_LUA(columns)
{
  double fd = jf_need_number(L, 1, "columns", "fd");
  const int columns = fd >= 0 && fd <= INT_MAX ? jf_terminal_columns((int)fd) : 0;
  if (columns) lua_pushinteger(L, columns);
  else lua_pushnil(L);
  return 1;
}

/* process(): the number of this process, and the name of the machine. */
JF_LUA(process)
{
  char name[256];
  jf_machine(name, sizeof name);
  lua_pushinteger(L, jf_process());
  lua_pushstring(L, name);
  return 2;
}

/* make_directory(path): makes a directory, and those above it that are missing; true, or nil and
   what went wrong. */
JF_LUA(make_directory)
{
  const char *path = jf_need_string(L, 1, "make_directory", "path");
  size_t n = strlen(path);
  char *part = lua_newuserdata(L, n + 1);
  for (size_t i = n ? 1 : 0; i <= n; i++) {
    if (i < n && path[i] != '/') continue;
    memcpy(part, path, i);
    part[i] = '\0';
    if (jf_folder_make(JF_HERE, part, 0) && errno != EEXIST && i == n)
      return lua_pushnil(L), lua_pushstring(L, jf_trouble(errno)), 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

static void close_list(void *l) { jf_listing_close(l); }

/* directory(path) -> names of what it holds; nil where there is no directory. */
JF_LUA(directory)
{
  const char *path = jf_need_string(L, 1, "directory", "path");
  jf_holder *h = jf_push_holder(L, close_list);
  const int folder = jf_folder_open(JF_HERE, path, 0);
  h->p = folder >= 0 ? jf_listing_open(folder) : NULL;
  const int e = errno;
  if (folder >= 0) jf_folder_close(folder);
  if (!h->p && e == ENOENT) return lua_pushnil(L), 1;
  if (!h->p) jf_raise(L, "%s: cannot list the directory: %s", path, jf_trouble(e));
  lua_newtable(L);
  int n = 0;
  for (const char *name; (name = jf_listing_next(h->p));) {
    lua_pushstring(L, name);
    lua_rawseti(L, -2, ++n);
  }
  if (errno) jf_raise(L, "%s: cannot list the directory: %s", path, jf_trouble(errno));
  lua_insert(L, -2);
  lua_pop(L, 1);
  jf_drop_held(h);
  return 1;
}

/* Whether a path leads to something of that kind; fails where the disk does not tell. */
static int is_kind(lua_State *L, const char *who, jf_file_kind kind)
{
  static const int tells[] = { ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG, EINVAL };
  jf_info st;
  const char *path = jf_need_string(L, 1, who, "path");
  const int there = !jf_info_at(JF_HERE, path, 0, &st);
  int told = there;
  for (size_t i = 0; i < sizeof tells / sizeof *tells; i++) told |= errno == tells[i];
  if (!told) jf_raise(L, "%s: cannot look at it: %s", path, jf_trouble(errno));
  lua_pushboolean(L, there && st.kind == kind);
  return 1;
}

/* is_there(path): what cannot be looked at counts, so that reading it says why. */
JF_LUA(is_there)
{
  jf_info st;
  const char *path = jf_need_string(L, 1, "is_there", "path");
  lua_pushboolean(L, !jf_info_at(JF_HERE, path, 0, &st) || (errno != ENOENT && errno != ENOTDIR));
  return 1;
}

/* is_file(path) */
JF_LUA(is_file) { return is_kind(L, "is_file", JF_FILE); }

/* is_directory(path) */
JF_LUA(is_directory) { return is_kind(L, "is_directory", JF_FOLDER); }

/* clock() -> seconds since 1970, microseconds. */
JF_LUA(clock)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  lua_pushnumber(L, (double)t.tv_sec);
  lua_pushnumber(L, (double)(t.tv_nsec / 1000));
  return 2;
}
