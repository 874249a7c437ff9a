/* Ends waits in C when the program around the state asks for it, as the command does at Ctrl-C. */
#include "bind/bind.h"

#include <math.h>
#include <string.h>

static const char key[] = "jfl.interrupt";

void jf_set_interrupt(lua_State *L, const volatile sig_atomic_t *asked, void (*stop)(lua_State *L))
{
  jf_interrupt *i = lua_newuserdata(L, sizeof *i);
  *i = (jf_interrupt){ .asked = asked, .stop = stop };
  lua_setfield(L, LUA_REGISTRYINDEX, key);
}

void jf_set_due(lua_State *L, jf_state *st, int (*due)(void *ctx), void *ctx,
                void (*over)(lua_State *L))
{
  if (!st->interrupt) jf_set_interrupt(L, NULL, NULL);
  jf_open_interrupt(L, st);
  st->interrupt->due = due;
  st->interrupt->ctx = ctx;
  st->interrupt->over = over;
}

void jf_open_interrupt(lua_State *L, jf_state *st)
{
  lua_getfield(L, LUA_REGISTRYINDEX, key);
  st->interrupt = lua_touserdata(L, -1);
  lua_pop(L, 1);
}

static int is_due(const jf_interrupt *i) { return i->due && i->due(i->ctx); }
/* A signal handler or another thread asks. */
static int is_asked(const jf_interrupt *i)
{
  return i->asked && __atomic_load_n(i->asked, __ATOMIC_RELAXED) > 0;
}
static int asked(void *interrupt) { return is_asked(interrupt) || is_due(interrupt); }

void jf_share_interrupt(jf_state *st)
{
  if (st->interrupt) jfl_session_stop_when(st->session, asked, st->interrupt);
}

void jf_heed_interrupt(lua_State *L)
{
  const jf_interrupt *i = jf_state_of(L)->interrupt;
  if (i && is_due(i)) i->over(L);
  if (i && is_asked(i)) i->stop(L);
}

int jf_is_interruption(lua_State *L, int i)
{
  static const char ours[] = "interrupted", luajits[] = "interrupted!";
  const jf_interrupt *asks = jf_state_of(L)->interrupt;
  if (asks && is_due(asks)) return 1;
  size_t n, end = sizeof luajits - 1;
  const char *text = lua_type(L, i) == LUA_TSTRING ? lua_tolstring(L, i, &n) : NULL;
  return text && (!strcmp(text, ours) || (n >= end && !strcmp(text + n - end, luajits)));
}

/* Whether request r is done or, if r is NULL, fewer runs are pending than `before`. */
static int is_over(jfl_session *s, const jfl_request *r, int before)
{
  if (r) return jfl_request_done(r);
  const int pending = jfl_session_pending(s);
  return !pending || pending < before;
}

void jf_wait(lua_State *L, const jfl_request *r, double seconds)
{
  const jf_state *st = jf_state_of(L);
  jfl_session *s = st->session;
  if (!st->interrupt || (seconds >= 0 && seconds <= JF_SLICE)) {
    jfl_session_wait(s, r, seconds);
    return;
  }
  double left = seconds < 0 ? INFINITY : seconds;
  for (int n = jfl_session_pending(s); left > 0 && !is_over(s, r, n); left -= JF_SLICE) {
    jf_heed_interrupt(L);
    jfl_session_wait(s, r, left < JF_SLICE ? left : JF_SLICE);
  }
}

void jf_wait_for_all(lua_State *L)
{
  const jf_state *st = jf_state_of(L);
  if (!st->interrupt || !st->session) return;
  while (jfl_session_pending(st->session)) {
    jf_heed_interrupt(L);
    jfl_session_wait(st->session, NULL, JF_SLICE);
  }
}
