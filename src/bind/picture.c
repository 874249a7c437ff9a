/* Pictures in Lua: decoding, encoding, and loaders that decode ahead. */
#include "bind/bind.h"

#include <string.h>

enum { MOST_FILES = 1 << 20 };

/* ---- what a table asks for ---- */

/* The field of the table at i, from lo to hi; `otherwise` where it is nil. */
static int64_t picture_whole_field(lua_State *L, int i, const char *name, int64_t otherwise)
{
  lua_getfield(L, i, name);
  const int64_t v = lua_isnil(L, -1) ? otherwise
                  : jf_need_whole(L, -1, "picture", name, 0, 0x1p31);
  lua_pop(L, 1);
  return v;
}

static void picture_pair_field(lua_State *L, int i, const char *name, double out[2])
{
  lua_getfield(L, i, name);
  for (int k = 0; k < 2 && lua_istable(L, -1); k++) {
    lua_rawgeti(L, -1, k + 1);
    out[k] = jf_need_number(L, -1, "picture", name);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static int picture_is_set(lua_State *L, int i, const char *name)
{
  lua_getfield(L, i, name);
  const int set = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return set;
}

/* Reads { fit =, channels =, height =, width =, shorter =, area =, aspect =, flip =, planes =,
   dtype = } at i. */
static jfl_picture_spec picture_need_spec(lua_State *L, int i)
{
  static const char *const fits[] = { "whole", "stretch", "center", "random" };
  luaL_checktype(L, i, LUA_TTABLE);
  jfl_picture_spec s = { .channels = (int)picture_whole_field(L, i, "channels", 0),
                         .height = picture_whole_field(L, i, "height", 0),
                         .width = picture_whole_field(L, i, "width", 0),
                         .shorter = picture_whole_field(L, i, "shorter", 0),
                         .flip = picture_is_set(L, i, "flip"),
                         .planes = picture_is_set(L, i, "planes") };
  picture_pair_field(L, i, "area", s.area);
  picture_pair_field(L, i, "aspect", s.aspect);
  lua_getfield(L, i, "dtype");
  s.dtype = lua_isnil(L, -1) ? JFL_U8 : jf_need_dtype(L, -1, "picture");
  lua_getfield(L, i, "fit");
  const char *fit = lua_isnil(L, -1) ? "whole" : jf_need_string(L, -1, "picture", "fit");
  while (strcmp(fit, fits[s.fit]))
    if (++s.fit > JFL_RANDOM)
      jf_raise(L, "picture: fit must be whole, stretch, center or random, got '%s'", fit);
  lua_pop(L, 2);
  return s;
}

static int picture_give(lua_State *L, jf_larray *b, jfl_array *a)
{
  jf_set_array(b, a);
  jf_account(L, b);
  return 1;
}

/* picture(bytes, spec, seed, what) -> array; what: how errors call the bytes */
static int l_picture(lua_State *L)
{
  size_t n;
  const char *data = jf_need_bytes(L, 1, "picture", "data", &n);
  const jfl_picture_spec spec = picture_need_spec(L, 2);
  const uint64_t seed = (uint64_t)jf_need_whole(L, 3, "picture", "seed", 0, 0x1p53);
  const char *what = jf_need_string(L, 4, "picture", "what");
  jf_larray *b = jf_push_array(L);
  jfl_array *a;
  jf_check_for(L, jfl_picture_decode(data, n, &spec, seed, &a), what);
  return picture_give(L, b, a);
}

/* jpeg(array, quality, who) -> uint8 array */
static int l_jpeg(lua_State *L)
{
  const jf_larray *pixels = jf_need_array(L, 1, "jpeg");
  const int quality = (int)jf_need_whole(L, 2, "jpeg", "quality", 1, 100);
  const char *who = jf_need_string(L, 3, "jpeg", "who");
  jf_larray *b = jf_push_array(L);
  jfl_array *a;
  jf_check_for(L, jfl_jpeg_encode(pixels->array, quality, &a), who);
  return picture_give(L, b, a);
}

/* ---- loaders ---- */

static void drop_loader(void *p) { jfl_loader_free(p); }

/* loader(spec, workers, who) */
static int l_loader(lua_State *L)
{
  const jfl_picture_spec spec = picture_need_spec(L, 1);
  const int workers = (int)jf_need_whole(L, 2, "loader", "workers", 0, 0x1p20);
  const char *who = jf_need_string(L, 3, "loader", "who");
  jfl_loader *l;
  jf_holder *h = jf_push_holder(L, drop_loader);
  jf_check_for(L, jfl_loader_new(&spec, workers, &l), who);
  h->p = l;
  return 1;
}

static jfl_loader *need_loader(lua_State *L)
{
  jf_holder *h = jf_test(L, 1, JF_HOLDER);
  if (!h || !h->p || h->drop != drop_loader) jf_raise(L, "loader: it is not open");
  return h->p;
}

/* loader_want(loader, paths, seeds): lists of strings and numbers. */
static int l_loader_want(lua_State *L)
{
  jfl_loader *l = need_loader(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TTABLE);
  const size_t n = lua_objlen(L, 2);
  if (n > MOST_FILES) jf_raise(L, "loader: a batch must have at most %d files", (int)MOST_FILES);
  const char **path = lua_newuserdata(L, (n + !n) * sizeof *path);
  uint64_t *seed = lua_newuserdata(L, (n + !n) * sizeof *seed);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 2, (int)i + 1);
    lua_rawgeti(L, 3, (int)i + 1);
    path[i] = jf_need_string(L, -2, "loader", "path");     /* the list keeps it */
    seed[i] = (uint64_t)jf_need_whole(L, -1, "loader", "seed", 0, 0x1p53);
    lua_pop(L, 2);
  }
  jf_check_for(L, jfl_loader_want(l, path, seed, (int)n), "loader");
  return 0;
}

/* loader_take(loader, who) -> array */
static int l_loader_take(lua_State *L)
{
  jfl_loader *l = need_loader(L);
  const char *who = jf_need_string(L, 2, "loader", "who");
  jf_larray *b = jf_push_array(L);
  jfl_array *a;
  jf_check_for(L, jfl_loader_take(l, &a), who);
  return picture_give(L, b, a);
}

/* loader_close(loader): ends its threads. */
static int l_loader_close(lua_State *L)
{
  need_loader(L);
  return jf_holder_gc(L);
}

const luaL_Reg jf_picture_functions[] = {
  { "picture", l_picture }, { "jpeg", l_jpeg }, { "loader", l_loader },
  { "loader_want", l_loader_want }, { "loader_take", l_loader_take },
  { "loader_close", l_loader_close }, { NULL, NULL }
};
