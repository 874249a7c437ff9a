/* src/run/pace.c: when runs go on all threads, and when on one. */
#include "run/run.h"
#include "test.h"

/* Lets n runs take these seconds on all threads and on one; gives how many went on one. */
static int runs(jf_pace *a, int n, double all, double one)
{
  int alone = 0;
  for (int i = 0; i < n; i++) {
    const int now = jf_pace_alone(a);
    alone += now;
    jf_pace_ran(a, 2, now ? one : all);
  }
  return alone;
}

static void an_idle_machine_is_used_whole(void)
{
  jf_pace a = { 0 };
  CHECK_MSG(runs(&a, 2000, 0.015, 0.028) <= 2, "one trial");
  jf_pace tiny = { 0 };
  const int alone = runs(&tiny, 100000, 50e-6, 90e-6);
  CHECK_MSG(alone < 500, "%d of 100000", alone);
}

static void one_thread_is_taken_where_it_is_faster(void)
{
  jf_pace a = { 0 };
  runs(&a, 100, 0.040, 0.028);
  const int alone = runs(&a, 1000, 0.040, 0.028);
  CHECK_MSG(alone > 930, "%d of 1000", alone);
}

static void load_that_comes_and_goes_is_noticed(void)
{
  jf_pace a = { 0 };
  runs(&a, 100, 0.015, 0.028);
  runs(&a, 60, 0.045, 0.028);
  CHECK(runs(&a, 50, 0.045, 0.028) >= 45);
  runs(&a, 60, 0.015, 0.028);
  const int alone = runs(&a, 200, 0.015, 0.028);
  CHECK_MSG(alone <= 4, "%d of 200", alone);
}

/* A run that takes a second is not tried on one of two threads, where it may take two. */
static void long_runs_are_not_tried(void)
{
  jf_pace a = { 0 };
  CHECK(runs(&a, 200, 1.0, 2.0) == 0);
}

/* Trials of the worse way take few runs. */
static void trials_are_rare(void)
{
  jf_pace a = { 0 };
  int alone = runs(&a, 5000, 0.021, 0.024);
  CHECK_MSG(alone > 0 && alone < 5000 / 16, "%d of 5000", alone);
}

int main(void)
{
  RUN(an_idle_machine_is_used_whole);
  RUN(one_thread_is_taken_where_it_is_faster);
  RUN(load_that_comes_and_goes_is_noticed);
  RUN(long_runs_are_not_tried);
  RUN(trials_are_rare);
  return test_done();
}
