/* Runs in Lua: calls that wait, calls that do not, and their requests. */
#include "bind/queue.h"

#include <string.h>

/* ---- inputs ---- */

/* Whether the value at i is a table that has names and no elements. */
static int is_named(lua_State *L, int i)
{
  if (!lua_istable(L, i) || lua_objlen(L, i) > 0) return 0;
  lua_pushnil(L);
  if (!lua_next(L, i)) return 0;
  int named = lua_type(L, -2) == LUA_TSTRING;
  lua_pop(L, 2);
  return named;
}

/* The end of a message on an array of another shape: what may help, or "". */
static const char *shape_hint(lua_State *L, const jfl_shape *want, const jfl_shape *got)
{
  const int64_t *w = want->d, *g = got->d;
  int same_rank = want->n == got->n && want->n > 0;
  if (same_rank && w[0] != g[0] && !memcmp(w + 1, g + 1, (size_t)(want->n - 1) * sizeof *w))
    return "; a placeholder whose first dimension is -1 takes any batch size";
  if (!want->n || !got->n || w[0] != g[0]) return "";
  if (same_rank && want->n == 4 && g[1] == w[2] && g[2] == w[3] && g[3] == w[1])
    return "; its channels are last: a:transpose({0, 3, 1, 2}) puts them first";
  if (jf_shape_size(want) != jf_shape_size(got)) return "";
  const char *text = jf_push_shape_text(L, want);
  lua_pushlstring(L, text + 1, strlen(text) - 2);        /* without the parentheses */
  return lua_pushfstring(L, "; it has as many elements: a:reshape({%s})", lua_tostring(L, -1));
}

/* Replaces the argument for input i by an array of its dtype and checks the shape. */
static void run_convert(lua_State *L, const jf_lplan *p, int i)
{
  int at = i + 2;
  const jf_linput *in = &p->in[i];
  const char *who = lua_pushfstring(L, "%s: %s", p->job->name, p->in[i].name);
  if (lua_type(L, at) == LUA_TNUMBER && jf_shape_size(in->shape) == 1) {
    jf_fill(L, jf_push_new(L, in->dtype, in->shape), 0, 1, lua_tonumber(L, at), who);
    lua_replace(L, at);
    lua_settop(L, p->n_in + 1);
    return;
  }
  if (!lua_istable(L, at) && !jf_test(L, at, JF_ARRAY))
    jf_raise(L, "%s must be an array or a table, got %s", who, jf_type_name(L, at));
  const jf_larray *b = jf_to_array(L, at, in->dtype, who);
  if (!jf_shape_same(b->shape, in->shape))
    jf_raise(L, "%s must be of shape %s, got %s%s", who, jf_push_shape_text(L, in->shape),
             jf_push_shape_text(L, b->shape), shape_hint(L, in->shape, b->shape));
  if (lua_gettop(L) > p->n_in + 2) lua_replace(L, at);
  lua_settop(L, p->n_in + 1);
}

static int run_fits(const jf_larray *b, const jf_linput *in)
{
  return b && b->array && b->dtype == in->dtype && jf_shape_same(b->shape, in->shape);
}

/* queued: whether the call gives its result to a callback. */
static int wrong_count(lua_State *L, const jf_lplan *p, int queued)
{
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 0; i < p->n_in; i++) {
    if (i) luaL_addstring(&b, ", ");
    luaL_addstring(&b, p->in[i].name);
  }
  luaL_pushresult(&b);
  int got = lua_gettop(L) - 2;
  const char *names = lua_tostring(L, -1), *job = p->job->name, *hint = "";
  if (p->n_in && got == 1 && is_named(L, 2))
    return jf_raise(L, "%s: takes its arguments by position (%s), got a table with names", job,
                    names);
  if (queued)
    hint = lua_pushfstring(L, "; a callback is given to the call's result: %s(...)(callback)", job);
  if (!p->n_in) return jf_raise(L, "%s: takes no arguments, got %d%s", job, got, hint);
  return jf_raise(L, "%s: takes %d argument%s (%s), got %d%s", job, p->n_in,
                  p->n_in == 1 ? "" : "s", names, got, hint);
}

/* Reads the pointers last: making userdata may have run finalizers, which may have freed
   anything. */
static void run_gather(lua_State *L, jf_lplan *p, jfl_array **in)
{
  jf_check_plan(L, p);
  for (int i = 0; i < p->n_in; i++) {
    jf_larray *b = lua_touserdata(L, i + 2);
    jf_check_freed(L, b, p->in[i].name);
    in[i] = b->array;
  }
}

/* ---- calls ---- */

/* Runs the plan at 1 on the arrays behind it, after all queued runs. */
static void run_after_all(lua_State *L, jf_lplan *p, jfl_array **in, jfl_array **out)
{
  jf_wait_for_all(L);
  run_gather(L, p, in);
  jfl_status e = jfl_run(p->plan, in, out);
  if (e) jf_heed_interrupt(L);
  jf_check(L, e);
}

/* Runs callbacks of earlier calls as far as they are allowed, and makes the arguments arrays for
   the plan at 1. Gives room for the pointers of inputs and results, `few` or a userdata. */
static jfl_array **run_begin(lua_State *L, const char *who, int queued, jf_allowance *a,
                             jfl_array **few)
{
  /* Runs that are queued need a plan when their turn comes. */
  jf_lplan *p = queued ? jf_need_plan_soon(L, 1, who) : jf_need_plan(L, 1, who);
  jf_run_due(L, p, a);
  jf_check_plan(L, p);
  if (lua_gettop(L) - 1 != p->n_in) wrong_count(L, p, queued);
  luaL_checkstack(L, p->n_out + 32, "too many outputs");
  for (int i = 0; i < p->n_in; i++)
    if (!run_fits(jf_test(L, i + 2, JF_ARRAY), &p->in[i])) run_convert(L, p, i);
  return jf_need_room(L, few, p->n_in + p->n_out);
}

/* run(plan, arrays...): the results. Callbacks that are due run first. */
JF_LUA(run)
{
  jf_allowance a = jf_allow(L, JF_WAITS_NOT);
  jfl_array *few[JF_FEW], **in = run_begin(L, "run", 0, &a, few);
  jf_lplan *p = lua_touserdata(L, 1);
  jfl_array **out = in + p->n_in;
  for (int i = 0; i < p->n_out; i++) jf_push_array(L);      /* as nothing may fail after the run */
  run_after_all(L, p, in, out);
  int top = lua_gettop(L) - p->n_out;
  for (int i = 0; i < p->n_out; i++) jf_set_array(lua_touserdata(L, top + 1 + i), out[i]);
  for (int i = 0; i < p->n_out; i++) jf_account(L, lua_touserdata(L, top + 1 + i));
  return p->n_out;
}

/* run_watched(plan, arrays...): a list of the results, once handlers of earlier calls, and then
   this one's, were shown theirs. Where those of earlier calls have no time left, this one's wait
   for their turn. */
JF_LUA(run_watched)
{
  jf_allowance a = jf_allow(L, JF_WAITS_FOR_RUNS);
  jfl_array *few[JF_FEW], **in = run_begin(L, "run_watched", 0, &a, few);
  jf_lplan *p = lua_touserdata(L, 1);
  jfl_array **out = in + p->n_in;
  jf_lrequest *r = jf_push_request(L, 1);
  int at = lua_gettop(L), results = jf_push_results(L, r);
  jf_reserve_call(L);
  run_after_all(L, p, in, out);
  jf_keep_results(L, at, results, out);
  jf_enqueue(L, at);
  jf_account_results(L, r, results);
  if (!a.behind) jf_show(L, at);
  lua_settop(L, results);
  return 1;
}

static jfl_status run_submit(const jf_lplan *p, jfl_array *const *in, jfl_request **out)
{
  return p->plan ? jfl_submit(p->plan, in, out) : jfl_submit_behind(p->compiling->p, in, out);
}

/* Runs the plan at once for the request at i if that is quicker than queueing it; gives whether it
   did. */
static int call_at_once(lua_State *L, int i, jfl_array **in)
{
  jf_lrequest *r = lua_touserdata(L, i);
  jf_lplan *p = r->plan;
  jfl_array **out = in + p->n_in;
  int ran = 0, at = jf_push_results(L, r);
  jf_reserve_call(L);
  run_gather(L, p, in);
  jfl_status e = jfl_run_small(p->plan, in, out, &ran);
  if (!ran) {
    jf_check(L, e);
  } else if (e == JFL_OK) {
    jf_keep_results(L, i, at, out);
    jf_enqueue(L, i);
    jf_account_results(L, r, at);
  } else {
    lua_pushstring(L, jfl_errmsg());
    jf_keep_failure(L, i);
    jf_enqueue(L, i);
  }
  lua_settop(L, at - 1);
  return ran;
}

/* Says why the call cannot be made now. */
static void call_busy(lua_State *L, int i, const char *why)
{
  jf_lrequest *r = lua_touserdata(L, i);
  lua_pushfstring(L, "%s: busy: %s", r->plan->job->name, why);
  r->busy = 1;
  jf_refuse(L, i);
}

/* Queues a run of the plan at 1 for the request at i; waits, and runs what is due, until there is
   room for it, unless calls never wait. */
static void call_queued(lua_State *L, int i, jf_allowance *a, jfl_array **in)
{
  jf_lrequest *r = lua_touserdata(L, i);
  jfl_request **run = jf_push_run(L, i);
  for (;;) {
    jf_reserve_call(L);
    run_gather(L, r->plan, in);
    int full = jf_is_full(L, r->plan);
    jfl_status e = full ? JFL_EFULL : run_submit(r->plan, in, run);
    if (e == JFL_OK) break;
    if (e != JFL_EFULL) jf_check(L, e);
    if (jf_state_of(L)->queue.never_waits) {
      call_busy(L, i, "no further call has room");
      return;
    }
    jf_wait(L, NULL, -1);
    jf_run_due(L, r->plan, a);
  }
  jf_enqueue(L, i);
}

/* A call after the end of the program has begun is not made, as one callback after another could
   make such calls without end. */
static void call_refused(lua_State *L, int i)
{
  const jf_lrequest *r = lua_touserdata(L, i);
  lua_pushfstring(L, "%s: the program is ending: this call is not made", r->plan->job->name);
  jf_refuse(L, i);
  jf_state_of(L)->queue.refused++;
}

/* call(plan, arrays...): a request whose outcome is delivered. Callbacks that are due run first. */
JF_LUA(call)
{
  jf_allowance a = jf_allow(L, JF_WAITS_NOT);
  jfl_array *few[JF_FEW], **in = run_begin(L, "call", 1, &a, few);
  const jf_lplan *p = lua_touserdata(L, 1);
  jf_push_request(L, 1);
  int at = lua_gettop(L);
  if (jf_state_of(L)->queue.ending) call_refused(L, at);
  else if (!p->plan && jf_state_of(L)->queue.never_new) call_busy(L, at, "its plan is being made");
  else if (!jfl_plan_is_small(p->plan) || !call_at_once(L, at, in)) call_queued(L, at, &a, in);
  jf_warn_many(L, jf_queue_of(L));
  lua_settop(L, at);
  return 1;
}
