/* src/bind: callbacks of asynchronous calls where Lua's memory runs out, one allocation at a time,
   and where a host closes the state before they ran. Where
   JFL_CUTS is set every allocation fails once. */
#include "jfl.h"
#include "lua_test.h"

#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int luaopen_jfl_preload(lua_State *L);

/* What is done, by name: prepare() makes a session with calls that are due, act.NAME() is what
   memory fails in, and check() gives what is wrong afterwards, if anything is. A callback takes no
   memory, so each runs once, for the value or the failure. */
static const char script[] =
  "local flow = require 'jfl'\n"
  "local tp = flow.typing\n"
  "local path, x = os.tmpname(), flow.ndarray.ones({ 2 })\n"
  "os.remove(path)\n"
  "local n, runs, registered, callbacks, shown = 0, {}, {}, {}, 0\n"
  "local TASKS, n_tasks = 16, 0\n"
  "for i = 1, 32 do callbacks[i] = function() runs[i] = runs[i] + 1 end end\n"
  "local function show() shown = shown + 1 end\n"
  "local function define(name, returns, watched)\n"
  "  return flow.global_function { name = name, type = 'train', returns = returns,\n"
  "    inputs = { { 'x', tp.Numpy.Placeholder({ 2 }) } },\n"
  "    body = function(a)\n"
  "      local w = flow.get_variable('w', { shape = { 2 },\n"
  "        initializer = flow.ones_initializer() })\n"
  "      if watched then flow.watch(w, show) flow.watch_diff(w, show) end\n"
  "      local loss = a * w\n"
  "      flow.optimizer.SGD(0.5):minimize(loss)\n"
  "      return loss\n"
  "    end }\n"
  "end\n"
  "local later, now, future, watched\n"
  "local function call()\n"
  "  n = n + 1\n"
  "  later(x)(callbacks[n], callbacks[n])\n"
  "  registered[n] = true\n"
  "end\n"
  "local function later_on(handle)\n"
  "  n_tasks = n_tasks + 1\n"
  "  local i = TASKS + n_tasks\n"
  "  handle(callbacks[i], callbacks[i])\n"
  "  registered[i] = true\n"
  "end\n"
  "function prepare(how)\n"
  "  flow.clear_default_session()\n"
  "  watched = how ~= 'queued'\n"
  "  if not watched then require('jfl.core').set('inline_limit', 0) end\n"
  "  if how == 'a few' then flow.config.callback_seconds(1e-9) end\n"
  "  flow.config.on_warning(function() end)\n"
  "  for i = 1, 32 do runs[i], registered[i] = 0, nil end\n"
  "  n, n_tasks, shown = 0, 0, 0\n"
  "  later = define('later', tp.Callback(tp.Numpy), watched)\n"
  "  now, future = define('now', tp.Numpy, true), define('future')\n"
  "  flow.train.CheckPoint():init()\n"
  "  for i = 1, 3 do call() end\n"
  "end\n"
  "act = {\n"
  "  call = function() call() call() end, poll = flow.poll, sync = flow.sync,\n"
  "  now = function() now(x) end, get = function() future(x):get() end,\n"
  "  define = function() define('other', tp.Numpy, true)(x) end,\n"
  "  again = function() later = define('later', tp.Callback(tp.Numpy), watched) call() end,\n"
  "  save = function() flow.train.CheckPoint():save(path, { overwrite = true }) end,\n"
  "  load = function() flow.train.CheckPoint():load(path) end,\n"
  "  write = function()\n"
  "    later_on(flow.checkpoint.save(path, { async = true, overwrite = true }))\n"
  "    call()\n"
  "  end,\n"
  "  ask = function() later_on(flow.get_all_variables({ async = true })) end,\n"
  "  read = flow.get_all_variables, cancel = function() flow.cancel(later) end,\n"
  "  several = function()\n"
  "    later(x)(function() for _ = 1, 6 do call() end end)\n"
  "    flow.sync()\n"
  "  end,\n"
  "}\n"
  "prepare()\n"
  "act.save()\n"
  "local function wrong(name)\n"
  "  local calls = 0\n"
  "  for i = 1, #runs do\n"
  "    local ran = runs[i]\n"
  "    if registered[i] and i <= TASKS then calls = calls + 1 end\n"
  "    if ran > 1 or (registered[i] and ran == 0) then\n"
  "      return ('callback %d ran %d times'):format(i, ran)\n"
  "    end\n"
  "  end\n"
  "  if watched and shown < 2 * calls then return 'a handler was not called' end\n"
  "  local before = n\n"
  "  define('next', tp.Numpy)(x)\n"
  "  call() act.save() act.load() flow.sync()\n"
  "  if runs[before + 1] ~= 1 then return 'the next call is not delivered' end\n"
  "end\n"
  "function check(name)\n"
  "  collectgarbage()\n"
  "  for _ = 1, 20 do\n"
  "    local ok, err = pcall(flow.sync)\n"
  "    if ok then\n"
  "      local fine, what = pcall(wrong)\n"
  "      return what\n"
  "    end\n"
  "    if not tostring(err):find('not enough memory') then return err end\n"
  "  end\n"
  "  return 'sync fails without end'\n"
  "end\n"
  "function finish() os.remove(path .. '/model.safetensors') os.remove(path) end\n";

static const char *const actions[] = { "call", "poll", "sync", "now", "get", "define", "again",
                                       "save", "load", "write", "ask", "read", "cancel" };

static long until_failure = -1;      /* allocations before one fails; -1: none does */

static void *lua_memory(void *ud, void *p, size_t old, size_t size)
{
  (void)ud;
  if (size == 0) return free(p), NULL;
  if ((!p || size > old) && until_failure >= 0 && until_failure-- == 0) return NULL;
  return realloc(p, size);
}

static lua_State *open_state(const char *text)
{
  lua_State *L = lua_newstate(lua_memory, NULL);
  luaL_openlibs(L);
  luaopen_jfl_preload(L);
  lua_settop(L, 0);
  CHECK_MSG(!luaL_dostring(L, "jit.off()"), "%s", lua_tostring(L, -1));
  CHECK_MSG(!luaL_dostring(L, text), "%s", lua_tostring(L, -1));
  return L;
}

/* Calls a global function with a text, and leaves what it gives. */
static int call(lua_State *L, const char *name, const char *argument)
{
  lua_getglobal(L, name);
  lua_pushstring(L, argument);
  return lua_pcall(L, 1, 1, 0);
}

/* Does the action with that allocation failing; gives whether it came so far. */
static int fail_at(lua_State *L, const char *how, const char *action, long k)
{
  CHECK_MSG(!call(L, "prepare", how), "%s: prepare: %s", action, lua_tostring(L, -1));
  lua_getglobal(L, "act");
  lua_getfield(L, -1, action);
  until_failure = k;
  int status = lua_pcall(L, 0, 0, 0), came = until_failure < 0;
  until_failure = -1;
  CHECK_MSG(!status || strstr(lua_tostring(L, -1), "not enough memory"), "%s at %ld: %s", action, k,
            lua_tostring(L, -1));
  status = call(L, "check", action);
  CHECK_MSG(!status && lua_isnil(L, -1), "%s at %ld: %s", action, k, lua_tostring(L, -1));
  lua_settop(L, 0);
  return came;
}

/* how: whether runs are queued, or made at once, and whether each entry runs one callback alone. */
static void fail_everywhere(const char *how)
{
  const long most = getenv("JFL_CUTS") ? 1 : 9;
  long points = 0;
  lua_State *L = open_state(script);
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
    long k = 0;
    for (int came = 1; came; points += came) {
      came = fail_at(L, how, actions[i], k);
      k += k < 10 ? 1 : 1 + rand() % most;
    }
  }
  CHECK_MSG(points > 100, "%ld", points);
  call(L, "finish", NULL);
  lua_close(L);
}

static void every_callback_runs_once_wherever_memory_runs_out(void)
{
  fail_everywhere("at once");
  fail_everywhere("queued");
  fail_everywhere("a few");
}

/* Calls of a callback wait in the queue together, which has to grow. The state is a new one each
   time, as room that was made stays. */
static void memory_that_runs_out_while_the_queue_grows_loses_no_call(void)
{
  static const char *const how[] = { "at once", "queued" };
  for (int i = 0, came = 1; i < 2; i++, came = 1) {
    for (long k = 0; came; k++) {
      lua_State *L = open_state(script);
      came = fail_at(L, how[i], "several", k);
      call(L, "finish", NULL);
      lua_close(L);
    }
  }
}

/* A host's program that is closed with calls under way, whose callbacks call their job again, and
   with an object that calls it when it is collected at the very end. */
static const char pending[] =
  "local flow = require 'jfl'\n"
  "local tp = flow.typing\n"
  "local job = flow.global_function { name = 'job', returns = tp.Callback(tp.Numpy),\n"
  "  inputs = { { 'x', tp.Numpy.Placeholder({ 300, 300 }) } },\n"
  "  body = function(x) return flow.matmul(x, x) end }\n"
  "local x, runs = flow.ndarray.ones({ 300, 300 }), 0\n"
  "local function again() runs = runs + 1 job(x)(again, again) end\n"
  "last = newproxy(true)\n"
  "getmetatable(last).__gc = function() flow.sync() flow.poll() job(x)(again) end\n"
  "for _ = 1, 2 do job(x)(again) end\n";

static void a_state_that_is_closed_ends_in_silence(void)
{
  int out[2];
  char text[1024];
  CHECK(!pipe(out));
  pid_t child = fork();
  if (!child) {
    dup2(out[1], STDOUT_FILENO);
    dup2(out[1], STDERR_FILENO);
    alarm(300);
    lua_close(open_state(pending));
    exit(0);
  }
  close(out[1]);
  ssize_t n = read(out[0], text, sizeof text - 1);
  text[n > 0 ? n : 0] = '\0';
  close(out[0]);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_MSG(!*text, "%s", text);
  CHECK_MSG(status == 0, "status %d", status);
}

int main(void)
{
  RUN(a_state_that_is_closed_ends_in_silence);      /* first: it forks */
  RUN(every_callback_runs_once_wherever_memory_runs_out);
  RUN(memory_that_runs_out_while_the_queue_grows_loses_no_call);
  return test_done();
}
