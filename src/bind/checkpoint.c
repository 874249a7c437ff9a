/* Checkpoints in Lua: saving, opening, reading, loading, removing. */
#include "bind/bind.h"

#include <limits.h>

static void drop_report(void *report) { jfl_report_free(report); }
static void drop_checkpoint(void *checkpoint) { jfl_checkpoint_close(checkpoint); }

/* How large shards get: the number at i, 0 for none. */
static uint64_t opt_shard_bytes(lua_State *L, int i)
{
  if (lua_isnoneornil(L, i)) return 0;
  return (uint64_t)jf_need_whole(L, i, "save", "shard_bytes", 1, (int64_t)1 << 53);
}

/* save(path, overwrite, keys, values, shard_bytes): two lists, of notes. */
JF_LUA(save)
{
  int n;
  const char *path = jf_need_string(L, 1, "save", "path");
  const uint64_t shard_bytes = opt_shard_bytes(L, 5);
  lua_settop(L, 4);
  const jfl_note *notes = jf_push_notes(L, 3, &n);
  jfl_session *s = jf_session(L);
  jf_wait_for_all(L);
  jf_wait_for_files(L);
  jf_check(L, shard_bytes ? jfl_checkpoint_save_shards(s, path, shard_bytes, notes, n)
                          : jfl_checkpoint_save_notes(s, path, lua_toboolean(L, 2), notes, n));
  return 0;
}

/* write_arrays(path, overwrite, names, arrays, shard_bytes, keys, values): two lists, and two of
   notes. */
JF_LUA(write_arrays)
{
  int n, n_note;
  const char *path = jf_need_string(L, 1, "save", "path");
  const uint64_t shard_bytes = opt_shard_bytes(L, 5);
  lua_settop(L, 7);
  const jfl_note *notes = jf_push_notes(L, 6, &n_note);
  const char **names = jf_push_list(L, 3, "save", "name", &n);
  jfl_array **values = jf_push_arrays(L, 4, "save", names, n);
  jf_wait_for_files(L);
  jf_check(L, jfl_checkpoint_write_notes(path, lua_toboolean(L, 2), shard_bytes, names, values, n,
                                         notes, n_note));
  return 0;
}

/* ---- reading ---- */

/* checkpoint_open(path): closed when it is collected, or by checkpoint_close. */
JF_LUA(checkpoint_open)
{
  const char *path = jf_need_string(L, 1, "load", "path");
  jf_holder *h = jf_push_holder(L, drop_checkpoint);
  jf_wait_for_files(L);
  return jf_give_held(L, h, jfl_checkpoint_open_shared(jf_session(L), path, &h->checkpoint), NULL);
}

static jfl_checkpoint *need_open(lua_State *L, const char *who)
{
  return jf_need_held(L, drop_checkpoint, who, "the checkpoint")->checkpoint;
}

JF_LUA(checkpoint_close) { return jf_holder_gc(L); }

/* checkpoint_about(checkpoint) -> { single =, unfinished =, notes = { [key] = value } } */
JF_LUA(checkpoint_about)
{
  const jfl_checkpoint *c = need_open(L, "checkpoint_about");
  int about = jfl_checkpoint_about(c);
  jfl_note note;
  lua_newtable(L);
  jf_set_flag(L, "single", about & JFL_SINGLE);
  jf_set_flag(L, "unfinished", about & JFL_UNFINISHED);
  lua_newtable(L);
  for (int i = 0; jfl_checkpoint_note(c, i, &note); i++) jf_set_string(L, note.key, note.value);
  lua_setfield(L, -2, "notes");
  return 1;
}

/* checkpoint_tensor(checkpoint, i) -> name, bytes, shape, dtype, whether jfl has that; the last
   three are nil where they are not recorded. */
JF_LUA(checkpoint_tensor)
{
  uint64_t size = 0;
  jfl_dtype dtype;
  const jfl_shape *shape = NULL;
  const jfl_checkpoint *c = need_open(L, "checkpoint_tensor");
  int i = (int)jf_need_whole(L, 2, "checkpoint_tensor", "number", 0, INT_MAX) - 1;
  const char *name = jfl_checkpoint_tensor(c, i, &size, &dtype, &shape);
  if (!name) return 0;
  lua_pushstring(L, name);
  lua_pushnumber(L, (double)size);
  if (!shape) return 2;
  jf_push_shape_of(L, dtype, shape);
  lua_pushstring(L, jfl_checkpoint_dtype(c, i));
  lua_pushboolean(L, dtype != JFL_N_DTYPE);
  return 5;
}

/* Reads what the tensor is taken as: its name, or false, and its axes from 0 on, or false. */
static jfl_taken need_taken(lua_State *L, int i)
{
  jfl_taken as = { 0 };
  lua_rawgeti(L, 2, i);
  as.name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;    /* the table keeps it */
  lua_rawgeti(L, 3, i);
  const int n = lua_istable(L, -1) ? (int)lua_objlen(L, -1) : 0;
  if (n > JFL_MAXDIM)
    jf_raise(L, "load: transpose: there must be at most %d axes, got %d", JFL_MAXDIM, n);
  for (int k = 0; k < n; k++) {
    lua_rawgeti(L, -1, k + 1);
    as.axis[k] = (int)jf_need_whole(L, lua_gettop(L), "load", "axis", 0, JFL_MAXDIM);
    lua_pop(L, 1);
  }
  as.n_axis = n;
  lua_pop(L, 2);
  return as;
}

/* checkpoint_take(checkpoint, names, axes): two tables with an item for each tensor. */
JF_LUA(checkpoint_take)
{
  jfl_checkpoint *c = need_open(L, "checkpoint_take");
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TTABLE);
  const int n = jfl_checkpoint_count(c);
  jfl_taken *as = jf_push_room(L, n, sizeof *as);
  for (int i = 0; i < n; i++) as[i] = need_taken(L, i + 1);
  jf_check(L, jfl_checkpoint_take(c, as, n));
  return 0;
}

/* checkpoint_read(checkpoint, i, dtype, shape): the last two count where they are not recorded. */
JF_LUA(checkpoint_read)
{
  const jfl_checkpoint *c = need_open(L, "checkpoint_read");
  jfl_dtype dtype = JFL_F32;
  jfl_shape shape = { 1, { 1 } };
  int i = (int)jf_need_whole(L, 2, "checkpoint_read", "number", 1, jfl_checkpoint_count(c)) - 1;
  if (!lua_isnoneornil(L, 3)) dtype = jf_need_dtype(L, 3, "checkpoint_read");
  if (!lua_isnoneornil(L, 4)) jf_need_shape(L, 4, "checkpoint_read", &shape);
  jf_larray *b = jf_push_array(L);
  return jf_give_array(L, b, jfl_checkpoint_read(c, i, dtype, &shape, &b->array), NULL);
}

/* Pushes {loaded = {names}, missing = {names}, unexpected = {names}, state = {[name] = true}}. */
static void push_report(lua_State *L, const jfl_report *r)
{
  static const char *const lists[] = { "loaded", "missing", "unexpected", "state" };
  int n[3] = {0}, top = lua_gettop(L) + 1;
  for (int k = 0; k < 4; k++) lua_newtable(L);
  for (int i = 0; i < jfl_report_count(r); i++) {
    jfl_loaded what = JFL_LOADED;
    int state = 0;
    lua_pushstring(L, jfl_report_name(r, i, &what, &state));
    if (state) {
      lua_pushvalue(L, -1);
      lua_pushboolean(L, 1);
      lua_rawset(L, top + 3);
    }
    lua_rawseti(L, top + (int)what, ++n[what]);
  }
  lua_newtable(L);
  lua_insert(L, top);
  for (int k = 3; k >= 0; k--) lua_setfield(L, top, lists[k]);
}

/* load(checkpoint, strict, only): a list of what names begin with. */
JF_LUA(load)
{
  int n;
  const jfl_checkpoint *c = need_open(L, "load");
  const char **only = jf_push_list(L, 3, "load", "only", &n);
  jf_holder *h = jf_push_holder(L, drop_report);
  jf_wait_for_all(L);
  jf_give_held(L, h, jfl_checkpoint_apply(jf_session(L), c, lua_toboolean(L, 2), only, n,
                                          &h->report), NULL);
  push_report(L, h->report);
  return 1;
}

JF_LUA(checkpoint_remove)
{
  jf_wait_for_files(L);
  jf_check(L, jfl_checkpoint_remove(jf_need_string(L, 1, "remove", "path")));
  return 0;
}

/* wait_for_files(): until no save is being written. */
JF_LUA(wait_for_files) { return jf_wait_for_files(L), 0; }
