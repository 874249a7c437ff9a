/* The session in Lua: settings, jobs and plans, variables. */
#include "bind/bind.h"

#include <string.h>

/* reset(): waits for the run in progress and frees jobs and variables. */
JF_LUA(reset)
{
  jf_state *st = jf_state_of(L);
  jfl_session_free(st->session);
  st->session = NULL;
  st->generation++;
  return 0;
}

int jf_session_l_set(lua_State *L)
{
  jfl_arg arg;
  jf_read_arg(L, 2, "set", lua_tostring(L, 1), &arg);
  jf_check(L, jfl_session_set(jf_session(L), &arg));
  return 0;
}

int jf_session_l_get(lua_State *L)
{
  double v = 0;
  jf_check(L, jfl_session_get(jf_session(L), lua_tostring(L, 1), &v));
  lua_pushnumber(L, v);
  return 1;
}

/* passes() -> the names of the passes that can be left out, in the order in which they run; the set
   of those that are left out. */
JF_LUA(passes)
{
  const jfl_session *s = jf_session(L);
  const char *name;
  lua_newtable(L);
  lua_newtable(L);
  for (int i = 0, on = 1; (name = jfl_session_pass(s, i, &on)); i++) {
    lua_pushstring(L, name);
    lua_rawseti(L, -3, i + 1);
    if (on) continue;
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, name);
  }
  return 2;
}

/* device_count(kind): how many devices of a kind this machine has. */
JF_LUA(device_count)
{
  lua_pushinteger(L, jfl_device_count(jf_need_string(L, 1, "device_count", "kind")));
  return 1;
}

/* device_absence(kind): why this machine has no device of a kind; nil: it has some. */
JF_LUA(device_absence)
{
  lua_pushstring(L, jfl_device_absence(jf_need_string(L, 1, "device_absence", "kind")));
  return 1;
}

/* device(): the name of the one that jobs run on. */
JF_LUA(device)
{
  jfl_session *s = jf_session(L);
  double number = 0;
  jf_check(L, jfl_session_get(s, "device", &number));
  lua_pushstring(L, jfl_session_device(s, (int)number));
  return 1;
}

/* ---- jobs and plans ---- */

static void check_alive(lua_State *L, const jf_ljob *j)
{
  if (j->generation != jf_state_of(L)->generation)
    jf_raise(L, "%s: the session was cleared", j->name);
}

/* The job at 1. */
static jf_ljob *need_job(lua_State *L, const char *who)
{
  jf_ljob *j = jf_test(L, 1, JF_JOB);
  if (!j) jf_raise(L, "%s: argument 1 must be a job, got %s", who, jf_type_name(L, 1));
  check_alive(L, j);
  return j;
}

static void drop_compiling(void *request) { jfl_request_unref(request); }

static jfl_request *compiling_of(const jf_lplan *p)
{
  return p->compiling ? p->compiling->p : NULL;
}

static void read_inputs(lua_State *L, jf_lplan *p)
{
  p->n_in = jfl_plan_inputs(p->plan);
  p->n_out = jfl_plan_outputs(p->plan);
  for (int i = 0; i < p->n_in; i++) {
    jf_linput *in = &p->in[i];
    jf_check(L, jfl_plan_input(p->plan, i, &in->name, &in->dtype, &in->shape));
  }
}

/* Forgets what makes the plan. */
static void forget_compiling(jf_lplan *p)
{
  jfl_request *made_by = compiling_of(p);
  if (p->compiling) p->compiling->p = NULL;
  p->compiling = NULL;
  jfl_request_unref(made_by);
}

/* Takes the plan if it is there by now. */
static void adopt_plan(lua_State *L, jf_lplan *p)
{
  jfl_plan *plan = compiling_of(p) ? jfl_request_plan(compiling_of(p)) : NULL;
  if (!plan) return;
  p->plan = plan;
  forget_compiling(p);
  read_inputs(L, p);
}

void jf_check_plan(lua_State *L, jf_lplan *p)
{
  check_alive(L, p->job);
  if (!p->plan) adopt_plan(L, p);
  if (!p->plan && !p->compiling) jf_raise(L, "%s: the plan was freed", p->job->name);
}

jf_lplan *jf_need_plan_soon(lua_State *L, int i, const char *who)
{
  jf_lplan *p = jf_test(L, i, JF_PLAN);
  if (!p) jf_raise(L, "%s: argument %d must be a plan, got %s", who, i, jf_type_name(L, i));
  jf_check_plan(L, p);
  return p;
}

jf_lplan *jf_need_plan(lua_State *L, int i, const char *who)
{
  jf_lplan *p = jf_need_plan_soon(L, i, who);
  if (p->plan) return p;
  if (!jfl_request_done(compiling_of(p))) jf_wait(L, compiling_of(p), -1);
  jf_check(L, jfl_request_status(compiling_of(p)));
  adopt_plan(L, p);
  return p;
}

/* job(name, mode) */
JF_LUA(job)
{
  size_t n;
  jf_need_string(L, 1, "job", "name");
  const char *name = lua_tolstring(L, 1, &n);
  jfl_mode mode = jf_need_mode(L, 2, name);
  jfl_session *s = jf_session(L);
  jf_ljob *j = jf_push(L, JF_JOB, sizeof *j + n + 1);
  memcpy(j->name, name, n + 1);
  lua_createtable(L, 1, 0);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, 1);
  lua_setfenv(L, -2);
  jf_check(L, jfl_job_new(s, name, mode, &j->job));
  j->generation = jf_state_of(L)->generation;
  return 1;
}

/* job_mode(job, mode): what the plans to come are. */
JF_LUA(job_mode)
{
  jf_ljob *j = need_job(L, "job_mode");
  jf_check(L, jfl_job_set_mode(j->job, jf_need_mode(L, 2, j->name)));
  return 0;
}

/* compile(job, graph): the graph takes no more ops afterwards. The plan belongs to its job, so an
   error after it was made loses nothing. */
JF_LUA(compile)
{
  jf_ljob *j = need_job(L, "compile");
  jf_lgraph *g = jf_need_graph(L, 2, "compile");
  jfl_plan *plan;
  jf_check(L, jfl_job_compile(j->job, g->graph, &plan));
  size_t inputs = (size_t)jfl_plan_inputs(plan) * sizeof(jf_linput);
  jf_lplan *p = jf_push(L, JF_PLAN, sizeof *p + inputs);
  p->plan = plan;
  p->job = j;
  lua_getfenv(L, 1);
  lua_setfenv(L, -2);
  read_inputs(L, p);
  return 1;
}

/* Reads the blobs of the list at 3, the graph's inputs, into the plan on top, with shapes of their
   own, as passes may change those of the graph. */
static void note_inputs(lua_State *L, jf_lplan *p, const jf_lgraph *g)
{
  jfl_shape *shape = (jfl_shape *)(void *)&p->in[p->n_in];
  for (int i = 0; i < p->n_in; i++) {
    lua_rawgeti(L, 3, i + 1);
    const jfl_value *v = jf_need_blob(L, lua_gettop(L), g, "compile_behind: inputs")->value;
    shape[i] = *jfl_value_shape(v);
    p->in[i] = (jf_linput){ jfl_value_name(v), jfl_value_dtype(v), &shape[i] };
    lua_pop(L, 1);
  }
}

/* compile_behind(job, graph, inputs, n): the same among the runs, of a graph with these inputs and
   so many outputs, which must not be looked at until plan_state() is other than "making". */
JF_LUA(compile_behind)
{
  const jf_ljob *j = need_job(L, "compile_behind");
  const jf_lgraph *g = jf_need_graph(L, 2, "compile_behind");
  luaL_checktype(L, 3, LUA_TTABLE);
  const int n = (int)lua_objlen(L, 3);
  const int n_out = (int)jf_need_whole(L, 4, "compile_behind", "n", 0, 1 << 24);
  lua_settop(L, 4);
  jf_lplan *p = jf_push(L, JF_PLAN, sizeof *p + (size_t)n * (sizeof *p->in + sizeof(jfl_shape)));
  p->job = lua_touserdata(L, 1);
  p->n_in = n;
  note_inputs(L, p, g);
  lua_createtable(L, PLAN_SLOTS, 0);
  lua_getfenv(L, 1);
  lua_rawgeti(L, -1, PLAN_JOB);
  lua_rawseti(L, -3, PLAN_JOB);
  lua_pop(L, 1);
  jf_holder *h = jf_push_holder(L, drop_compiling);
  lua_rawseti(L, -2, PLAN_COMPILING);
  lua_setfenv(L, -2);
  jf_give_held(L, h, jfl_compile_submit(j->job, g->graph, &h->request), NULL);
  p->compiling = h;
  p->n_out = n_out;
  return 1;
}

/* plan_state(plan): "made", "making" or "failed". */
JF_LUA(plan_state)
{
  const jf_lplan *p = jf_need_plan_soon(L, 1, "plan_state");
  const jfl_request *r = compiling_of(p);
  lua_pushstring(L, p->plan ? "made" : jfl_request_done(r) ? "failed" : "making");
  return 1;
}

/* plan_await(plan): waits until it is made; raises why it cannot be. */
JF_LUA(plan_await) { return jf_need_plan(L, 1, "plan_await"), 0; }

/* never_new(on): whether a call whose plan is being made is not made. */
JF_LUA(never_new)
{
  jf_state_of(L)->queue.never_new = lua_toboolean(L, 1);
  return 0;
}

JF_LUA(plan_text)
{
  jf_lplan *p = jf_need_plan(L, 1, "plan_text");
  jf_holder *h = jf_push_holder(L, jf_drop_text);
  jf_give_held(L, h, jfl_plan_text(p->plan, &h->text), NULL);
  lua_pushstring(L, h->text);
  return 1;
}

/* plan_free(plan, now): frees it behind the runs that are queued, some of which may be its own; but
   for `now` it first waits for these. Gives false and leaves the plan where a call is about to run
   it, or where it is being made and is to be freed now. */
JF_LUA(plan_free)
{
  jf_lplan *p = jf_test(L, 1, JF_PLAN);
  jf_state *st = jf_state_of(L);
  if (!p) jf_raise(L, "plan_free: argument 1 must be a plan, got %s", jf_type_name(L, 1));
  const int now = lua_toboolean(L, 2);
  const int gone = (!p->plan && !p->compiling) || p->job->generation != st->generation;
  const int making = !gone && !p->plan && !jfl_request_done(compiling_of(p));
  const int stays = p->pinned || (now && making);
  lua_pushboolean(L, !stays);
  if (stays || gone) return 1;
  while (!now && jfl_session_pending(st->session)) jf_wait(L, NULL, -1);
  adopt_plan(L, p);
  forget_compiling(p);
  if (p->plan) jfl_plan_free(p->plan);
  p->plan = NULL;
  return 1;
}

/* plan_pinned(plan): whether a call is about to run it. */
JF_LUA(plan_pinned)
{
  const jf_lplan *p = jf_test(L, 1, JF_PLAN);
  lua_pushboolean(L, p && p->pinned);
  return 1;
}

/* ---- variables ---- */

JF_LUA(variables)
{
  jfl_session *s = jf_session(L);
  int n = jfl_variable_count(s);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushstring(L, jfl_variable_name(s, i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* Pushes a copy of the variable's value. */
static jf_larray *push_variable(lua_State *L, const char *name)
{
  jfl_session *s = jf_session(L);
  jf_wait_for_all(L);
  jf_larray *b = jf_push_array(L);
  jf_give_array(L, b, jfl_variable_get(s, name, &b->array), NULL);
  return b;
}

JF_LUA(variable_get)
{
  push_variable(L, jf_need_string(L, 1, "variable_get", "name"));
  return 1;
}

/* has_variable(name): whether there is one. Where there is none yet it waits for plans that are
   being made, which may have it. */
JF_LUA(has_variable)
{
  const char *name = jf_need_string(L, 1, "has_variable", "name");
  lua_pushboolean(L, jfl_variable_info(jf_session(L), name, NULL, NULL) == JFL_OK);
  return 1;
}

/* variable_info(name) -> dtype, shape */
JF_LUA(variable_info)
{
  jfl_dtype dtype;
  const jfl_shape *shape;
  const char *name = jf_need_string(L, 1, "variable_info", "name");
  jf_check(L, jfl_variable_info(jf_session(L), name, &dtype, &shape));
  lua_pushstring(L, jfl_dtype_name(dtype));
  jf_push_shape_of(L, dtype, shape);
  return 2;
}

/* variable_distribution(name) -> devices, distribution, axis of a split one */
JF_LUA(variable_distribution)
{
  const char *devices, *name = jf_need_string(L, 1, "variable_distribution", "name");
  jfl_distribution d;
  jf_check(L, jfl_variable_distribution(jf_session(L), name, &devices, &d));
  lua_pushstring(L, devices);
  lua_pushstring(L, d.kind == JFL_SPLIT ? "split" : "broadcast");
  if (d.kind != JFL_SPLIT) return 2;
  lua_pushinteger(L, d.axis);
  return 3;
}

/* hand_out(doing, text): rank 0's text, on all ranks. */
JF_LUA(hand_out)
{
  const char *doing = jf_need_string(L, 1, "hand_out", "doing");
  const char *text = jf_need_string(L, 2, "hand_out", "text");
  jf_holder *h = jf_push_holder(L, jf_drop_text);
  jf_wait_for_all(L);
  jf_give_held(L, h, jfl_session_hand_out(jf_session(L), doing, text, &h->text), NULL);
  lua_pushstring(L, h->text);
  return 1;
}

/* variable_set(name, array | table): a table gets the variable's dtype. */
JF_LUA(variable_set)
{
  const char *name = jf_need_string(L, 1, "variable_set", "name");
  jf_larray *b = jf_test(L, 2, JF_ARRAY);
  if (!b) b = jf_to_array(L, 2, push_variable(L, name)->dtype, name);
  jf_wait_for_all(L);
  jf_check_freed(L, b, name);
  jf_check(L, jfl_variable_set(jf_session(L), name, b->array));
  return 0;
}

/* variable_drop(name), which no plan may have. */
JF_LUA(variable_drop)
{
  const char *name = jf_need_string(L, 1, "variable_drop", "name");
  jf_wait_for_all(L);
  jf_check(L, jfl_variable_drop(jf_session(L), name));
  return 0;
}

/* variables_defer(on): whether new variables get their values later, unless they are written. */
JF_LUA(variables_defer)
{
  jf_check(L, jfl_variables_defer(jf_session(L), lua_toboolean(L, 1)));
  return 0;
}

/* plan_variables(plan): a list of names. */
JF_LUA(plan_variables)
{
  const jf_lplan *p = jf_need_plan(L, 1, "plan_variables");
  const char *name;
  lua_newtable(L);
  for (int i = 0; (name = jfl_plan_variable(p->plan, i)); i++) {
    lua_pushstring(L, name);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* plan_steps(plan): a list of what its steps cost, the bytes of variables and of temporaries. */
JF_LUA(plan_steps)
{
  const jf_lplan *p = jf_need_plan(L, 1, "plan_steps");
  double variables, temporaries;
  lua_newtable(L);
  for (int i = 0; i < jfl_plan_steps(p->plan); i++) {
    jfl_plan_step s;
    jf_check(L, jfl_plan_step_at(p->plan, i, &s));
    lua_newtable(L);
    jf_set_string(L, "op", s.op);
    jf_set_string(L, "name", s.name);
    jf_set_string(L, "kernel", s.kernel);
    jf_set_string(L, "device", s.device);
    jf_set_number(L, "flop", s.flop);
    jf_set_number(L, "bytes", s.bytes);
    jf_set_number(L, "still", s.still);
    jf_set_number(L, "gradient", s.gradient);
    jf_set_flag(L, "updates", s.updates);
    lua_rawseti(L, -2, i + 1);
  }
  jf_check(L, jfl_plan_memory(p->plan, &variables, &temporaries));
  lua_pushnumber(L, variables);
  lua_pushnumber(L, temporaries);
  return 3;
}

/* disturbances(): a number that changes when a run fails or a variable is set. */
JF_LUA(disturbances)
{
  lua_pushnumber(L, jfl_session_disturbances(jf_session(L)));
  return 1;
}

void jf_open_session(lua_State *L, jf_state *st)
{
  jf_new_kind(L, st, JF_JOB, NULL);
  jf_new_kind(L, st, JF_PLAN, NULL);
  jf_new_kind(L, st, JF_HOLDER, jf_holder_gc);
  lua_pop(L, 3);
}
