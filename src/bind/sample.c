/* Samples in Lua: loaders that decode them ahead, archives that hold them, and sounds. */
#include "bind/bind.h"

#include <string.h>

enum { MOST_SAMPLES = 1 << 20, COLOURS = 3 };

/* ---- what a table asks for ---- */

static int64_t sample_whole(lua_State *L, int i, const char *name)
{
  return jf_whole_field(L, i, "sample", name, 0, 0x1p31);
}

/* Numbers for each channel, of a list of one or of three. */
static void sample_channels_field(lua_State *L, int i, const char *name, double out[COLOURS])
{
  lua_getfield(L, i, name);
  const int n = lua_istable(L, -1) ? (int)lua_objlen(L, -1) : 0;
  for (int k = 0; k < COLOURS && n; k++) {
    lua_rawgeti(L, -1, k < n ? k + 1 : n);
    out[k] = jf_need_number(L, -1, "sample", name);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static jfl_colours sample_colours(lua_State *L, int i)
{
  jfl_colours c = { .brightness = jf_number_field(L, i, "sample", "brightness"),
                    .contrast = jf_number_field(L, i, "sample", "contrast"),
                    .saturation = jf_number_field(L, i, "sample", "saturation"),
                    .hue = jf_number_field(L, i, "sample", "hue"),
                    .bgr = jf_true_field(L, i, "bgr") };
  sample_channels_field(L, i, "mean", c.mean);
  sample_channels_field(L, i, "std", c.std);
  return c;
}

static jfl_mel_spec sample_mel(lua_State *L, int i)
{
  static const char *const scales[] = { "slaney", "htk", NULL };
  static const char *const logs[] = { "none", "log", "whisper", NULL };
  return (jfl_mel_spec){
    .rate = (int)sample_whole(L, i, "rate"), .n_fft = (int)sample_whole(L, i, "n_fft"),
    .hop = (int)sample_whole(L, i, "hop"), .bands = (int)sample_whole(L, i, "bands"),
    .low = jf_number_field(L, i, "sample", "low"),
    .high = jf_number_field(L, i, "sample", "high"),
    .unit_area = jf_true_field(L, i, "unit_area"),
    .scale = (jfl_mel_scale)jf_word_field(L, i, "sample", "scale", scales),
    .log = (jfl_mel_log)jf_word_field(L, i, "sample", "log", logs)
  };
}

static void sample_sound(lua_State *L, int i, jfl_sound_spec *out, jfl_mel_spec *mel)
{
  *out = (jfl_sound_spec){ .rate = (int)sample_whole(L, i, "rate"),
                           .channels = (int)sample_whole(L, i, "channels"),
                           .length = sample_whole(L, i, "length"),
                           .part = jf_true_field(L, i, "part") };
  lua_getfield(L, i, "mel");
  if (lua_istable(L, -1)) {
    *mel = sample_mel(L, lua_gettop(L));
    out->mel = mel;
  }
  lua_pop(L, 1);
}

static void sample_numbers(lua_State *L, int i, jfl_numbers_spec *out)
{
  lua_getfield(L, i, "dtype");
  out->dtype = jf_need_dtype(L, -1, "sample");
  lua_getfield(L, i, "shape");
  jf_need_shape(L, -1, "sample", &out->shape);
  lua_pop(L, 2);
  out->pads = jf_true_field(L, i, "pads");
}

/* Reads { kind = "picture", "numbers" or "sound", feature =, and what such a sample has } at i;
   what the spec points to lives as long as the table and *mel. */
static jfl_sample_spec need_spec(lua_State *L, int i, jfl_mel_spec *mel)
{
  static const char *const kinds[] = { "picture", "numbers", "sound", NULL };
  static const char *const resizings[] = { "mean", "triangle", NULL };
  jfl_sample_spec s = { 0 };
  luaL_checktype(L, i, LUA_TTABLE);
  s.kind = (jfl_sample_kind)jf_word_field(L, i, "sample", "kind", kinds);
  lua_getfield(L, i, "feature");
  s.feature = lua_isnil(L, -1) ? NULL : jf_need_string(L, -1, "sample", "feature");
  lua_pop(L, 1);
  if (s.kind == JFL_NUMBERS) sample_numbers(L, i, &s.numbers);
  else if (s.kind == JFL_SOUND) sample_sound(L, i, &s.sound, mel);
  else {
    s.picture = jf_need_picture_spec(L, i);
    s.resizing = (jfl_resizing)jf_word_field(L, i, "sample", "resizing", resizings);
    s.colours = sample_colours(L, i);
  }
  return s;
}

/* sample(bytes, spec, seed, what) -> array; what: how errors call the bytes */
JF_LUA(sample)
{
  size_t n;
  jfl_mel_spec mel;
  const char *data = jf_need_bytes(L, 1, "sample", "data", &n);
  const jfl_sample_spec spec = need_spec(L, 2, &mel);
  const uint64_t seed = (uint64_t)jf_need_whole(L, 3, "sample", "seed", 0, 0x1p53);
  const char *what = jf_need_string(L, 4, "sample", "what");
  jf_larray *b = jf_push_array(L);
  return jf_give_array(L, b, jfl_sample_decode(data, n, &spec, seed, &b->array), what);
}

/* ---- loaders ---- */

static void drop_loader(void *p) { jfl_loader_free(p); }

/* loader(spec, workers, who) */
JF_LUA(loader)
{
  jfl_mel_spec mel;
  const jfl_sample_spec spec = need_spec(L, 1, &mel);
  const int workers = (int)jf_need_whole(L, 2, "loader", "workers", 0, 0x1p20);
  const char *who = jf_need_string(L, 3, "loader", "who");
  jf_holder *h = jf_push_holder(L, drop_loader);
  return jf_give_held(L, h, jfl_loader_of(&spec, workers, &h->loader), who);
}

static jf_holder *need_loader(lua_State *L)
{
  return jf_need_held(L, drop_loader, "loader", "it");
}

/* Item k of the list at i, or 0 where that is nil. */
static int64_t loader_whole(lua_State *L, int i, size_t k, const char *what)
{
  if (lua_isnoneornil(L, i)) return 0;
  luaL_checktype(L, i, LUA_TTABLE);
  lua_rawgeti(L, i, (int)k);
  const int64_t v = jf_need_whole(L, -1, "loader", what, 0, 0x1p53);
  lua_pop(L, 1);
  return v;
}

/* loader_want(loader, paths, seeds, offsets or nil, sizes or nil): lists of strings and numbers. */
JF_LUA(loader_want)
{
  jfl_loader *l = need_loader(L)->loader;
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_settop(L, 5);
  const size_t n = lua_objlen(L, 2);
  if (n > MOST_SAMPLES)
    jf_raise(L, "loader: a batch must have at most %d files", (int)MOST_SAMPLES);
  jfl_place *place = lua_newuserdata(L, (n + !n) * sizeof *place);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 2, (int)i + 1);
    place[i].path = jf_need_string(L, -1, "loader", "path");     /* the list keeps it */
    place[i].seed = (uint64_t)loader_whole(L, 3, i + 1, "seed");
    place[i].offset = loader_whole(L, 4, i + 1, "offset");
    place[i].size = loader_whole(L, 5, i + 1, "size");
    lua_pop(L, 1);
  }
  jf_check_for(L, jfl_loader_want_places(l, place, (int)n), "loader");
  return 0;
}

/* loader_take(loader, who) -> array */
JF_LUA(loader_take)
{
  jfl_loader *l = need_loader(L)->loader;
  const char *who = jf_need_string(L, 2, "loader", "who");
  jf_larray *b = jf_push_array(L);
  return jf_give_array(L, b, jfl_loader_take(l, &b->array), who);
}

/* loader_take_some(loader, who) -> array, why by number of what could not be read, or nil */
JF_LUA(loader_take_some)
{
  jfl_loader *l = need_loader(L)->loader;
  const char *who = jf_need_string(L, 2, "loader", "who"), *why;
  jf_larray *b = jf_push_array(L);
  int item;
  jf_give_array(L, b, jfl_loader_take_some(l, &b->array), who);
  if (!jfl_loader_bad(l, 0, &item, &why)) return 1;
  lua_newtable(L);
  for (int k = 0; jfl_loader_bad(l, k, &item, &why); k++) {
    lua_pushstring(L, why);
    lua_rawseti(L, -2, item + 1);
  }
  return 2;
}

/* loader_close(loader): ends its threads. */
JF_LUA(loader_close)
{
  return jf_drop_held(need_loader(L)), 0;
}

/* ---- archives ---- */

static void drop_pack(void *p) { jfl_pack_free(p); }

/* pack(path, "tar" or "ofrecord", who) -> lists of names, offsets and sizes */
JF_LUA(pack)
{
  const char *path = jf_need_string(L, 1, "pack", "path");
  const char *kind = jf_need_string(L, 2, "pack", "kind");
  const char *who = jf_need_string(L, 3, "pack", "who");
  jfl_member m;
  jf_holder *h = jf_push_holder(L, drop_pack);
  const jfl_pack_kind of = strcmp(kind, "tar") ? JFL_OFRECORD : JFL_TAR;
  jf_give_held(L, h, jfl_pack_open(path, of, &h->pack), who);
  const int64_t n = jfl_pack_count(h->pack);
  if (n >= INT32_MAX) jf_raise(L, "%s: %s: it has too many members", who, path);
  for (int k = 0; k < 3; k++) lua_createtable(L, (int)n, 0);
  for (int i = 0; i < (int)n; i++) {
    jf_check_for(L, jfl_pack_member(h->pack, i, &m), who);
    lua_pushstring(L, m.name);
    lua_rawseti(L, -4, i + 1);
    lua_pushnumber(L, (lua_Number)m.offset);
    lua_rawseti(L, -3, i + 1);
    lua_pushnumber(L, (lua_Number)m.size);
    lua_rawseti(L, -2, i + 1);
  }
  jf_drop_held(h);
  return 3;
}

/* ---- sounds ---- */

/* sound_head(bytes, what) -> samples a second, channels, samples of each */
JF_LUA(sound_head)
{
  size_t n;
  jfl_sound_info info;
  const char *data = jf_need_bytes(L, 1, "sound", "data", &n);
  const char *what = jf_need_string(L, 2, "sound", "what");
  jf_check_for(L, jfl_sound_head(data, n, &info), what);
  lua_pushnumber(L, info.rate);
  lua_pushnumber(L, info.channels);
  lua_pushnumber(L, (lua_Number)info.length);
  return 3;
}

/* resample(sound, from, to, who) -> array */
JF_LUA(resample)
{
  const jf_larray *sound = jf_need_array(L, 1, "resample");
  const int from = (int)jf_need_whole(L, 2, "resample", "from", 0, 0x1p30);
  const int to = (int)jf_need_whole(L, 3, "resample", "to", 0, 0x1p30);
  const char *who = jf_need_string(L, 4, "resample", "who");
  jf_larray *b = jf_push_array(L);
  return jf_give_array(L, b, jfl_sound_resample(sound->array, from, to, &b->array), who);
}

/* mel(sound, spec, who) -> array */
JF_LUA(mel)
{
  const jf_larray *sound = jf_need_array(L, 1, "mel");
  luaL_checktype(L, 2, LUA_TTABLE);
  const jfl_mel_spec spec = sample_mel(L, 2);
  const char *who = jf_need_string(L, 3, "mel", "who");
  jf_larray *b = jf_push_array(L);
  return jf_give_array(L, b, jfl_mel(sound->array, &spec, &b->array), who);
}
