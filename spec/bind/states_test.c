/* Several threads of a host run jobs side by side, each with a Lua state and a session of its
   own. */
#include "jfl.h"
#include "lua_test.h"

#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>

#include <pthread.h>
#include <string.h>

int luaopen_jfl_preload(lua_State *L);

enum { STATES = 4, ROUNDS = 3 };

/* Trains from a seed, with callbacks, and returns the sum of the weights. */
static const char script[] =
  "local flow = require 'jfl'\n"
  "local tp = flow.typing\n"
  "flow.random.seed(7)\n"
  "local job = flow.global_function {\n"
  "  name = 'job', type = 'train', returns = tp.Callback(tp.Numpy),\n"
  "  inputs = { { 'x', tp.Numpy.Placeholder({ 64, 128 }) } },\n"
  "  body = function(x)\n"
  "    local h = flow.layers.dense(x, 128, { activation = flow.math.tanh, name = 'one' })\n"
  "    local y = flow.layers.dense(flow.nn.dropout(h, 0.5), 1, { name = 'two' })\n"
  "    flow.optimizer.SGD(0.01, { momentum = 0.9 }):minimize(y)\n"
  "    return y\n"
  "  end,\n"
  "}\n"
  "local x, called = flow.ndarray.randn { 64, 128 }, 0\n"
  "for _ = 1, 100 do\n"
  "  job(x)(function(y) called = called + 1 end)\n"
  "  x = x * 0.99\n"
  "  if called == 30 then pcall(job, 'wrong') end\n"
  "end\n"
  "flow.sync()\n"
  "assert(called == 100)\n"
  "local sum = 0\n"
  "for _, v in pairs(flow.get_all_variables()) do sum = sum + v:astype('float64'):sum() end\n"
  "return sum\n";

typedef struct outcome { double sum; char message[256]; } outcome;

static void *run(void *ctx)
{
  outcome *o = ctx;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaopen_jfl_preload(L);
  lua_settop(L, 0);
  if (luaL_dostring(L, script)) {
    strncpy(o->message, lua_tostring(L, -1), sizeof o->message - 1);
  } else {
    o->sum = lua_tonumber(L, -1);
  }
  lua_close(L);
  return NULL;
}

static void states_do_not_disturb_each_other(void)
{
  outcome alone = { 0 };
  run(&alone);
  CHECK_MSG(!*alone.message, "%s", alone.message);
  for (int round = 0; round < ROUNDS; round++) {
    pthread_t thread[STATES];
    outcome out[STATES] = { 0 };
    for (int i = 0; i < STATES; i++) pthread_create(&thread[i], NULL, run, &out[i]);
    for (int i = 0; i < STATES; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < STATES; i++) {
      CHECK_MSG(!*out[i].message, "%s", out[i].message);
      CHECK_MSG(out[i].sum == alone.sum, "%.17g, alone %.17g", out[i].sum, alone.sum);
    }
  }
}

int main(void)
{
  RUN(states_do_not_disturb_each_other);
  return test_done();
}
