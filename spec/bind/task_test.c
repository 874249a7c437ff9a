/* src/bind/task.c: the order in which ends of saves and of calls are told, with a writer that is
   held by a hook, so that no clock decides. */
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jfl.h"
#include "lua_test.h"

int luaopen_jfl_preload(lua_State *L);

static atomic_int is_held;

static void hold(void *ud, const char *what)
{
  (void)ud;
  while (!strcmp(what, "writer") && atomic_load(&is_held)) usleep(1000);
}

static int l_hold(lua_State *L)
{
  atomic_store(&is_held, lua_toboolean(L, 1));
  return 0;
}

/* due(): whether the descriptor is readable. */
static int l_due(lua_State *L)
{
  struct pollfd p = { .fd = (int)lua_tointeger(L, 1), .events = POLLIN };
  lua_pushboolean(L, poll(&p, 1, 0) == 1);
  return 1;
}

/* Two saves that cannot be written, with calls before, between and behind them. */
static const char begin[] =
  "flow, tp, core = require 'jfl', require('jfl').typing, require 'jfl.core'\n"
  "function define(name, returns)\n"
  "  return flow.global_function { name = name, returns = returns, type = 'train',\n"
  "    inputs = { { 'x', tp.Numpy.Placeholder({ 1 }) } },\n"
  "    body = function(x)\n"
  "      local w = flow.get_variable('w', { shape = { 1 },\n"
  "        initializer = flow.zeros_initializer() })\n"
  "      flow.optimizer.SGD(1, { momentum = 0 }):minimize(-w * x)\n"
  "      return w * 1\n"
  "    end }\n"
  "end\n"
  "core.set('inline_limit', 0) flow.config.callback_seconds(0)\n"
  "later, now = define('later', tp.Callback(tp.Numpy)), define('now', tp.Numpy)\n"
  "now({ 1 })\n"
  "seen, paths = {}, { os.tmpname(), os.tmpname() }\n"
  "function note(what) return function() seen[#seen + 1] = what end end\n"
  "function told() return table.concat(seen, ' ') end\n"
  "function save(i) return flow.checkpoint.save(paths[i], { async = true }) end\n"
  "for _, path in ipairs(paths) do os.remove(path) end\n"
  "function settle() while core.pending() > 0 do core.wait() end end\n"
  "hold(true)\n"
  "function make()\n"
  "  later({ 1 })(note 'a')\n"
  "  save(1)(note 'first')\n"
  "  later({ 1 })(note 'b')\n"
  "  save(2)(note 'second')\n"
  "  later({ 1 })(note 'c')\n"
  "  settle()\n"
  "end\n"
  "function finish()\n"
  "  for _, path in ipairs(paths) do\n"
  "    os.remove(path .. '/model.safetensors') os.remove(path)\n"
  "  end\n"
  "end\n";

static void do_text(lua_State *L, const char *text)
{
  const int failed = luaL_dostring(L, text);
  CHECK_MSG(!failed, "%s", lua_tostring(L, -1));
  lua_settop(L, 0);
}

static lua_State *open_state(void)
{
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaopen_jfl_preload(L);
  lua_settop(L, 0);
  lua_register(L, "hold", l_hold);
  lua_register(L, "due", l_due);
  do_text(L, begin);
  return L;
}

static void close_state(lua_State *L)
{
  do_text(L, "hold(false) flow.sync() finish()");
  lua_close(L);
}

static void calls_are_told_while_files_are_written(void)
{
  lua_State *L = open_state();
  do_text(L, "make() assert(flow.poll() == 3 and told() == 'a b c', told())\n"
             "assert(flow.poll() == 0)\n"
             "later({ 1 })(note 'd') settle() flow.poll()\n"
             "assert(told() == 'a b c d', told())\n"
             "hold(false) flow.sync()\n"
             "assert(told() == 'a b c d first second', told())");
  close_state(L);
}

static void what_is_told_on_the_way_passes_saves_too(void)
{
  lua_State *L = open_state();
  do_text(L, "make() flow.config.callback_seconds(3600)\n"
             "now({ 1 }) assert(told() == 'a b c', told())\n"
             "later({ 1 })(note 'd') settle()\n"
             "flow.load_variables { w = { 7 } }\n"
             "assert(told() == 'a b c d', told())\n"
             "assert(flow.get_all_variables { async = true }:wait().w[1] == 7)\n"
             "assert(told() == 'a b c d', told())");
  close_state(L);
}

static void the_descriptor_tells_of_calls_behind_saves(void)
{
  lua_State *L = open_state();
  do_text(L, "fd = flow.fd()\n"
             "save(1)(note 'first') settle() flow.poll() assert(not due(fd))\n"
             "later({ 1 })(note 'a') settle() assert(due(fd))\n"
             "assert(flow.fd() == fd and due(fd))\n"
             "flow.poll() assert(told() == 'a' and not due(fd), told())\n"
             "hold(false) flow.sync() assert(told() == 'a first' and not due(fd), told())");
  close_state(L);
}

static void sync_waits_and_keeps_the_order(void)
{
  lua_State *L = open_state();
  do_text(L, "make() hold(false) flow.sync()\n"
             "assert(told() == 'a first b second c', told())");
  close_state(L);
}

static void a_handle_says_whether_it_is_done(void)
{
  lua_State *L = open_state();
  do_text(L, "local h = save(1) settle() assert(not h:done() and not h.busy)\n"
             "hold(false) h:wait() assert(h:done())\n"
             "assert(flow.checkpoint.get(paths[1]).w[1] == 1)");
  close_state(L);
}

static void files_are_read_only_when_they_are_written(void)
{
  lua_State *L = open_state();
  do_text(L, "save(1) later({ 1 }) settle() hold(false)\n"
             "assert(flow.checkpoint.get(paths[1]).w[1] == 1)\n"
             "save(1)(note 'saved', note 'refused') flow.sync()\n"
             "assert(told() == 'refused', told())");
  close_state(L);
}

static void a_full_queue_waits_or_says_busy(void)
{
  lua_State *L = open_state();
  do_text(L, "flow.config.when_full 'busy' flow.config.max_inflight(1)\n"
             "local h, more = save(1), save(2)\n"
             "assert(not h.busy and more.busy and more:done())\n"
             "assert(not pcall(more.wait, more))\n"
             "hold(false) h:wait() flow.config.when_full 'wait'\n"
             "local all = {}\n"
             "for i = 1, 4 do all[i] = flow.checkpoint.save(paths[2],\n"
             "  { async = true, overwrite = true }) end\n"
             "assert(all[3]:done()) all[4]:wait()");
  close_state(L);
}

static void the_end_of_a_program_waits_for_files(void)
{
  lua_State *L = open_state();
  do_text(L, "save(1)(note 'first') hold(false) path = paths[1]");
  lua_getglobal(L, "path");
  char *path = strdup(lua_tostring(L, -1));
  lua_close(L);
  jfl_checkpoint *c;
  CHECK_MSG(!jfl_checkpoint_open(path, &c), "%s", jfl_errmsg());
  jfl_checkpoint_close(c);
  CHECK(!jfl_checkpoint_remove(path));
  free(path);
}

int main(void)
{
  CHECK(!jfl_set_thread_hooks(&(jfl_thread_hooks){ .start = hold }));
  RUN(calls_are_told_while_files_are_written);
  RUN(what_is_told_on_the_way_passes_saves_too);
  RUN(the_descriptor_tells_of_calls_behind_saves);
  RUN(sync_waits_and_keeps_the_order);
  RUN(a_handle_says_whether_it_is_done);
  RUN(files_are_read_only_when_they_are_written);
  RUN(a_full_queue_waits_or_says_busy);
  RUN(the_end_of_a_program_waits_for_files);
  return test_done();
}
