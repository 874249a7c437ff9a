/* What the texts of a script may do, and how much of it: limits, and the state for texts that
   nobody trusts. */
#include "script/script.h"
#include "system/system.h"

#include <errno.h>
#include <string.h>

static const char loaded_key[] = "jfl.loaded";     /* registry of inner: a text or a global */

/* ---- opening the restricted state ---- */

/* The stack of the front end has what lua/jfl/sandbox/gate.lua gives: its root, print and events.
   */
enum { ROOT = 1, PRINT, EVENTS, N_GATE = EVENTS };

/* Texts are called as objects are: flow.float32 { 10 } is a type. Objects' metatable is on top. */
static void share_call(lua_State *L)
{
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  lua_getfield(L, -3, "__call");
  lua_setfield(L, -2, "__call");
  lua_pop(L, 2);
}

static int open_inner(lua_State *L)
{
  jf_box *box = lua_touserdata(L, 1);
  lua_State *front = box->front;
  const int base = lua_gettop(front) - N_GATE;
  lua_settop(L, 0);
  jf_cross_open(L, box);
  jf_cross_in(box, base + ROOT);
  jf_cross_in(box, base + PRINT);
  jf_box_libraries(L);
  jf_cross_push_meta(L);
  for (lua_pushnil(front); lua_next(front, base + EVENTS); lua_pop(front, 1)) {
    jf_cross_in(box, lua_gettop(front) - 1);
    jf_cross_in(box, lua_gettop(front));
    lua_rawset(L, -3);
  }
  share_call(L);
  return 0;
}

/* Leaves the gate's parts on the stack of the front end. */
static void open_gate(lua_State *L)
{
  static const char *const part[] = { "root", "print", "events" };
  lua_getglobal(L, "require");
  lua_pushliteral(L, "jfl.sandbox.gate");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "bare");
  lua_pushcfunction(L, jf_cross_l_parameters);
  lua_call(L, 1, 0);
  for (int i = 0; i < N_GATE; i++) lua_getfield(L, -1 - i, part[i]);
  lua_remove(L, -1 - N_GATE);
}

static void open_box(lua_State *L, jfl_script *s)
{
  jf_box *box = s->box = jf_new(sizeof *box);
  if (!box) luaL_error(L, "not enough memory");
  luaL_checkstack(L, JF_CROSS_ROOM, "too many values");
  open_gate(L);
  box->front = L;
  box->running = box->inner = jf_script_new_state(s);
  if (!box->inner) luaL_error(L, "not enough memory");
  jf_cross_open_front(L, box);
  luaL_checkstack(L, JF_CROSS_ROOM, "too many values");
  if (lua_cpcall(box->inner, open_inner, box))
    luaL_error(L, "%s", lua_tostring(box->inner, -1));
  lua_pop(L, N_GATE);
  jf_meter_watch(&s->meter, box->inner, 1);
}

/* The most threads that its jobs use. */
static void limit_threads(lua_State *L, int threads)
{
  luaopen_jfl_core(L);
  lua_getfield(L, -1, "set");
  lua_pushliteral(L, "threads");
  lua_pushinteger(L, threads);
  lua_call(L, 2, 0);
  lua_pop(L, 1);
}

/* The seconds that work for it may still take; on any thread. */
static double script_left_of(void *script)
{
  const jfl_script *s = script;
  return s->closing ? 0 : jf_meter_left(&s->meter);
}

/* Whether runs of its jobs are to end; on any thread. */
static int script_is_due(void *script)
{
  jfl_script *s = script;
  return s->closing || jf_meter_is_due(&s->meter);
}

void jf_script_restrict(lua_State *L, jfl_script *s)
{
  const jfl_script_options *o = &s->options;
  jf_meter *m = &s->meter;
  m->most_instructions = o->instructions;
  m->most_seconds = o->seconds;
  if (o->threads) limit_threads(L, o->threads);
  if (o->restricted) open_box(L, s);
  if (!o->restricted && !(o->instructions > 0) && !(o->seconds > 0)) return;
  if (!o->restricted) jf_box_catchers(L);
  m->asked = &s->asked;
  jf_meter_watch(m, L, 0);
  jf_set_due(L, s->state, script_is_due, s, jf_meter_stop);
}

jfl_status jf_script_confine(jfl_script *s)
{
  const jfl_script_options *o = &s->options;
  const char *flaw = NULL;
  if (!o->restricted) return JFL_OK;
  if (!(s->reach = jf_reach_new())) return jf_fail(JFL_ENOMEM, "out of memory for a script");
  jf_budget_confine(s->meter.budget, s->reach);
  jf_budget_limit(s->meter.budget, script_left_of, s);
  if (o->read_folder && jf_reach_open(s->reach, o->read_folder, JF_READ)) flaw = o->read_folder;
  else if (o->write_folder && jf_reach_open(s->reach, o->write_folder, JF_WRITE))
    flaw = o->write_folder;
  return flaw ? jf_fail(JFL_EIO, "the script's folder %s cannot be opened: %s", flaw,
                        jf_trouble(errno)) : JFL_OK;
}

void jf_script_close(jfl_script *s)
{
  jf_box *box = s->box;
  s->meter.state[0] = s->meter.state[1] = NULL;
  if (!box || !box->inner) return;
  lua_State *inner = box->running = box->inner;
  lua_close(inner);
  box->inner = NULL;
}

void jf_script_free_box(jfl_script *s)
{
  if (s->meter.budget) jf_budget_limit(s->meter.budget, NULL, NULL);
  jf_free(s->box);
  s->box = NULL;
  jf_reach_close(s->reach);
  jf_reach_drop(s->reach);
}

/* ---- entries ---- */

void jf_script_begin(jfl_script *s)
{
  jf_box *box = s->box;
  s->outer = jf_memory_charge(s->options.restricted ? s->meter.budget : jf_memory_budget());
  if (box && box->inner) {
    lua_settop(box->inner, 0);
    box->running = box->inner;
    box->inner_top = box->front_top = box->nested = 0;
  }
  jf_meter_begin(&s->meter);
}

void jf_script_end(jfl_script *s)
{
  jf_meter_end(&s->meter);
  jf_memory_charge(s->outer);
}

jfl_status jf_script_limit(jfl_script *s)
{
  char text[80];
  const char *says = jf_meter_says(&s->meter, text, sizeof text);
  if (!says) return JFL_OK;
  return jf_fail(s->meter.over == JF_OVER_ASKED ? JFL_ESCRIPT : JFL_ELIMIT, "%s", says);
}

/* ---- texts and globals ---- */

/* A text of n bytes and its name, or the path of what is read or written. */
typedef struct wanted { const char *text, *name; size_t n; int status; } wanted;

static int load_inner(lua_State *L)
{
  wanted *w = lua_touserdata(L, 1);
  w->status = jf_box_load(L, w->text, w->n, w->name);
  lua_setfield(L, LUA_REGISTRYINDEX, loaded_key);
  return 0;
}

/* Pushes the table that has the last name of a path, and that name. get: lua_gettable or
   lua_rawget. */
static void walk(lua_State *L, const char *path, void (*get)(lua_State *L, int i))
{
  const char *name = path;
  lua_pushvalue(L, LUA_GLOBALSINDEX);
  for (const char *dot; (dot = strchr(name, '.')); name = dot + 1) {
    lua_pushlstring(L, name, (size_t)(dot - name));
    get(L, -2);
    lua_remove(L, -2);
    if (lua_istable(L, -1)) continue;
    lua_pushlstring(L, path, (size_t)(dot - path));
    luaL_error(L, "'%s' must be a table, got %s", lua_tostring(L, -1), luaL_typename(L, -2));
  }
  lua_pushstring(L, name);
}

static int find_inner(lua_State *L)
{
  const wanted *w = lua_touserdata(L, 1);
  walk(L, w->name, lua_rawget);
  lua_rawget(L, -2);
  lua_setfield(L, LUA_REGISTRYINDEX, loaded_key);
  luaL_checkstack(L, JF_CROSS_ROOM, "too many values");
  return 0;
}

/* Pushes on L what `get` leaves in the registry of the restricted state. */
static void from_inner(lua_State *L, jf_box *box, lua_CFunction get, wanted *w)
{
  lua_State *inner = box->inner;
  lua_settop(inner, 0);
  if (lua_cpcall(inner, get, w)) {
    lua_pushstring(L, lua_tostring(inner, -1));
    lua_error(L);
  }
  lua_getfield(inner, LUA_REGISTRYINDEX, loaded_key);
  luaL_checkstack(L, JF_CROSS_ROOM, "too many values");
  jf_cross_out(box, 1);
  lua_settop(inner, 0);
}

int jf_script_load(lua_State *L, jfl_script *s, const char *text, size_t n, const char *name)
{
  if (!s->box) return luaL_loadbufferx(L, text, n, name, "t");
  wanted w = { text, name, n, 0 };
  from_inner(L, s->box, load_inner, &w);
  return w.status;
}

void jf_script_global(lua_State *L, jfl_script *s, const char *path)
{
  wanted w = { .name = path };
  if (s->box) {
    from_inner(L, s->box, find_inner, &w);
    return;
  }
  walk(L, path, lua_gettable);
  lua_gettable(L, -2);
  lua_remove(L, -2);
}

static int set_inner(lua_State *L)
{
  const wanted *w = lua_touserdata(L, 1);
  jf_box *box = jf_box_of(L);
  walk(L, w->name, lua_rawget);
  jf_cross_in(box, lua_gettop(box->front));
  lua_rawset(L, -3);
  return 0;
}

void jf_script_set_global(lua_State *L, jfl_script *s, const char *path)
{
  wanted w = { .name = path };
  if (!s->box) {
    walk(L, path, lua_gettable);
    lua_pushvalue(L, -3);
    lua_settable(L, -3);
    lua_pop(L, 2);
    return;
  }
  lua_State *inner = s->box->inner;
  luaL_checkstack(L, JF_CROSS_ROOM, "too many values");
  if (lua_cpcall(inner, set_inner, &w)) {
    lua_pushstring(L, lua_tostring(inner, -1));
    lua_error(L);
  }
  lua_pop(L, 1);
}
