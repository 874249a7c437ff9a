/* Tracing from Lua: graphs, blobs, variables, losses and gradients. */
#include "bind/bind.h"

#include <string.h>

static int graph_gc(lua_State *L)
{
  jf_lgraph *g = jf_test(L, 1, JF_GRAPH);
  if (g && g->graph) jfl_graph_unref(g->graph);
  if (g) g->graph = NULL;
  return 0;
}

/* graph_free(graph): its blobs cannot be used from here on. */
JF_LUA(graph_free)
{
  jf_state *st = jf_state_of(L);
  if (st->traced && jf_test(L, 1, JF_GRAPH) == st->traced) st->traced = NULL;
  return graph_gc(L);
}

jf_lgraph *jf_need_graph(lua_State *L, int i, const char *who)
{
  jf_lgraph *g = jf_test(L, i, JF_GRAPH);
  if (!g || !g->graph)
    jf_raise(L, "%s: argument %d must be a graph, got %s", who, i, jf_type_name(L, i));
  return g;
}

jf_lblob *jf_need_blob(lua_State *L, int i, const jf_lgraph *g, const char *what)
{
  jf_lblob *b = jf_test(L, i, JF_BLOB);
  if (!b) jf_raise(L, "%s must be a blob, got %s", what, jf_type_name(L, i));
  if (!b->owner->graph)
    jf_raise(L, "%s: the blob belongs to job '%s', whose graph is gone; blobs can only be used "
             "inside the body that made them", what, b->owner->job);
  if (g && b->owner != g)
    jf_raise(L, "%s: blob '%s' belongs to job '%s'; blobs can only be used inside the body that "
             "made them", what, jfl_value_name(b->value), b->owner->job);
  return b;
}

jf_lblob *jf_push_blob(lua_State *L, int env)
{
  jf_lblob *b = jf_push(L, JF_BLOB, sizeof *b);
  lua_rawgeti(L, env, 1);
  b->owner = lua_touserdata(L, -1);
  lua_pop(L, 1);
  lua_pushvalue(L, env);
  lua_setfenv(L, -2);
  return b;
}

/* Pushes the environment of the graph at 1; returns its stack index. */
static int push_env(lua_State *L)
{
  lua_getfenv(L, 1);
  return lua_gettop(L);
}

/* ---- blobs ---- */

/* If the front end computes a field of that name of the blob at 1, pushes its value. */
static int graph_push_field(lua_State *L, const char *key)
{
  lua_getfield(L, lua_upvalueindex(3), key);
  if (lua_isnil(L, -1)) return lua_pop(L, 1), 0;
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

static int blob_index(lua_State *L)
{
  jf_lblob *b = jf_need_blob(L, 1, NULL, "argument 1");
  int type = lua_type(L, 2);
  const char *key = type == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (type == LUA_TNUMBER || type == LUA_TTABLE) return jf_call_event(L, "__part", 1);
  const jfl_dtype t = jfl_value_dtype(b->value);
  if (!strcmp(key, "shape")) jf_push_shape_of(L, t, jfl_value_shape(b->value));
  else if (!strcmp(key, "dtype")) lua_pushstring(L, jfl_dtype_name(t));
  else if (!strcmp(key, "name")) lua_pushstring(L, jfl_value_name(b->value));
  else if (!graph_push_field(L, key)) {
    lua_pushvalue(L, 2);
    lua_gettable(L, lua_upvalueindex(2));
  }
  return 1;
}

/* ---- graphs ---- */

jfl_mode jf_need_mode(lua_State *L, int i, const char *who)
{
  static const char *const modes[] = { "train", "predict", NULL };
  return jf_need_word(L, i, who, "mode", modes) ? JFL_PREDICT : JFL_TRAIN;
}

/* graph(job name, mode) */
JF_LUA(graph)
{
  size_t n;
  jf_need_string(L, 1, "graph", "job name");
  const char *job = lua_tolstring(L, 1, &n);
  jfl_mode mode = jf_need_mode(L, 2, "graph");
  jf_lgraph *g = jf_push(L, JF_GRAPH, sizeof *g + n + 1);
  memcpy(g->job, job, n + 1);
  lua_createtable(L, 1, 0);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, 1);
  lua_setfenv(L, -2);
  jfl_graph *graph;
  jf_check(L, jfl_graph_new(job, mode, &graph));
  g->graph = graph;
  g->part = 0;
  return 1;
}

JF_LUA(tracing)
{
  jf_state *st = jf_state_of(L);
  if (!st->traced) return lua_pushnil(L), 1;
  lua_rawgeti(L, LUA_REGISTRYINDEX, st->traced_ref);
  lua_rawgeti(L, -1, 1);
  return 1;
}

/* trace(graph | nil): which graph ops append to; returns the one before. */
JF_LUA(trace)
{
  jf_state *st = jf_state_of(L);
  jf_lgraph *g = lua_isnoneornil(L, 1) ? NULL : jf_need_graph(L, 1, "trace");
  jf_l_tracing(L);
  if (g) lua_getfenv(L, 1);
  else lua_pushboolean(L, 0);
  lua_rawseti(L, LUA_REGISTRYINDEX, st->traced_ref);
  st->traced = g;
  return 1;
}

/* place(device | nil, graph | nil): where what a graph, or the traced one, gets from here on lives;
   nil: where jobs run. */
JF_LUA(place)
{
  const char *device = lua_isnoneornil(L, 1) ? NULL : jf_need_string(L, 1, "place", "device");
  const jf_lgraph *g =
    lua_isnoneornil(L, 2) ? jf_state_of(L)->traced : jf_need_graph(L, 2, "place");
  if (!g) jf_raise(L, "place: no job's body is running");
  jf_check(L, jfl_graph_place(g->graph, jf_session(L), device));
  return 0;
}

/* of_device(graph, number): which device alone the body describes from here on, from 1; 0: all. */
JF_LUA(of_device)
{
  jf_need_graph(L, 1, "of_device")->part = (int)luaL_checkinteger(L, 2);
  return 0;
}

/* recompute(graph, on) */
JF_LUA(recompute)
{
  const jf_lgraph *g = jf_need_graph(L, 1, "recompute");
  jf_check(L, jfl_graph_recompute(g->graph, lua_toboolean(L, 2)));
  return 0;
}

/* shard(graph, least) */
JF_LUA(shard)
{
  const jf_lgraph *g = jf_need_graph(L, 1, "shard");
  jf_check(L, jfl_graph_shard(g->graph, jf_need_whole(L, 2, "shard", "least", -0x1p53, 0x1p53)));
  return 0;
}

/* micro_batches(graph, n) */
JF_LUA(micro_batches)
{
  const jf_lgraph *g = jf_need_graph(L, 1, "micro_batches");
  const int n = (int)jf_need_whole(L, 2, "micro_batches", "n", INT_MIN, INT_MAX);
  jf_check(L, jfl_graph_micro_batches(g->graph, n));
  return 0;
}

/* mixed_precision(graph, dtype) */
JF_LUA(mixed_precision)
{
  const jf_lgraph *g = jf_need_graph(L, 1, "mixed_precision");
  jf_check(L, jfl_graph_mixed_precision(g->graph, jf_need_dtype(L, 2, "mixed_precision")));
  return 0;
}

/* product_input(graph, factor, i): the first operand of the i-th product, from 0, whose second is
   factor, or nil. */
JF_LUA(product_input)
{
  jf_lgraph *g = jf_need_graph(L, 1, "product_input");
  jfl_value *factor = jf_need_blob(L, 2, g, "product_input: factor")->value, *v;
  const int i = (int)jf_need_whole(L, 3, "product_input", "i", 0, INT_MAX), env = push_env(L);
  jf_check(L, jfl_graph_product_input(g->graph, factor, i, &v));
  if (v) jf_push_blob(L, env)->value = v;
  else lua_pushnil(L);
  return 1;
}

/* round_blob(graph, blob, scale, dtype): all that reads the blob reads it rounded. */
JF_LUA(round_blob)
{
  jf_lgraph *g = jf_need_graph(L, 1, "round_blob");
  jfl_value *v = jf_need_blob(L, 2, g, "round_blob: blob")->value;
  jfl_value *scale = jf_need_blob(L, 3, g, "round_blob: scale")->value;
  jf_check(L, jfl_graph_round(g->graph, v, scale, jf_need_dtype(L, 4, "round_blob")));
  return 0;
}

JF_LUA(graph_mode)
{
  jfl_mode mode = jfl_graph_mode(jf_need_graph(L, 1, "graph_mode")->graph);
  lua_pushstring(L, mode == JFL_TRAIN ? "train" : "predict");
  return 1;
}

/* graph_text(graph, traced): as it is, or as it was before it was compiled. */
JF_LUA(graph_text)
{
  jf_lgraph *g = jf_need_graph(L, 1, "graph_text");
  const int traced = lua_toboolean(L, 2);
  jf_holder *h = jf_push_holder(L, jf_drop_text);
  jf_give_held(L, h, traced ? jfl_graph_traced_text(g->graph, &h->text)
                            : jfl_graph_text(g->graph, &h->text), NULL);
  lua_pushstring(L, h->text);
  return 1;
}

/* input(graph, name, dtype, shape) */
JF_LUA(input)
{
  jfl_shape s;
  jf_lgraph *g = jf_need_graph(L, 1, "input");
  const char *name = jf_need_string(L, 2, "input", "name");
  jfl_dtype t = jf_need_dtype(L, 3, name);
  jf_need_shape(L, 4, name, &s);
  jf_lblob *b = jf_push_blob(L, push_env(L));
  jf_check(L, jfl_graph_input(g->graph, name, t, &s, &b->value));
  return 1;
}

/* ---- variables ---- */

/* Reads the table at t; its name stays on the stack. */
static void read_spec(lua_State *L, int t, jfl_variable_spec *spec)
{
  if (!lua_istable(L, t))
    jf_raise(L, "variable: argument 2 must be a table, got %s", jf_type_name(L, t));
  static const char *const inits[] = {
    "constant", "uniform", "normal", "truncated_normal", "orthogonal", NULL
  };
  memset(spec, 0, sizeof *spec);
  lua_getfield(L, t, "name");
  spec->name = jf_need_string(L, -1, "variable", "name");
  lua_getfield(L, t, "dtype");
  spec->dtype = jf_need_dtype(L, lua_gettop(L), spec->name);
  lua_getfield(L, t, "shape");
  jf_need_shape_of(L, lua_gettop(L), spec->name, spec->dtype, &spec->shape);
  lua_getfield(L, t, "trainable");
  spec->trainable = lua_isnil(L, -1) || lua_toboolean(L, -1);
  lua_pop(L, 3);
  spec->init = (jfl_init_kind)jf_word_field(L, t, spec->name, "init", inits);
  spec->a = jf_number_field(L, t, spec->name, "a");
  spec->b = jf_number_field(L, t, spec->name, "b");
  spec->l1 = jf_number_field(L, t, spec->name, "l1");
  spec->l2 = jf_number_field(L, t, spec->name, "l2");
}

/* variable(graph, {name=, dtype=, shape=, init=, a=, b=, trainable=, l1=, l2=}) */
JF_LUA(variable)
{
  jfl_variable_spec spec;
  jf_lgraph *g = jf_need_graph(L, 1, "variable");
  read_spec(L, 2, &spec);
  jf_lblob *b = jf_push_blob(L, push_env(L));
  jf_set_line(L, g->graph);
  jf_check(L, jfl_graph_variable(g->graph, &spec, &b->value));
  return 1;
}

JF_LUA(find_variable)
{
  jf_lgraph *g = jf_need_graph(L, 1, "find_variable");
  const char *name = jf_need_string(L, 2, "find_variable", "name");
  jfl_value *v = jfl_graph_find_variable(g->graph, name);
  if (!v) return lua_pushnil(L), 1;
  jf_push_blob(L, push_env(L))->value = v;
  return 1;
}

/* ---- losses, gradients, results ---- */

/* Reads the list of g's blobs at i, nil being none; leaves an anchor on the stack. */
static jfl_value **read_blobs(lua_State *L, int i, const jf_lgraph *g, const char *what, int *n)
{
  *n = 0;
  if (lua_isnoneornil(L, i)) return NULL;
  if (!lua_istable(L, i))
    jf_raise(L, "%s must be a list of blobs, got %s", what, jf_type_name(L, i));
  int count = (int)lua_objlen(L, i);
  jfl_value **v = lua_newuserdata(L, (size_t)count * sizeof *v + 1);
  for (; *n < count; ++*n) {
    lua_rawgeti(L, i, *n + 1);
    v[*n] = jf_need_blob(L, lua_gettop(L), g, what)->value;
    lua_pop(L, 1);
  }
  return v;
}

/* Pushes a field and returns its index. */
static int push_field(lua_State *L, int t, const char *key)
{
  lua_getfield(L, t, key);
  return lua_gettop(L);
}

/* The blob in field `key` of the table at t, or NULL. */
static jfl_value *minimize_blob(lua_State *L, int t, const char *key, const jf_lgraph *g)
{
  const int at = push_field(L, t, key);
  return lua_isnil(L, at) ? NULL : jf_need_blob(L, at, g, key)->value;
}

static void minimize_rate(lua_State *L, const jf_lgraph *g, jfl_minimize *m)
{
  m->rate = minimize_blob(L, 2, "rate", g);
  m->step = minimize_blob(L, 2, "step", g);
  if (m->rate) return;
  m->schedule = jf_need_string(L, push_field(L, 2, "schedule"), "minimize", "schedule");
  m->schedule_arg = jf_read_args(L, push_field(L, 2, "schedule_options"), m->schedule,
                                 &m->n_schedule_arg);
}

static void minimize_numbers(lua_State *L, jfl_minimize *m)
{
  const char *who = "minimize";
  m->clip_norm = jf_number_field(L, 2, who, "clip_norm");
  m->clip_each_norm = jf_number_field(L, 2, who, "clip_each_norm");
  m->clip_value = jf_number_field(L, 2, who, "clip_value");
  m->loss_scale = jf_number_field(L, 2, who, "loss_scale");
  m->scale_period = (int64_t)jf_number_field(L, 2, who, "scale_period");
  m->scale_multiplier = jf_number_field(L, 2, who, "scale_multiplier");
  m->accumulate = (int64_t)jf_number_field(L, 2, who, "accumulate");
  m->average = jf_number_field(L, 2, who, "average");
  m->average_warms_up = jf_true_field(L, 2, "average_warms_up");
}

/* minimize(graph, {losses=, optimizer=, options=, schedule= and schedule_options= or rate=, step=,
   variables=, undecayed=, and the numbers of minimize_numbers}) */
JF_LUA(minimize)
{
  jfl_minimize m = {0};
  jf_lgraph *g = jf_need_graph(L, 1, "minimize");
  if (!lua_istable(L, 2))
    jf_raise(L, "minimize: argument 2 must be a table, got %s", jf_type_name(L, 2));
  luaL_checkstack(L, 32, NULL);
  m.loss = read_blobs(L, push_field(L, 2, "losses"), g, "minimize: losses", &m.n_loss);
  m.variable = read_blobs(L, push_field(L, 2, "variables"), g, "minimize: variables",
                          &m.n_variable);
  m.optimizer = jf_need_string(L, push_field(L, 2, "optimizer"), "minimize", "optimizer");
  m.undecayed = read_blobs(L, push_field(L, 2, "undecayed"), g, "minimize: undecayed",
                           &m.n_undecayed);
  m.arg = jf_read_args(L, push_field(L, 2, "options"), m.optimizer, &m.n_arg);
  minimize_rate(L, g, &m);
  minimize_numbers(L, &m);
  jf_set_line(L, g->graph);
  jf_check(L, jfl_graph_minimize(g->graph, &m));
  return 0;
}

/* gradients(graph, y, dy | nil, {blobs}): a list with blobs, or false where no gradient flows. */
JF_LUA(gradients)
{
  int n;
  jf_lgraph *g = jf_need_graph(L, 1, "gradients");
  jfl_value *y = jf_need_blob(L, 2, g, "gradients: y")->value;
  jfl_value *dy = lua_isnil(L, 3) ? NULL : jf_need_blob(L, 3, g, "gradients: dy")->value;
  jfl_value **x = read_blobs(L, 4, g, "gradients: x", &n);
  if (!x) jf_raise(L, "gradients: x must be a list of blobs, got %s", jf_type_name(L, 4));
  size_t size = (size_t)n * sizeof(jfl_value *);
  jfl_value **dx = memset(lua_newuserdata(L, size + 1), 0, size);
  jf_set_line(L, g->graph);
  jf_check(L, jfl_graph_gradients(g->graph, y, dy, x, n, dx));
  int env = push_env(L);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    if (dx[i]) jf_push_blob(L, env)->value = dx[i];
    else lua_pushboolean(L, 0);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

JF_LUA(output)
{
  jf_lgraph *g = jf_need_graph(L, 1, "output");
  const char *what = lua_pushfstring(L, "%s: the body's result", g->job);
  jf_check(L, jfl_graph_output(g->graph, jf_need_blob(L, 2, g, what)->value));
  return 0;
}

/* watch_gradient(graph, blob, where): the next result behind those of output(). */
JF_LUA(watch_gradient)
{
  jf_lgraph *g = jf_need_graph(L, 1, "watch_diff");
  jfl_value *v = jf_need_blob(L, 2, g, "watch_diff: blob")->value;
  jf_check(L, jfl_graph_watch_gradient(g->graph, v, lua_tostring(L, 3)));
  return 0;
}

/* need_blob(graph, blob, what): fails unless the blob is one of that graph. */
JF_LUA(need_blob)
{
  jf_need_blob(L, 2, jf_need_graph(L, 1, "need_blob"), jf_need_string(L, 3, "need_blob", "what"));
  return 0;
}

void jf_open_graph(lua_State *L, jf_state *st, int module)
{
  lua_pushboolean(L, 0);
  st->traced_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  jf_new_kind(L, st, JF_GRAPH, graph_gc);
  jf_new_kind(L, st, JF_BLOB, NULL);
  lua_pushlightuserdata(L, st);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, module, "blob_methods");
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, module, "blob_fields");
  lua_pushcclosure(L, blob_index, 3);
  lua_setfield(L, -2, "__index");
  lua_setfield(L, module, "blob_mt");
  lua_pop(L, 1);
}
