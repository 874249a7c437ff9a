/* Values that go from the front end's state to the restricted one and back.

   In each function one of the two states is the one that runs: it may raise errors. The other is
   only read, by what cannot fail, or is entered by lua_pcall. */
#include "script/box.h"

#include <ctype.h>
#include <string.h>

enum { DEEPEST = 24, ROOM = JF_CROSS_ROOM };

static const char crowded[] = "stack overflow: too many calls within calls";
static const char box_key[] = "jfl.box", pins_key[] = "jfl.pins", proxy_key[] = "jfl.proxy";
static const char made_key[] = "jfl.made", pin_key[] = "jfl.pin", enter_key[] = "jfl.enter";

jf_box *jf_box_of(lua_State *L)
{
  lua_getfield(L, LUA_REGISTRYINDEX, box_key);
  jf_box *box = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return box;
}

static void need_depth(lua_State *L, const jf_box *box)
{
  if (box->nested >= JF_NESTED) luaL_error(L, "%s", crowded);
}

int jf_box_try(lua_State *L, int n_arg, int n_result)
{
  jf_box *box = jf_box_of(L);
  if (box->nested >= JF_NESTED) {
    lua_pop(L, n_arg + 1);
    lua_pushstring(L, crowded);
    return LUA_ERRRUN;
  }
  box->nested++;
  const int status = lua_pcall(L, n_arg, n_result, 0);
  box->nested--;
  return status;
}

void jf_box_call(lua_State *L, int n_arg, int n_result)
{
  if (jf_box_try(L, n_arg, n_result)) lua_error(L);
}

/* ---- what one state keeps for the other ---- */

/* Stands in one state for a value that the other keeps as pins[ref]. */
typedef struct jf_pin { jf_box *box; const void *at; int ref; } jf_pin;

/* pin(v): the number under which v is kept. */
static int l_pin(lua_State *L)
{
  lua_getfield(L, LUA_REGISTRYINDEX, pins_key);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, luaL_ref(L, -2));
  luaL_checkstack(L, ROOM, crowded);
  return 1;
}

/* Keeps the value at i of `other`; raises an error in L where that fails. */
static int take_pin(lua_State *L, lua_State *other, int i)
{
  lua_pushvalue(other, i);
  lua_getfield(other, LUA_REGISTRYINDEX, pin_key);
  lua_insert(other, -2);
  const int failed = lua_pcall(other, 1, 1, 0);
  const int ref = failed ? 0 : (int)lua_tointeger(other, -1);
  lua_pop(other, 1);
  if (failed) luaL_error(L, "not enough memory");
  return ref;
}

static void push_pinned(lua_State *L, int ref)
{
  lua_getfield(L, LUA_REGISTRYINDEX, pins_key);
  lua_rawgeti(L, -1, ref);
  lua_remove(L, -2);
}

static void drop_pin(lua_State *other, jf_pin *p)
{
  if (!other || !p->ref) return;
  lua_getfield(other, LUA_REGISTRYINDEX, pins_key);
  luaL_unref(other, -1, p->ref);
  lua_pop(other, 1);
  p->ref = 0;
}

/* Finalizers: in the inner state of a pin in the front end, and the other way round. */
static int front_gc(lua_State *L)
{
  jf_pin *p = lua_touserdata(L, 1);
  drop_pin(p->box->front, p);
  return 0;
}

static int inner_gc(lua_State *L)
{
  jf_pin *p = lua_touserdata(L, 1);
  drop_pin(p->box->inner ? p->box->running : NULL, p);
  return 0;
}

/* ---- conversion ---- */

typedef struct crossing {
  jf_box *box;
  lua_State *from, *to;        /* to runs */
  int inward;                  /* from the front end to the inner state */
  int memo;                    /* on to: the tables copied so far; 0: none yet */
} crossing;

static void cross_value(crossing *x, int i, int depth);
static int call_front(lua_State *L);
static int call_inner(lua_State *L);

/* Pushes what the other state's wrapper at i stands for; 0: that is no wrapper. */
static int unwrap(crossing *x, int i)
{
  const jf_pin *p = NULL;
  if (lua_iscfunction(x->from, i)) {
    if (lua_tocfunction(x->from, i) != (x->inward ? call_inner : call_front)) return 0;
    lua_getupvalue(x->from, i, 1);
    p = lua_touserdata(x->from, -1);
    lua_pop(x->from, 1);
  } else if (!x->inward && lua_type(x->from, i) == LUA_TUSERDATA) {
    p = lua_touserdata(x->from, i);        /* the inner state has no other userdata */
  }
  if (!p) return 0;
  push_pinned(x->to, p->ref);
  return 1;
}

/* Pushes a userdata that stands for the value at i of the other state. */
static void push_pin(crossing *x, int i)
{
  lua_State *L = x->to;
  jf_pin *p = lua_newuserdata(L, sizeof *p);
  *p = (jf_pin){ .box = x->box, .at = lua_topointer(x->from, i) };
  lua_getfield(L, LUA_REGISTRYINDEX, proxy_key);
  lua_setmetatable(L, -2);
  p->ref = take_pin(L, x->from, i);
}

/* The same where one stands for it already; functions are closures over it. */
static void push_wrapped(crossing *x, int i)
{
  lua_State *L = x->to;
  const int is_function = lua_isfunction(x->from, i);
  void *at = (void *)(uintptr_t)lua_topointer(x->from, i);
  lua_getfield(L, LUA_REGISTRYINDEX, made_key);
  lua_pushlightuserdata(L, at);
  lua_rawget(L, -2);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    push_pin(x, i);
    if (is_function) lua_pushcclosure(L, x->inward ? call_front : call_inner, 1);
    lua_pushlightuserdata(L, at);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
  }
  lua_remove(L, -2);
}

/* Pushes the copy that was made of the table at i, or a new one to be filled. */
static int begin_copy(crossing *x, int i)
{
  lua_State *L = x->to;
  void *at = (void *)(uintptr_t)lua_topointer(x->from, i);
  if (!x->memo) {
    lua_newtable(L);
    x->memo = lua_gettop(L);
  }
  lua_pushlightuserdata(L, at);
  lua_rawget(L, x->memo);
  if (!lua_isnil(L, -1)) return 0;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushlightuserdata(L, at);
  lua_pushvalue(L, -2);
  lua_rawset(L, x->memo);
  return 1;
}

static void copy_table(crossing *x, int i, int depth)
{
  int n = 0;
  if (depth > DEEPEST) luaL_error(x->to, "a table is nested too deeply: %d levels are the most",
                                  DEEPEST);
  if (!begin_copy(x, i)) return;
  for (lua_pushnil(x->from); lua_next(x->from, i); lua_pop(x->from, 1)) {
    const int top = lua_gettop(x->from);
    cross_value(x, top - 1, depth);
    cross_value(x, top, depth);
    lua_rawset(x->to, -3);
    if (++n % 1024 == 0) jf_meter_charge(x->to, 1024);
  }
}

static void cross_table(crossing *x, int i, int depth)
{
  if (x->inward && lua_getmetatable(x->from, i)) {
    lua_pop(x->from, 1);
    push_wrapped(x, i);
  } else {
    copy_table(x, i, depth + 1);
  }
}

/* Pushes on to what the value at i (> 0) of from is there. */
static void cross_value(crossing *x, int i, int depth)
{
  size_t n;
  const char *text;
  luaL_checkstack(x->to, 12, "too many values");
  switch (lua_type(x->from, i)) {
  case LUA_TNONE: case LUA_TNIL: lua_pushnil(x->to); return;
  case LUA_TBOOLEAN: lua_pushboolean(x->to, lua_toboolean(x->from, i)); return;
  case LUA_TNUMBER: lua_pushnumber(x->to, lua_tonumber(x->from, i)); return;
  case LUA_TSTRING:
    text = lua_tolstring(x->from, i, &n);
    lua_pushlstring(x->to, text, n);
    return;
  case LUA_TTABLE: cross_table(x, i, depth); return;
  case LUA_TFUNCTION: if (!unwrap(x, i)) push_wrapped(x, i); return;
  case LUA_TUSERDATA: if (!unwrap(x, i)) push_wrapped(x, i); return;
  default:
    luaL_error(x->to, "a %s cannot be given away here", lua_type(x->from, i) == LUA_TTHREAD
               ? "coroutine" : "cdata");
  }
}

/* The same, with nothing else left on the stack. */
static void cross_one(crossing *x, int i)
{
  const int before = lua_gettop(x->to);
  x->memo = 0;
  cross_value(x, i, 0);
  lua_insert(x->to, before + 1);
  lua_settop(x->to, before + 1);
}

/* Pushes the values at first .. first + n - 1. */
static void cross_values(crossing *x, int first, int n)
{
  luaL_checkstack(x->to, n + 4, "too many values");
  for (int i = 0; i < n; i++) cross_one(x, first + i);
}

void jf_cross_in(jf_box *box, int i)
{
  cross_one(&(crossing){ box, box->front, box->running, 1, 0 }, i);
}

void jf_cross_out(jf_box *box, int i)
{
  cross_one(&(crossing){ box, box->running, box->front, 0, 0 }, i);
}

/* ---- calls ---- */

/* A call of the function that the pin stands for, in the state `to`. */
typedef struct call { jf_box *box; lua_State *from; int n, ref, inward; } call;

/* Runs in the state that is entered: takes the arguments over and calls the function. */
static int enter(lua_State *L)
{
  const call *c = lua_touserdata(L, 1);
  crossing x = { c->box, c->from, L, c->inward, 0 };
  lua_settop(L, 0);
  luaL_checkstack(L, ROOM, crowded);
  push_pinned(L, c->ref);
  cross_values(&x, 1, c->n);
  lua_call(L, c->n, LUA_MULTRET);
  luaL_checkstack(L, ROOM, crowded);
  return lua_gettop(L);
}

/* Calls it and leaves its results, or one message, on the stack of `to`, above its old top. */
static int call_other(lua_State *to, call *c)
{
  c->box->nested++;
  lua_getfield(to, LUA_REGISTRYINDEX, enter_key);
  lua_pushlightuserdata(to, c);
  const int status = lua_pcall(to, 1, LUA_MULTRET, 0);
  c->box->nested--;
  return status;
}

static int has_position(const char *text)
{
  const char *p = strchr(text, ':');
  if (!p || !isdigit((unsigned char)p[1])) return 0;
  p += 1 + strspn(p + 1, "0123456789");
  return p[0] == ':' && p[1] == ' ';
}

/* Raises in L the error that is on top of the other state. */
static int raise_other(lua_State *L, lua_State *other, int at_line)
{
  size_t n = 0;
  const char *text = lua_type(other, -1) == LUA_TSTRING ? lua_tolstring(other, -1, &n) : NULL;
  jf_meter_stop(L);
  if (!text) text = "an error that is no text", n = strlen(text);
  const int where = at_line && !has_position(text);
  if (where) luaL_where(L, 1);
  lua_pushlstring(L, text, n);
  if (where) lua_concat(L, 2);
  return lua_error(L);
}

/* In the inner state: a function of the front end. */
static int call_front(lua_State *L)
{
  const jf_pin *p = lua_touserdata(L, lua_upvalueindex(1));
  jf_box *box = p->box;
  lua_State *F = box->front, *outer = box->running;
  const int top = box->inner_top;
  need_depth(L, box);
  jf_meter_charge(L, 10);
  jf_meter_relieve(jf_meter_of(L));
  luaL_checkstack(L, ROOM, crowded);
  lua_settop(F, box->front_top);
  box->running = L;
  box->inner_top = lua_gettop(L);
  call c = { box, L, lua_gettop(L), p->ref, 0 };
  const int base = box->front_top, status = call_other(F, &c);
  box->running = outer;
  box->inner_top = top;
  box->front_top = base;
  if (status) return raise_other(L, F, 1);
  crossing x = { box, F, L, 1, 0 };
  const int n = lua_gettop(F) - base;
  lua_settop(L, 0);
  cross_values(&x, base + 1, n);
  lua_settop(F, base);
  return n;
}

/* In the front end: a function of the inner state. */
static int call_inner(lua_State *F)
{
  const jf_pin *p = lua_touserdata(F, lua_upvalueindex(1));
  jf_box *box = p->box;
  lua_State *L = box->inner ? box->running : NULL;
  if (!L) return luaL_error(F, "the restricted script was closed");
  const int top = box->front_top, base = box->inner_top;
  need_depth(F, box);
  luaL_checkstack(F, ROOM, crowded);
  lua_settop(L, base);
  box->front_top = lua_gettop(F);
  call c = { box, F, lua_gettop(F), p->ref, 1 };
  const int status = call_other(L, &c);
  box->front_top = top;
  box->inner_top = base;
  box->running = L;
  if (status) return raise_other(F, L, 0);
  crossing x = { box, L, F, 0, 0 };
  const int n = lua_gettop(L) - base;
  lua_settop(F, 0);
  cross_values(&x, base + 1, n);
  lua_settop(L, base);
  return n;
}

/* ---- opening ---- */

static void cross_open(lua_State *L, jf_box *box, lua_CFunction gc)
{
  lua_pushlightuserdata(L, box);
  lua_setfield(L, LUA_REGISTRYINDEX, box_key);
  lua_newtable(L);
  /* Finalizers call luaL_unref where nobody catches an error. It writes to 0, which is there. */
  lua_pushinteger(L, 0);
  lua_rawseti(L, -2, 0);
  lua_setfield(L, LUA_REGISTRYINDEX, pins_key);
  lua_pushcfunction(L, l_pin);
  lua_setfield(L, LUA_REGISTRYINDEX, pin_key);
  lua_pushcfunction(L, enter);
  lua_setfield(L, LUA_REGISTRYINDEX, enter_key);
  lua_newtable(L);
  lua_pushcfunction(L, gc);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, "an object of jfl");        /* what getmetatable() gives */
  lua_setfield(L, -2, "__metatable");
  lua_setfield(L, LUA_REGISTRYINDEX, proxy_key);
  lua_newtable(L);
  lua_newtable(L);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_setfield(L, LUA_REGISTRYINDEX, made_key);
}

void jf_cross_open(lua_State *inner, jf_box *box) { cross_open(inner, box, front_gc); }
void jf_cross_open_front(lua_State *front, jf_box *box) { cross_open(front, box, inner_gc); }

void jf_cross_push_meta(lua_State *L) { lua_getfield(L, LUA_REGISTRYINDEX, proxy_key); }
