/* Runs in Lua: calls that wait, calls that do not, and their requests. */
#include "bind/bind.h"

#include <string.h>

enum { FEW = 16 };      /* inputs and outputs kept on the C stack */

typedef struct request {
  const void *tag;
  jfl_request *request;        /* counted */
  int n_out;
} request;

static int request_gc(lua_State *L)
{
  request *r = jf_test(L, 1, JF_REQUEST);
  if (r) jfl_request_unref(r->request);
  if (r) r->request = NULL;
  return 0;
}

/* ---- inputs ---- */

/* Pushes "train_job: images", for messages. */
static const char *run_push_who(lua_State *L, const jf_lplan *p, int i)
{
  return lua_pushfstring(L, "%s: %s", p->job->name, p->in[i].name);
}

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
  const char *who = run_push_who(L, p, i);
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

/* Makes the arguments arrays that fit the plan at 1. */
static jf_lplan *run_prepare(lua_State *L, const char *who, int queued)
{
  jf_lplan *p = jf_need_plan(L, 1, who);
  if (lua_gettop(L) - 1 != p->n_in) wrong_count(L, p, queued);
  luaL_checkstack(L, p->n_out + 32, "too many outputs");
  for (int i = 0; i < p->n_in; i++)
    if (!run_fits(jf_test(L, i + 2, JF_ARRAY), &p->in[i])) run_convert(L, p, i);
  return p;
}

/* Reads the pointers last: making userdata may have run finalizers, which may have freed
   anything. */
static void run_gather(lua_State *L, const jf_lplan *p, jfl_array **in)
{
  jf_need_plan(L, 1, "run");
  for (int i = 0; i < p->n_in; i++) {
    jf_larray *b = lua_touserdata(L, i + 2);
    jf_check_freed(L, b, p->in[i].name);
    in[i] = b->array;
  }
}

/* ---- calls ---- */

/* Room for inputs and outputs: few, or an array that is pushed. */
static jfl_array **run_need_room(lua_State *L, jfl_array **few, int n)
{
  return n > FEW ? lua_newuserdata(L, (size_t)n * sizeof *few) : few;
}

/* Pushes userdata for n results before the run, as nothing may fail after it. */
static void push_results(lua_State *L, int n)
{
  for (int i = 0; i < n; i++) jf_push_array(L);
}

/* Fills the n userdata on top. */
static void set_results(lua_State *L, jfl_array **out, int n)
{
  int top = lua_gettop(L) - n;
  for (int i = 0; i < n; i++) jf_set_array(lua_touserdata(L, top + 1 + i), out[i]);
  for (int i = 0; i < n; i++) jf_account(L, lua_touserdata(L, top + 1 + i));
}

/* run(plan, arrays...): the results. */
static int l_run(lua_State *L)
{
  jfl_array *few[FEW];
  jf_lplan *p = run_prepare(L, "run", 0);
  jfl_array **in = run_need_room(L, few, p->n_in + p->n_out), **out = in + p->n_in;
  push_results(L, p->n_out);
  jf_wait_for_all(L);
  run_gather(L, p, in);
  jfl_status e = jfl_run(p->plan, in, out);
  if (e) jf_heed_interrupt(L);
  jf_check(L, e);
  set_results(L, out, p->n_out);
  return p->n_out;
}

/* run_small(plan, arrays...): runs a plan that submit would run at once; true and the results, or
   false and a message. Gives nothing where submit would queue the run. */
static int l_run_small(lua_State *L)
{
  int ran;
  jfl_array *few[FEW];
  jf_lplan *p = run_prepare(L, "submit", 1);
  if (!jfl_plan_is_small(p->plan)) return 0;
  jfl_array **in = run_need_room(L, few, p->n_in + p->n_out), **out = in + p->n_in;
  lua_pushboolean(L, 1);
  push_results(L, p->n_out);
  run_gather(L, p, in);
  jfl_status e = jfl_run_small(p->plan, in, out, &ran);
  if (!ran) return jf_check(L, e), 0;
  if (e == JFL_OK) return set_results(L, out, p->n_out), p->n_out + 1;
  lua_pushboolean(L, 0);
  lua_pushstring(L, jfl_errmsg());
  return 2;
}

/* submit(plan, arrays...): a request, or nil when the queue is full. */
static int l_submit(lua_State *L)
{
  jfl_array *few[FEW];
  jf_lplan *p = run_prepare(L, "submit", 1);
  jfl_array **in = run_need_room(L, few, p->n_in);
  request *r = jf_push(L, JF_REQUEST, sizeof *r);
  run_gather(L, p, in);
  r->n_out = p->n_out;
  jfl_status e = jfl_submit(p->plan, in, &r->request);
  if (e == JFL_EFULL) return lua_pushnil(L), 1;
  jf_check(L, e);
  return 1;
}

/* ---- requests ---- */

static request *need_request(lua_State *L, int i, const char *who)
{
  request *r = jf_test(L, i, JF_REQUEST);
  if (!r || !r->request)
    jf_raise(L, "%s: argument %d must be a request, got %s", who, i, jf_type_name(L, i));
  return r;
}

static int l_done(lua_State *L)
{
  lua_pushboolean(L, jfl_request_done(need_request(L, 1, "done")->request));
  return 1;
}

/* results(request): true and the arrays, or false and a message. */
static int l_results(lua_State *L)
{
  request *r = need_request(L, 1, "results");
  if (!jfl_request_done(r->request)) jf_raise(L, "results: the request is not done");
  lua_settop(L, 1);
  if (jfl_request_status(r->request) != JFL_OK) {
    lua_pushboolean(L, 0);
    lua_pushstring(L, jfl_errmsg());
    return 2;
  }
  luaL_checkstack(L, r->n_out + 8, "too many outputs");
  lua_pushboolean(L, 1);
  for (int i = 0; i < r->n_out; i++) {
    jf_larray *b = jf_push_array(L);
    jf_set_array(b, jfl_array_ref(jfl_request_output(r->request, i)));
  }
  for (int i = 0; i < r->n_out; i++) jf_account(L, lua_touserdata(L, i + 3));
  return r->n_out + 1;
}

/* wait(request | nil, seconds | nil): until that request, or any, is done, at most so many
   seconds. */
static int l_wait(lua_State *L)
{
  jf_state *st = jf_state_of(L);
  request *r = lua_isnoneornil(L, 1) ? NULL : need_request(L, 1, "wait");
  double seconds = lua_isnoneornil(L, 2) ? -1 : jf_need_number(L, 2, "wait", "seconds");
  if (st->session && !(r && jfl_request_done(r->request)))
    jf_wait(L, r ? r->request : NULL, seconds);
  return 0;
}

static int l_pending(lua_State *L)
{
  jfl_session *s = jf_state_of(L)->session;
  lua_pushinteger(L, s ? jfl_session_pending(s) : 0);
  return 1;
}

static int l_fd(lua_State *L)
{
  int fd = -1;
  jf_check(L, jfl_session_fd(jf_session(L), &fd));
  lua_pushinteger(L, fd);
  return 1;
}

/* due(flag): makes fd() readable, or not so until the next run finishes. */
static int l_due(lua_State *L)
{
  jfl_session *s = jf_state_of(L)->session;
  if (s) jfl_session_due(s, lua_toboolean(L, 1));
  return 0;
}

const luaL_Reg jf_run_functions[] = { { "run", l_run },         { "run_small", l_run_small },
                                      { "submit", l_submit },   { "done", l_done },
                                      { "results", l_results }, { "wait", l_wait },
                                      { "pending", l_pending }, { "fd", l_fd },
                                      { "due", l_due },         { NULL, NULL } };

void jf_open_run(lua_State *L, jf_state *st)
{
  jf_new_kind(L, st, JF_REQUEST, request_gc);
  lua_pop(L, 1);
}
