/* Every allocation of a job's life fails once: each failure is a status, and nothing stays behind. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "counter.h"
#include "test.h"

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static long left, held;      /* allocations until one fails; bytes out */

static void *take(void *ud, size_t size)
{
  (void)ud;
  pthread_mutex_lock(&mu);
  void *p = left-- == 0 ? NULL : malloc(size);
  if (p) held += (long)size;
  pthread_mutex_unlock(&mu);
  return p;
}

static void give(void *ud, void *p, size_t size)
{
  (void)ud;
  pthread_mutex_lock(&mu);
  held -= (long)size;
  pthread_mutex_unlock(&mu);
  free(p);
}

static jfl_status run_once(jfl_plan *p, jfl_array *const *in)
{
  jfl_array *out[2];
  jfl_status s = jfl_run(p, in, out);
  if (!s) counter_drop(out);
  return s;
}

static jfl_status run_queued(jfl_session *s, jfl_plan *p, jfl_array *const *in)
{
  jfl_request *r;
  COUNTER_TRY(jfl_submit(p, in, &r));
  jfl_session_wait(s, r, -1);
  jfl_status st = jfl_request_status(r);
  jfl_request_unref(r);
  return st;
}

static jfl_status print_plan(jfl_plan *p)
{
  char *text;
  COUNTER_TRY(jfl_plan_text(p, &text));
  jfl_text_free(text);
  return JFL_OK;
}

static jfl_status read_variable(jfl_session *s)
{
  jfl_array *a;
  COUNTER_TRY(jfl_variable_get(s, "w", &a));
  jfl_array_unref(a);
  return JFL_OK;
}

static jfl_status eager(jfl_session *s, jfl_array *const *in)
{
  jfl_array *pair[] = { in[0], in[0] }, *out[JFL_MAXOUT];
  COUNTER_TRY(jfl_eager(s, jfl_op_find("add"), pair, 2, NULL, 0, out));
  jfl_array_unref(out[0]);
  return JFL_OK;
}

static const jfl_arg queue_all = { .name = "inline_limit", .kind = JFL_ARG_NUMBER };

static jfl_status use(jfl_session *s, jfl_array *const *in)
{
  jfl_plan *p;
  COUNTER_TRY(counter_plan(s, "counter", &p));
  COUNTER_TRY(run_once(p, in));
  COUNTER_TRY(run_queued(s, p, in));
  COUNTER_TRY(jfl_session_set(s, &queue_all));
  COUNTER_TRY(run_queued(s, p, in));
  COUNTER_TRY(print_plan(p));
  COUNTER_TRY(eager(s, in));
  return read_variable(s);
}

static jfl_status life(void)
{
  jfl_session *s;
  jfl_array *in[2];
  COUNTER_TRY(jfl_session_new(&s));
  jfl_status st = counter_inputs(0, in);
  if (!st) {
    st = use(s, in);
    counter_drop(in);
  }
  jfl_session_free(s);
  return st;
}

static void every_failure_is_a_status(void)
{
  enum { TOO_MANY = 5000 };
  int n = 0;
  for (; n < TOO_MANY; n++) {
    left = n;
    jfl_status s = life();
    CHECK_MSG(held == 0, "%ld bytes stay behind after failure %d", held, n);
    if (!s) break;
    CHECK_MSG(s == JFL_ENOMEM, "failure %d: %s: %s", n, jfl_status_name(s), jfl_errmsg());
  }
  CHECK_MSG(n > 30 && n < TOO_MANY, "it was done after %d allocations", n);
}

int main(void)
{
  jfl_set_allocator(&(jfl_allocator){ take, give, NULL });
  RUN(every_failure_is_a_status);
  return test_done();
}
