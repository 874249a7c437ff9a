/* Runs Lua's collector for the memory of arrays, which it does not see, so that it alone would run
   too seldom. Its cycles are spread over what is allocated in the last part below a limit, so that
   no call takes long for them; only at the limit all is collected at once. That alone tells what is
   live, and makes the limit higher. */
#include "bind/bind.h"
#include "system/clock.h"

enum {
  MIN_LIMIT = 64 << 20,              /* bytes of arrays below which nothing is collected */
  PART = 8,                          /* steps begin at a limit less such a part of it */
  CYCLES = 2                         /* in that part: the first may have begun before it */
};
static const double STEP_SECONDS = 0.0002;

void jf_limit_arrays(jf_state *st, size_t most)
{
  const size_t limit = st->live > MIN_LIMIT / 2 ? 2 * st->live : MIN_LIMIT;
  st->limit = limit < most ? limit : most;
  st->begin = st->limit - st->limit / PART;
  st->owed = 0;
}

/* The first collection frees pointers, the second one the arrays that they kept. */
static int collect_all(lua_State *L)
{
  lua_gc(L, LUA_GCCOLLECT, 0);
  if (jf_state_of(L)->pointed) lua_gc(L, LUA_GCCOLLECT, 0);
  return 0;
}

/* Makes the steps that are owed, of which one marks more than a kilobyte, but leaves some for later
   calls where they take long. */
static int collect_some(lua_State *L)
{
  jf_state *st = jf_state_of(L);
  const double end = jf_now() + STEP_SECONDS;
  do {
    st->owed--;
    if (lua_gc(L, LUA_GCSTEP, 1)) jf_limit_arrays(st, st->limit);
  } while (st->owed >= 1 && jf_now() < end);
  return 0;
}

/* Runs one of these. An error of a finalizer ends a collection; the caller of whatever needed
   memory gets it. */
static void collect_by(lua_State *L, jf_state *st, lua_CFunction collect)
{
  if (st->collecting) return;
  lua_pushlightuserdata(L, st);
  lua_pushcclosure(L, collect, 1);
  st->collecting = 1;
  const int failed = lua_pcall(L, 0, 0, 0);
  st->collecting = 0;
  if (collect == collect_all) jf_limit_arrays(st, SIZE_MAX);
  if (failed) lua_error(L);
}

void jf_collect(lua_State *L) { collect_by(L, jf_state_of(L), collect_all); }

void jf_account(lua_State *L, jf_larray *b)
{
  jf_state *st = jf_state_of(L);
  b->owned = (size_t)jf_shape_size(b->shape) * jfl_dtype_size(b->dtype);
  st->live += b->owned;
  if (st->live <= st->begin) return;
  if (st->live > st->limit) {
    collect_by(L, st, collect_all);
    return;
  }
  const double part = (double)b->owned / (double)(st->limit / PART);
  st->owed += part * CYCLES * lua_gc(L, LUA_GCCOUNT, 0);
  if (st->owed >= 1) collect_by(L, st, collect_some);
}
