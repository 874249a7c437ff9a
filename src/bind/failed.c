/* Errors of callbacks and watch handlers, which are kept until poll(), sync() or the end of the
   program raises them; and what the user is told of the queue. */
#include "bind/queue.h"

enum { MOST_FAILED = 1000 };       /* errors kept; later ones are counted */
enum { MANY_CALLS = 5000 };        /* whose functions wait: the user is told */

void jf_reserve_error(lua_State *L, jf_queue *q)
{
  if (q->failed + q->running <= q->cap_failed) return;
  jf_push_anchor(L, q, FAILED);
  for (; q->cap_failed < q->failed + q->running; q->cap_failed++) {
    for (int k = 1; k <= 3; k++) {
      lua_pushboolean(L, 0);
      lua_rawseti(L, -2, 3 * q->cap_failed + k);
    }
  }
  lua_pop(L, 1);
}

void jf_keep_error(lua_State *L, jf_queue *q, int i, int what)
{
  if (q->failed == MOST_FAILED) {
    q->overflow++;
    lua_pop(L, 1);
    return;
  }
  jf_push_anchor(L, q, FAILED);
  lua_insert(L, -2);
  lua_rawseti(L, -2, 3 * q->failed + 1);
  lua_pushvalue(L, i);
  lua_rawseti(L, -2, 3 * q->failed + 2);
  lua_pushinteger(L, what);
  lua_rawseti(L, -2, 3 * q->failed + 3);
  lua_pop(L, 1);
  q->failed++;
  jf_tell_due(L, q);
}

void jf_forget_error(lua_State *L, jf_queue *q, int k)
{
  jf_push_anchor(L, q, FAILED);
  for (int item = 1; item <= 3; item++) {
    lua_pushboolean(L, 0);
    lua_rawseti(L, -2, 3 * k + item);
  }
  lua_pop(L, 1);
  if (k == q->failed - 1) q->failed--;
  else q->told++;
  if (q->told == q->failed) q->failed = q->told = q->warned = 0;
  jf_tell_due(L, q);
}

/* Pushes "a callback" or "watch of 'x'" for an error of the request at i. */
static void push_what(lua_State *L, int i, int what)
{
  jf_get_slot(L, i, REQUEST_PLAN);
  jf_get_slot(L, -1, PLAN_WATCHES);
  if (what > 0) lua_rawgeti(L, -1, what);
  if (what > 0 && lua_istable(L, -1)) lua_getfield(L, -1, "label");
  if (!lua_isstring(L, -1)) lua_pushliteral(L, "a callback");
}

const char *jf_push_error(lua_State *L, jf_queue *q, int k)
{
  jf_push_anchor(L, q, FAILED);
  int list = lua_gettop(L);
  lua_rawgeti(L, list, 3 * k + 3);
  int what = (int)lua_tointeger(L, -1);
  lua_rawgeti(L, list, 3 * k + 2);
  int at = lua_gettop(L);
  const jf_lrequest *r = lua_touserdata(L, at);
  lua_rawgeti(L, list, 3 * k + 1);
  const char *text = lua_tostring(L, -1);
  if (!text) text = luaL_typename(L, -1);
  if (what == RUN) {
    lua_pushstring(L, text);
  } else {
    push_what(L, at, what);
    lua_pushfstring(L, "%s: error in %s: %s", r->plan->job->name, lua_tostring(L, -1), text);
  }
  lua_replace(L, list);
  lua_settop(L, list);
  return lua_tostring(L, -1);
}

const char *jf_push_overflow(lua_State *L, jf_queue *q)
{
  lua_pushfstring(L, "%d more errors of callbacks were not kept", q->overflow);
  q->overflow = 0;
  return lua_tostring(L, -1);
}

void jf_raise_error(lua_State *L, jf_queue *q, int k)
{
  const char *text = jf_push_error(L, q, k);
  jf_forget_error(L, q, k);
  jf_raise(L, "%s", text);
}

void jf_check_errors(lua_State *L, jf_queue *q)
{
  if (q->told < q->failed) jf_raise_error(L, q, q->told);
  if (q->overflow) jf_raise(L, "%s", jf_push_overflow(L, q));
}

void jf_warn_once(lua_State *L, jf_queue *q)
{
  if (q->warned || q->told == q->failed) return;
  q->warned = 1;
  jf_push_anchor(L, q, WARN);
  jf_push_error(L, q, q->told);
  if (lua_pcall(L, 1, 0, 0)) lua_pop(L, 1);
}

void jf_warn_many(lua_State *L, jf_queue *q)
{
  if (q->length < MANY_CALLS || q->told_length) return;
  q->told_length = 1;
  jf_push_anchor(L, q, MANY);
  lua_pushinteger(L, q->length);
  if (lua_pcall(L, 1, 0, 0)) lua_pop(L, 1);
}
