/* What flow.sandbox is made of: boxes, each a restricted script, for hosts in Lua. Values are
   copied on their way, arrays too; functions of the host can be given, but none taken. */
#include "script/script.h"

#include <string.h>

enum { DEEPEST = 24, ROOM = 4 * DEEPEST + 40, BOTTOM = 2 };

int luaopen_jfl_sandbox(lua_State *L);

static const char functions_key[] = "jfl.sandbox.functions", pin_key[] = "jfl.sandbox.pin",
  enter_key[] = "jfl.sandbox.enter", take_key[] = "jfl.sandbox.take";     /* of hosts' registries */

/* A function of the host's state, as the front end's state of the box has it. */
typedef struct host_call { jfl_script *script; int ref; } host_call;

/* ---- copies ---- */

typedef struct copying {
  lua_State *from, *to;        /* to runs */
  const jf_state *from_state;
  jfl_script *script;
  int outward;                 /* to the host */
} copying;

static void copy_value(const copying *c, int i, int depth);
static int call_host(lua_State *L);

/* The array at i of `from`, or NULL. */
static const jf_larray *array_at(const copying *c, int i)
{
  const void **p = lua_touserdata(c->from, i);
  if (!p || lua_objlen(c->from, i) < sizeof *p || *p != &c->from_state->kind[JF_ARRAY]) return NULL;
  return (const void *)p;
}

static void copy_array(lua_State *L, const jf_larray *b)
{
  if (!b->array) luaL_error(L, "an array was given that is freed");
  const jf_larray *copy = jf_push_new(L, b->dtype, b->shape);
  memcpy(copy->data, b->data, (size_t)jf_shape_size(b->shape) * jfl_dtype_size(b->dtype));
}

static void copy_fields(const copying *c, int i, int depth)
{
  if (depth > DEEPEST)
    luaL_error(c->to, "a table is nested too deeply, or holds itself: %d levels are the most",
               DEEPEST);
  lua_newtable(c->to);
  for (lua_pushnil(c->from); lua_next(c->from, i); lua_pop(c->from, 1)) {
    const int top = lua_gettop(c->from);
    copy_value(c, top - 1, depth);
    copy_value(c, top, depth);
    lua_rawset(c->to, -3);
  }
}

/* The table of the host's functions that the box has; "print" in it is where its texts print. The
   box's userdata keeps it. */
static void push_functions(lua_State *H, jfl_script *s)
{
  lua_getfield(H, LUA_REGISTRYINDEX, functions_key);
  lua_pushlightuserdata(H, s);
  lua_rawget(H, -2);
  lua_remove(H, -2);
}

/* pin(functions, f): the number of f in them. */
static int host_pin(lua_State *L)
{
  lua_pushinteger(L, luaL_ref(L, 1));
  luaL_checkstack(L, ROOM, "too many values");
  return 1;
}

/* Pushes a function of the box that calls the one at i of the host. */
static void copy_function(const copying *c, int i)
{
  lua_State *H = c->from;
  host_call *h = lua_newuserdata(c->to, sizeof *h);
  h->script = c->script;
  lua_getfield(H, LUA_REGISTRYINDEX, pin_key);
  push_functions(H, c->script);
  lua_pushvalue(H, i);
  const int failed = lua_pcall(H, 2, 1, 0);
  h->ref = failed ? 0 : (int)lua_tointeger(H, -1);
  lua_pop(H, 1);
  if (failed) luaL_error(c->to, "not enough memory");
  lua_pushlightuserdata(c->to, c->script->state);
  lua_insert(c->to, -2);
  lua_pushcclosure(c->to, call_host, 2);
}

static void copy_value(const copying *c, int i, int depth)
{
  size_t n;
  const char *text;
  const jf_larray *b;
  luaL_checkstack(c->to, 8, "too many values");
  switch (lua_type(c->from, i)) {
  case LUA_TNONE: case LUA_TNIL: lua_pushnil(c->to); return;
  case LUA_TBOOLEAN: lua_pushboolean(c->to, lua_toboolean(c->from, i)); return;
  case LUA_TNUMBER: lua_pushnumber(c->to, lua_tonumber(c->from, i)); return;
  case LUA_TTABLE: copy_fields(c, i, depth + 1); return;
  case LUA_TSTRING:
    text = lua_tolstring(c->from, i, &n);
    lua_pushlstring(c->to, text, n);
    return;
  case LUA_TFUNCTION:
    if (c->outward) luaL_error(c->to, "a box cannot give functions, only what they return");
    copy_function(c, i);
    return;
  default:
    if (!(b = array_at(c, i)))
      luaL_error(c->to, "a %s cannot go into a box or out of it: numbers, texts, tables, arrays "
                 "and into it functions can", luaL_typename(c->from, i));
    copy_array(c->to, b);
  }
}

/* ---- functions of the host ---- */

/* A call of one, and the list of what it gave, which is on top of the host's stack. */
typedef struct outcall { const copying *c; int ref, n; } outcall;

/* In the host: calls the function and gives its results as a list. */
static int host_enter(lua_State *L)
{
  const outcall *o = lua_touserdata(L, 1);
  lua_settop(L, 0);
  push_functions(L, o->c->script);
  lua_rawgeti(L, -1, o->ref);
  lua_replace(L, 1);
  for (int i = 1; i <= o->n; i++) copy_value(o->c, i, 0);
  lua_call(L, o->n, LUA_MULTRET);
  const int n = lua_gettop(L);
  lua_createtable(L, n, 0);
  lua_insert(L, 1);
  for (int i = n; i > 0; i--) lua_rawseti(L, 1, i);
  lua_pushinteger(L, n);
  luaL_checkstack(L, ROOM, "too many values");
  return 2;
}

/* Pushes on L the n items of the list at i of `from`. */
static void copy_items(const copying *c, int i, int n)
{
  luaL_checkstack(c->to, n + 8, "too many values");
  for (int k = 1; k <= n; k++) {
    lua_rawgeti(c->from, i, k);
    copy_value(c, lua_gettop(c->from), 0);
    lua_pop(c->from, 1);
  }
}

/* In the box's front end: calls the function of the host, whose memory is its own. */
static int call_host(lua_State *L)
{
  const host_call *h = lua_touserdata(L, lua_upvalueindex(2));
  jfl_script *s = h->script;
  lua_State *H = s->outside;
  if (!H) return luaL_error(L, "the host has ended the call");
  luaL_checkstack(L, ROOM, "too many values");
  const int top = lua_gettop(H);
  copying out = { L, H, s->state, s, 1 };
  outcall o = { &out, h->ref, lua_gettop(L) };
  lua_getfield(H, LUA_REGISTRYINDEX, enter_key);
  lua_pushlightuserdata(H, &o);
  jf_budget *const own = jf_memory_charge(s->outer);
  const int status = lua_pcall(H, 1, 2, 0);
  jf_memory_charge(own);
  if (status) {
    lua_pushstring(L, lua_isstring(H, -1) ? lua_tostring(H, -1) : "an error that is no text");
    lua_settop(H, top);
    return lua_error(L);
  }
  const int n = (int)lua_tointeger(H, -1);
  lua_settop(L, 0);
  copy_items(&(copying){ H, L, s->outside_state, s, 0 }, top + 1, n);
  lua_settop(H, top);
  return n;
}

/* ---- calls into a box ---- */

typedef struct incall {
  jfl_script *script;
  lua_State *host;
  const char *text, *name;     /* a text and what messages call it, or no text and a global */
  size_t n;
  int first, n_arg, n_result;
} incall;

/* In the front end: gives the results as a list. */
static int box_enter(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  incall *c = s->arg;
  const copying in = { c->host, L, s->outside_state, s, 0 };
  lua_settop(L, 0);
  if (c->text && jf_script_load(L, s, c->text, c->n, c->name)) return lua_error(L);
  if (!c->text) jf_script_global(L, s, c->name);
  if (!c->text && lua_isnil(L, 1)) return luaL_error(L, "the box has no '%s'", c->name);
  for (int i = 0; i < c->n_arg; i++) copy_value(&in, c->first + i, 0);
  lua_call(L, c->n_arg, LUA_MULTRET);
  c->n_result = lua_gettop(L);
  lua_createtable(L, c->n_result, 0);
  lua_insert(L, 1);
  for (int i = c->n_result; i > 0; i--) lua_rawseti(L, 1, i);
  luaL_checkstack(L, ROOM, "too many values");
  return 1;
}

/* In the front end: makes the value at 3 of the host's stack a global of the box. */
static int box_set(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  const incall *c = s->arg;
  copy_value(&(copying){ c->host, L, s->outside_state, s, 0 }, c->first, 0);
  jf_script_set_global(L, s, c->name);
  return 0;
}

static int box_get(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  incall *c = s->arg;
  lua_newtable(L);
  jf_script_global(L, s, c->name);
  lua_rawseti(L, -2, 1);
  c->n_result = 1;
  luaL_checkstack(L, ROOM, "too many values");
  return 1;
}

static void drop_box(void *script) { jfl_script_free(script); }

static jfl_script *need_box(lua_State *L)
{
  const jf_holder *h = jf_test(L, 1, JF_HOLDER);
  if (!h || !h->p || h->drop != drop_box) jf_raise(L, "sandbox: the box is closed");
  return h->p;
}

/* In the host: gives what the box gave. */
static int host_take(lua_State *L)
{
  const incall *c = lua_touserdata(L, 1);
  jfl_script *s = c->script;
  copy_items(&(copying){ s->L, L, s->state, s, 1 }, BOTTOM + 1, c->n_result);
  return c->n_result;
}

/* Enters the box and pushes what it gives. While that is copied, finalizers of the host may run,
   which find the box busy. */
static int sandbox_enter(lua_State *L, jfl_script *s, lua_CFunction entry, incall *c, int n_result)
{
  luaL_checkstack(L, ROOM, "too many values");
  jf_check(L, jf_script_check("sandbox", s));
  lua_settop(s->L, BOTTOM);
  c->script = s;
  c->host = s->outside = L;
  const jfl_status code = jf_script_enter(s, entry, c, n_result);
  s->outside = NULL;
  jf_check(L, code);
  s->entered = 1;
  lua_getfield(L, LUA_REGISTRYINDEX, take_key);
  lua_pushlightuserdata(L, c);
  const int failed = lua_pcall(L, 1, LUA_MULTRET, 0);
  s->entered = 0;
  lua_settop(s->L, BOTTOM);
  return failed ? lua_error(L) : c->n_result;
}

/* run(box, text, name, ...) */
static int sandbox_l_run(lua_State *L)
{
  jfl_script *s = need_box(L);
  incall c = { .first = 4, .n_arg = lua_gettop(L) - 3 };
  c.text = jf_need_bytes(L, 2, "sandbox.run", "text", &c.n);
  c.name = jf_need_string(L, 3, "sandbox.run", "name");
  return sandbox_enter(L, s, box_enter, &c, 1);
}

/* call(box, name, ...) */
static int sandbox_l_call(lua_State *L)
{
  jfl_script *s = need_box(L);
  incall c = { .first = 3, .n_arg = lua_gettop(L) - 2 };
  c.name = jf_need_string(L, 2, "sandbox.call", "name");
  return sandbox_enter(L, s, box_enter, &c, 1);
}

/* set(box, name, value) */
static int sandbox_l_set(lua_State *L)
{
  jfl_script *s = need_box(L);
  lua_settop(L, 3);
  incall c = { .first = 3, .name = jf_need_string(L, 2, "sandbox.set", "name") };
  return sandbox_enter(L, s, box_set, &c, 0);
}

/* get(box, name) */
static int sandbox_l_get(lua_State *L)
{
  jfl_script *s = need_box(L);
  incall c = { .name = jf_need_string(L, 2, "sandbox.get", "name") };
  return sandbox_enter(L, s, box_get, &c, 1);
}

/* used(box): the bytes that it takes. */
static int sandbox_l_used(lua_State *L)
{
  lua_pushnumber(L, (lua_Number)jf_budget_used(need_box(L)->meter.budget));
  return 1;
}

/* ---- the life of a box ---- */

static double option(lua_State *L, const char *name)
{
  lua_getfield(L, 1, name);
  const double v = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return v;
}

/* Prints by the host's function, whose errors nobody would hear of. */
static void print_to_host(void *holder, const char *text, size_t n)
{
  jfl_script *s = ((const jf_holder *)holder)->p;
  lua_State *H = s ? s->outside : NULL;
  if (!H) return;
  const int top = lua_gettop(H);
  jf_budget *const own = jf_memory_charge(s->outer);
  push_functions(H, s);
  lua_getfield(H, -1, "print");
  lua_pushlstring(H, text, n && text[n - 1] == '\n' ? n - 1 : n);
  lua_pcall(H, 1, 0, 0);
  lua_settop(H, top);
  jf_memory_charge(own);
}

/* Gives the box at the top of the stack its table of functions. */
static void add_functions(lua_State *L, jfl_script *s)
{
  lua_createtable(L, 0, 1);
  lua_getfield(L, 1, "print");
  lua_setfield(L, -2, "print");
  lua_getfield(L, LUA_REGISTRYINDEX, functions_key);
  lua_pushlightuserdata(L, s);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  lua_setfenv(L, -2);
}

/* new(options): the caller has checked them. */
static int sandbox_l_new(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  jfl_script_options o = { .size = sizeof o, .restricted = 1 };
  o.memory = (uint64_t)option(L, "memory");
  o.instructions = option(L, "instructions");
  o.seconds = option(L, "seconds");
  o.threads = (int)option(L, "threads");
  lua_getfield(L, 1, "read");
  o.read_folder = lua_tostring(L, -1);
  lua_getfield(L, 1, "write");
  o.write_folder = lua_tostring(L, -1);
  lua_getfield(L, 1, "print");
  jf_holder *h = jf_push_holder(L, drop_box);
  if (lua_isfunction(L, -2)) o.print = print_to_host, o.ud = h;
  jfl_script *s = NULL;
  jf_check(L, jfl_script_new(&o, &s));
  h->p = s;
  s->outside_state = jf_state_of(L);
  add_functions(L, s);
  return 1;
}

/* close(box): frees all that it has. */
static int sandbox_l_close(lua_State *L)
{
  jf_holder *h = jf_test(L, 1, JF_HOLDER);
  jfl_script *s = h ? h->p : NULL;
  if (!s) return 0;
  jf_check(L, jf_script_check("sandbox", s));
  h->p = NULL;
  jfl_script_free(s);
  return 0;
}

/* Keeps a function that pushes arrays, which the state must be an upvalue of. */
static void keep_function(lua_State *L, const char *key, lua_CFunction f)
{
  lua_pushlightuserdata(L, jf_find_state(L));
  lua_pushcclosure(L, f, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, key);
}

/* What the registry of the host has, once. */
static void open_host(lua_State *L)
{
  lua_newtable(L);
  lua_newtable(L);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_setfield(L, LUA_REGISTRYINDEX, functions_key);
  lua_pushcfunction(L, host_pin);
  lua_setfield(L, LUA_REGISTRYINDEX, pin_key);
  keep_function(L, enter_key, host_enter);
  keep_function(L, take_key, host_take);
}

int luaopen_jfl_sandbox(lua_State *L)
{
  static const luaL_Reg functions[] = {
    { "new", sandbox_l_new }, { "run", sandbox_l_run }, { "call", sandbox_l_call },
    { "set", sandbox_l_set }, { "get", sandbox_l_get },
    { "used", sandbox_l_used }, { "close", sandbox_l_close }, { NULL, NULL }
  };
  open_host(L);
  lua_newtable(L);
  lua_pushlightuserdata(L, jf_find_state(L));
  luaL_setfuncs(L, functions, 1);
  return 1;
}
