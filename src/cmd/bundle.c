/* Programs in one file: a copy of the command with a script and files behind it, which
   `jfl --bundle` makes. */
#include "cmd/cmd.h"
#include "system/system.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

/* What makes a copy of this program a bundle: lua/jfl/tools/bundle.lua finds these bytes in it and
   writes over the digits, which say where the rest lies. volatile: the program must look. */
enum { HEAD = 16, DIGITS = 64 };
static const volatile char mark[HEAD + DIGITS + 1] =
  "JFL BUNDLE MARK:"
  "0000000000000000" "0000000000000000" "0000000000000000" "0000000000000000";

int jf_is_bundle(void)
{
  for (int i = HEAD; i < HEAD + DIGITS; i++)
    if (mark[i] != '0') return 1;
  return 0;
}

void jf_push_bundle_mark(lua_State *L)
{
  char digits[DIGITS];
  for (int i = 0; i < DIGITS; i++) digits[i] = mark[HEAD + i];
  lua_pushlstring(L, digits, DIGITS);
}

/* The path under which the program's own file can be read, or nil: the system does not tell. */
static int l_program(lua_State *L)
{
  char path[4 * JF_MOST_PATH];
  if (jf_program(path, sizeof path)) lua_pushnil(L);
  else lua_pushstring(L, path);
  return 1;
}

/* (path): a text that tells the file or folder from all others. */
static int l_identity(lua_State *L)
{
  jf_info info;
  const char *path = luaL_checkstring(L, 1);
  if (jf_info_at(JF_HERE, path, 0, &info)) return luaL_error(L, "cannot look at %s", path);
  char text[64];
  snprintf(text, sizeof text, "%llx-%llx", (unsigned long long)info.place,
           (unsigned long long)info.id);
  lua_pushstring(L, text);
  return 1;
}

/* (path): makes a folder for this user alone; whether it could, and else why not. */
static int l_make_folder(lua_State *L)
{
  const int made = !jf_folder_make(JF_HERE, luaL_checkstring(L, 1), JF_PRIVATE);
  lua_pushboolean(L, made);
  lua_pushstring(L, made ? NULL : jf_trouble(errno));
  return 2;
}

/* (path): removes a folder, if it is empty. */
static int l_remove_folder(lua_State *L)
{
  lua_pushboolean(L, !jf_folder_remove(JF_HERE, luaL_checkstring(L, 1)));
  return 1;
}

/* ---- folders of copies ---- */

/* One is called "jfl-" and as many letters as nobody can foresee. In it lies a file that is locked
   while its program runs: a program that was killed leaves both, and the next one removes them. */
enum { COPIES_HEAD = 4, COPIES_LETTERS = 16, COPIES_DEPTH = 64 };
static const char copies_letters[] = "abcdefghijklmnopqrstuvwxyz234567", copies_lock[] = ".running";

static int l_random_name(lua_State *L)
{
  unsigned char bytes[COPIES_LETTERS];
  char name[COPIES_LETTERS];
  if (!jf_random(bytes, sizeof bytes)) return luaL_error(L, "the system has no random numbers now");
  for (size_t i = 0; i < sizeof name; i++) name[i] = copies_letters[bytes[i] % 32];
  lua_pushliteral(L, "jfl-");
  lua_pushlstring(L, name, sizeof name);
  lua_concat(L, 2);
  return 1;
}

static int copies_is_name(const char *name)
{
  return !strncmp(name, "jfl-", COPIES_HEAD) && strlen(name) == COPIES_HEAD + COPIES_LETTERS &&
         strspn(name + COPIES_HEAD, copies_letters) == COPIES_LETTERS;
}

/* (path): marks a folder as that of a program that runs; nil and why not, such as that somebody
   removes it just now. A file system without locks marks nothing: what is left there stays. */
static int l_hold(lua_State *L)
{
  const int folder = jf_folder_open(JF_HERE, luaL_checkstring(L, 1), JF_READ);
  const int how = JF_READ | JF_WRITE | JF_NEW | JF_PRIVATE | JF_NO_LINK;
  const int file = folder < 0 ? -1 : jf_open(folder, copies_lock, how);
  const int is_lost = file < 0 || (jf_lock(file) && errno == EWOULDBLOCK);
  const int e = errno;
  if (folder >= 0) jf_folder_close(folder);
  if (is_lost && file >= 0) jf_close(file);
  if (is_lost) lua_pushnil(L);
  else lua_pushinteger(L, file);
  lua_pushstring(L, is_lost ? jf_trouble(e) : NULL);
  return 2;
}

/* (path, held): takes the mark away. */
static int l_let_go(lua_State *L)
{
  const int folder = jf_folder_open(JF_HERE, luaL_checkstring(L, 1), JF_READ);
  jf_close((int)luaL_checkinteger(L, 2));
  if (folder < 0) return 0;
  jf_file_remove(folder, copies_lock);
  jf_folder_close(folder);
  return 0;
}

/* Removes all that is in a folder but the mark; links are not followed. */
static void copies_empty(int folder, int depth)
{
  jf_info info;
  jf_listing *l = depth < COPIES_DEPTH ? jf_listing_open(folder) : NULL;
  for (const char *name; l && (name = jf_listing_next(l));) {
    if (!strcmp(name, copies_lock) || jf_info_at(folder, name, JF_NO_LINK, &info)) continue;
    const int inner = info.kind == JF_FOLDER ? jf_folder_open(folder, name, JF_NO_LINK) : -1;
    if (inner >= 0) {
      copies_empty(inner, depth + 1);
      jf_folder_close(inner);
    }
    if (info.kind == JF_FOLDER) jf_folder_remove(folder, name);
    else jf_file_remove(folder, name);
  }
  if (l) jf_listing_close(l);
}

/* What a program left that does not run any more. Without a mark it has no copies. */
static void copies_remove(int under, const char *name)
{
  jf_info info;
  const int folder = jf_folder_open(under, name, JF_NO_LINK);
  if (folder < 0) return;
  const int is_own = !jf_info_of_folder(folder, &info) && info.mine;
  const int held = is_own ? jf_open(folder, copies_lock, JF_READ | JF_WRITE | JF_NO_LINK) : -1;
  const int is_dead = held >= 0 && !jf_lock(held);
  if (is_dead) {
    copies_empty(folder, 0);
    jf_file_remove(folder, copies_lock);
  }
  if (held >= 0) jf_close(held);
  jf_folder_close(folder);
  if (is_dead || (is_own && held < 0)) jf_folder_remove(under, name);
}

/* (path): removes what killed programs left there. */
static int l_clear(lua_State *L)
{
  const int under = jf_folder_open(JF_HERE, luaL_checkstring(L, 1), JF_READ);
  jf_listing *l = under < 0 ? NULL : jf_listing_open(under);
  for (const char *name; l && (name = jf_listing_next(l));)
    if (copies_is_name(name)) copies_remove(under, name);
  if (l) jf_listing_close(l);
  if (under >= 0) jf_folder_close(under);
  return 0;
}

void jf_push_bundle_tools(lua_State *L)
{
  static const luaL_Reg tools[] = {
    { "identity", l_identity }, { "make_folder", l_make_folder }, { "program", l_program },
    { "remove_folder", l_remove_folder }, { "random_name", l_random_name }, { "hold", l_hold },
    { "let_go", l_let_go }, { "clear", l_clear }, { NULL, NULL }
  };
  lua_newtable(L);
  luaL_setfuncs(L, tools, 0);
}
