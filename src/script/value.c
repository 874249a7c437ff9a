/* Values between C and Lua: variables of the texts, their functions, functions of the host's. */
#include "script/script.h"

#include <string.h>

void jfl_script_value_clear(jfl_script_value *v)
{
  if (jf_need_pointer(__func__, "v", v)) return;
  if (v->kind == JFL_SCRIPT_TEXT) jf_free((void *)(uintptr_t)v->text);
  if (v->kind == JFL_SCRIPT_ARRAY) jfl_array_unref(v->array);
  *v = (jfl_script_value){ .kind = JFL_SCRIPT_NIL };
}

/* What is wrong with a value that C gives, or NULL. */
static const char *value_flaw(const jfl_script_value *v)
{
  switch (v->kind) {
  case JFL_SCRIPT_NIL:
  case JFL_SCRIPT_BOOL:
  case JFL_SCRIPT_NUMBER: return NULL;
  case JFL_SCRIPT_TEXT: return v->text ? NULL : "must have a text, got NULL";
  case JFL_SCRIPT_ARRAY:
    return v->array && *(const jf_tag *)v->array == JF_TAG_ARRAY ? NULL
                                                                 : "must have an array, got none";
  case JFL_SCRIPT_OTHER: break;
  }
  return "must be nil, a bool, a number, a text or an array, got another kind";
}

static jfl_status value_check(const char *function, const char *argument, const jfl_script_value *v,
                              int n)
{
  JF_TRY(jf_need_list(function, argument, v, n));
  for (int i = 0; i < n; i++) {
    const char *flaw = value_flaw(&v[i]);
    if (flaw) return jf_need_told(function, jf_fail_argument(JFL_EINVAL, argument, "%s", flaw));
  }
  return JFL_OK;
}

/* Pushes an array; its methods and operators are of the front end. */
static void value_push_array(lua_State *L, jfl_array *a)
{
  lua_getglobal(L, "require");
  lua_pushliteral(L, "jfl.nd.array");
  lua_call(L, 1, 0);
  jf_larray *b = jf_push_array(L);
  jf_set_array(b, jfl_array_ref(a));
  jf_account(L, b);
}

/* Pushes a value that was checked. */
static void value_push(lua_State *L, const jfl_script_value *v)
{
  switch (v->kind) {
  case JFL_SCRIPT_BOOL: lua_pushboolean(L, v->number != 0); break;
  case JFL_SCRIPT_NUMBER: lua_pushnumber(L, v->number); break;
  case JFL_SCRIPT_TEXT:
    if (v->n_text) lua_pushlstring(L, v->text, v->n_text);
    else lua_pushstring(L, v->text);
    break;
  case JFL_SCRIPT_ARRAY: value_push_array(L, v->array); break;
  default: lua_pushnil(L);
  }
}

/* Makes *out the value at i, which stays Lua's: its text is not copied, its array not counted. */
static void value_borrow(lua_State *L, int i, jfl_script_value *out)
{
  const jf_larray *b = jf_test(L, i, JF_ARRAY);
  *out = (jfl_script_value){ .kind = JFL_SCRIPT_OTHER };
  if (b) {
    jf_check_freed(L, b, "the array");
    out->kind = JFL_SCRIPT_ARRAY;
    out->array = b->array;
    return;
  }
  switch (lua_type(L, i)) {
  case LUA_TNIL:
  case LUA_TNONE: out->kind = JFL_SCRIPT_NIL; break;
  case LUA_TBOOLEAN: out->kind = JFL_SCRIPT_BOOL; out->number = lua_toboolean(L, i); break;
  case LUA_TNUMBER: out->kind = JFL_SCRIPT_NUMBER; out->number = lua_tonumber(L, i); break;
  case LUA_TSTRING:
    out->kind = JFL_SCRIPT_TEXT;
    out->text = lua_tolstring(L, i, &out->n_text);
    break;
  }
}

/* Makes n values that Lua has on top the caller's; all or, without memory, none. The texts of those
   take no more of it than the script may take, which shares one text among many. */
static jfl_status value_keep(const jfl_script *s, jfl_script_value *v, int n)
{
  const uint64_t most = s->box ? s->options.memory : 0;
  uint64_t size = 0;
  for (int i = 0; i < n; i++) {
    const int is_text = v[i].kind == JFL_SCRIPT_TEXT;
    if (is_text) size += v[i].n_text;
    char *copy = is_text && (!most || size <= most) ? jf_new_raw(v[i].n_text + 1) : NULL;
    if (copy) {
      memcpy(copy, v[i].text, v[i].n_text + 1);
      v[i].text = copy;
    } else if (is_text) {
      while (i > 0) jfl_script_value_clear(&v[--i]);
      memset(v, 0, (size_t)n * sizeof *v);
      return jf_fail(JFL_ENOMEM, "out of memory for a text");
    }
    if (v[i].kind == JFL_SCRIPT_ARRAY) jfl_array_ref(v[i].array);
  }
  return JFL_OK;
}

/* ---- variables ---- */

typedef struct value_call {
  const char *path;
  const jfl_script_value *arg; int n_arg;
  jfl_script_value *out; int n_out;
  jfl_script_function f; void *ud;
} value_call;

static int value_l_get(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  const value_call *c = s->arg;
  jf_script_global(L, s, c->path);
  value_borrow(L, 1, c->out);
  return 1;
}

/* Runs what leaves n values on Lua's stack, which *out borrows, and makes them the caller's. */
static jfl_status value_enter(const char *function, jfl_script *s, lua_CFunction entry,
                              value_call *c)
{
  if (c->n_out) memset(c->out, 0, (size_t)c->n_out * sizeof *c->out);
  jfl_status code = jf_script_enter(s, entry, c, c->n_out);
  if (!code) {
    code = value_keep(s, c->out, c->n_out);
    lua_pop(s->L, c->n_out);
  } else if (c->n_out) {
    memset(c->out, 0, (size_t)c->n_out * sizeof *c->out);
  }
  return jf_script_left(s, jf_need_told(function, code));
}

jfl_status jfl_script_get(jfl_script *s, const char *path, jfl_script_value *out)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_POINTERS(path, out);
  return value_enter(__func__, s, value_l_get, &(value_call){ .path = path, .out = out,
                                                              .n_out = 1 });
}

static int value_l_set(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  const value_call *c = s->arg;
  value_push(L, c->arg);
  jf_script_set_global(L, s, c->path);
  return 0;
}

jfl_status jfl_script_set(jfl_script *s, const char *path, const jfl_script_value *value)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_POINTER(path);
  JF_TRY(value_check(__func__, "value", value, 1));
  return value_enter(__func__, s, value_l_set, &(value_call){ .path = path, .arg = value });
}

/* ---- functions of the texts ---- */

static int value_l_invoke(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  const value_call *c = s->arg;
  jf_script_global(L, s, c->path);
  /* Texts have a __call, which is for names of dtypes: jfl/base/dtypes.lua. */
  if (lua_type(L, 1) == LUA_TSTRING
      || (!lua_isfunction(L, 1) && !luaL_getmetafield(L, 1, "__call")))
    return luaL_error(L, "'%s' must be a function, got %s", c->path, luaL_typename(L, 1));
  lua_settop(L, 1);
  luaL_checkstack(L, c->n_arg + c->n_out + 8, "too many arguments");
  for (int i = 0; i < c->n_arg; i++) value_push(L, &c->arg[i]);
  lua_call(L, c->n_arg, c->n_out);
  for (int i = 0; i < c->n_out; i++) value_borrow(L, i + 1, &c->out[i]);
  return c->n_out;
}

jfl_status jfl_script_invoke(jfl_script *s, const char *path, const jfl_script_value *arg,
                             int n_arg, jfl_script_value *out, int n_out)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_POINTER(path);
  JF_TRY(value_check(__func__, "arg", arg, n_arg));
  JF_NEED_LIST(out, n_out);
  value_call c = { .path = path, .arg = arg, .n_arg = n_arg, .out = out, .n_out = n_out };
  return value_enter(__func__, s, value_l_invoke, &c);
}

/* ---- functions of the host's ---- */

typedef struct host_function { jfl_script_function f; void *ud; } host_function;

/* The function's values lie in a userdata, as there may be any number of them. */
static int value_l_host(lua_State *L)
{
  const host_function *h = lua_touserdata(L, lua_upvalueindex(3));
  const int n = lua_gettop(L);
  jfl_script_value result = { .kind = JFL_SCRIPT_NIL };
  jfl_script_value *arg = lua_newuserdata(L, (size_t)(n + 1) * sizeof *arg);
  for (int i = 0; i < n; i++) value_borrow(L, i + 1, &arg[i]);
  jf_budget *const own = jf_memory_charge(jf_script_of(L)->outer);
  jfl_status code = h->f(h->ud, arg, n, &result);
  jf_memory_charge(own);
  if ((unsigned)code >= JFL_N_STATUS) code = JFL_ESCRIPT;
  if (code && code != jfl_error_code())
    jf_fail(code, "a function of the program failed: %s", jfl_status_name(code));
  if (code) return luaL_error(L, "%s", jfl_errmsg());
  const char *flaw = value_flaw(&result);
  if (flaw) return luaL_error(L, "the result of a function of the program %s", flaw);
  value_push(L, &result);
  return 1;
}

static int value_l_define(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  const value_call *c = s->arg;
  lua_pushlightuserdata(L, s->state);
  lua_pushlightuserdata(L, s);
  host_function *h = lua_newuserdata(L, sizeof *h);
  *h = (host_function){ c->f, c->ud };
  lua_pushcclosure(L, value_l_host, 3);
  jf_script_set_global(L, s, c->path);
  return 0;
}

jfl_status jfl_script_define(jfl_script *s, const char *path, jfl_script_function function,
                             void *ud)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_POINTER(path);
  if (!function) return jf_need_pointer(__func__, "function", NULL);
  value_call c = { .path = path, .f = function, .ud = ud };
  return value_enter(__func__, s, value_l_define, &c);
}
