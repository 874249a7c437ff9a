/* Streams: items in order, late, by their own thread or by whoever waits; events between streams;
   failures; forks. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dev/stream.h"
#include "test.h"

static jf_stream *first, *second;
static jf_event *event;

static void begin(void)
{
  CHECK(!jf_stream_new("first", 0, &first));
  CHECK(!jf_stream_new("second", 0, &second));
  event = jf_event_new();
}

static void end(void)
{
  jf_stream_free(first);
  jf_stream_free(second);
  jf_event_free(event);
}

/* Appends a number to a list, after a while. */
typedef struct note { int *list, *n, number, delay; } note;

static jfl_status write_note(void *item)
{
  const note *t = item;
  if (t->delay) usleep((unsigned)t->delay);
  t->list[(*t->n)++] = t->number;
  return t->number < 0 ? jf_fail(JFL_EDEVICE, "number %d", t->number) : JFL_OK;
}

static void add(jf_stream *s, note t)
{
  CHECK(!jf_stream_add(s, JF_STREAM_WORK, write_note, &t, sizeof t));
}

static void items_are_done_in_order(void)
{
  enum { N = 100000 };
  int *list = calloc(N, sizeof *list), n = 0;
  begin();
  for (int of = 0; of < 2; of++) {
    n = 0;
    for (int i = 0; i < N; i++) add(of ? second : first, (note){ list, &n, i, 0 });
    CHECK(!jf_stream_wait(of ? second : first));
    CHECK(n == N);
    for (int i = 0; i < N; i++) CHECK(list[i] == i);
  }
  end();
  free(list);
}

static jfl_status add_up(void *item)
{
  const int *v = item;
  int64_t sum = 0;
  for (int i = 2; i < v[1]; i++) sum += v[i];
  if (sum != (int64_t)v[0] * (v[1] - 2)) return jf_fail(JFL_EDEVICE, "an item was changed");
  return JFL_OK;
}

static void items_have_any_size(void)
{
  begin();
  for (int i = 0; i < 3000; i++) {
    const int n = 2 + (i * 7919) % (i % 50 ? 3000 : 60000);
    jf_stream *s = i % 3 ? second : first;
    int *v = jf_stream_room(s, (size_t)n * sizeof *v);
    CHECK(v && (uintptr_t)v % 16 == 0);
    v[0] = i;
    v[1] = n;
    for (int k = 2; k < n; k++) v[k] = i;
    jf_stream_put(s, JF_STREAM_WORK, add_up);
  }
  CHECK(!jf_stream_wait(first));
  CHECK(!jf_stream_wait(second));
  end();
}

/* Two streams that write to one list by turns, each waiting for the other. */
static void streams_wait_for_each_other(void)
{
  int list[400], n = 0;
  begin();
  jf_event *back = jf_event_new();
  for (int i = 0; i < 200; i++) {
    add(first, (note){ list, &n, 2 * i, i % 20 ? 0 : 300 });
    CHECK(!jf_stream_record(first, event));
    CHECK(!jf_stream_await(second, event));
    add(second, (note){ list, &n, 2 * i + 1, i % 30 ? 0 : 300 });
    CHECK(!jf_stream_record(second, back));
    CHECK(!jf_stream_await(first, back));
  }
  CHECK(!jf_stream_wait(second));
  CHECK(!jf_stream_wait(first));
  CHECK(n == 400);
  for (int i = 0; i < 400; i++) CHECK(list[i] == i);
  jf_event_free(back);
  end();
}

/* More than a ring has room for, so that the producer lends a hand to make some; then a stream that
   waits for the end of it. */
static void a_full_ring_keeps_its_thread(void)
{
  static int list[20000];
  begin();
  jf_stream *third;
  CHECK(!jf_stream_new("third", 0, &third));
  for (int of = 0; of < 30; of++) {
    int n = 0, other[1], k = 0;
    add(first, (note){ other, &k, 0, 0 });
    for (int i = 0; i < 20000; i++) add(second, (note){ list, &n, i, i % 4096 ? 0 : 300 });
    CHECK(!jf_stream_record(second, event));
    CHECK(!jf_stream_await(third, event));
    CHECK(!jf_stream_wait(third));
    CHECK(n == 20000);
    CHECK(!jf_stream_wait(second));
    CHECK(!jf_stream_wait(first));
  }
  jf_stream_free(third);
  end();
}

static void a_failure_skips_work_but_no_events(void)
{
  int list[4], n = 0;
  begin();
  add(first, (note){ list, &n, 1, 0 });
  add(first, (note){ list, &n, -2, 0 });
  add(first, (note){ list, &n, 3, 0 });
  CHECK(!jf_stream_record(first, event));
  CHECK(!jf_stream_await(second, event));
  add(second, (note){ list, &n, 4, 0 });
  CHECK(jf_stream_reach(first, event) == JFL_EDEVICE);
  CHECK_MSG(!strcmp(jfl_errmsg(), "number -2"), "%s", jfl_errmsg());
  CHECK(!jf_stream_wait(second));
  CHECK(jf_stream_wait(first) == JFL_EDEVICE);
  CHECK_MSG(!strcmp(jfl_errmsg(), "number -2"), "%s", jfl_errmsg());
  CHECK(n == 3 && list[2] == 4);
  add(first, (note){ list, &n, 5, 0 });
  CHECK(!jf_stream_wait(first));
  CHECK(n == 4 && list[3] == 5);
  end();
}

static void an_event_is_reached_before_later_items(void)
{
  int list[2], n = 0, other[1], m = 0;
  begin();
  add(second, (note){ other, &m, 1, 0 });
  add(first, (note){ list, &n, 1, 1000 });
  CHECK(!jf_stream_record(first, event));
  CHECK(!jf_stream_reach(first, event));
  CHECK(n >= 1 && list[0] == 1);
  CHECK(!jf_stream_wait(first));
  CHECK(!jf_stream_wait(second));
  CHECK(m == 1);
  end();
}

/* The stream's thread comes to the event while this one looks. ThreadSanitizer says whether it
   still reads the event afterwards. */
static void an_event_may_be_freed_once_it_is_reached(void)
{
  int list[1], n = 0;
  begin();
  add(first, (note){ list, &n, 0, 0 });/* which this thread keeps for itself */
  for (int i = 0; i < 2000; i++) {
    jf_event *e = jf_event_new();
    CHECK(!jf_stream_record(second, e));
    for (const double until = jf_now() + 1e-6 * (i % 16); jf_now() < until;) {}
    CHECK(!jf_stream_reach(second, e));
    jf_event_free(e);
  }
  end();
}

static void an_event_that_was_never_recorded_is_no_hindrance(void)
{
  int list[1], n = 0;
  begin();
  CHECK(!jf_stream_await(first, event));
  add(first, (note){ list, &n, 1, 0 });
  CHECK(!jf_stream_wait(first));
  CHECK(n == 1);
  end();
}

static void a_child_has_streams_of_its_own(void)
{
  int list[1], n = 0, other[1], k = 0;
  begin();
  add(first, (note){ list, &n, 1, 0 });
  add(second, (note){ other, &k, 2, 20000 });
  CHECK(!jf_stream_record(second, event));
  const pid_t child = fork();
  if (!child) {
    n = k = 0;
    jf_stream_await(first, event);
    add(first, (note){ list, &n, 5, 0 });
    add(second, (note){ other, &k, 6, 0 });
    jf_stream_wait(first);
    jf_stream_wait(second);
    end();
    _exit(n == 1 && k == 1 ? 0 : 1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(!jf_stream_wait(first));
  CHECK(!jf_stream_wait(second));
  CHECK(n == 1 && k == 1);
  end();
}

/* Several streams, whose items end only once all of them have begun. */
enum { TOGETHER = 4, TOO_LONG = 300 };

static jfl_status meet(void *item)
{
  atomic_int *here = *(atomic_int **)item;
  const double until = jf_now() + TOO_LONG;
  atomic_fetch_add(here, 1);
  while (atomic_load(here) < TOGETHER && jf_now() < until) usleep(1000);
  return atomic_load(here) == TOGETHER ? JFL_OK : jf_fail(JFL_EDEVICE, "they take turns");
}

static void streams_work_at_the_same_time(void)
{
  jf_stream *s[TOGETHER];
  atomic_int here = 0, *at = &here;
  for (int i = 0; i < TOGETHER; i++) CHECK(!jf_stream_new("s", i == 3 ? JF_PROMPT : 0, &s[i]));
  for (int i = 0; i < TOGETHER; i++)
    CHECK(!jf_stream_add(s[i], JF_STREAM_WORK, meet, &at, sizeof at));
  for (int i = 0; i < TOGETHER; i++) CHECK(!jf_stream_wait(s[i]));
  for (int i = 0; i < TOGETHER; i++) jf_stream_free(s[i]);
}

static atomic_int begun, ended;

static void note_begin(void *ud, const char *what)
{
  (void)ud;
  begun += !strcmp(what, "stream");
}

static void note_end(void *ud, const char *what)
{
  (void)ud;
  ended += !strcmp(what, "stream");
}

/* Of all streams of the tests before it. */
static void each_thread_is_told_to_the_host_as_it_begins_and_ends(void)
{
  CHECK_MSG(begun > 0 && ended == begun, "%d begun, %d ended", (int)begun, (int)ended);
}

int main(void)
{
  CHECK(!jfl_set_thread_hooks(&(jfl_thread_hooks){ .start = note_begin, .stop = note_end }));
  RUN(items_are_done_in_order);
  RUN(items_have_any_size);
  RUN(streams_wait_for_each_other);
  RUN(a_full_ring_keeps_its_thread);
  RUN(a_failure_skips_work_but_no_events);
  RUN(an_event_is_reached_before_later_items);
  RUN(an_event_may_be_freed_once_it_is_reached);
  RUN(an_event_that_was_never_recorded_is_no_hindrance);
  RUN(a_child_has_streams_of_its_own);
  RUN(streams_work_at_the_same_time);
  RUN(each_thread_is_told_to_the_host_as_it_begins_and_ends);
  return test_done();
}
