/* Synchronous and asynchronous runs through the public API: order, limits, failures, forks. */
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counter.h"
#include "test.h"

static jfl_session *session;
static jfl_plan *plan;
static jfl_array *good[2], *bad[2];

static void set(const char *name, double v)
{
  jfl_arg a = { .name = name, .kind = JFL_ARG_NUMBER, .number = v };
  CHECK(!jfl_session_set(session, &a));
}

static void open_session(void)
{
  CHECK(!jfl_session_new(&session));
  CHECK_MSG(!counter_plan(session, "counter", &plan), "%s", jfl_errmsg());
  CHECK(!counter_inputs(0, good));
  CHECK(!counter_inputs(7, bad));
  set("inline_limit", 0);
}

static void close_session(void)
{
  counter_drop(good);
  counter_drop(bad);
  jfl_session_free(session);
}

static double value(const jfl_array *a) { return *(const double *)jfl_array_data(a); }

static double run(void)
{
  jfl_array *out[2];
  if (jfl_run(plan, good, out)) return -1;
  double v = value(out[0]);
  counter_drop(out);
  return v;
}

static double wait_for(jfl_request *r)
{
  jfl_session_wait(session, r, -1);
  CHECK(jfl_request_done(r));
  double v = jfl_request_status(r) ? -1 : value(jfl_request_output(r, 0));
  jfl_request_unref(r);
  return v;
}

/* ---- a worker that is held ---- */

static atomic_int is_held;

static void hold(void *ud, const char *what)
{
  (void)ud;
  while (!strcmp(what, "worker") && atomic_load(&is_held)) usleep(1000);
}

/* The next worker begins nothing until it is let go: what is submitted meanwhile waits. */
static void hold_worker(void) { atomic_store(&is_held, 1); }
static void let_go(void) { atomic_store(&is_held, 0); }

/* ---- runs ---- */

static void runs_are_in_call_order(void)
{
  enum { N = 50 };
  jfl_request *r[N];
  open_session();
  set("max_inflight", N);
  for (int i = 0; i < N; i++) CHECK(!jfl_submit(plan, good, &r[i]));
  CHECK_MSG(run() == N, "a synchronous call waits for those queued before it");
  for (int i = 0; i < N; i++) CHECK(wait_for(r[i]) == i);
  close_session();
}

static void inputs_are_copied_when_submitted(void)
{
  jfl_request *r;
  open_session();
  CHECK(!jfl_submit(plan, good, &r));
  *(double *)jfl_array_data(good[0]) = 100;
  wait_for(r);
  *(double *)jfl_array_data(good[0]) = 1;
  CHECK_MSG(run() == 1, "the queued run added 1, not 100");
  close_session();
}

/* Asks for an end on the call that counts *left down to 0. */
static int is_last(void *left) { return --*(int *)left == 0; }

/* The counter tells whether a run happened: w grows by 1 in each whole run. */
static void a_stopped_run_happens_whole_or_not_at_all(void)
{
  int stopped = 0, done = 0;
  open_session();
  for (int n = 1; n < 20; n++) {
    int left = n;
    jfl_session_stop_when(session, is_last, &left);
    double v = run();
    CHECK_MSG(v == -1 || v == done, "%g after %d runs", v, done);
    if (v < 0) stopped++;
    else done++;
  }
  CHECK_MSG(stopped > 0 && done > 0, "%d stopped, %d done", stopped, done);
  jfl_session_stop_when(session, NULL, NULL);
  CHECK(run() == done);
  close_session();
}

static void stopping_does_not_concern_queued_runs(void)
{
  jfl_request *r;
  int left = 1;
  open_session();
  jfl_session_stop_when(session, is_last, &left);
  CHECK(!jfl_submit(plan, good, &r));
  CHECK(wait_for(r) == 0);
  CHECK(left == 1);
  close_session();
}

static void a_full_queue_says_so(void)
{
  jfl_request *r, *more;
  open_session();
  set("max_inflight", 1);
  hold_worker();
  CHECK(!jfl_submit(plan, good, &r));
  CHECK(jfl_submit(plan, good, &more) == JFL_EFULL);
  let_go();
  CHECK(wait_for(r) == 0);
  CHECK(!jfl_submit(plan, good, &r));
  CHECK(wait_for(r) == 1);
  close_session();
}

/* Whether this thread's error says where it happened, in its text and in its parts. */
static int says_where(void)
{
  const char *job = jfl_error_part(JFL_ERROR_JOB), *node = jfl_error_part(JFL_ERROR_NODE);
  const char *op = jfl_error_part(JFL_ERROR_OP), *text = jfl_error_part(JFL_ERROR_TEXT);
  return jfl_error_code() == JFL_EDATA && job && node && op && !strcmp(job, "counter") &&
         !strncmp(node, op, strlen(op)) && strstr(text, "got 7");
}

static void a_failed_run_changes_no_variable(void)
{
  jfl_array *out[2];
  jfl_request *r;
  open_session();
  CHECK(run() == 0);
  CHECK(jfl_run(plan, bad, out) == JFL_EDATA);
  CHECK_MSG(says_where() && strstr(jfl_errmsg(), ": label at position"), "%s", jfl_errmsg());
  CHECK(run() == 1);
  CHECK(!jfl_submit(plan, bad, &r));
  jfl_session_wait(session, r, -1);
  CHECK(jfl_request_status(r) == JFL_EDATA);
  CHECK_MSG(says_where() && strstr(jfl_errmsg(), ": label at position"), "%s", jfl_errmsg());
  CHECK(jfl_request_output(r, 0) == NULL);
  jfl_request_unref(r);
  CHECK(run() == 2);
  close_session();
}

static void a_finished_run_makes_the_fd_readable(void)
{
  jfl_request *r;
  int fd;
  open_session();
  CHECK(!jfl_session_fd(session, &fd));
  struct pollfd p = { .fd = fd, .events = POLLIN };
  CHECK(poll(&p, 1, 0) == 0);
  CHECK(!jfl_submit(plan, good, &r));
  CHECK(poll(&p, 1, 300000) == 1);
  wait_for(r);
  close_session();
}

static void closing_with_runs_queued_fails_them(void)
{
  enum { N = 20 };
  jfl_request *r[N];
  open_session();
  set("max_inflight", N);
  for (int i = 0; i < N; i++) CHECK(!jfl_submit(plan, good, &r[i]));
  close_session();
  for (int i = 0; i < N; i++) {
    CHECK(jfl_request_done(r[i]));
    if (jfl_request_status(r[i])) CHECK(strstr(jfl_errmsg(), "closed") != NULL);
    jfl_request_unref(r[i]);
  }
}

/* Of twenty runs that wait every other one is taken back, from the last. Those fail at once and
   change nothing; the others run, in order. A device may have been sent the first ones already. */
static void a_run_that_has_not_begun_can_be_taken_back(void)
{
  enum { N = 20 };
  jfl_request *r[N];
  int back[N] = { 0 }, n = 0, next = 0, again;
  open_session();
  set("max_inflight", N);
  hold_worker();
  for (int i = 0; i < N; i++) CHECK(!jfl_submit(plan, good, &r[i]));
  for (int i = N - 1; i >= 0; i -= 2) {
    CHECK(!jfl_request_cancel(r[i], &back[i]));
    if (!back[i]) continue;
    CHECK(jfl_request_done(r[i]) && !jfl_request_cancel(r[i], &again) && !again);
    CHECK(jfl_request_status(r[i]) == JFL_ESTATE);
    CHECK(strstr(jfl_errmsg(), "counter: the call was cancelled"));
  }
  let_go();
  for (int i = 0; i < N; n += back[i++]) {
    double v = wait_for(r[i]);
    CHECK_MSG(v == (back[i] ? -1 : next), "run %d gave %g, next %d", i, v, next);
    next += !back[i];
  }
  CHECK_MSG(getenv("JFL_DEVICE") ? n > 0 : n == N / 2, "%d were taken back", n);
  CHECK(run() == next);
  close_session();
}

/* A plan is freed behind the runs in flight, and the memory for temporaries grows. */
static void plans_come_and_go_while_others_run(void)
{
  enum { N = 20 };
  jfl_request *r[2 * N];
  jfl_plan *other, *third;
  open_session();
  set("max_inflight", N);
  CHECK_MSG(!counter_plan(session, "other", &other), "%s", jfl_errmsg());
  for (int i = 0; i < 2 * N; i++) CHECK(!jfl_submit(i % 2 ? other : plan, good, &r[i]));
  CHECK_MSG(!counter_plan(session, "third", &third), "%s", jfl_errmsg());
  jfl_plan_free(other);
  for (int i = 0; i < 2 * N; i++) CHECK(wait_for(r[i]) == i);
  for (int i = 0; i < N; i++) CHECK(!jfl_submit(plan, good, &r[i]));
  jfl_plan_free(third);
  for (int i = 0; i < N; i++) CHECK(wait_for(r[i]) == 2 * N + i);
  close_session();
}

static void a_small_plan_runs_when_it_is_submitted(void)
{
  jfl_request *r;
  int fd;
  open_session();
  CHECK(!jfl_session_fd(session, &fd));
  set("inline_limit", 1e6);
  CHECK(!jfl_submit(plan, good, &r));
  CHECK(jfl_request_done(r));
  struct pollfd p = { .fd = fd, .events = POLLIN };
  CHECK(poll(&p, 1, 0) == 1);
  CHECK(wait_for(r) == 0);
  CHECK(!jfl_submit(plan, bad, &r));
  CHECK(jfl_request_done(r) && jfl_request_status(r) == JFL_EDATA);
  jfl_request_unref(r);
  CHECK(run() == 1);
  close_session();
}

static void a_small_plan_may_run_without_a_request(void)
{
  jfl_array *out[2];
  jfl_request *r;
  int ran = 7;
  open_session();
  CHECK(!jfl_plan_is_small(plan));
  CHECK(!jfl_run_small(plan, good, out, &ran) && !ran);
  CHECK(!jfl_submit(plan, good, &r));
  set("inline_limit", 1e6);
  CHECK(jfl_plan_is_small(plan));
  CHECK(wait_for(r) == 0);
  CHECK(!jfl_run_small(plan, good, out, &ran) && ran);
  CHECK(value(out[0]) == 1);
  counter_drop(out);
  CHECK(jfl_run_small(plan, bad, out, &ran) == JFL_EDATA && ran);
  jfl_array *swapped[] = { bad[1], bad[0] };
  CHECK(jfl_run_small(plan, swapped, out, &ran) == JFL_ESHAPE && !ran);
  CHECK(run() == 2);
  close_session();
}

static void waiting_with_a_limit_returns(void)
{
  open_session();
  jfl_session_wait(session, NULL, 0.01);
  jfl_session_wait(session, NULL, -1e300);
  CHECK(jfl_session_pending(session) == 0);
  close_session();
}

/* Whether a child that runs f exits with 0. */
static int child_ends_well(int (*f)(void))
{
  pid_t pid = fork();
  if (pid == 0) {
    alarm(300);
    _exit(f());
  }
  int status = 1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A worker that sends runs to a device, and takes what has ended, has each of them in its hands for
   a moment; what a child finds of them is in one place or another. */
static jfl_request *sent[6];
enum { N_SENT = sizeof sent / sizeof *sent };

static int all_are_lost(void)
{
  for (int i = 0; i < N_SENT; i++) {
    jfl_session_wait(session, sent[i], -1);
    if (!jfl_request_done(sent[i])) return 1 + i;
  }
  return 0;
}

static void a_fork_beside_a_worker_that_sends_loses_no_run_from_sight(void)
{
  const char *device = getenv("JFL_DEVICE");
  if (!device) setenv("JFL_DEVICE", "sim", 1);
  setenv("JFL_SIM_DELAY", "0", 1);
  open_session();
  if (!device) unsetenv("JFL_DEVICE");
  set("max_inflight", N_SENT);
  CHECK(run() == 0);
  for (int round = 0; round < 300; round++) {
    for (int i = 0; i < N_SENT; i++) CHECK(!jfl_submit(plan, good, &sent[i]));
    usleep((unsigned)round % 40);
    CHECK(child_ends_well(all_are_lost));
    for (int i = 0; i < N_SENT; i++) CHECK(wait_for(sent[i]) == 1 + N_SENT * round + i);
  }
  unsetenv("JFL_SIM_DELAY");
  close_session();
}

/* The parent still finds what the child has taken note of. */
static int child_fd;

static int wakes_alone(void)
{
  struct pollfd p = { .fd = child_fd, .events = POLLIN };
  jfl_session_due(session, 0);
  return poll(&p, 1, 0) ? 1 : 0;
}

static void a_fork_has_a_signal_of_its_own(void)
{
  jfl_request *r;
  open_session();
  CHECK(!jfl_session_fd(session, &child_fd));
  struct pollfd p = { .fd = child_fd, .events = POLLIN };
  CHECK(!jfl_submit(plan, good, &r));
  CHECK(poll(&p, 1, 300000) == 1);
  CHECK(child_ends_well(wakes_alone));
  CHECK(poll(&p, 1, 0) == 1);
  wait_for(r);
  close_session();
}

/* A forked child cannot use a device that works with threads of its own. */
static int device_is_gone(void)
{
  return getenv("JFL_DEVICE") && run() < 0 && strstr(jfl_errmsg(), "forked");
}

static int run_in_child(void)
{
  jfl_request *r;
  if (device_is_gone()) return 0;
  if (run() != 1) return 1;
  if (jfl_submit(plan, good, &r)) return 2;
  return wait_for(r) == 2 ? 0 : 3;
}

static jfl_request *in_flight;

static int wait_in_child(void)
{
  jfl_session_wait(session, in_flight, -1);
  if (!jfl_request_done(in_flight)) return 1;
  if (jfl_request_status(in_flight) && !strstr(jfl_errmsg(), "forked")) return 2;
  return device_is_gone() || run() >= 0 ? 0 : 3;
}

static void a_fork_in_the_midst_of_runs_loses_them_only_in_the_child(void)
{
  open_session();
  for (int i = 0; i < 40; i++) {
    CHECK(!jfl_submit(plan, good, &in_flight));
    CHECK(child_ends_well(wait_in_child));
    CHECK(wait_for(in_flight) == i);
  }
  close_session();
}

static void a_forked_child_goes_on_alone(void)
{
  jfl_request *r;
  open_session();
  CHECK(!jfl_submit(plan, good, &r));
  wait_for(r);
  CHECK(child_ends_well(run_in_child));
  CHECK_MSG(run() == 1, "what the child did is not seen here");
  close_session();
}

int main(void)
{
  CHECK(!jfl_set_thread_hooks(&(jfl_thread_hooks){ .start = hold }));
  RUN(runs_are_in_call_order);
  RUN(inputs_are_copied_when_submitted);
  RUN(a_stopped_run_happens_whole_or_not_at_all);
  RUN(stopping_does_not_concern_queued_runs);
  RUN(a_full_queue_says_so);
  RUN(a_failed_run_changes_no_variable);
  RUN(a_finished_run_makes_the_fd_readable);
  RUN(closing_with_runs_queued_fails_them);
  RUN(a_run_that_has_not_begun_can_be_taken_back);
  RUN(plans_come_and_go_while_others_run);
  RUN(a_small_plan_runs_when_it_is_submitted);
  RUN(a_small_plan_may_run_without_a_request);
  RUN(waiting_with_a_limit_returns);
  RUN(a_fork_in_the_midst_of_runs_loses_them_only_in_the_child);
  RUN(a_fork_beside_a_worker_that_sends_loses_no_run_from_sight);
  RUN(a_fork_has_a_signal_of_its_own);
  RUN(a_forked_child_goes_on_alone);
  return test_done();
}
