/* Hosts that open jfl, use it and close it many times over: memory, threads and file descriptors
   stay what they were. JFL_HOSTS=1: a thousand times, and else a tenth of that. */
#include "jfl.h"
#include "lua_test.h"
#include "models.h"

#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int luaopen_jfl_preload(lua_State *L);

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 };        /* which keeps memory that was given back, for a while */
#else
enum { SANITIZED = 0 };
#endif

/* What the process holds. */
typedef struct usage { long resident, threads, descriptors; } usage;

static long status_line(const char *name)
{
  char line[256];
  long value = -1;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, name, strlen(name))) value = atol(line + strlen(name));
  if (f) fclose(f);
  return value;
}

static usage used(void)
{
  usage u = { status_line("VmRSS:"), status_line("Threads:"), 0 };
  DIR *d = opendir("/proc/self/fd");
  while (d && readdir(d)) u.descriptors++;
  if (d) closedir(d);
  return u;
}

/* Threads that were asked to end are counted until the kernel has cleared them away: so they may
   become fewer. Only a test that fails waits for minutes. */
static int threads_are_at_most(long n)
{
  for (int i = 0; i < 30000; i++) {
    if (status_line("Threads:") <= n) return 1;
    nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
  }
  return 0;
}

/* After the first tenth the memory in use grows by less than 2 MB, which allocators may keep. */
static void repeat(int (*cycle)(void))
{
  const int n = SANITIZED ? 30 : getenv("JFL_HOSTS") ? 1000 : 100;
  usage before = { 0 };
  for (int i = 0; i < n; i++) {
    if (i == n / 10) before = used();
    if (!cycle()) return;
  }
  const usage after = used();
  CHECK_MSG(threads_are_at_most(before.threads), "%ld, then %ld", before.threads, after.threads);
  CHECK_MSG(after.descriptors == before.descriptors, "%ld, then %ld", before.descriptors,
            after.descriptors);
  CHECK_MSG(SANITIZED || after.resident < before.resident + 2048, "%ld kB, then %ld kB",
            before.resident, after.resident);
  printf("%d cycles: %ld kB, then %ld kB; %ld threads, %ld descriptors\n", n, before.resident,
         after.resident, after.threads, after.descriptors);
}

/* Defines a job, trains synchronously and not, and is closed with a run in flight. */
static const char text[] =
  "local flow = require 'jfl'\n"
  "local tp = flow.typing\n"
  "local function job(name, returns)\n"
  "  return flow.global_function { name = name, type = 'train', returns = returns,\n"
  "    inputs = { { 'x', tp.Numpy.Placeholder({ 16, 64 }) } },\n"
  "    body = function(x)\n"
  "      x = flow.layers.dense(x, 64, { activation = flow.math.tanh, name = 'one' })\n"
  "      local y = flow.math.reduce_mean(flow.layers.dense(x, 1, { name = 'two' }))\n"
  "      flow.optimizer.Adam(0.01):minimize(y)\n"
  "      return y\n"
  "    end }\n"
  "end\n"
  "local now, later = job('now', tp.Numpy), job('later', tp.Callback(tp.Numpy))\n"
  "local x, called = flow.ndarray.randn { 16, 64 }, 0\n"
  "assert(flow.fd() >= 0)\n"
  "now(x)\n"
  "later(x)(function() called = called + 1 end)\n"
  "flow.sync()\n"
  "assert(called == 1)\n"
  "later(x)(function() called = called + 1 end)\n";

static int cycle_state(void)
{
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaopen_jfl_preload(L);
  lua_settop(L, 0);
  const int failed = luaL_dostring(L, text);
  CHECK_MSG(!failed, "%s", lua_tostring(L, -1));
  lua_close(L);
  return !failed;
}

static void states_leave_nothing(void) { repeat(cycle_state); }

static int cycle_script(void)
{
  jfl_script *s;
  jfl_status status = jfl_script_new(NULL, &s);
  CHECK_MSG(!status, "%s", jfl_errmsg());
  if (status) return 0;
  status = jfl_script_run(s, text, strlen(text), "=cycle");
  CHECK_MSG(!status, "%s", jfl_errmsg());
  jfl_script_free(s);
  return !status;
}

static void scripts_leave_nothing(void) { repeat(cycle_script); }

/* A step that is waited for, and one that is in flight when the session is freed. */
static jfl_status use_session(jfl_session *s, jfl_array *const in[2])
{
  jfl_plan *p;
  jfl_array *loss;
  jfl_request *r;
  int fd;
  jfl_status status = model_plan(s, "train", model_linear, 64, 0.9, &p);
  if (!status) status = jfl_run(p, in, &loss);
  if (status) return status;
  jfl_array_unref(loss);
  status = jfl_session_fd(s, &fd);
  if (!status) status = jfl_submit(p, in, &r);
  if (status) return status;
  status = jfl_session_wait(s, r, -1);
  jfl_request_unref(r);
  if (!status) status = jfl_submit(p, in, &r);
  if (!status) jfl_request_unref(r);
  return status;
}

static int cycle_session(void)
{
  jfl_session *s;
  jfl_array *in[2];
  CHECK(!jfl_session_new(&s));
  CHECK(!model_inputs(64, in));
  const jfl_status status = use_session(s, in);
  CHECK_MSG(!status, "%s", jfl_errmsg());
  jfl_session_free(s);
  model_drop(in);
  return !status;
}

static void sessions_leave_nothing(void) { repeat(cycle_session); }

int main(void)
{
  RUN(states_leave_nothing);
  RUN(scripts_leave_nothing);
  RUN(sessions_leave_nothing);
  return test_done();
}
