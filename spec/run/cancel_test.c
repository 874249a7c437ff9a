/* The queue of runs while nothing of it runs: filled to its limit and beyond, taken back from its
   beginning, its middle and its end in every combination, filled again, and run. */
#include <string.h>

#include "counter.h"
#include "run/run.h"
#include "test.h"

enum { MOST = 5 };

static jfl_session *session;
static jfl_plan *plan;
static jfl_array *in[2];
static int counted;                    /* how many runs there were */

static void open_session(int limit)
{
  const jfl_arg set[] = { { .name = "inline_limit", .kind = JFL_ARG_NUMBER, .number = 0 },
                          { .name = "max_inflight", .kind = JFL_ARG_NUMBER, .number = limit } };
  CHECK(!jfl_session_new(&session));
  CHECK_MSG(!counter_plan(session, "counter", &plan), "%s", jfl_errmsg());
  CHECK(!counter_inputs(0, in));
  for (int i = 0; i < 2; i++) CHECK(!jfl_session_set(session, &set[i]));
  counted = 0;
}

static void close_session(void)
{
  counter_drop(in);
  jfl_session_free(session);
}

static jfl_request *submit(void)
{
  jfl_request *r = NULL;
  CHECK_MSG(!jfl_submit(plan, in, &r), "%s", jfl_errmsg());
  return r;
}

static void is_full(void)
{
  jfl_request *r = NULL;
  CHECK(jfl_submit(plan, in, &r) == JFL_EFULL && !r);
}

/* While the test has the run token, calls only queue up. */
static void hold(void) { jf_session_acquire(session); }
static void let_go(void) { jf_session_release(session); }

static void take_back(jfl_request *r)
{
  int back = 0, again = 1;
  const int before = jfl_session_pending(session);
  CHECK(!jfl_request_cancel(r, &back) && back);
  CHECK(jfl_session_pending(session) == before - 1);
  CHECK(jfl_request_done(r) && jfl_request_status(r) == JFL_ESTATE && !jfl_request_output(r, 0));
  CHECK(!jfl_request_cancel(r, &again) && !again);
}

/* Waits for a run, which must have been the next. */
static void ends_next(jfl_request *r)
{
  jfl_session_wait(session, r, -1);
  CHECK(jfl_request_done(r));
  if (!jfl_request_done(r)) return;
  CHECK_MSG(!jfl_request_status(r), "%s", jfl_errmsg());
  const jfl_array *w = jfl_request_output(r, 0);
  if (w) CHECK_MSG(*(const double *)jfl_array_data(w) == counted, "run %d", counted);
  counted++;
}

/* Queues n runs, takes back those of the set, from the first or from the last one, and queues as
   many others; then all that are left run, in their order. */
static void fill_and_take(int limit, int n, unsigned set, int from_last)
{
  jfl_request *r[2 * MOST];
  int back[2 * MOST] = { 0 }, all = n;
  hold();
  for (int i = 0; i < n; i++) r[i] = submit();
  CHECK(jfl_session_pending(session) == n + 1);          /* with what has the token */
  if (n == limit) is_full();
  for (int k = 0; k < n; k++) {
    const int i = from_last ? n - 1 - k : k;
    if (!(set >> i & 1)) continue;
    take_back(r[i]);
    back[i] = 1;
  }
  for (int i = 0; i < n; i++)
    if (back[i]) r[all++] = submit();
  if (n == limit) is_full();
  let_go();
  for (int i = 0; i < all; i++)
    if (!back[i]) ends_next(r[i]);
  CHECK(jfl_session_pending(session) == 0);
  for (int i = 0; i < all; i++) jfl_request_unref(r[i]);
}

static void any_runs_can_be_taken_back_and_others_follow(void)
{
  for (int limit = 1; limit <= MOST; limit++) {
    open_session(limit);
    for (int n = limit > 1 ? limit - 1 : 1; n <= limit; n++)
      for (unsigned set = 0; set < 1u << n; set++)
        for (int from_last = 0; from_last < 2; from_last++) fill_and_take(limit, n, set, from_last);
    close_session();
  }
}

/* The last one is taken back and another takes its place, again and again. */
static void the_last_place_is_taken_many_times(void)
{
  jfl_request *first, *last;
  for (int limit = 1; limit <= 2; limit++) {
    open_session(limit);
    hold();
    first = limit > 1 ? submit() : NULL;
    for (int i = 0; i < 50; i++) {
      last = submit();
      is_full();
      take_back(last);
      jfl_request_unref(last);
    }
    last = submit();
    let_go();
    if (first) ends_next(first);
    ends_next(last);
    if (first) jfl_request_unref(first);
    jfl_request_unref(last);
    close_session();
  }
}

/* What was taken back leaves room at once, and a run that ended does, too. */
static void a_run_that_ended_leaves_room(void)
{
  jfl_request *r[MOST];
  open_session(MOST);
  for (int round = 0; round < 3; round++) {
    hold();
    for (int i = 0; i < MOST; i++) r[i] = submit();
    is_full();
    let_go();
    for (int i = 0; i < MOST; i++) ends_next(r[i]);
    for (int i = 0; i < MOST; i++) jfl_request_unref(r[i]);
  }
  close_session();
}

/* A session that is closed fails what is left in its queue, whatever was taken back before. */
static void closing_after_taking_back_fails_the_others(void)
{
  for (int taken = 0; taken < 3; taken++) {
    jfl_request *r[3];
    open_session(3);
    hold();
    for (int i = 0; i < 3; i++) r[i] = submit();
    take_back(r[taken]);
    jf_session_lock(session);
    jf_session_drop(session, "the session was closed before this run started");
    jf_session_unlock(session);
    let_go();
    for (int i = 0; i < 3; i++) {
      CHECK(jfl_request_done(r[i]) && jfl_request_status(r[i]) == JFL_ESTATE);
      CHECK(!strcmp(jfl_error_part(JFL_ERROR_TEXT), i == taken
                    ? "the call was cancelled before it began"
                    : "the session was closed before this run started"));
      jfl_request_unref(r[i]);
    }
    r[0] = submit();
    ends_next(r[0]);
    jfl_request_unref(r[0]);
    close_session();
  }
}

int main(void)
{
  RUN(any_runs_can_be_taken_back_and_others_follow);
  RUN(the_last_place_is_taken_many_times);
  RUN(a_run_that_ended_leaves_room);
  RUN(closing_after_taking_back_fails_the_others);
  return test_done();
}
