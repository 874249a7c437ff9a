/* Pictures in Lua: decoding and encoding. */
#include "bind/bind.h"

#include <string.h>

/* ---- what a table asks for ---- */

static int64_t picture_whole(lua_State *L, int i, const char *name)
{
  return jf_whole_field(L, i, "picture", name, 0, 0x1p31);
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

jfl_picture_spec jf_need_picture_spec(lua_State *L, int i)
{
  static const char *const fits[] = { "whole", "stretch", "center", "random", NULL };
  luaL_checktype(L, i, LUA_TTABLE);
  jfl_picture_spec s = { .channels = (int)picture_whole(L, i, "channels"),
                         .height = picture_whole(L, i, "height"),
                         .width = picture_whole(L, i, "width"),
                         .shorter = picture_whole(L, i, "shorter"),
                         .flip = jf_true_field(L, i, "flip"),
                         .planes = jf_true_field(L, i, "planes") };
  picture_pair_field(L, i, "area", s.area);
  picture_pair_field(L, i, "aspect", s.aspect);
  lua_getfield(L, i, "dtype");
  s.dtype = lua_isnil(L, -1) ? JFL_U8 : jf_need_dtype(L, -1, "picture");
  lua_pop(L, 1);
  s.fit = (jfl_fit)jf_word_field(L, i, "picture", "fit", fits);
  return s;
}

/* jpeg(array, quality, who) -> uint8 array */
JF_LUA(jpeg)
{
  const jf_larray *pixels = jf_need_array(L, 1, "jpeg");
  const int quality = (int)jf_need_whole(L, 2, "jpeg", "quality", 1, 100);
  const char *who = jf_need_string(L, 3, "jpeg", "who");
  jf_larray *b = jf_push_array(L);
  return jf_give_array(L, b, jfl_jpeg_encode(pixels->array, quality, &b->array), who);
}
