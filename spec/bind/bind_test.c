/* src/bind: whenever a Lua state runs out of memory, nothing leaks and nothing breaks. */
#include "jfl.h"
#include "lua_test.h"

#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

int luaopen_jfl_core(lua_State *L);

/* A tour of the module. It collects no garbage, so that all runs allocate alike. */
static const char tour[] =
  "collectgarbage('stop')\n"
  "local c = require 'jfl.core'\n"
  "local a, h = c.from_table({{1, 2}, {3, 4}}, 'float32'), c.from_table({1, 2}, 'float16')\n"
  "a[2] = {5, 6} a[1] = 3 a[2] = h\n"
  "local sum = c.op('add')(a, 1)\n"
  "c.op('softmax')(a, {axis = 0, name = 'x'}) c.op('concat')({a, sum}, 0)\n"
  "local g = c.graph('job', 'train')\n"
  "c.trace(g)\n"
  "local x = c.input(g, 'x', 'float32', {2})\n"
  "local w = c.variable(g, {name = 'w', dtype = 'float32', shape = {2}, init = 'normal', b = 1})\n"
  "local y = c.op('multiply')(c.op('add')(x, 2), w)\n"
  "c.gradients(g, y, nil, {x, w})\n"
  "c.minimize(g, {losses = {y}, optimizer = 'SGD', options = {momentum = 0.5},\n"
  "  schedule = 'piecewise_constant_schedule',\n"
  "  schedule_options = {boundaries = {1, 2}, values = {1, 2, 3}}})\n"
  "c.output(g, y)\n"
  "c.trace(nil)\n"
  "local text, plan = c.graph_text(g), c.compile(c.job('job', 'train'), g)\n"
  "text = c.plan_text(plan)\n"
  "c.run(plan, {1, 2})\n"
  "local request = c.call(plan, {1, 2})\n"
  "c.wait(request)\n"
  "c.value(request)\n"
  "c.variables() c.variable_get('w') c.variable_set('w', {1, 2}) c.ops()\n"
  "c.to_table(a) c.bytes(a) c.cast(a, 'float64') c.reshape(a, {4}) c.rows(a, 0, 1) c.copy(a)\n"
  "pcall(c.fail, '%s', 'x')\n"
  "c.call(plan, {1, 2})\n"
  "c.plan_free(plan)\n";

/* Bytes that the library holds; the worker thread allocates too. */
static atomic_long held;

static void *take(void *ud, size_t size)
{
  (void)ud;
  void *p = aligned_alloc(16, (size + 15) / 16 * 16);
  if (p) atomic_fetch_add(&held, 1);
  return p;
}

static void give(void *ud, void *p, size_t size)
{
  (void)ud, (void)size;
  if (p) atomic_fetch_sub(&held, 1);
  free(p);
}

static long left = -1;      /* how many allocations Lua may make before they fail; -1: any number */

static void *lua_memory(void *ud, void *p, size_t old, size_t size)
{
  (void)ud;
  if (size == 0) return free(p), NULL;
  if ((!p || size > old) && left == 0) return NULL;
  if ((!p || size > old) && left > 0) left--;
  return realloc(p, size);
}

/* Takes the tour with that many allocations; returns the result of lua_pcall, or -1 for an error
   before that. */
static int tour_with(long allocations)
{
  left = -1;
  lua_State *L = lua_newstate(lua_memory, NULL);
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, luaopen_jfl_core);
  lua_setfield(L, -2, "jfl.core");
  int status = luaL_loadbuffer(L, tour, strlen(tour), "=tour");
  left = allocations;
  if (!status) status = lua_pcall(L, 0, 0, 0);
  left = -1;
  if (status && !strstr(lua_tostring(L, -1), "not enough memory")) {
    fprintf(stderr, "%ld: %s\n", allocations, lua_tostring(L, -1));
    status = -1;
  }
  lua_close(L);
  return status;
}

static void loses_nothing_at_the_end(void)
{
  CHECK(tour_with(-1) == 0);      /* from here on, what is kept for the process exists */
  long before = atomic_load(&held);
  CHECK(tour_with(-1) == 0);
  CHECK(atomic_load(&held) == before);
}

static void survives_every_failure(void)
{
  long before = atomic_load(&held), n = 0, lost = 0, other = 0;
  for (int status = 1; status != 0; n += 3) {
    status = tour_with(n);
    other += status == -1;
    lost += atomic_load(&held) != before;
  }
  CHECK(n > 300);
  CHECK(lost == 0);
  CHECK(other == 0);
}

int main(void)
{
  jfl_allocator a = { take, give, NULL };
  jfl_set_allocator(&a);
  RUN(loses_nothing_at_the_end);
  RUN(survives_every_failure);
  return test_done();
}
