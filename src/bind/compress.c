/* Compressing and decompressing the contents of files for the front end. */
#include "bind/bind.h"

#include <string.h>

/* The container that argument 2 names: "gzip", "zlib" or "raw". */
static jfl_deflate need_container(lua_State *L, const char *who)
{
  static const char *const names[] = { "gzip", "zlib", "raw" };
  const char *name = jf_need_string(L, 2, who, "format");
  for (int kind = 0; kind < 3; kind++)
    if (!strcmp(name, names[kind])) return (jfl_deflate)kind;
  return jf_raise(L, "%s: format must be gzip, zlib or raw, got '%s'", who, name);
}

/* Gives the new array a to b, which is on top of the stack. */
static int compress_give(lua_State *L, jf_larray *b, jfl_array *a)
{
  jf_set_array(b, a);
  jf_account(L, b);
  return 1;
}

/* inflate(string, container [, size_hint [, what it is, for messages]]) -> uint8 array */
static int l_inflate(lua_State *L)
{
  size_t n;
  lua_settop(L, 4);
  const char *data = jf_need_bytes(L, 1, "inflate", "data", &n);
  jfl_deflate kind = need_container(L, "inflate");
  double hint = lua_isnil(L, 3) ? 0 : jf_need_number(L, 3, "inflate", "size_hint");
  const char *what = lua_isnil(L, 4) ? NULL : jf_need_string(L, 4, "inflate", "what");
  jf_larray *b = jf_push_array(L);
  jfl_array *a;
  size_t size_hint = hint > 0 && hint < 0x1p47 ? (size_t)hint : 0;
  jfl_status e = jfl_inflate(data, n, kind, size_hint, &a);
  if (what) jf_check_for(L, e, what);
  else jf_check(L, e);
  return compress_give(L, b, a);
}

/* deflate(string, container) -> uint8 array */
static int l_deflate(lua_State *L)
{
  size_t n;
  lua_settop(L, 2);
  const char *data = jf_need_bytes(L, 1, "deflate", "data", &n);
  jfl_deflate kind = need_container(L, "deflate");
  jf_larray *b = jf_push_array(L);
  jfl_array *a;
  jf_check(L, jfl_compress(data, n, kind, &a));
  return compress_give(L, b, a);
}

const luaL_Reg jf_compress_functions[] = {
  { "inflate", l_inflate }, { "deflate", l_deflate }, { NULL, NULL }
};
