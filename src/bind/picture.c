/* Pictures in Lua: decoding and encoding. */
#include "bind/bind.h"

#include <string.h>

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

jfl_picture_spec jf_need_picture_spec(lua_State *L, int i)
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

/* jpeg(array, quality, who) -> uint8 array */
static int l_jpeg(lua_State *L)
{
  const jf_larray *pixels = jf_need_array(L, 1, "jpeg");
  const int quality = (int)jf_need_whole(L, 2, "jpeg", "quality", 1, 100);
  const char *who = jf_need_string(L, 3, "jpeg", "who");
  jf_larray *b = jf_push_array(L);
  jfl_array *a;
  jf_check_for(L, jfl_jpeg_encode(pixels->array, quality, &a), who);
  return jf_give_array(L, b, a);
}

const luaL_Reg jf_picture_functions[] = {
  { "jpeg", l_jpeg }, { NULL, NULL }
};
