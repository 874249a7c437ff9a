/* A program's memory runs out at every point of a script's life: each is a status, and what was
   there before still works. */
#include "jfl.h"
#include "lua_test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* How many more allocations succeed, and how many fail then. */
static long good = -1, bad;
static long taken, in_use;
static size_t most = SIZE_MAX;         /* bytes of a block; there is none that is larger */

static void *take(void *ud, size_t n)
{
  (void)ud;
  taken++;
  if (good == 0 && bad > 0) return bad--, NULL;
  if (good > 0) good--;
  if (n > most) return NULL;
  void *p = aligned_alloc(64, (n + 63) & ~(size_t)63);
  in_use += p != NULL;
  return p;
}

static void give(void *ud, void *p, size_t n)
{
  (void)ud;
  (void)n;
  in_use -= p != NULL;
  free(p);
}

static const char text[] =
  "local flow = require 'jfl'\n"
  "flow.global_function { name = 'double', returns = flow.typing.Numpy,\n"
  "  inputs = { { 'x', flow.typing.Numpy.Placeholder({ 2 }) } },\n"
  "  body = function(x) return x * 2 end }\n"
  "function word(w) return w .. w end\n";

static void done(void *ud, jfl_request *r)
{
  ++*(int *)ud;
  jfl_request_status(r);
}

/* Of what could not be told otherwise when a state was closed. */
static void hear(void *ud, const char *warning)
{
  ++*(int *)ud;
  CHECK_MSG(strstr(warning, "memory"), "%s", warning);
}

#define STEP(e) do { if (!code) code = (e); } while (0)

/* What a program does with a script; the first status that is not JFL_OK. */
static jfl_status life(void)
{
  jfl_script *s = NULL;
  jfl_script_job *job;
  jfl_array *x = NULL, *y = NULL;
  jfl_script_value word = { .kind = JFL_SCRIPT_TEXT, .text = "ho" }, out = { JFL_SCRIPT_NIL };
  int n = 0, calls = 0;
  jfl_status code = jfl_array_new(JFL_F32, &(jfl_shape){ 1, { 2 } }, &x);
  STEP(jfl_script_new(NULL, &s));
  STEP(jfl_script_run(s, text, strlen(text), "=text"));
  STEP(jfl_script_job_find(s, "double", &job));
  STEP(jfl_script_call(job, &x, 1, &y, 1));
  STEP(jfl_script_submit(job, &x, 1, done, &calls, NULL));
  STEP(jfl_script_sync(s));
  STEP(jfl_script_poll(s, 0, &n));
  STEP(jfl_script_invoke(s, "word", &word, 1, &out, 1));
  if (!code) CHECK(calls == 1 && !strcmp(out.text, "hoho"));
  jfl_script_value_clear(&out);
  jfl_array_unref(x);
  jfl_array_unref(y);
  jfl_script_free(s);
  return code;
}

/* How far the k-th allocations are apart that are tried: all of the first, fewer later. */
static void each_allocation_may_fail(void)
{
  CHECK_MSG(!life(), "%s", jfl_errmsg());
  taken = 0;
  CHECK(!life());
  const long all = taken, after = in_use;
  int tried = 0;
  for (long k = 0; k < all; k += 1 + k / 12, tried++) {
    good = k;
    bad = tried % 2 ? 1 : all;
    const jfl_status code = life();
    CHECK_MSG(!code || code == JFL_ENOMEM || strstr(jfl_errmsg(), "memory"), "%ld: %s", k,
              jfl_errmsg());
    good = -1;
    CHECK_MSG(in_use <= after + 8, "%ld: %ld blocks, not %ld", k, in_use, after);
  }
  CHECK_MSG(tried > 50, "%d", tried);
  CHECK_MSG(!life(), "%s", jfl_errmsg());
}

static const char training[] =
  "local flow = require 'jfl'\n"
  "flow.global_function { name = 'train', type = 'train', returns = flow.typing.Numpy,\n"
  "  inputs = { { 'x', flow.typing.Numpy.Placeholder({ 2, 2 }) } }, body = function(x)\n"
  "    local loss = flow.math.reduce_mean(flow.layers.dense(x, 2, { name = 'fc' }))\n"
  "    flow.optimizer.SGD(function() return 0.1 end):minimize(loss)\n"
  "    return loss\n"
  "  end }\n";

/* One whose learning rate a function gives, which is an argument besides those of C. */
static void each_allocation_of_a_training_call_may_fail(void)
{
  jfl_script *s = NULL;
  jfl_script_job *job = NULL;
  jfl_array *x = NULL, *y = NULL, *z = NULL;
  jfl_status code = jfl_array_new(JFL_F32, &(jfl_shape){ 2, { 2, 2 } }, &x);
  STEP(jfl_script_new(NULL, &s));
  STEP(jfl_script_run(s, training, strlen(training), "=text"));
  STEP(jfl_script_job_find(s, "train", &job));
  STEP(jfl_script_call(job, &x, 1, &y, 1));
  CHECK_MSG(!code, "%s", jfl_errmsg());
  taken = 0;
  STEP(jfl_script_call(job, &x, 1, &z, 1));
  const long all = taken;
  int failed = 0;
  for (long k = 0; k < all && !code; k++) {
    jfl_array_unref(y);
    y = NULL;
    good = k;
    bad = 1;
    const jfl_status got = jfl_script_call(job, &x, 1, &y, 1);
    good = -1;
    CHECK_MSG(!got || strstr(jfl_errmsg(), "memory"), "%ld: %s", k, jfl_errmsg());
    failed += got != JFL_OK;
  }
  CHECK_MSG(failed > 2, "%d of %ld", failed, all);
  jfl_array_unref(x);
  jfl_array_unref(y);
  jfl_array_unref(z);
  jfl_script_free(s);
}

/* Blocks that the program does not have are not taken from a script's own share. */
static void what_was_not_given_does_not_count(void)
{
  static const char asks[] =
    "local failed = 0\n"
    "for i = 1, 100 do if not pcall(string.rep, 'x', 8e6) then failed = failed + 1 end end\n"
    "assert(failed == 100, failed)";
  static const char goes_on[] = "assert(#string.rep('x', 8e6) == 8e6)";
  const jfl_script_options o = { .size = sizeof o, .memory = 64 << 20 };
  jfl_script *s = NULL;
  CHECK_MSG(!jfl_script_new(&o, &s), "%s", jfl_errmsg());
  most = 4 << 20;
  CHECK_MSG(!jfl_script_run(s, asks, strlen(asks), "=text"), "%s", jfl_errmsg());
  most = SIZE_MAX;
  CHECK_MSG(!jfl_script_run(s, goes_on, strlen(goes_on), "=text"), "%s", jfl_errmsg());
  jfl_script_free(s);
}

int main(void)
{
  if (jfl_set_allocator(&(jfl_allocator){ take, give, NULL })) return 1;
  int heard = 0;
  if (jfl_set_log(&(jfl_log){ hear, &heard })) return 1;
  RUN(what_was_not_given_does_not_count);
  RUN(each_allocation_may_fail);
  RUN(each_allocation_of_a_training_call_may_fail);
  return test_done();
}
