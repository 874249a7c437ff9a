/* Values that go from one state to another: between the front end of a box and its restricted
   state, and, with sandbox.c, between a host and the front end.

   What goes in is paid for by the box. What goes out may take as much of the host's memory as the
   box may take at all. A table or an array that is met again is the same one on the other side, so
   what is shared stays so, and circles do. All that is done here is counted by the meter.

   In each function one of the two states is the one that runs: it may raise errors. The other is
   only read, by what cannot fail, or is entered by lua_pcall. */
#include "bind/bind.h"
#include "box/box.h"

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

/* ---- crossing ---- */

/* TEXT: shorter ones are as cheap to copy as to find. The others are bytes that a table takes, and
   an entry of it, of which it may have room for twice as many. */
enum { TEXT = 64, TABLE_BYTES = 64, ENTRY_BYTES = 48 };

static void cross_value(jf_crossing *x, int i, int depth);

void jf_cross_count(jf_crossing *x, double bytes)
{
  x->bytes += bytes;
  jf_meter_step(x->meter, x->to, 1 + bytes / JF_STEP_BYTES);
  if (x->most > 0 && x->bytes > x->most) luaL_error(x->to, "not enough memory");
}

/* Pushes what the value of that address has become already; 0: nothing yet. */
static int find_crossed(const jf_crossing *x, const void *at)
{
  if (!x->memo) return 0;
  lua_pushlightuserdata(x->to, (void *)(uintptr_t)at);
  lua_rawget(x->to, x->memo);
  if (!lua_isnil(x->to, -1)) return 1;
  lua_pop(x->to, 1);
  return 0;
}

/* Keeps what is on top as that. */
static void keep_crossed(jf_crossing *x, const void *at)
{
  lua_State *L = x->to;
  if (!x->memo) {
    lua_newtable(L);
    lua_insert(L, x->first);
    x->memo = x->first;
  }
  lua_pushlightuserdata(L, (void *)(uintptr_t)at);
  lua_pushvalue(L, -2);
  lua_rawset(L, x->memo);
}

static void cross_text(jf_crossing *x, int i)
{
  size_t n;
  const char *text = lua_tolstring(x->from, i, &n);
  if (n >= TEXT && find_crossed(x, text)) return;
  jf_cross_count(x, (double)n);
  lua_pushlstring(x->to, text, n);
  if (n >= TEXT) keep_crossed(x, text);
}

static void cross_table(jf_crossing *x, int i, int depth)
{
  if (depth > DEEPEST) luaL_error(x->to, "a table is nested too deeply: %d levels are the most",
                                  DEEPEST);
  jf_cross_count(x, TABLE_BYTES);
  lua_newtable(x->to);
  if (x->inward && jf_is_shape(x->from, i)) jf_make_shape(x->to);
  keep_crossed(x, lua_topointer(x->from, i));
  for (lua_pushnil(x->from); lua_next(x->from, i); lua_pop(x->from, 1)) {
    const int top = lua_gettop(x->from);
    jf_cross_count(x, ENTRY_BYTES);
    cross_value(x, top - 1, depth);
    cross_value(x, top, depth);
    lua_rawset(x->to, -3);
  }
}

/* Pushes on to what the value at i (> 0) of from is there. */
static void cross_value(jf_crossing *x, int i, int depth)
{
  luaL_checkstack(x->to, 12, "too many values");
  switch (lua_type(x->from, i)) {
  case LUA_TNONE: case LUA_TNIL: lua_pushnil(x->to); return;
  case LUA_TBOOLEAN: lua_pushboolean(x->to, lua_toboolean(x->from, i)); return;
  case LUA_TNUMBER: lua_pushnumber(x->to, lua_tonumber(x->from, i)); return;
  case LUA_TSTRING: cross_text(x, i); return;
  }
  const void *at = lua_topointer(x->from, i);
  if (find_crossed(x, at)) return;
  const jf_crossed is = x->other(x, i);
  if (is == JF_CROSSED_ANEW) keep_crossed(x, at);
  if (is == JF_PLAIN_TABLE) cross_table(x, i, depth + 1);
}

void jf_cross_values(jf_crossing *x, int first, int n)
{
  luaL_checkstack(x->to, n + 4, "too many values");
  x->first = lua_gettop(x->to) + 1;
  x->memo = 0;
  x->bytes = 0;
  for (int i = 0; i < n; i++) cross_value(x, first + i, 0);
  if (x->memo) lua_remove(x->to, x->memo);
}

/* ---- between a restricted state and its front end ---- */

static int call_front(lua_State *L);
static int call_inner(lua_State *L);

/* Pushes what the other state's wrapper at i stands for; 0: that is no wrapper. */
static int unwrap(jf_crossing *x, int i)
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
static void push_pin(jf_crossing *x, int i)
{
  lua_State *L = x->to;
  jf_pin *p = lua_newuserdata(L, sizeof *p);
  *p = (jf_pin){ .box = x->owner, .at = lua_topointer(x->from, i) };
  lua_getfield(L, LUA_REGISTRYINDEX, proxy_key);
  lua_setmetatable(L, -2);
  p->ref = take_pin(L, x->from, i);
}

void jf_cross_open_made(lua_State *L, const char *key)
{
  lua_newtable(L);
  lua_newtable(L);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_setfield(L, LUA_REGISTRYINDEX, key);
}

int jf_cross_find_made(lua_State *L, const char *key, const void *at)
{
  lua_getfield(L, LUA_REGISTRYINDEX, key);
  lua_pushlightuserdata(L, (void *)(uintptr_t)at);
  lua_rawget(L, -2);
  lua_remove(L, -2);
  if (!lua_isnil(L, -1)) return 1;
  lua_pop(L, 1);
  return 0;
}

void jf_cross_keep_made(lua_State *L, const char *key, const void *at)
{
  lua_getfield(L, LUA_REGISTRYINDEX, key);
  lua_pushlightuserdata(L, (void *)(uintptr_t)at);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

/* Pushes what stands for the value at i, made anew where nothing does; functions are closures over
   it. */
static void push_wrapped(jf_crossing *x, int i)
{
  lua_State *L = x->to;
  const int is_function = lua_isfunction(x->from, i);
  const void *at = lua_topointer(x->from, i);
  if (jf_cross_find_made(L, made_key, at)) return;
  push_pin(x, i);
  if (is_function) lua_pushcclosure(L, x->inward ? call_front : call_inner, 1);
  jf_cross_keep_made(L, made_key, at);
}

static jf_crossed cross_other(jf_crossing *x, int i)
{
  switch (lua_type(x->from, i)) {
  case LUA_TTABLE:
    if (!x->inward || jf_is_shape(x->from, i) || !lua_getmetatable(x->from, i))
      return JF_PLAIN_TABLE;
    lua_pop(x->from, 1);
    push_wrapped(x, i);
    return JF_CROSSED;
  case LUA_TFUNCTION: case LUA_TUSERDATA:
    if (!unwrap(x, i)) push_wrapped(x, i);
    return JF_CROSSED;
  }
  luaL_error(x->to, "a %s cannot be given away here",
             lua_type(x->from, i) == LUA_TTHREAD ? "coroutine" : "cdata");
  return JF_CROSSED;
}

/* Both are of one box, which pays for all. */
static void cross_own(jf_box *box, lua_State *from, lua_State *to, int first, int n)
{
  jf_crossing x = { .from = from, .to = to, .owner = box, .other = cross_other,
                    .meter = jf_meter_of(to), .inward = from == box->front };
  jf_cross_values(&x, first, n);
}

void jf_cross_in(jf_box *box, int i) { cross_own(box, box->front, box->running, i, 1); }
void jf_cross_out(jf_box *box, int i) { cross_own(box, box->running, box->front, i, 1); }

/* ---- calls ---- */

/* A call of the function that the pin stands for, in the state `to`. */
typedef struct call { jf_box *box; lua_State *from; int n, ref; } call;

/* Runs in the state that is entered: takes the arguments over and calls the function. */
static int enter(lua_State *L)
{
  const call *c = lua_touserdata(L, 1);
  lua_settop(L, 0);
  luaL_checkstack(L, ROOM, crowded);
  push_pinned(L, c->ref);
  cross_own(c->box, c->from, L, 1, c->n);
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
  call c = { box, L, lua_gettop(L), p->ref };
  const int base = box->front_top, status = call_other(F, &c);
  box->running = outer;
  box->inner_top = top;
  box->front_top = base;
  if (status) return raise_other(L, F, 1);
  jf_meter_stop(L);            /* the front end may have caught the error of a limit */
  const int n = lua_gettop(F) - base;
  lua_settop(L, 0);
  cross_own(box, F, L, base + 1, n);
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
  jf_meter_stop(F);
  luaL_checkstack(F, ROOM, crowded);
  lua_settop(L, base);
  box->front_top = lua_gettop(F);
  call c = { box, F, lua_gettop(F), p->ref };
  const int status = call_other(L, &c);
  box->front_top = top;
  box->inner_top = base;
  box->running = L;
  if (status) return raise_other(F, L, 0);
  const int n = lua_gettop(L) - base;
  lua_settop(F, 0);
  cross_own(box, L, F, base + 1, n);
  lua_settop(L, base);
  return n;
}

int jf_cross_l_parameters(lua_State *F)
{
  enum { MOST = 64 };
  const char *name[MOST];
  int n = 0;
  if (lua_tocfunction(F, 1) != call_inner) return 0;
  lua_getupvalue(F, 1, 1);
  const jf_pin *p = lua_touserdata(F, -1);
  lua_State *L = p->box->inner ? p->box->running : NULL;
  if (!L) return 0;
  push_pinned(L, p->ref);
  while (n < MOST && (name[n] = lua_getlocal(L, NULL, n + 1))) n++;
  lua_pop(L, 1);                         /* the names live as long as the function, which is kept */
  luaL_checkstack(F, n, crowded);
  for (int i = 0; i < n; i++) lua_pushstring(F, name[i]);
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
  jf_cross_open_made(L, made_key);
}

void jf_cross_open(lua_State *inner, jf_box *box) { cross_open(inner, box, front_gc); }
void jf_cross_open_front(lua_State *front, jf_box *box) { cross_open(front, box, inner_gc); }

void jf_cross_push_meta(lua_State *L) { lua_getfield(L, LUA_REGISTRYINDEX, proxy_key); }
