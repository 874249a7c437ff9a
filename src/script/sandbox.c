/* What flow.sandbox is made of: boxes, each a restricted script, for hosts in Lua. Values are
   copied on their way, arrays too; functions of the host can be given, but none taken. */
#include "script/script.h"

#include <string.h>

enum { ROOM = JF_CROSS_ROOM };

int luaopen_jfl_sandbox(lua_State *L);

/* Of hosts' registries. */
static const char functions_key[] = "jfl.sandbox.functions", pin_key[] = "jfl.sandbox.pin",
  work_key[] = "jfl.sandbox.work";

/* Of front ends': the functions that they have for the host's by address, and the metatable of what
   these know. */
static const char given_key[] = "jfl.sandbox.given", call_key[] = "jfl.sandbox.call";

/* A function of the host's state, as the front end's state of the box has it. */
typedef struct host_call { jfl_script *script; int ref; } host_call;

/* ---- what crosses ---- */

static int call_host(lua_State *L);

/* The array at i of `from`, or NULL. */
static const jf_larray *array_at(const jf_crossing *x, int i)
{
  const jfl_script *s = x->owner;
  const jf_state *st = x->inward ? s->outside_state : s->state;
  const void **p = lua_touserdata(x->from, i);
  if (!p || lua_objlen(x->from, i) < sizeof *p || *p != &st->kind[JF_ARRAY]) return NULL;
  return (const void *)p;
}

static void cross_array(jf_crossing *x, const jf_larray *b)
{
  lua_State *L = x->to;
  if (!b->array) luaL_error(L, "an array was given that is freed");
  const size_t size = (size_t)jf_shape_size(b->shape) * jfl_dtype_size(b->dtype);
  jf_cross_count(x, (double)size + sizeof *b);
  memcpy(jf_push_new(L, b->dtype, b->shape)->data, b->data, size);
}

/* The table of the host's functions that the box has: each by its number, and as "print" where its
   texts print. The box's userdata keeps it. */
static void push_functions(lua_State *H, jfl_script *s)
{
  lua_getfield(H, LUA_REGISTRYINDEX, functions_key);
  lua_pushlightuserdata(H, s);
  lua_rawget(H, -2);
  lua_remove(H, -2);
}

/* In the front end, whose function for one of the host is garbage. The host's state cannot be
   changed now, so the number waits for the next function that crosses. */
static int drop_host_call(lua_State *L)
{
  const host_call *h = lua_touserdata(L, 1);
  if (h->ref) h->script->dropped[h->script->n_dropped++] = h->ref;
  return 0;
}

/* pin(functions, f, script): the number of f in them. */
static int host_pin(lua_State *L)
{
  jfl_script *s = lua_touserdata(L, 3);
  lua_settop(L, 2);
  while (s->n_dropped) {
    luaL_unref(L, 1, s->dropped[--s->n_dropped]);
    s->n_given--;
  }
  lua_pushinteger(L, luaL_ref(L, 1));
  s->n_given++;
  luaL_checkstack(L, ROOM, "too many values");
  return 1;
}

/* Makes room for the numbers of all functions that the box may drop. */
static void reserve_drops(lua_State *L, jfl_script *s)
{
  if (s->n_given < s->cap_dropped) return;
  const int cap = 2 * s->cap_dropped + 16;
  int *more = jf_new_raw((size_t)cap * sizeof *more);
  if (!more) luaL_error(L, "not enough memory");
  if (s->n_dropped) memcpy(more, s->dropped, (size_t)s->n_dropped * sizeof *more);
  jf_free(s->dropped);
  s->dropped = more;
  s->cap_dropped = cap;
}

/* Leaves on the stack the number of the function at i of the host. */
static int pin_function(const jf_crossing *x, int i)
{
  lua_State *H = x->from;
  lua_getfield(H, LUA_REGISTRYINDEX, pin_key);
  push_functions(H, x->owner);
  lua_pushvalue(H, i);
  lua_pushlightuserdata(H, x->owner);
  const int failed = lua_pcall(H, 3, 1, 0);
  const int ref = failed ? 0 : (int)lua_tointeger(H, -1);
  lua_pop(H, 1);
  if (failed) luaL_error(x->to, "not enough memory");
  return ref;
}

/* Pushes a function of the box that calls the one at i of the host: the one that it has already, as
   long as that is there. */
static void cross_function(const jf_crossing *x, int i)
{
  lua_State *L = x->to;
  const void *at = lua_topointer(x->from, i);
  if (jf_cross_find_made(L, given_key, at)) return;
  reserve_drops(L, x->owner);
  lua_pushlightuserdata(L, ((jfl_script *)x->owner)->state);
  host_call *h = lua_newuserdata(L, sizeof *h);
  *h = (host_call){ x->owner, 0 };
  lua_getfield(L, LUA_REGISTRYINDEX, call_key);
  lua_setmetatable(L, -2);
  h->ref = pin_function(x, i);
  lua_pushcclosure(L, call_host, 2);
  jf_cross_keep_made(L, given_key, at);
}

/* What the registry of the front end has for them. */
static int open_front(lua_State *L)
{
  jf_cross_open_made(L, given_key);
  lua_newtable(L);
  lua_pushcfunction(L, drop_host_call);
  lua_setfield(L, -2, "__gc");
  lua_setfield(L, LUA_REGISTRYINDEX, call_key);
  return 0;
}

static jf_crossed cross_host(jf_crossing *x, int i)
{
  const jf_larray *b = array_at(x, i);
  const int type = lua_type(x->from, i);
  if (type == LUA_TTABLE) return JF_PLAIN_TABLE;
  if (b) cross_array(x, b);
  else if (type == LUA_TFUNCTION && x->inward) cross_function(x, i);
  else if (type == LUA_TFUNCTION)
    luaL_error(x->to, "a box cannot give functions, only what they return");
  else
    luaL_error(x->to, "a %s cannot go into a box or out of it: numbers, texts, tables, arrays "
               "and into it functions can", luaL_typename(x->from, i));
  return JF_CROSSED_ANEW;
}

static void cross_in(jfl_script *s, lua_State *H, lua_State *L, int first, int n)
{
  jf_crossing x = { .from = H, .to = L, .owner = s, .other = cross_host, .meter = &s->meter,
                    .inward = 1 };
  jf_cross_values(&x, first, n);
}

static void cross_out(jfl_script *s, lua_State *L, lua_State *H, int first, int n)
{
  jf_crossing x = { .from = L, .to = H, .owner = s, .other = cross_host, .meter = &s->meter,
                    .most = (double)jf_budget_most(s->meter.budget) };
  jf_cross_values(&x, first, n);
}

/* ---- work in the host ---- */

/* What the front end has done in the host's state, which pays for it: f. Its values come from the
   front end's stack, or are a text. */
typedef struct host_work {
  int (*f)(lua_State *H, const struct host_work *w);
  jfl_script *script;
  lua_State *from;
  int first, n, ref;
  const char *text; size_t n_text;
} host_work;

static int host_work_on(lua_State *H)
{
  const host_work *w = lua_touserdata(H, 1);
  lua_settop(H, 0);
  return w->f(H, w);
}

/* Leaves what it gives, or one error, on the host's stack. */
static int do_in_host(const host_work *w)
{
  lua_State *H = w->script->outside;
  lua_getfield(H, LUA_REGISTRYINDEX, work_key);
  lua_pushlightuserdata(H, (void *)(uintptr_t)w);
  jf_budget *const own = jf_memory_charge(w->script->outer);
  const int status = lua_pcall(H, 1, LUA_MULTRET, 0);
  jf_memory_charge(own);
  return status;
}

/* Raises in L the error on top of the host's stack, which was so high before. */
static int raise_from_host(lua_State *L, lua_State *H, int top)
{
  lua_pushstring(L, lua_isstring(H, -1) ? lua_tostring(H, -1) : "an error that is no text");
  lua_settop(H, top);
  return lua_error(L);
}

static int host_call_function(lua_State *H, const host_work *w)
{
  push_functions(H, w->script);
  lua_rawgeti(H, -1, w->ref);
  lua_replace(H, 1);
  cross_out(w->script, w->from, H, w->first, w->n);
  lua_call(H, w->n, LUA_MULTRET);
  luaL_checkstack(H, ROOM, "too many values");
  return lua_gettop(H);
}

/* In the box's front end: calls the function of the host. */
static int call_host(lua_State *L)
{
  const host_call *h = lua_touserdata(L, lua_upvalueindex(2));
  jfl_script *s = h->script;
  lua_State *H = s->outside;
  if (!H) return luaL_error(L, "the host has ended the call");
  luaL_checkstack(L, ROOM, "too many values");
  const int top = lua_gettop(H);
  if (do_in_host(&(host_work){ .f = host_call_function, .script = s, .from = L, .first = 1,
                               .n = lua_gettop(L), .ref = h->ref }))
    return raise_from_host(L, H, top);
  const int n = lua_gettop(H) - top;
  lua_settop(L, 0);
  cross_in(s, H, L, top + 1, n);
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

static int host_take(lua_State *H, const host_work *w)
{
  cross_out(w->script, w->from, H, w->first, w->n);
  return w->n;
}

/* Leaves the n values on top on the host's stack, while limits hold. */
static int give_to_host(lua_State *L, jfl_script *s, int n)
{
  incall *c = s->arg;
  const int top = lua_gettop(c->host);
  luaL_checkstack(L, ROOM, "too many values");
  if (do_in_host(&(host_work){ .f = host_take, .script = s, .from = L, .n = n,
                               .first = lua_gettop(L) - n + 1 }))
    return raise_from_host(L, c->host, top);
  c->n_result = n;
  return 0;
}

/* In the front end. */
static int box_enter(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  const incall *c = s->arg;
  lua_settop(L, 0);
  if (c->text && jf_script_load(L, s, c->text, c->n, c->name)) return lua_error(L);
  if (!c->text) jf_script_global(L, s, c->name);
  if (!c->text && lua_isnil(L, 1)) return luaL_error(L, "the box has no '%s'", c->name);
  cross_in(s, c->host, L, c->first, c->n_arg);
  lua_call(L, c->n_arg, LUA_MULTRET);
  return give_to_host(L, s, lua_gettop(L));
}

/* In the front end: makes the value at 3 of the host's stack a global of the box. */
static int box_set(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  const incall *c = s->arg;
  cross_in(s, c->host, L, c->first, 1);
  jf_script_set_global(L, s, c->name);
  return 0;
}

static int box_get(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  const incall *c = s->arg;
  jf_script_global(L, s, c->name);
  return give_to_host(L, s, 1);
}

static void drop_box(void *script) { jfl_script_free(script); }

static jfl_script *need_box(lua_State *L)
{
  const jf_holder *h = jf_test(L, 1, JF_HOLDER);
  if (!h || !h->p || h->drop != drop_box) jf_raise(L, "sandbox: the box is closed");
  return h->p;
}

/* Enters the box, which leaves on the stack what it gives. */
static int sandbox_enter(lua_State *L, jfl_script *s, lua_CFunction entry, incall *c)
{
  luaL_checkstack(L, ROOM, "too many values");
  jf_check(L, jf_script_check("sandbox", s));
  c->script = s;
  c->host = s->outside = L;
  const jfl_status code = jf_script_enter(s, entry, c, 0);
  s->outside = NULL;
  jf_check(L, code);
  return c->n_result;
}

/* run(box, text, name, ...) */
static int sandbox_l_run(lua_State *L)
{
  jfl_script *s = need_box(L);
  incall c = { .first = 4, .n_arg = lua_gettop(L) - 3 };
  c.text = jf_need_bytes(L, 2, "sandbox.run", "text", &c.n);
  c.name = jf_need_string(L, 3, "sandbox.run", "name");
  return sandbox_enter(L, s, box_enter, &c);
}

/* call(box, name, ...) */
static int sandbox_l_call(lua_State *L)
{
  jfl_script *s = need_box(L);
  incall c = { .first = 3, .n_arg = lua_gettop(L) - 2 };
  c.name = jf_need_string(L, 2, "sandbox.call", "name");
  return sandbox_enter(L, s, box_enter, &c);
}

/* set(box, name, value) */
static int sandbox_l_set(lua_State *L)
{
  jfl_script *s = need_box(L);
  lua_settop(L, 3);
  incall c = { .first = 3, .name = jf_need_string(L, 2, "sandbox.set", "name") };
  return sandbox_enter(L, s, box_set, &c);
}

/* get(box, name) */
static int sandbox_l_get(lua_State *L)
{
  jfl_script *s = need_box(L);
  incall c = { .name = jf_need_string(L, 2, "sandbox.get", "name") };
  return sandbox_enter(L, s, box_get, &c);
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

static int host_print(lua_State *H, const host_work *w)
{
  push_functions(H, w->script);
  lua_getfield(H, -1, "print");
  lua_pushlstring(H, w->text, w->n_text);
  lua_call(H, 1, 0);
  return 0;
}

/* Prints by the host's function, whose errors nobody would hear of. */
static void print_to_host(void *holder, const char *text, size_t n)
{
  jfl_script *s = ((const jf_holder *)holder)->p;
  lua_State *H = s ? s->outside : NULL;
  if (!H) return;
  const int top = lua_gettop(H);
  do_in_host(&(host_work){ .f = host_print, .script = s, .text = text,
                           .n_text = n && text[n - 1] == '\n' ? n - 1 : n });
  lua_settop(H, top);
}

/* Gives the box at the top of the stack its table of functions. */
static void add_functions(lua_State *L, jfl_script *s)
{
  lua_createtable(L, 0, 1);
  lua_getfield(L, 1, "print");
  lua_setfield(L, -2, "print");
  jf_cross_keep_made(L, functions_key, s);
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
  jf_check(L, jf_script_enter(s, open_front, NULL, 0));
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

/* What the registry of the host has, once. */
static void open_host(lua_State *L)
{
  jf_cross_open_made(L, functions_key);
  lua_pushcfunction(L, host_pin);
  lua_setfield(L, LUA_REGISTRYINDEX, pin_key);
  lua_pushlightuserdata(L, jf_find_state(L));    /* with which arrays are pushed */
  lua_pushcclosure(L, host_work_on, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, work_key);
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
