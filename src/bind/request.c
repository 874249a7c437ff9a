/* Requests in Lua: an asynchronous run, its outcome, and what is called with that. */
#include "bind/bind.h"

jf_lrequest *jf_need_request(lua_State *L, int i, const char *who)
{
  jf_lrequest *r = jf_test(L, i, JF_REQUEST);
  if (!r || !r->plan)
    jf_raise(L, "%s: argument %d must be a request, got %s", who, i, jf_type_name(L, i));
  return r;
}

jf_lrequest *jf_push_request(lua_State *L, int plan)
{
  jf_state *st = jf_state_of(L);
  jf_lrequest *r = lua_newuserdata(L, sizeof *r);
  jf_lplan *p = lua_touserdata(L, plan);
  *r = (jf_lrequest){ .tag = &st->kind[JF_REQUEST], .plan = p, .single = p->n_out == 1 && !p->reads,
                      .reads = p->reads != 0, .n_watch = p->n_watch,
                      .n_out = p->n_out };
  lua_createtable(L, REQUEST_SLOTS, 0);
  lua_pushvalue(L, plan);
  lua_rawseti(L, -2, REQUEST_PLAN);
  lua_setfenv(L, -2);
  if (p->owned) jf_get_slot(L, plan, PLAN_CLASS);
  else lua_rawgeti(L, LUA_REGISTRYINDEX, st->mt_ref[JF_REQUEST]);
  lua_setmetatable(L, -2);
  return r;
}

void jf_get_slot(lua_State *L, int i, int slot)
{
  lua_getfenv(L, i);
  lua_rawgeti(L, -1, slot);
  lua_replace(L, -2);
}

void jf_set_slot(lua_State *L, int i, int slot)
{
  lua_getfenv(L, i);
  lua_insert(L, -2);
  lua_rawseti(L, -2, slot);
  lua_pop(L, 1);
}

static void request_drop(void *request) { jfl_request_unref(request); }

jfl_request **jf_push_run(lua_State *L, int i)
{
  jf_lrequest *r = lua_touserdata(L, i);
  jf_holder *h = jf_push_holder(L, request_drop);
  lua_pushvalue(L, -1);
  jf_set_slot(L, i, REQUEST_VALUE);
  r->run = h;
  return (jfl_request **)&h->p;
}

/* ---- outcomes ---- */

jfl_array **jf_need_room(lua_State *L, jfl_array **few, int n)
{
  return n > JF_FEW ? lua_newuserdata(L, (size_t)n * sizeof *few) : few;
}

/* Gives the list on top the names of a task's results, as its field `names`. */
static void request_set_names(lua_State *L, const jf_lrequest *r)
{
  const char *name;
  lua_createtable(L, r->n_out, 0);
  for (int i = 0; (name = jfl_request_name(jf_run_of(r), i)); i++) {
    lua_pushstring(L, name);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "names");
}

int jf_push_results(lua_State *L, const jf_lrequest *r)
{
  if (r->single) return jf_push_array(L), lua_gettop(L);
  lua_createtable(L, r->n_out, 0);
  for (int i = 1; i <= r->n_out; i++) {
    jf_push_array(L);
    lua_rawseti(L, -2, i);
  }
  if (r->plan->is_task) request_set_names(L, r);
  return lua_gettop(L);
}

static jf_larray *result_at(lua_State *L, const jf_lrequest *r, int at, int i)
{
  if (r->single) return lua_touserdata(L, at);
  lua_rawgeti(L, at, i + 1);
  jf_larray *b = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return b;
}

/* The holder's finalizer need not be called then: Lua's collector frees what has none as it goes,
   but calls those that are due one after another. */
jfl_request *jf_take_run(lua_State *L, int i)
{
  jf_lrequest *r = lua_touserdata(L, i);
  jfl_request *run = jf_run_of(r);
  if (!r->run) return NULL;
  r->run->p = NULL;
  r->run = NULL;
  jf_get_slot(L, i, REQUEST_VALUE);
  lua_pushnil(L);
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
  return run;
}

/* Pops the outcome of the request at i, and forgets its run. */
static void request_keep(lua_State *L, int i)
{
  jfl_request *run = jf_take_run(L, i);
  jf_set_slot(L, i, REQUEST_VALUE);
  jfl_request_unref(run);
}

void jf_keep_results(lua_State *L, int i, int at, jfl_array *const *out)
{
  jf_lrequest *r = lua_touserdata(L, i);
  for (int k = 0; k < r->n_out; k++) jf_set_array(result_at(L, r, at, k), out[k]);
  lua_pushvalue(L, at);
  request_keep(L, i);
  r->ok = 1;
}

void jf_account_results(lua_State *L, const jf_lrequest *r, int at)
{
  for (int k = 0; k < r->n_out; k++) jf_account(L, result_at(L, r, at, k));
}

void jf_keep_failure(lua_State *L, int i)
{
  request_keep(L, i);
  ((jf_lrequest *)lua_touserdata(L, i))->ok = 0;
}

/* Room is made first, when finalizers may run, which may do this very work. From then on nothing
   fails. */
static void request_take(lua_State *L, int i)
{
  jf_lrequest *r = lua_touserdata(L, i);
  while (r->plan->is_task && jfl_request_output(jf_run_of(r), r->n_out)) r->n_out++;
  jfl_array *few[JF_FEW], **out = jf_need_room(L, few, r->n_out);
  int at = jf_push_results(L, r), good;
  if (!jf_run_of(r)) return;
  good = jfl_request_status(jf_run_of(r)) == JFL_OK;
  if (!good) lua_pushstring(L, jfl_errmsg());
  if (!jf_run_of(r)) return;
  for (int k = 0; good && k < r->n_out; k++)
    out[k] = jfl_array_ref(jfl_request_output(jf_run_of(r), k));
  if (good) jf_keep_results(L, i, at, out);
  else jf_keep_failure(L, i);
  if (good) jf_account_results(L, r, at);
}

void jf_settle(lua_State *L, int i)
{
  jf_lrequest *r = lua_touserdata(L, i);
  if (!jf_is_over(r)) jf_wait(L, jf_run_of(r), -1);
  if (!jf_run_of(r)) return;
  int top = lua_gettop(L);
  luaL_checkstack(L, 16, "too many outputs");
  request_take(L, i);
  lua_settop(L, top);
}

void jf_push_value(lua_State *L, int i)
{
  jf_lrequest *r = lua_touserdata(L, i);
  int slot = r->ok && r->reads ? REQUEST_READ : REQUEST_VALUE;
  if (slot == REQUEST_READ && !r->is_read) {
    lua_getfenv(L, i);
    lua_rawgeti(L, -1, REQUEST_PLAN);
    jf_get_slot(L, -1, PLAN_READ);
    lua_rawgeti(L, -3, REQUEST_VALUE);
    lua_call(L, 1, 1);
    lua_rawseti(L, -3, REQUEST_READ);
    lua_pop(L, 2);
    r->is_read = 1;
  }
  jf_get_slot(L, i, slot);
}

/* ---- in Lua ---- */

JF_LUA(done)
{
  lua_pushboolean(L, jf_is_over(jf_need_request(L, 1, "done")));
  return 1;
}

/* wait(request | nil, seconds | nil): until that request, or any, is done, at most so many
   seconds. */
JF_LUA(wait)
{
  jf_state *st = jf_state_of(L);
  const jf_lrequest *r = lua_isnoneornil(L, 1) ? NULL : jf_need_request(L, 1, "wait");
  double seconds = lua_isnoneornil(L, 2) ? -1 : jf_need_number(L, 2, "wait", "seconds");
  if (st->session && !(r && jf_is_over(r))) jf_wait(L, r ? jf_run_of(r) : NULL, seconds);
  return 0;
}

JF_LUA(pending)
{
  jfl_session *s = jf_state_of(L)->session;
  lua_pushinteger(L, s ? jfl_session_pending(s) : 0);
  return 1;
}

/* request_job(request): the name of the job that was called. */
JF_LUA(request_job)
{
  lua_pushstring(L, jf_need_request(L, 1, "request_job")->plan->job->name);
  return 1;
}

/* own(plan, class, read | false, watches | false, width | nil): how calls of the plan are
   delivered. class: the metatable of their requests; read: makes a list of the results the value,
   which without it is the one result; watches: { label, handler, at, n, read } each; width: how
   many may be under way. */
JF_LUA(own)
{
  jf_lplan *p = jf_need_plan_soon(L, 1, "own");
  luaL_checktype(L, 2, LUA_TTABLE);
  if (p->owned) jf_raise(L, "own: the plan has an owner already");
  double width = lua_isnoneornil(L, 5) ? 0 : jf_need_number(L, 5, "own", "width");
  int read = lua_isfunction(L, 3), watches = lua_istable(L, 4);
  if (!read && watches) jf_raise(L, "own: read must be a function");
  lua_settop(L, 4);
  lua_createtable(L, PLAN_SLOTS, 0);
  jf_get_slot(L, 1, PLAN_JOB);
  lua_rawseti(L, 5, PLAN_JOB);
  jf_get_slot(L, 1, PLAN_COMPILING);
  lua_rawseti(L, 5, PLAN_COMPILING);
  for (int slot = PLAN_CLASS; slot <= PLAN_WATCHES; slot++) {
    lua_pushvalue(L, slot);
    lua_rawseti(L, 5, slot);
  }
  lua_setfenv(L, 1);
  p->owned = 1;
  p->reads = read;
  p->n_watch = watches ? (int)lua_objlen(L, 4) : 0;
  p->width = width > 0 ? width : 0;
  return 0;
}

void jf_open_request(lua_State *L, jf_state *st)
{
  jf_new_kind(L, st, JF_REQUEST, NULL);
  lua_pop(L, 1);
}
