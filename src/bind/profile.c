/* Profiles in Lua. */
#include "bind/bind.h"

#include <limits.h>

/* profile_start(max_events). Makes no session, since the script may first say which ranks there
   are. */
JF_LUA(profile_start)
{
  jf_state *st = jf_state_of(L);
  const size_t n = (size_t)jf_need_whole(L, 1, "profile_start", "max_events", 0, 0x1p40);
  if (st->session || st->profiles) jf_check(L, jfl_profile_start(jf_session(L), n));
  st->profiles = !st->session;
  st->profile_events = n;
  return 0;
}

static void drop_profile(void *p) { jfl_profile_free(p); }

static void bind_profile_push_row(lua_State *L, const jfl_profile_row *r, const char *line)
{
  lua_createtable(L, 0, 11);
  jf_set_string(L, "job", r->job);
  jf_set_string(L, "op", r->op);
  jf_set_string(L, "name", r->name);
  jf_set_string(L, "kernel", r->kernel);
  jf_set_string(L, "serves", r->serves);
  jf_set_number(L, "seconds", r->seconds);
  jf_set_number(L, "runs", (double)r->runs);
  jf_set_number(L, "flop", r->flop);
  jf_set_number(L, "bytes", r->bytes);
  jf_set_string(L, "device", r->device);
  jf_set_string(L, "line", line);
}

/* profile_stop(path | nil): a list of rows, one for each step. A Chrome trace is written to path;
   if that fails, the second result says why. Then the seconds that this rank computed in jobs of
   several ranks, and those that it waited there. */
JF_LUA(profile_stop)
{
  const char *path = lua_isnoneornil(L, 1) ? NULL : jf_need_string(L, 1, "profile_stop", "path");
  jf_holder *h = jf_push_holder(L, drop_profile);
  jf_give_held(L, h, jfl_profile_stop(jf_session(L), &h->profile), NULL);
  jfl_profile *p = h->profile;
  jfl_status written = path ? jfl_profile_trace(p, path) : JFL_OK;
  int n = jfl_profile_count(p);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    jfl_profile_row r;
    jfl_profile_at(p, i, &r);
    bind_profile_push_row(L, &r, jfl_profile_line(p, i));
    lua_rawseti(L, -2, i + 1);
  }
  double computing = 0, waiting = 0;
  lua_pushstring(L, written ? jfl_errmsg() : NULL);
  jfl_profile_waiting(p, &computing, &waiting);
  lua_pushnumber(L, computing);
  lua_pushnumber(L, waiting);
  return 4;
}

/* machine_peak(threads): float32 operations and bytes per second. */
JF_LUA(machine_peak)
{
  double flop, bytes;
  int threads = (int)jf_need_whole(L, 1, "machine_peak", "threads", 1, INT_MAX);
  jf_check(L, jfl_machine_peak(threads, &flop, &bytes));
  lua_pushnumber(L, flop);
  lua_pushnumber(L, bytes);
  return 2;
}
