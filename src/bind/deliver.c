/* Runs the functions of calls one by one: watch handlers, then the callback.

   A request leaves the queue, and a watch handler counts as shown, at the moment its function
   begins: so each begins once, and what fails before leaves it due. */
#include "bind/queue.h"
#include "system/clock.h"

#include <string.h>

enum { MOST_TRIES = 8 };           /* of a delivery that fails before its function begins */

typedef struct jf_delivery {
  int begun, ran, what;
  const jf_allowance *allowance;
  double start;                    /* where its time counts; 0: it does not yet */
} jf_delivery;

/* Pushes the list of the arrays that a watch of the request at 1 is about. */
static void push_watched(lua_State *L, int watch)
{
  lua_getfield(L, watch, "at");
  lua_getfield(L, watch, "n");
  const int at = (int)lua_tointeger(L, -2), n = (int)lua_tointeger(L, -1);
  lua_pop(L, 2);
  lua_createtable(L, n, 0);
  jf_get_slot(L, 1, REQUEST_VALUE);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, -1, at + i);
    lua_rawseti(L, -3, i + 1);
  }
  lua_pop(L, 1);
}

/* Puts there the next watch handler of the request at 1, and the value it is shown behind it. */
static void push_watch(lua_State *L, const jf_lrequest *r)
{
  jf_get_slot(L, 1, REQUEST_PLAN);
  jf_get_slot(L, -1, PLAN_WATCHES);
  lua_rawgeti(L, -1, r->shown + 1);
  int watch = lua_gettop(L);
  luaL_checktype(L, watch, LUA_TTABLE);
  lua_getfield(L, watch, "handler");
  lua_getfield(L, watch, "read");
  push_watched(L, watch);
  lua_call(L, 1, 1);
  lua_replace(L, 4);
  lua_replace(L, DELIVER_FUNCTION);
  lua_settop(L, 4);
}

/* Pushes what is called at the end of the request at 1, which may be nil, and its argument. */
static void push_callback(lua_State *L, const jf_lrequest *r)
{
  jf_get_slot(L, 1, r->ok ? REQUEST_CALLBACK : REQUEST_ON_ERROR);
  if (r->ok && lua_isnil(L, -1)) lua_pushnil(L);
  else jf_push_value(L, 1);
}

/* The time of a delivery counts from the end of the one before it, or from when the run is over. */
static void start_clock(lua_State *L, jf_delivery *d, const jf_lrequest *r)
{
  if (d->allowance->left == INFINITY) return;
  d->start = d->allowance->ended;
  if (!jf_is_over(r)) jf_wait(L, jf_run_of(r), -1), d->start = 0;
  if (d->start == 0) d->start = jf_now();
}

/* Tells of the function of the request at 1 that it took longer than all of them may. */
static void tell_late(lua_State *L, const jf_delivery *d)
{
  const double took = jf_now() - d->start;
  if (took <= d->allowance->limit) return;
  jf_push_anchor(L, jf_queue_of(L), LATE);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, DELIVER_FUNCTION);
  lua_pushnumber(L, took);
  lua_pushnumber(L, d->allowance->limit);
  if (lua_pcall(L, 4, 0, 0)) lua_pop(L, 1);
}

/* deliver(request, delivery): runs the next function of a request. The delivery tells how far it
   came. */
int jf_l_deliver(lua_State *L)
{
  jf_lrequest *r = lua_touserdata(L, 1);
  jf_delivery *d = lua_touserdata(L, 2);
  jf_queue *q = jf_queue_of(L);
  start_clock(L, d, r);
  if (r->run) jf_settle(L, 1);
  int watch = r->ok && r->shown < r->n_watch;
  if (watch) push_watch(L, r);
  else push_callback(L, r);
  jf_reserve_error(L, q);
  jf_heed_interrupt(L);
  d->begun = 1;      /* from here on nothing fails or allocates until the function is called */
  d->what = watch ? ++r->shown : CALLBACK;
  if (!watch && r->place) jf_dequeue(L, q, r);
  if (lua_isnil(L, DELIVER_FUNCTION)) {
    if (r->ok || r->told) return 0;
    r->told = 1;
    d->what = RUN;
    return lua_error(L);
  }
  d->ran = 1;
  lua_pushvalue(L, DELIVER_FUNCTION);
  lua_pushvalue(L, 4);
  lua_call(L, 1, 0);
  if (d->start > 0) tell_late(L, d);
  return 0;
}

/* Pushes the error at 1 as a text. */
static const char *push_error_text(lua_State *L)
{
  if (luaL_callmeta(L, 1, "__tostring") && lua_isstring(L, -1)) return lua_tostring(L, -1);
  if (lua_isstring(L, 1)) lua_pushvalue(L, 1);
  else if (lua_isnil(L, 1)) lua_pushliteral(L, "nil");
  else if (lua_isboolean(L, 1)) lua_pushstring(L, lua_toboolean(L, 1) ? "true" : "false");
  else lua_pushfstring(L, "%s: %p", luaL_typename(L, 1), lua_topointer(L, 1));
  return lua_tostring(L, -1);
}

/* Message handler: adds a traceback that ends where the function begins, so that the error names
   the line of whoever ran it. */
int jf_l_queue_traceback(lua_State *L)
{
  const jf_delivery *d = jf_queue_of(L)->delivery;
  if (!d->ran || jf_is_interruption(L, 1)) return 1;
  const char *text = push_error_text(L);
  if (strstr(text, "attempt to yield across C-call boundary"))
    text = lua_pushfstring(L, "%s; a callback cannot yield", text);
  jf_push_anchor(L, jf_queue_of(L), DEBUG);
  if (!lua_isfunction(L, -1)) return lua_pushstring(L, text), 1;
  lua_pushstring(L, text);
  lua_pushinteger(L, 2);
  lua_call(L, 2, 1);
  const char *whole = lua_tostring(L, -1);
  const char *frame = lua_pushfstring(L, "\n\t[C]: at %p", (void *)(uintptr_t)jf_l_deliver);
  const char *end = strstr(whole, frame);
  if (end) lua_pushlstring(L, whole, (size_t)(end - whole));
  else lua_pushstring(L, whole);
  return 1;
}

void jf_give_up(lua_State *L, int i, int error)
{
  jf_lrequest *r = lua_touserdata(L, i);
  lua_pushvalue(L, error);
  jf_keep_failure(L, i);
  r->tries = 0;
}

/* Runs the next function of the request at i; returns what jf_deliver_next does. */
static int deliver_request(lua_State *L, jf_queue *q, int i, jf_allowance *a)
{
  jf_lrequest *r = lua_touserdata(L, i);
  jf_delivery d = { .allowance = a }, *outer = q->delivery;
  jf_push_anchor(L, q, TRACEBACK);
  jf_push_anchor(L, q, DELIVER);
  lua_pushvalue(L, i);
  lua_pushlightuserdata(L, &d);
  q->delivery = &d;
  q->running++;
  int status = lua_pcall(L, 2, 0, -4);
  q->running--;
  q->delivery = outer;
  a->ended = d.start > 0 ? jf_now() : 0;
  a->left -= a->ended - d.start;
  a->least = 0;
  lua_remove(L, status ? -2 : -1);
  if (!status) return d.ran;
  if (jf_is_interruption(L, -1)) return -1;
  if (d.begun) return jf_keep_error(L, q, i, d.what), d.ran;
  if (++r->tries >= MOST_TRIES) jf_give_up(L, i, lua_gettop(L));
  return -1;
}

/* Delivers the oldest request. */
static int deliver_head(lua_State *L, jf_queue *q, jf_allowance *a)
{
  jf_push_call(L, q, jf_first_call(q));
  int n = deliver_request(L, q, lua_gettop(L), a);
  lua_remove(L, n < 0 ? -2 : -1);
  return n;
}

/* A request to stop the program is heeded between two functions. */
int jf_deliver_next(lua_State *L, jf_queue *q, jf_allowance *a)
{
  jf_heed_interrupt(L);
  return deliver_head(L, q, a);
}

jf_allowance jf_allow(lua_State *L, jf_waits waits)
{
  const jf_state *st = jf_state_of(L);
  double seconds = INFINITY;
  if (!st->queue.head || !st->session) return jf_allow_all(waits);
  jf_check(L, jfl_session_get(st->session, "callback_seconds", &seconds));
  const double limit = seconds > 0 ? seconds : INFINITY;
  return (jf_allowance){ .left = seconds, .limit = limit, .least = seconds > 0, .waits = waits };
}

int jf_may_deliver(lua_State *L, jf_queue *q, const jf_allowance *a, uint64_t last)
{
  if (a->waits != JF_WAITS_FOR_ALL) jf_postpone(L, q, last);
  const jf_lrequest *r = jf_first_call(q);
  if (!r || r->number > last || !(a->least || a->left > 0)) return 0;
  return jf_is_over(r) || a->waits >= (r->behind ? JF_WAITS_FOR_ALL : JF_WAITS_FOR_RUNS);
}

void jf_run_due(lua_State *L, jf_lplan *p, jf_allowance *a)
{
  jf_queue *q = jf_queue_of(L);
  uint64_t last = q->calls;
  int n = 0;
  const jf_lrequest *left;
  if (!q->head || jf_is_busy(q)) return;
  jf_heed_interrupt(L);
  a->ended = 0;
  p->pinned++;
  while (n >= 0 && jf_may_deliver(L, q, a, last)) n = deliver_head(L, q, a);
  p->pinned--;
  if (n < 0 && jf_is_interruption(L, -1)) lua_error(L);
  if (n < 0) lua_pop(L, 1);
  jf_warn_once(L, q);
  left = jf_first_call(q);
  a->behind = left && left->number <= last;
}

void jf_show(lua_State *L, int i)
{
  jf_queue *q = jf_queue_of(L);
  jf_lrequest *r = lua_touserdata(L, i);
  jf_allowance own = jf_allow_all(JF_WAITS_FOR_ALL);
  int n = 0;
  const int before = q->failed;
  while (r->shown < r->n_watch && n >= 0 && q->failed == before)
    n = deliver_request(L, q, i, &own);
  if (r->shown == r->n_watch && r->place) jf_dequeue(L, q, r);
  if (n < 0) lua_error(L);
  if (q->failed > before) jf_raise_error(L, q, q->failed - 1);
}
