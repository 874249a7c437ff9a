/* The life of a script, and how C enters it. */
#include "script/script.h"
#include "script/lua.h"
#include "system/system.h"

#include <errno.h>
#include <lualib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What lies at the bottom of the stack, so that nothing is allocated before Lua's errors are
   caught. */
enum { HANDLER = 1, ENTER = 2 };

/* ---- errors ---- */

/* Keeps what jfl_script_traceback gives. */
static void script_keep(jfl_script *s, const char *text, size_t n)
{
  char *copy = jf_new_raw(n + 1);
  if (copy) memcpy(copy, text, n + 1);
  jf_free(s->traceback);
  s->traceback = copy;
}

/* The message handler: makes the error a text with a traceback, and keeps it. */
static int script_handle(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  if (!lua_isstring(L, 1) && luaL_callmeta(L, 1, "__tostring")) lua_replace(L, 1);
  if (!lua_isstring(L, 1)) {
    lua_pushfstring(L, "an error that is a %s, not a text", luaL_typename(L, 1));
    lua_replace(L, 1);
  }
  luaL_traceback(L, L, lua_tostring(L, 1), 1);
  size_t n;
  const char *text = lua_tolstring(L, -1, &n);
  script_keep(s, text, n);
  lua_settop(L, 1);
  return 1;
}

/* The status of an error of Lua, whose message is on top. One that a function of the library gave
   keeps its own. */
static jfl_status script_failed(jfl_script *s, int status)
{
  jfl_status limit = jf_script_limit(s);
  if (limit) return limit;
  const char *text = status == LUA_ERRMEM ? "not enough memory" : lua_tostring(s->L, -1);
  if (status == LUA_ERRMEM) {
    jf_free(s->traceback);
    s->traceback = NULL;
  }
  if (strstr(text, "not enough memory"))
    return jf_fail(JFL_ENOMEM, "out of memory in the script");
  const char *last = jfl_error_part(JFL_ERROR_TEXT);
  const jfl_status code = jfl_error_code();
  if (code && *last && strstr(text, last)) return jf_fail(code, "%s", text);
  return jf_fail(JFL_ESCRIPT, "%s", text);
}

/* ---- entering ---- */

static int script_enter(lua_State *L)
{
  return jf_script_of(L)->entry(L);
}

static jfl_status check_thread(const char *function, const jfl_script *s)
{
  if (pthread_equal(s->owner, pthread_self())) return JFL_OK;
  return jf_need_told(function, jf_fail(JFL_ESTATE, "the script belongs to the thread that made "
                                        "it, and this is another"));
}

jfl_status jf_script_check(const char *function, const jfl_script *s)
{
  JF_TRY(jf_need(function, "s", s, JF_TAG_SCRIPT));
  JF_TRY(check_thread(function, s));
  if (!s->entered) return JFL_OK;
  return jf_need_told(function, jf_fail(JFL_ESTATE, "the script is running: a function that it "
                                        "calls cannot enter it"));
}

/* Forgets the callbacks of calls, which would else run when the state is closed. */
static int script_l_abandon(lua_State *L)
{
  luaopen_jfl_core(L);
  lua_getfield(L, -1, "abandon");
  lua_call(L, 0, 0);
  return 0;
}

static void script_drop(jfl_script *s)
{
  if (s->L) {
    s->entered = 1;                /* finalizers of the texts may call functions of the host */
    jf_script_begin(s);
    s->closing = s->options.restricted;
    lua_cpcall(s->L, script_l_abandon, NULL);
    jf_script_close(s);
    lua_close(s->L);
    jf_script_end(s);
  }
  for (jfl_script_job *j = s->jobs, *next; j; j = next) {
    next = j->next;
    j->tag = JF_TAG_FREED;
    jf_free(j);
  }
  jf_script_free_box(s);
  jf_script_free_early(s);
  jf_budget_drop(s->meter.budget);
  jf_free(s->traceback);
  jf_free(s->dropped);
  jf_free((void *)(uintptr_t)s->options.read_folder);
  jf_free((void *)(uintptr_t)s->options.write_folder);
  s->tag = JF_TAG_FREED;
  jf_free(s);
}

/* After memory ran out Lua would fail again before it has collected what it does not need. So it
   might after a limit: what was to be collected is left then. */
static int script_collect(lua_State *L)
{
  lua_gc(L, LUA_GCCOLLECT, 0);
  return 0;
}

/* What is kept of the memory for that: the call takes a little itself. */
enum { RESERVE = 64 << 10 };

/* A text may leave the memory full of what it still needs. That must not be the end of the script:
   the next one has so much to make room with. */
static void script_lend(jfl_script *s)
{
  jf_budget *const budget = s->meter.budget;
  const uint64_t most = jf_budget_most(budget);
  if (!s->spare || !most || jf_budget_used(budget) + RESERVE <= most) return;
  jf_budget_give(budget, RESERVE);
  s->spare = 0;
}

static void script_collect_all(jfl_script *s, jfl_status code)
{
  jf_error *e = jf_error_copy();
  if (s->reserved) jf_budget_give(s->meter.budget, RESERVE);
  if (s->box) lua_cpcall(s->box->inner, script_collect, NULL);
  lua_cpcall(s->L, script_collect, NULL);
  s->reserved = jf_budget_take(s->meter.budget, RESERVE);
  jf_error_restore(code, e);
  jf_free(e);
}

/* What `asked` of a script is. */
enum { IDLE = -1, UNDER_WAY, ASKED };

static int change_asked(jfl_script *s, sig_atomic_t from, sig_atomic_t to)
{
  return __atomic_compare_exchange_n(&s->asked, &from, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

int jf_script_is_asked(jfl_script *s) { return change_asked(s, ASKED, UNDER_WAY); }

jfl_status jf_script_enter(jfl_script *s, lua_CFunction entry, void *arg, int n_result)
{
  lua_State *L = s->L;
  s->entry = entry;
  s->arg = arg;
  s->entered = 1;
  change_asked(s, IDLE, UNDER_WAY);
  jf_error_clear();
  script_lend(s);
  jf_script_begin(s);
  lua_pushvalue(L, ENTER);
  const int status = lua_pcall(L, 0, n_result, HANDLER);
  const int failed = status || jf_meter_check(&s->meter);
  jf_script_end(s);
  const jfl_status code = failed ? script_failed(s, status) : JFL_OK;
  if (code) lua_settop(L, ENTER);
  if (code == JFL_ENOMEM || code == JFL_ELIMIT || !s->spare) script_collect_all(s, code);
  if (!s->spare) s->spare = jf_budget_take(s->meter.budget, RESERVE);
  s->entered = 0;
  return code;
}

jfl_status jf_script_left(jfl_script *s, jfl_status code)
{
  if (s->entered || s->delivering) return code;
  __atomic_store_n(&s->asked, IDLE, __ATOMIC_RELAXED);
  if (s->freed) {
    jf_error *e = jf_error_copy();
    script_drop(s);
    jf_error_restore(code, e);
    jf_free(e);
    return code;
  }
  return code;
}

/* ---- opening ---- */

/* print(...): one line, to the host. */
static int script_l_print(lua_State *L)
{
  const jfl_script *s = jf_script_of(L);
  const int n = lua_gettop(L);
  luaL_Buffer b;
  lua_getglobal(L, "tostring");
  luaL_buffinit(L, &b);
  for (int i = 1; i <= n; i++) {
    if (i > 1) luaL_addchar(&b, '\t');
    lua_pushvalue(L, n + 1);
    lua_pushvalue(L, i);
    lua_call(L, 1, 1);
    if (!lua_isstring(L, -1)) luaL_error(L, "'tostring' must return a string to 'print'");
    luaL_addvalue(&b);
  }
  luaL_addchar(&b, '\n');
  luaL_pushresult(&b);
  size_t size;
  const char *text = lua_tolstring(L, -1, &size);
  jf_budget *const own = jf_memory_charge(s->outer);
  s->options.print(s->options.ud, text, size);
  jf_memory_charge(own);
  return 0;
}

static int script_l_exit(lua_State *L)
{
  return luaL_error(L, "os.exit: a script inside of a program cannot end it");
}

static void script_stop(lua_State *L)
{
  jfl_script *s = jf_script_with(jf_meter_of(L));
  jf_meter_stop(L);                /* where it looks a text must not go on by catching the error */
  change_asked(s, ASKED, UNDER_WAY);
  lua_pushliteral(L, "interrupted");
  lua_error(L);
}

static void push_own(lua_State *L, jfl_script *s, lua_CFunction f)
{
  lua_pushlightuserdata(L, s->state);
  lua_pushlightuserdata(L, s);
  lua_pushcclosure(L, f, 2);
}

static int script_l_nothing(lua_State *L)
{
  (void)L;
  return 0;
}

/* What LuaJIT has compiled does not survive memory that runs out. So where that is to be expected
   nothing is compiled, whatever a text asks for. */
static void stop_compiler(lua_State *L)
{
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  lua_getglobal(L, "jit");
  lua_pushcfunction(L, script_l_nothing);
  lua_setfield(L, -2, "on");
  lua_pop(L, 1);
}

/* Opens the libraries and the front end. */
static void script_open(lua_State *L, jfl_script *s)
{
  lua_gc(L, LUA_GCSTOP, 0);
  luaL_openlibs(L);
  if (s->options.memory || s->hosted) stop_compiler(L);
  else jf_watch_miscompiled(L);
  luaopen_jfl_preload(L);
  jf_set_interrupt(L, &s->asked, script_stop);
  luaopen_jfl_core(L);
  s->state = jf_find_state(L);
  if (s->options.print) {
    push_own(L, s, script_l_print);
    lua_setglobal(L, "print");
  }
  lua_getglobal(L, "os");
  push_own(L, s, script_l_exit);
  lua_setfield(L, -2, "exit");
  lua_gc(L, LUA_GCRESTART, 0);
  lua_settop(L, 0);
  jf_script_restrict(L, s);
}

static jfl_status copy_text(const char *text, const char **out)
{
  const size_t n = text ? strlen(text) + 1 : 0;
  char *copy = NULL;
  if (text && !(copy = jf_new_raw(n))) return jf_fail(JFL_ENOMEM, "out of memory for the options");
  if (text) memcpy(copy, text, n);
  *out = copy;
  return JFL_OK;
}

/* Fields that the program does not know are 0. */
static jfl_status read_options(const jfl_script_options *given, jfl_script_options *out)
{
  jfl_script_options o = { 0 };
  if (given) {
    const size_t least = offsetof(jfl_script_options, restricted);
    if (given->size < least || given->size > 4096)
      return jf_fail_argument(JFL_EINVAL, "options", "must have their size in bytes in size, "
                              "got %zu", given->size);
    memcpy(&o, given, given->size < sizeof o ? given->size : sizeof o);
  }
  const char *flaw = !(o.instructions >= 0) ? "instructions" : !(o.seconds >= 0) ? "seconds"
                     : o.threads < 0 ? "threads" : NULL;
  if (flaw) return jf_fail_argument(JFL_EINVAL, "options", "must have %s of 0 or more, got fewer",
                                    flaw);
  const char *read = o.read_folder, *write = o.write_folder;
  o.read_folder = o.write_folder = NULL;
  *out = o;
  JF_TRY(copy_text(read, &out->read_folder));
  return copy_text(write, &out->write_folder);
}

/* Opens all and gives where the registry has what belongs to the bottom of the stack. */
typedef struct opening { jfl_script *s; int handler, enter; } opening;

static int script_first(lua_State *L)
{
  opening *o = lua_touserdata(L, 1);
  script_open(L, o->s);
  push_own(L, o->s, script_handle);
  o->handler = luaL_ref(L, LUA_REGISTRYINDEX);
  push_own(L, o->s, script_enter);
  o->enter = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

static jfl_status script_start(jfl_script *s)
{
  opening o = { .s = s };
  const char *lacks = jf_lua_lacks();
  if (lacks) return jf_fail(JFL_ENOSYS, "scripts need LuaJIT: %s", lacks);
  s->hosted = jf_memory_is_given();
  s->meter.budget = jf_budget_new(s->options.memory);
  s->meter.deadline = INFINITY;
  s->reserved = jf_budget_take(s->meter.budget, RESERVE);
  s->spare = jf_budget_take(s->meter.budget, RESERVE);
  if (!s->meter.budget) return jf_fail(JFL_ENOMEM, "out of memory for a script");
  JF_TRY(jf_script_confine(s));
  s->L = jf_script_new_state(s);
  if (!s->L) return jf_fail(JFL_ENOMEM, "out of memory for a script");
  s->entered = 1;
  jf_script_begin(s);
  const int status = lua_cpcall(s->L, script_first, &o);
  jf_script_end(s);
  s->entered = 0;
  if (status) return script_failed(s, status);
  lua_rawgeti(s->L, LUA_REGISTRYINDEX, o.handler);
  lua_rawgeti(s->L, LUA_REGISTRYINDEX, o.enter);
  return JFL_OK;
}

jfl_status jfl_script_new(const jfl_script_options *options, jfl_script **out)
{
  JF_NEED_POINTER(out);
  jfl_script *s = jf_new(sizeof *s);
  if (!s) return jf_fail(JFL_ENOMEM, "out of memory for a script");
  s->tag = JF_TAG_SCRIPT;
  s->asked = IDLE;
  s->owner = pthread_self();
  jfl_status code = read_options(options, &s->options);
  if (!code) code = script_start(s);
  if (code) script_drop(s);
  else *out = s;
  return jf_need_told(__func__, code);
}

void jfl_script_free(jfl_script *s)
{
  if (!s || jf_need(__func__, "s", s, JF_TAG_SCRIPT) || check_thread(__func__, s)) return;
  if (s->entered || s->delivering) s->freed = 1;
  else script_drop(s);
}

void jfl_script_interrupt(jfl_script *s)
{
  if (JF_IS(SCRIPT, s)) change_asked(s, UNDER_WAY, ASKED);
}

/* ---- running texts ---- */

typedef struct script_text { const char *text, *name; size_t n; } script_text;

/* Runs the function on top, or raises the error that loading it has left there. */
static int run_loaded(lua_State *L, int status, const char *name)
{
  if (status == LUA_ERRSYNTAX && strstr(lua_tostring(L, -1), "wrong mode"))
    return luaL_error(L, "%s: expected Lua text, found bytecode", name + strspn(name, "=@"));
  if (status) return lua_error(L);
  lua_call(L, 0, 0);
  return 0;
}

static int script_l_run(lua_State *L)
{
  const script_text *t = jf_script_of(L)->arg;
  const char *name = t->name;
  if (!name) {
    const char *end = memchr(t->text, '\n', t->n);
    lua_pushlstring(L, t->text, end ? (size_t)(end - t->text) : t->n);
    name = lua_tostring(L, -1);
  }
  return run_loaded(L, jf_script_load(L, jf_script_of(L), t->text, t->n, name), name);
}

jfl_status jfl_script_run(jfl_script *s, const char *text, size_t n, const char *name)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_POINTER(text);
  const jfl_status code = jf_script_enter(s, script_l_run, &(script_text){ text, name, n }, 0);
  return jf_script_left(s, code);
}

/* Reads a file into new memory. A first line that begins with # is for the shell. */
static jfl_status read_text(const char *path, script_text *out)
{
  jf_text t = { 0 };
  char piece[4096];
  int64_t n;
  const int file = jf_open(JF_HERE, path, JF_READ | JF_WAIT);
  if (file < 0) return jf_fail(JFL_EIO, "%s: cannot be opened: %s", path, jf_trouble(errno));
  while ((n = jf_read(file, piece, sizeof piece)) > 0) jf_text_put(&t, piece, (size_t)n);
  jf_close(file);
  char *text;
  out->n = t.n;
  JF_TRY(jf_text_take(&t, &text));
  out->text = text;
  if (n < 0) return jf_fail(JFL_EIO, "%s: cannot be read", path);
  return JFL_OK;
}

jfl_status jfl_script_run_file(jfl_script *s, const char *path)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_POINTER(path);
  script_text t = { 0 };
  char *name = jf_new_raw(strlen(path) + 2);
  jfl_status code = name ? read_text(path, &t) : jf_fail(JFL_ENOMEM, "out of memory");
  if (code) script_keep(s, jfl_errmsg(), strlen(jfl_errmsg()));
  else {
    sprintf(name, "@%s", path);
    t.name = name;
    const size_t first = t.n && *t.text == '#' ? strcspn(t.text, "\n") : 0;
    code = jf_script_enter(s, script_l_run, &(script_text){ t.text + first, name, t.n - first }, 0);
  }
  jf_free(name);
  jf_free((void *)(uintptr_t)t.text);
  return jf_script_left(s, jf_need_told(__func__, code));
}

const char *jfl_script_traceback(const jfl_script *s)
{
  return JF_IS(SCRIPT, s) && s->traceback ? s->traceback : "";
}

static int script_l_session(lua_State *L)
{
  jfl_session **out = jf_script_of(L)->arg;
  *out = jf_session(L);
  return 0;
}

jfl_status jfl_script_session(jfl_script *s, jfl_session **out)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_POINTER(out);
  return jf_script_left(s, jf_script_enter(s, script_l_session, out, 0));
}
