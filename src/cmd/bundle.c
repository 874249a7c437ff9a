/* Programs in one file: a copy of the command with a script and files behind it, which
   `jfl --bundle` makes. */
#include "cmd/cmd.h"
#include "system/system.h"

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

/* A name that nobody can foresee. */
static int l_random_name(lua_State *L)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
  unsigned char bytes[16];
  char name[16];
  if (!jf_random(bytes, sizeof bytes)) return luaL_error(L, "the system has no random numbers now");
  for (size_t i = 0; i < sizeof name; i++) name[i] = letters[bytes[i] % 32];
  lua_pushlstring(L, name, sizeof name);
  return 1;
}

void jf_push_bundle_tools(lua_State *L)
{
  static const luaL_Reg tools[] = {
    { "identity", l_identity }, { "make_folder", l_make_folder }, { "program", l_program },
    { "remove_folder", l_remove_folder }, { "random_name", l_random_name }, { NULL, NULL }
  };
  lua_newtable(L);
  luaL_setfuncs(L, tools, 0);
}
