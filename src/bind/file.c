/* Files that the front end reads itself, and those that it adds to, in place of Lua's io library.
   What the library reads whole has functions of its own; what takes another file's place is an
   output. */
#include "bind/bind.h"
#include "system/system.h"

#include <errno.h>
#include <string.h>

enum { PIECE = 64 << 10 };

/* ---- opening; an open file is a holder of its number, and one ---- */

static int file_of(const void *p) { return (int)((intptr_t)p - 1); }
static void close_file(void *p) { jf_close(file_of(p)); }

static int file_fail(lua_State *L, int e)
{
  lua_pushnil(L);
  lua_pushstring(L, jf_trouble(e));
  return 2;
}

/* A signal that comes meanwhile may ask for an end. */
static int file_wait(lua_State *L, const char *path, int how)
{
  int fd;
  while ((fd = jf_open(JF_HERE, path, how)) < 0 && errno == EINTR) jf_heed_interrupt(L);
  return fd;
}

/* nil, why: "data.npy: No such file or directory", and whether something is there. */
static int file_push(lua_State *L, const char *path, int how)
{
  jf_holder *h = jf_push_holder(L, close_file);
  const int fd = file_wait(L, path, how), e = errno;
  if (fd >= 0) return h->p = (void *)((intptr_t)fd + 1), 1;
  file_fail(L, e);
  lua_pushfstring(L, "%s: %s", path, lua_tostring(L, -1));
  lua_replace(L, -2);
  lua_pushboolean(L, e == EEXIST);
  return 3;
}

/* file_open(path): to read; waits for who writes to a pipe. */
JF_LUA(file_open)
{
  return file_push(L, jf_need_string(L, 1, "file_open", "path"), JF_READ | JF_WAIT);
}

/* file_open_within(folder, path): to read, by a path that a stranger wrote. nil, why: it is not
   there or leads out of the folder. */
JF_LUA(file_open_within)
{
  const char *folder = jf_need_string(L, 1, "file_open_within", "folder");
  const char *path = jf_need_string(L, 2, "file_open_within", "path");
  jf_holder *h = jf_push_holder(L, close_file);
  const int fd = jf_open_within(folder, path);
  if (fd >= 0) return h->p = (void *)((intptr_t)fd + 1), 1;
  if (errno != EACCES) return file_fail(L, errno);
  lua_pushnil(L);
  lua_pushstring(L, "it leads out of its folder or may not be read");
  return 2;
}

/* file_make(path): to write, where nothing is, no link either. */
JF_LUA(file_make)
{
  return file_push(L, jf_need_string(L, 1, "file_make", "path"), JF_WRITE | JF_NEW | JF_NO_LINK);
}

static jf_holder *need_file(lua_State *L, const char *who)
{
  return jf_need_held(L, close_file, who, "the file");
}

/* file_close(file): true, or nil and why what was written may be lost. */
JF_LUA(file_close)
{
  jf_holder *h = need_file(L, "file_close");
  const int fd = file_of(h->p);
  h->p = NULL;
  if (jf_close(fd)) return file_fail(L, errno);
  lua_pushboolean(L, 1);
  return 1;
}

/* file_size(file): nil for what is no file, such as a pipe. */
JF_LUA(file_size)
{
  jf_info info;
  const int fd = file_of(need_file(L, "file_size")->p);
  if (jf_info_of(fd, &info) || info.kind != JF_FILE) lua_pushnil(L);
  else lua_pushnumber(L, (lua_Number)info.size);
  return 1;
}

/* file_remove(path): true, or nil and why it cannot be removed. */
JF_LUA(file_remove)
{
  if (jf_file_remove(JF_HERE, jf_need_string(L, 1, "file_remove", "path")))
    return file_fail(L, errno);
  lua_pushboolean(L, 1);
  return 1;
}

/* ---- reading and writing ---- */

/* The bytes that are worth room at first, of at most so many. */
static size_t first_room(int fd, double most)
{
  jf_info info;
  double room = PIECE;
  if (!jf_info_of(fd, &info) && info.kind == JF_FILE) room = (double)info.size + 1;
  return (size_t)(room < most ? room : most);
}

/* Waits for what is no file, such as a pipe in which nobody writes, until it is asked to end. */
static int64_t read_some(lua_State *L, int fd, char *to, size_t n)
{
  while (!jf_is_ready(fd, JF_SLICE)) jf_heed_interrupt(L);
  return jf_read(fd, to, n);
}

/* Reads at most so many bytes into a userdata that is on top, which grows; gives how many, or -1
   with errno. */
static int64_t read_bytes(lua_State *L, int fd, double most)
{
  size_t room = first_room(fd, most), n = 0;
  char *to = lua_newuserdata(L, room);
  for (int64_t got = 1; got && (double)n < most; n += (size_t)got) {
    if (n == room) {
      room = (double)room * 2 < most ? room * 2 : (size_t)most;
      char *more = lua_newuserdata(L, room);
      memcpy(more, to, n);
      lua_remove(L, -2);
      to = more;
    }
    if ((got = read_some(L, fd, to + n, room - n)) < 0) return -1;
  }
  return (int64_t)n;
}

/* file_read(file, count, at): as many bytes, or fewer at the end; count nil: all that follow; at
   nil: from where the last read ended. nil and why: they cannot be read. */
JF_LUA(file_read)
{
  static const double most = 0x1p53;
  const int fd = file_of(need_file(L, "file_read")->p);
  const double n = lua_isnoneornil(L, 2) ? most
                 : (double)jf_need_whole(L, 2, "file_read", "count", 0, most);
  const int moves = !lua_isnoneornil(L, 3);
  if (moves && jf_seek(fd, (uint64_t)jf_need_whole(L, 3, "file_read", "position", 0, most)))
    return file_fail(L, errno);
  const int64_t got = read_bytes(L, fd, n);
  if (got < 0) return file_fail(L, errno);
  lua_pushlstring(L, lua_touserdata(L, -1), (size_t)got);
  return 1;
}

/* Whether a file has so many bytes from a position on. */
static int file_holds(int fd, double at, double n)
{
  jf_info info;
  return !jf_info_of(fd, &info) && info.kind == JF_FILE && at + n <= (double)info.size;
}

/* Fills the array from the file's position on; 0, or -1: it ends before, or with errno. */
static int fill_array(lua_State *L, int fd, jf_larray *b, size_t n)
{
  for (size_t done = 0; done < n;) {
    const int64_t got = read_some(L, fd, (char *)b->data + done, n - done);
    if (got <= 0) return errno = got ? errno : 0, -1;
    done += (size_t)got;
  }
  return 0;
}

/* file_array(file, dtype, shape, at): an array with the bytes from a position on, which are no text
   meanwhile. nil and why: they cannot be read. The file must have them before there is an array. */
JF_LUA(file_array)
{
  jfl_shape s;
  const int fd = file_of(need_file(L, "file_array")->p);
  const jfl_dtype t = jf_need_dtype(L, 2, "file_array");
  jf_need_shape(L, 3, "file_array", &s);
  const double at = (double)jf_need_whole(L, 4, "file_array", "position", 0, 0x1p53);
  double size = (double)jfl_dtype_size(t);
  for (int i = 0; i < s.n; i++) size *= (double)s.d[i];
  if (!file_holds(fd, at, size)) {
    lua_pushnil(L);
    lua_pushfstring(L, "the file must have %f bytes from byte %f on, and ends before", size, at);
    return 2;
  }
  jf_larray *b = jf_push_new(L, t, &s);
  if (jf_seek(fd, (uint64_t)at)) return file_fail(L, errno);
  if (fill_array(L, fd, b, (size_t)size)) return file_fail(L, errno ? errno : EIO);
  return 1;
}

/* file_write(file, text, at): true, or nil and why not all could be written. */
JF_LUA(file_write)
{
  size_t n;
  const int fd = file_of(need_file(L, "file_write")->p);
  const char *text = jf_need_bytes(L, 2, "file_write", "text", &n);
  const int64_t at = jf_need_whole(L, 3, "file_write", "position", 0, 0x1p53);
  if (jf_seek(fd, (uint64_t)at) || jf_write_all(fd, text, n)) return file_fail(L, errno);
  lua_pushboolean(L, 1);
  return 1;
}
