/* Callbacks of asynchronous calls: the queue of calls, and what runs their functions one by one.

   A request leaves the queue, and a watch handler counts as shown, at the moment its function
   begins: so each begins once, and what fails before leaves it due. An error of a function is kept
   until poll(), sync() or the end of the program raises it. */
#include "bind/bind.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* What the registry keeps; FAILED is a list with three items for each error: itself, the request,
   and what failed; DEBUG is debug.traceback, WARN and MISUSE are
   functions of the front end. */
enum { HEAD, TAIL, WARN, MISUSE, FAILED, DEBUG, DELIVER, TRACEBACK, N_ANCHOR };

enum { MOST_FAILED = 1000 };       /* errors kept; later ones are counted */
enum { MOST_TRIES = 8 };           /* of a delivery that fails before its function begins */

enum { CALLBACK = 0, RUN = -1 };   /* what failed; a number above 0 is that of a watch handler */

typedef struct jf_delivery { int begun, ran, what; } jf_delivery;

static jf_queue *queue_of(lua_State *L) { return &jf_state_of(L)->queue; }

/* No callback runs inside a callback, nor inside a body, where its ops would join the job. */
static int is_busy(const jf_queue *q) { return q->running || q->in_body; }

static int has_failed(const jf_queue *q) { return q->told < q->failed || q->overflow; }

static void push_anchor(lua_State *L, const jf_queue *q, int which)
{
  lua_rawgeti(L, LUA_REGISTRYINDEX, q->ref[which]);
}

/* Pops a value. The slot is there, so no memory is needed. */
static void set_anchor(lua_State *L, const jf_queue *q, int which)
{
  lua_rawseti(L, LUA_REGISTRYINDEX, q->ref[which]);
}

/* Updates the descriptor, if a host asked for it, to say whether anything is due. A finished run
   makes it readable; once its results are taken, it must no longer be. It is cleared first, as
   another run may finish meanwhile. */
static void tell_due(lua_State *L, const jf_queue *q)
{
  jfl_session *s = q->watched ? jf_state_of(L)->session : NULL;
  if (!s) return;
  jfl_session_due(s, 0);
  if (has_failed(q) || (q->head && jf_is_over(q->head))) jfl_session_due(s, 1);
}

/* ---- the queue ---- */

/* Pushes the last request before that number; the queue begins with an older one. */
static void push_before(lua_State *L, jf_queue *q, uint64_t number)
{
  if (q->tail->number < number) {
    push_anchor(L, q, TAIL);
    return;
  }
  push_anchor(L, q, HEAD);
  for (jf_lrequest *r = q->head; r->next && r->next->number < number; r = r->next) {
    jf_get_slot(L, -1, REQUEST_NEXT);
    lua_replace(L, -2);
  }
}

static void insert_first(lua_State *L, jf_queue *q, int i, jf_lrequest *r)
{
  if (q->head) {
    push_anchor(L, q, HEAD);
    jf_set_slot(L, i, REQUEST_NEXT);
  }
  lua_pushvalue(L, i);
  set_anchor(L, q, HEAD);
  r->next = q->head;
  q->head = r;
}

static void insert_after(lua_State *L, jf_queue *q, int i, jf_lrequest *r)
{
  push_before(L, q, r->number);
  int at = lua_gettop(L);
  jf_lrequest *before = lua_touserdata(L, at);
  jf_get_slot(L, at, REQUEST_NEXT);
  jf_set_slot(L, i, REQUEST_NEXT);
  lua_pushvalue(L, i);
  jf_set_slot(L, at, REQUEST_NEXT);
  lua_pop(L, 1);
  r->next = before->next;
  before->next = r;
}

void jf_enqueue(lua_State *L, int i)
{
  jf_queue *q = queue_of(L);
  jf_lrequest *r = lua_touserdata(L, i);
  if (!r->number) r->number = ++q->calls;
  if (!q->head || r->number < q->head->number) insert_first(L, q, i, r);
  else insert_after(L, q, i, r);
  if (!r->next) {
    lua_pushvalue(L, i);
    set_anchor(L, q, TAIL);
    q->tail = r;
  }
  r->queued = 1;
  tell_due(L, q);
}

/* Takes the oldest request out of the queue; the caller has it on the stack. */
static void queue_drop_head(lua_State *L, jf_queue *q)
{
  jf_lrequest *r = q->head;
  if (r->next) {
    push_anchor(L, q, HEAD);
    jf_get_slot(L, -1, REQUEST_NEXT);
    set_anchor(L, q, HEAD);
    lua_pushboolean(L, 0);
    jf_set_slot(L, -2, REQUEST_NEXT);
    lua_pop(L, 1);
  } else {
    lua_pushboolean(L, 0);
    set_anchor(L, q, HEAD);
    lua_pushboolean(L, 0);
    set_anchor(L, q, TAIL);
    q->tail = NULL;
  }
  q->head = r->next;
  r->next = NULL;
  r->queued = 0;
  tell_due(L, q);
}

int jf_is_full(lua_State *L, const jf_lplan *p)
{
  int n = 0;
  if (p->width <= 0) return 0;
  for (const jf_lrequest *r = queue_of(L)->head; r; r = r->next)
    n += r->plan->job == p->job && !jf_is_over(r);
  return n >= p->width;
}

/* ---- errors that are kept ---- */

/* Makes room for one error of each function that runs. */
static void failed_reserve(lua_State *L, jf_queue *q)
{
  if (q->failed + q->running <= q->cap_failed) return;
  push_anchor(L, q, FAILED);
  for (; q->cap_failed < q->failed + q->running; q->cap_failed++) {
    for (int k = 1; k <= 3; k++) {
      lua_pushboolean(L, 0);
      lua_rawseti(L, -2, 3 * q->cap_failed + k);
    }
  }
  lua_pop(L, 1);
}

/* Pops the error of a function of the request at i. */
static void failed_keep(lua_State *L, jf_queue *q, int i, int what)
{
  if (q->failed == MOST_FAILED) {
    q->overflow++;
    lua_pop(L, 1);
    return;
  }
  push_anchor(L, q, FAILED);
  lua_insert(L, -2);
  lua_rawseti(L, -2, 3 * q->failed + 1);
  lua_pushvalue(L, i);
  lua_rawseti(L, -2, 3 * q->failed + 2);
  lua_pushinteger(L, what);
  lua_rawseti(L, -2, 3 * q->failed + 3);
  lua_pop(L, 1);
  q->failed++;
  tell_due(L, q);
}

static void failed_forget(lua_State *L, jf_queue *q, int k)
{
  push_anchor(L, q, FAILED);
  for (int item = 1; item <= 3; item++) {
    lua_pushboolean(L, 0);
    lua_rawseti(L, -2, 3 * k + item);
  }
  lua_pop(L, 1);
  if (k == q->failed - 1) q->failed--;
  else q->told++;
  if (q->told == q->failed) q->failed = q->told = q->warned = 0;
  tell_due(L, q);
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

/* Pushes error k as a message, "train: error in a callback: ...". */
static const char *failed_push(lua_State *L, jf_queue *q, int k)
{
  push_anchor(L, q, FAILED);
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

/* Pushes what is said of errors that were not kept, and forgets them. */
static const char *overflow_push(lua_State *L, jf_queue *q)
{
  lua_pushfstring(L, "%d more errors of callbacks were not kept", q->overflow);
  q->overflow = 0;
  return lua_tostring(L, -1);
}

static void failed_raise(lua_State *L, jf_queue *q, int k)
{
  const char *text = failed_push(L, q, k);
  failed_forget(L, q, k);
  jf_raise(L, "%s", text);
}

/* Raises the oldest error that was kept, if there is one. */
static void failed_check(lua_State *L, jf_queue *q)
{
  if (q->told < q->failed) failed_raise(L, q, q->told);
  if (q->overflow) jf_raise(L, "%s", overflow_push(L, q));
}

/* ---- running functions ---- */

enum { DELIVER_FUNCTION = 3 };      /* where on the stack of deliver() the user's is */

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
  lua_createtable(L, 1, 0);
  jf_get_slot(L, 1, REQUEST_VALUE);
  lua_getfield(L, watch, "at");
  lua_rawgeti(L, -2, (int)lua_tointeger(L, -1));
  lua_rawseti(L, -4, 1);
  lua_pop(L, 2);
  lua_call(L, 1, 1);
  lua_replace(L, 4);
  lua_replace(L, DELIVER_FUNCTION);
  lua_settop(L, 4);
}

/* The same for what is called at the end of the request at 1, which may be nil. */
static void push_callback(lua_State *L, const jf_lrequest *r)
{
  jf_get_slot(L, 1, r->ok ? REQUEST_CALLBACK : REQUEST_ON_ERROR);
  if (r->ok && lua_isnil(L, -1)) lua_pushnil(L);
  else jf_push_value(L, 1);
}

/* deliver(request, delivery): runs the next function of a request. The delivery tells how far it
   came. */
static int l_deliver(lua_State *L)
{
  jf_lrequest *r = lua_touserdata(L, 1);
  jf_delivery *d = lua_touserdata(L, 2);
  jf_queue *q = queue_of(L);
  if (r->run) jf_settle(L, 1);
  int watch = r->ok && r->shown < r->n_watch;
  if (watch) push_watch(L, r);
  else push_callback(L, r);
  failed_reserve(L, q);
  jf_heed_interrupt(L);
  d->begun = 1;      /* from here on nothing fails or allocates until the function is called */
  d->what = watch ? ++r->shown : CALLBACK;
  if (!watch && r->queued) queue_drop_head(L, q);
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
static int queue_traceback(lua_State *L)
{
  const jf_delivery *d = queue_of(L)->delivery;
  if (!d->ran || jf_is_interruption(L, 1)) return 1;
  const char *text = push_error_text(L);
  if (strstr(text, "attempt to yield across C-call boundary"))
    text = lua_pushfstring(L, "%s; a callback cannot yield", text);
  push_anchor(L, queue_of(L), DEBUG);
  if (!lua_isfunction(L, -1)) return lua_pushstring(L, text), 1;
  lua_pushstring(L, text);
  lua_pushinteger(L, 2);
  lua_call(L, 2, 1);
  const char *whole = lua_tostring(L, -1);
  const char *frame = lua_pushfstring(L, "\n\t[C]: at %p", (void *)(uintptr_t)l_deliver);
  const char *end = strstr(whole, frame);
  if (end) lua_pushlstring(L, whole, (size_t)(end - whole));
  else lua_pushstring(L, whole);
  return 1;
}

/* Takes an error that keeps a request from being delivered for the outcome of its run. */
static void give_up(lua_State *L, int i, int error)
{
  jf_lrequest *r = lua_touserdata(L, i);
  lua_pushvalue(L, error);
  jf_keep_failure(L, i);
  r->tries = 0;
}

/* Runs the next function of the request at i. Returns how many ran, or -1 with an error on the
   stack: that the program is to stop, or what kept the function from beginning. */
static int queue_deliver(lua_State *L, jf_queue *q, int i)
{
  jf_lrequest *r = lua_touserdata(L, i);
  jf_delivery d = { 0 }, *outer = q->delivery;
  push_anchor(L, q, TRACEBACK);
  push_anchor(L, q, DELIVER);
  lua_pushvalue(L, i);
  lua_pushlightuserdata(L, &d);
  q->delivery = &d;
  q->running++;
  int status = lua_pcall(L, 2, 0, -4);
  q->running--;
  q->delivery = outer;
  lua_remove(L, status ? -2 : -1);
  if (!status) return d.ran;
  if (jf_is_interruption(L, -1)) return -1;
  if (d.begun) return failed_keep(L, q, i, d.what), d.ran;
  if (++r->tries >= MOST_TRIES) give_up(L, i, lua_gettop(L));
  return -1;
}

/* The same for the oldest request. */
static int deliver_head(lua_State *L, jf_queue *q)
{
  push_anchor(L, q, HEAD);
  int n = queue_deliver(L, q, lua_gettop(L));
  lua_remove(L, n < 0 ? -2 : -1);
  return n;
}

/* The same, which a request to stop the program ends between two functions. */
static int queue_step(lua_State *L, jf_queue *q)
{
  jf_heed_interrupt(L);
  return deliver_head(L, q);
}

/* Tells of the first error that is kept, as it may be long until it is raised. */
static void warn_once(lua_State *L, jf_queue *q)
{
  if (q->warned || q->told == q->failed) return;
  q->warned = 1;
  push_anchor(L, q, WARN);
  failed_push(L, q, q->told);
  if (lua_pcall(L, 1, 0, 0)) lua_pop(L, 1);
}

void jf_run_due(lua_State *L, jf_lplan *p, int wait)
{
  jf_queue *q = queue_of(L);
  uint64_t last = q->calls;
  int n = 0;
  if (!q->head || is_busy(q)) return;
  jf_heed_interrupt(L);
  p->pinned++;
  while (n >= 0 && q->head && q->head->number <= last && (wait || jf_is_over(q->head)))
    n = deliver_head(L, q);
  p->pinned--;
  if (n < 0 && jf_is_interruption(L, -1)) lua_error(L);
  if (n < 0) lua_pop(L, 1);
  warn_once(L, q);
}

void jf_show(lua_State *L, int i)
{
  jf_queue *q = queue_of(L);
  const jf_lrequest *r = lua_touserdata(L, i);
  while (r->shown < r->n_watch) {
    int before = q->failed, n = queue_deliver(L, q, i);
    if (n >= 0 && q->failed == before) continue;
    if (r->shown < r->n_watch) jf_enqueue(L, i);
    if (n < 0) lua_error(L);
    failed_raise(L, q, q->failed - 1);
  }
}

/* ---- in Lua ---- */

static double queue_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* poll(seconds | nil): runs the functions that are due, oldest first, and returns their number;
   after so many seconds it begins no further one. Calls that they make are left for later. */
static int l_poll(lua_State *L)
{
  jf_queue *q = queue_of(L);
  double stop = lua_isnoneornil(L, 1) ? INFINITY
                                      : queue_now() + jf_need_number(L, 1, "poll", "seconds");
  uint64_t last = q->calls;
  int count = 0;
  if (is_busy(q)) return lua_pushinteger(L, 0), 1;
  failed_check(L, q);
  tell_due(L, q);
  while (q->head && q->head->number <= last && jf_is_over(q->head)) {
    int n = queue_step(L, q);
    if (n < 0) lua_error(L);
    count += n;
    failed_check(L, q);
    if (stop < INFINITY && queue_now() >= stop) break;
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

/* sync(keep): waits for every call and runs its functions; inside a callback or a body it only
   waits. keep: errors of functions are kept and the next one runs. */
static int l_sync(lua_State *L)
{
  jf_queue *q = queue_of(L);
  int keep = lua_toboolean(L, 1);
  if (is_busy(q)) return wait_for_runs(L), 0;
  if (!keep) failed_check(L, q);
  while (q->head) {
    if (queue_step(L, q) < 0) lua_error(L);
    if (!keep) failed_check(L, q);
  }
  return 0;
}

/* register(request, callback, on_error | nil): what is called with a call's value, or with the
   message of its failure. */
static int l_register(lua_State *L)
{
  jf_queue *q = queue_of(L);
  jf_lrequest *r = jf_need_request(L, 1, "register");
  lua_settop(L, 3);
  int on_error = !lua_isnil(L, 3);
  if (!lua_isfunction(L, 2) || (on_error && !lua_isfunction(L, 3))) {
    push_anchor(L, q, MISUSE);
    lua_insert(L, 1);
    lua_call(L, 3, 0);
    return 0;
  }
  if (!r->number) jf_raise(L, "%s: the request is not of a call", r->plan->job->name);
  if (r->has_callback) jf_raise(L, "%s: this call has a callback already", r->plan->job->name);
  r->has_callback = 1;
  jf_set_slot(L, 1, REQUEST_ON_ERROR);
  jf_set_slot(L, 1, REQUEST_CALLBACK);
  if (!r->queued && (r->ok || (on_error && q->ending < 2))) jf_enqueue(L, 1);
  return 0;
}

/* value(request): waits for a call and returns its value; functions of earlier calls run first. */
static int l_value(lua_State *L)
{
  jf_queue *q = queue_of(L);
  jf_lrequest *r = jf_need_request(L, 1, "value");
  r->told = 1;
  while (r->queued && !is_busy(q)) {
    int before = q->failed, own = q->head == r;
    if (queue_step(L, q) < 0) lua_error(L);
    if (own && q->failed > before) failed_raise(L, q, q->failed - 1);
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

/* cancel(request | job): takes back the call, or all calls of the job, that have not begun; gives
   how many. What was registered for their failure is due. */
static int l_cancel(lua_State *L)
{
  jf_queue *q = queue_of(L);
  const jf_ljob *job = jf_test(L, 1, JF_JOB);
  int n = 0;
  if (!job) n = queue_cancel(L, jf_need_request(L, 1, "cancel"));
  for (jf_lrequest *r = job ? q->head : NULL; r; r = r->next)
    if (r->plan->job == job) n += queue_cancel(L, r);
  tell_due(L, q);
  lua_pushinteger(L, n);
  return 1;
}

/* front_end(kept, misuse): kept is told, once until it was raised, of an error that a call keeps;
   misuse gets arguments of register() that are no functions, and raises the error. */
static int l_front_end(lua_State *L)
{
  jf_queue *q = queue_of(L);
  luaL_checktype(L, 1, LUA_TFUNCTION);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  set_anchor(L, q, MISUSE);
  set_anchor(L, q, WARN);
  return 0;
}

/* peek(request): the value of a call whose run is over and succeeded, or nil. */
static int l_peek(lua_State *L)
{
  const jf_lrequest *r = jf_need_request(L, 1, "peek");
  if (!jf_is_over(r)) return 0;
  jf_settle(L, 1);
  if (!r->ok) return 0;
  jf_push_value(L, 1);
  return 1;
}

/* fd(): a descriptor that is readable as long as a function is due. */
static int l_fd(lua_State *L)
{
  int fd = -1;
  jf_queue *q = queue_of(L);
  jf_check(L, jfl_session_fd(jf_session(L), &fd));
  q->watched = 1;
  tell_due(L, q);
  lua_pushinteger(L, fd);
  return 1;
}

/* is_interruption(error): whether the error is how a program is stopped from outside. */
static int l_is_interruption(lua_State *L)
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
  jf_queue *q = queue_of(L);
  int n = q->overflow;
  for (; q->told < q->failed; n++) {
    failed_push(L, q, q->told);
    failed_forget(L, q, q->told);
    queue_say(L);
  }
  if (q->overflow) overflow_push(L, q), queue_say(L);
  return n;
}

/* Runs the functions of all calls up to the last one; returns how many failed. A call whose
   function cannot be begun is tried again once, after garbage was collected, and then failed. */
static int finish_until(lua_State *L, uint64_t last)
{
  jf_queue *q = queue_of(L);
  int failed = say_failed(L);
  while (q->head && q->head->number <= last) {
    if (queue_step(L, q) < 0) {
      if (jf_is_interruption(L, -1)) lua_error(L);
      push_anchor(L, q, HEAD);
      if (q->head && q->head->tries > 1) give_up(L, lua_gettop(L), lua_gettop(L) - 1);
      lua_pop(L, 2);
      lua_gc(L, LUA_GCCOLLECT, 0);
    }
    failed += say_failed(L);
  }
  return failed;
}

/* finish(say): runs the functions of all calls made so far, even after one has failed; say gets
   each error. Calls made from now on are refused: what they have for that case is told so, but not
   of calls that are made then. Returns how many failed and how many calls were refused. */
static int l_finish(lua_State *L)
{
  jf_queue *q = queue_of(L);
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
static int l_abandon(lua_State *L)
{
  jf_queue *q = queue_of(L);
  int n = 0;
  while (q->head) {
    push_anchor(L, q, HEAD);
    n += q->head->has_callback;
    queue_drop_head(L, q);
    lua_pop(L, 1);
  }
  lua_pushinteger(L, n);
  return 1;
}

const luaL_Reg jf_queue_functions[] = {
  { "poll", l_poll }, { "sync", l_sync }, { "register", l_register },
  { "value", l_value }, { "peek", l_peek }, { "cancel", l_cancel },
  { "front_end", l_front_end }, { "fd", l_fd }, { "finish", l_finish }, { "abandon", l_abandon },
  { "is_interruption", l_is_interruption }, { NULL, NULL }
};

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
  static const lua_CFunction functions[] = { l_deliver, queue_traceback };
  for (int i = 0; i < N_ANCHOR; i++) {
    if (i < FAILED) {
      lua_pushboolean(L, 0);
    } else if (i == FAILED) {
      lua_newtable(L);
    } else if (i == DEBUG) {
      push_debug(L);
    } else {
      lua_pushlightuserdata(L, st);
      lua_pushcclosure(L, functions[i - DELIVER], 1);
    }
    st->queue.ref[i] = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  st->callback = (jf_runner){ l_deliver, DELIVER_FUNCTION };
}
