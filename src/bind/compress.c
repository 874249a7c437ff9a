/* Compressing and decompressing the contents of files for the front end. */
#include "bind/bind.h"

/* The container that argument 2 names: "gzip", "zlib" or "raw". */
static jfl_deflate need_container(lua_State *L, const char *who)
{
  static const char *const names[] = { "gzip", "zlib", "raw", NULL };
  return (jfl_deflate)jf_need_word(L, 2, who, "format", names);
}

typedef jfl_status inflater(const void *src, size_t n, jfl_deflate kind, size_t size,
                            jfl_array **out);

/* f of the string, the container and the size at indices 1 to 3; at 4 what it is, for messages. */
static int compress_unpack(lua_State *L, inflater *f, double size)
{
  size_t n;
  lua_settop(L, 4);
  const char *data = jf_need_bytes(L, 1, "inflate", "data", &n);
  jfl_deflate kind = need_container(L, "inflate");
  const char *what = lua_isnil(L, 4) ? NULL : jf_need_string(L, 4, "inflate", "what");
  jf_larray *b = jf_push_array(L);
  return jf_give_array(L, b, f(data, n, kind, (size_t)size, &b->array), what);
}

/* inflate(string, container [, size_hint [, what]]) -> uint8 array */
JF_LUA(inflate)
{
  double hint = lua_isnoneornil(L, 3) ? 0 : jf_need_number(L, 3, "inflate", "size_hint");
  return compress_unpack(L, jfl_inflate, hint > 0 && hint < 0x1p47 ? hint : 0);
}

/* A size that is told by a file or a script, as one that can be converted. */
static double need_size(lua_State *L, const char *who)
{
  double size = jf_need_number(L, 3, who, "size");
  return size > 0 ? (size < 0x1p47 ? size : 0x1p47) : 0;
}

/* inflate_within(string, container, most [, what]) -> uint8 array */
JF_LUA(inflate_within)
{
  return compress_unpack(L, jfl_inflate_within, need_size(L, "inflate_within"));
}

/* inflate_head(string, container, count [, what]) -> uint8 array */
JF_LUA(inflate_head)
{
  return compress_unpack(L, jfl_inflate_head, need_size(L, "inflate_head"));
}

/* deflate(string, container) -> uint8 array */
JF_LUA(deflate)
{
  size_t n;
  lua_settop(L, 2);
  const char *data = jf_need_bytes(L, 1, "deflate", "data", &n);
  jfl_deflate kind = need_container(L, "deflate");
  jf_larray *b = jf_push_array(L);
  return jf_give_array(L, b, jfl_compress(data, n, kind, &b->array), NULL);
}
