/* The queue of calls as Lua sees it: poll, sync, callbacks, cancelling, the end of a program. */
#include "bind/queue.h"

/* poll(seconds | nil, last | nil): runs the functions that are due, oldest first, and returns their
   number; after so many seconds, or that of the last call, it begins no further one. Calls that
   they make are left for later. */
JF_LUA(poll)
{
  jf_queue *q = jf_queue_of(L);
  jf_allowance a = jf_allow(L, JF_WAITS_NOT);
  const double end = lua_isnoneornil(L, 2) ? INFINITY : jf_need_number(L, 2, "poll", "last");
  const uint64_t last = end >= 0 && end < (double)q->calls ? (uint64_t)end : q->calls;
  int count = 0;
  if (!lua_isnoneornil(L, 1)) a.left = jf_need_number(L, 1, "poll", "seconds");
  else if (a.left <= 0) a = jf_allow_all(JF_WAITS_NOT);
  a.least = 1;
  if (jf_is_busy(q)) return lua_pushinteger(L, 0), 1;
  jf_check_errors(L, q);
  jf_tell_due(L, q);
  while (jf_may_deliver(L, q, &a, last)) {
    int n = jf_deliver_next(L, q, &a);
    if (n < 0) lua_error(L);
    count += n;
    jf_check_errors(L, q);
  }
  lua_pushinteger(L, count);
  return 1;
}

/* Waits for all runs; what they gave stays in the queue. */
static void wait_for_runs(lua_State *L)
{
  const jf_state *st = jf_state_of(L);
  while (st->session && jfl_session_pending(st->session)) jf_wait(L, NULL, -1);
}

/* sync(): waits for every call and runs its functions; inside a callback or a body it only
   waits. */
JF_LUA(sync)
{
  jf_queue *q = jf_queue_of(L);
  jf_allowance a = jf_allow_all(JF_WAITS_FOR_ALL);
  if (jf_is_busy(q)) return wait_for_runs(L), 0;
  jf_check_errors(L, q);
  while (jf_first_call(q)) {
    if (jf_deliver_next(L, q, &a) < 0) lua_error(L);
    jf_check_errors(L, q);
  }
  return 0;
}

/* settle(): waits for every run, and runs functions of calls as far as they are allowed; their
   errors are kept. */
JF_LUA(settle)
{
  jf_queue *q = jf_queue_of(L);
  jf_allowance a = jf_allow(L, JF_WAITS_FOR_RUNS);
  while (!jf_is_busy(q) && jf_may_deliver(L, q, &a, UINT64_MAX))
    if (jf_deliver_next(L, q, &a) < 0) lua_error(L);
  wait_for_runs(L);
  return 0;
}

/* register(request, callback, on_error | nil): what is called with a call's value, or with the
   message of its failure. */
JF_LUA(register)
{
  jf_queue *q = jf_queue_of(L);
  jf_lrequest *r = jf_need_request(L, 1, "register");
  lua_settop(L, 3);
  int on_error = !lua_isnil(L, 3);
  if (!lua_isfunction(L, 2) || (on_error && !lua_isfunction(L, 3))) {
    jf_push_anchor(L, q, MISUSE);
    lua_insert(L, 1);
    lua_call(L, 3, 0);
    return 0;
  }
  if (r->has_callback) jf_raise(L, "%s: this call has a callback already", r->plan->job->name);
  if (!r->place) jf_reserve_call(L);
  r->has_callback = 1;
  jf_set_slot(L, 1, REQUEST_ON_ERROR);
  jf_set_slot(L, 1, REQUEST_CALLBACK);
  if (!r->place && (r->ok || (on_error && q->ending < 2))) jf_enqueue(L, 1);
  return 0;
}

/* value(request): waits for a call and returns its value; functions of earlier calls run first, as
   far as they are allowed. */
JF_LUA(value)
{
  jf_queue *q = jf_queue_of(L);
  jf_lrequest *r = jf_need_request(L, 1, "value");
  jf_allowance a = jf_allow(L, JF_WAITS_FOR_RUNS);
  r->told = 1;
  while (r->place && !jf_is_busy(q) && jf_may_deliver(L, q, &a, r->number)) {
    int before = q->failed, own = jf_first_call(q) == r;
    if (jf_deliver_next(L, q, &a) < 0) lua_error(L);
    if (own && q->failed > before) jf_raise_error(L, q, q->failed - 1);
  }
  jf_settle(L, 1);
  jf_push_value(L, 1);
  if (!r->ok) jf_raise(L, "%s", lua_tostring(L, -1));
  return 1;
}

/* Takes back the run of a request if it has not begun; nobody need be told that it failed. */
static int queue_cancel(lua_State *L, jf_lrequest *r)
{
  int cancelled = 0;
  if (jf_is_over(r)) return 0;
  jf_check(L, jfl_request_cancel(jf_run_of(r), &cancelled));
  if (cancelled) r->told = 1;
  return cancelled;
}

/* The latest first: else the worker could come to a call of which an earlier one is taken back. */
static int queue_cancel_all(lua_State *L, const jf_queue *q, const jf_ljob *job)
{
  jf_lrequest **list = lua_newuserdata(L, ((size_t)q->length + 1) * sizeof *list);
  int n = 0, cancelled = 0;
  for (jf_lrequest *r = q->head; r && n < q->length; r = r->next)
    if (r->plan->job == job) list[n++] = r;
  while (n) cancelled += queue_cancel(L, list[--n]);
  return cancelled;
}

/* cancel(request | job): takes back the call, or all calls of the job, that have not begun; gives
   how many. What was registered for their failure is due. */
JF_LUA(cancel)
{
  jf_queue *q = jf_queue_of(L);
  const jf_ljob *job = jf_test(L, 1, JF_JOB);
  const int n = job ? queue_cancel_all(L, q, job)
                    : queue_cancel(L, jf_need_request(L, 1, "cancel"));
  jf_tell_due(L, q);
  lua_pushinteger(L, n);
  return 1;
}

/* front_end(kept, misuse, late, many): kept is told, once until it was raised, of an error that a
   call keeps; misuse gets arguments of register() that are no functions, and raises the error; late
   gets a request, its function that took longer than is allowed, how long, and what is allowed;
   many gets the number of calls whose functions wait, once until all have run. */
JF_LUA(front_end)
{
  jf_queue *q = jf_queue_of(L);
  for (int i = 1; i <= 4; i++) luaL_checktype(L, i, LUA_TFUNCTION);
  lua_settop(L, 4);
  jf_set_anchor(L, q, MANY);
  jf_set_anchor(L, q, LATE);
  jf_set_anchor(L, q, MISUSE);
  jf_set_anchor(L, q, WARN);
  return 0;
}

/* busy(request): whether the call was not made, as there was no room for it. */
JF_LUA(busy)
{
  lua_pushboolean(L, jf_need_request(L, 1, "busy")->busy);
  return 1;
}

/* never_wait(on): whether a call for which there is no room is not made. */
JF_LUA(never_wait)
{
  jf_queue_of(L)->never_waits = lua_toboolean(L, 1);
  return 0;
}

/* peek(request): the value of a call whose run is over and succeeded, or nil. */
JF_LUA(peek)
{
  const jf_lrequest *r = jf_need_request(L, 1, "peek");
  if (!jf_is_over(r)) return 0;
  jf_settle(L, 1);
  if (!r->ok) return 0;
  jf_push_value(L, 1);
  return 1;
}

/* fd(): a descriptor that is readable as long as a function is due. */
JF_LUA(fd)
{
  int fd = -1;
  jf_queue *q = jf_queue_of(L);
  jf_check(L, jfl_session_fd(jf_session(L), &fd));
  q->watched = 1;
  jf_tell_due(L, q);
  lua_pushinteger(L, fd);
  return 1;
}

/* is_interruption(error): whether the error is how a program is stopped from outside. */
JF_LUA(is_interruption)
{
  luaL_checkany(L, 1);
  lua_pushboolean(L, jf_is_interruption(L, 1));
  return 1;
}

/* ---- the end of a program ---- */

/* Pops a message and gives it to say, the function at 1, whatever that does. */
static void queue_say(lua_State *L)
{
  lua_pushvalue(L, 1);
  lua_insert(L, -2);
  if (lua_pcall(L, 1, 0, 0)) lua_pop(L, 1);
}

/* Says the errors that were kept; returns their number. */
static int say_failed(lua_State *L)
{
  jf_queue *q = jf_queue_of(L);
  int n = q->overflow;
  for (; q->told < q->failed; n++) {
    jf_push_error(L, q, q->told);
    jf_forget_error(L, q, q->told);
    queue_say(L);
  }
  if (q->overflow) jf_push_overflow(L, q), queue_say(L);
  return n;
}

/* Runs the functions of all calls up to the last one; returns how many failed. A call whose
   function cannot be begun is tried again once, after garbage was collected, and then failed. */
static int finish_until(lua_State *L, uint64_t last)
{
  jf_queue *q = jf_queue_of(L);
  jf_allowance a = jf_allow_all(JF_WAITS_FOR_ALL);
  int failed = say_failed(L);
  while (jf_may_deliver(L, q, &a, last)) {
    if (jf_deliver_next(L, q, &a) < 0) {
      if (jf_is_interruption(L, -1)) lua_error(L);
      const int error = lua_gettop(L);
      const jf_lrequest *r = jf_first_call(q);
      if (r && r->tries > 1) {
        jf_push_call(L, q, r);
        jf_give_up(L, error + 1, error);
      }
      lua_settop(L, error - 1);
      lua_gc(L, LUA_GCCOLLECT, 0);
    }
    failed += say_failed(L);
  }
  return failed;
}

/* finish(say): runs the functions of all calls made so far, even after one has failed; say gets
   each error. Calls made from now on are refused: what they have for that case is told so, but not
   of calls that are made then. Returns how many failed and how many calls were refused. */
JF_LUA(finish)
{
  jf_queue *q = jf_queue_of(L);
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  if (!q->ending) q->last = q->calls;
  if (!q->ending) q->ending = 1;
  int failed = finish_until(L, q->last), refused = q->refused;
  q->ending = 2;
  failed += finish_until(L, q->calls);
  q->refused = 0;
  lua_pushinteger(L, failed);
  lua_pushinteger(L, refused);
  return 2;
}

/* abandon(): forgets all calls; gives how many of them had a callback. */
JF_LUA(abandon)
{
  jf_queue *q = jf_queue_of(L);
  int n = 0;
  while (q->head) {
    n += q->head->has_callback;
    jf_dequeue(L, q, q->head);
  }
  lua_pushinteger(L, n);
  return 1;
}

/* Pushes debug.traceback, or nil where the state has no such library. */
static void push_debug(lua_State *L)
{
  lua_getglobal(L, "debug");
  if (lua_istable(L, -1)) lua_getfield(L, -1, "traceback");
  else lua_pushboolean(L, 0);
  lua_remove(L, -2);
}

void jf_open_queue(lua_State *L, jf_state *st)
{
  static const lua_CFunction functions[] = { jf_l_deliver, jf_l_queue_traceback };
  for (int i = 0; i < N_ANCHOR; i++) {
    if (i < CALLS) {
      lua_pushboolean(L, 0);
    } else if (i < DEBUG) {
      lua_newtable(L);
    } else if (i == DEBUG) {
      push_debug(L);
    } else {
      lua_pushlightuserdata(L, st);
      lua_pushcclosure(L, functions[i - DELIVER], 1);
    }
    st->queue.ref[i] = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  st->callback = (jf_runner){ jf_l_deliver, DELIVER_FUNCTION };
}
