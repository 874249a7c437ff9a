/* Compression of what the front end writes into files. */
#include "bind/bind.h"

#include <string.h>

/* deflate(string, "gzip" | "zlib" | "raw") -> uint8 array */
static int l_deflate(lua_State *L)
{
  static const char *const names[] = { "gzip", "zlib", "raw" };
  size_t n;
  int kind = 0;
  lua_settop(L, 2);
  const char *data = jf_need_bytes(L, 1, "deflate", "data", &n);
  const char *name = jf_need_string(L, 2, "deflate", "format");
  while (kind < 3 && strcmp(name, names[kind])) kind++;
  if (kind == 3) jf_raise(L, "deflate: format should be gzip, zlib or raw, got '%s'", name);
  jf_larray *b = jf_push_array(L);
  jfl_array *a;
  jf_check(L, jfl_compress(data, n, (jfl_deflate)kind, &a));
  jf_set_array(b, a);
  jf_account(L, b);
  return 1;
}

const luaL_Reg jf_pack_functions[] = { { "deflate", l_deflate }, { NULL, NULL } };
