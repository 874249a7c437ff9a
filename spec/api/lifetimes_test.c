/* What becomes of objects when those that they were made with go first, in whatever order, and of
   one that several threads free. */
#include "counter.h"
#include "lua_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MUST(e) do { if (e) { fprintf(stderr, "%s\n", jfl_errmsg()); abort(); } } while (0)

/* ---- allocators ---- */

enum { MOST_BLOCKS = 1 << 16 };

/* One that gives back no memory before the test's end, so that what was freed can be looked at, and
   counts how often each block is freed; or, if it is `eager`, one that hands out at once what was
   freed last. */
static struct { void *p; size_t size; int freed; } block[MOST_BLOCKS];
static int n_block, eager, twice;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static void *take(void *ud, size_t size)
{
  (void)ud;
  pthread_mutex_lock(&mu);
  int i = n_block;
  for (int k = n_block; eager && k--;)
    if (block[k].freed && block[k].size == size) i = k;
  if (i == n_block) {
    if (i == MOST_BLOCKS) abort();
    block[i].p = malloc(block[i].size = size);
    n_block++;
  }
  block[i].freed = 0;
  pthread_mutex_unlock(&mu);
  return block[i].p;
}

static void give(void *ud, void *p, size_t size)
{
  (void)ud, (void)size;
  pthread_mutex_lock(&mu);
  for (int i = n_block; i--;)
    if (block[i].p == p) twice += block[i].freed++ > 0;
  pthread_mutex_unlock(&mu);
}

static void keep_memory(int at_once)
{
  eager = at_once;
  twice = 0;
  MUST(jfl_set_allocator(&(jfl_allocator){ take, give, NULL }));
}

static void drop_memory(void)
{
  MUST(jfl_set_allocator(NULL));
  while (n_block) free(block[--n_block].p);
}

/* ---- sessions that go first ---- */

static jfl_session *session_with(int cpu_devices)
{
  const jfl_arg devices = { .name = "cpu_devices", .number = cpu_devices };
  jfl_session *s;
  MUST(jfl_session_new(&s));
  MUST(jfl_session_set(s, &devices));
  return s;
}

/* Places are numbers in a session, which mean nothing in another that got its memory. */
static void a_graph_knows_its_session_from_the_next(void)
{
  const jfl_shape shape = { 1, { 4 } };
  jfl_graph *g;
  jfl_value *x, *y;
  jfl_members m;
  jfl_job *j;
  jfl_plan *p;
  keep_memory(1);
  jfl_session *first = session_with(4);
  MUST(jfl_graph_new("job", JFL_PREDICT, &g));
  CHECK_MSG(!jfl_graph_place(g, first, "cpu:1-2"), "%s", jfl_errmsg());
  MUST(jfl_graph_input(g, "x", JFL_F32, &shape, &x));
  MUST(jfl_graph_op(g, jfl_op_find("relu"), &x, 1, NULL, 0, NULL, &y));
  MUST(jfl_graph_output(g, y));
  jfl_session_free(first);
  jfl_session *next = session_with(1);
  CHECK_MSG(next == first, "the allocator did not give it the same memory");
  CHECK(jfl_graph_members(g, next, &m) == JFL_EINVAL);
  CHECK(jfl_graph_place(g, next, NULL) == JFL_EINVAL);
  CHECK(!jfl_job_new(next, "job", JFL_PREDICT, &j) && jfl_job_compile(j, g, &p) == JFL_EINVAL);
  CHECK(jfl_session_define(next, g, &p) != JFL_OK);
  jfl_session_free(next);
  drop_memory();
}

static void a_request_outlives_its_session(void)
{
  jfl_session *s = session_with(1);
  const jfl_arg queued = { .name = "inline_limit" };
  jfl_array *in[2];
  jfl_request *r[2];
  jfl_plan *p;
  int cancelled = 7;
  MUST(counter_plan(s, "job", &p));
  MUST(counter_inputs(0, in));
  MUST(jfl_session_set(s, &queued));
  for (int i = 0; i < 2; i++) MUST(jfl_submit(p, in, &r[i]));
  jfl_session_free(s);
  for (int i = 0; i < 2; i++) {
    const jfl_status st = jfl_request_status(r[i]);
    CHECK(jfl_request_done(r[i]) && (st == JFL_OK || st == JFL_ESTATE));
    CHECK((jfl_request_output(r[i], 0) != NULL) == (st == JFL_OK));
    CHECK(!jfl_request_cancel(r[i], &cancelled) && cancelled == 0);
    jfl_request_unref(r[i]);
  }
  counter_drop(in);
}

int main(void)
{
  RUN(a_graph_knows_its_session_from_the_next);
  RUN(a_request_outlives_its_session);
  return test_done();
}
