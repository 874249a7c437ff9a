/* How many threads steps take, and what threads do between calls. */
#include <dirent.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "models.h"
#include "plan/plan.h"
#include "test.h"

enum { BATCH = 100 };

static jfl_session *session;

static void set(const char *name, double v)
{
  jfl_arg a = { .name = name, .kind = JFL_ARG_NUMBER, .number = v };
  CHECK(!jfl_session_set(session, &a));
}

static void open_session(int threads)
{
  CHECK(!jfl_session_new(&session));
  set("threads", threads);
}

static jfl_plan *plan_of(const char *name, model_net net, int64_t batch)
{
  jfl_plan *p = NULL;
  CHECK_MSG(!model_plan(session, name, net, batch, 0, &p), "%s", jfl_errmsg());
  return p;
}

/* Runs p n times on a batch, n_async of them by the worker. */
static void run(jfl_plan *p, int64_t batch, int n, int n_async)
{
  jfl_array *in[2], *out[1];
  jfl_request *r;
  CHECK(!model_inputs(batch, in));
  for (int i = 0; i < n; i++) {
    CHECK(!jfl_run(p, in, out));
    jfl_array_unref(out[0]);
  }
  for (int i = 0; i < n_async; i++) {
    CHECK(!jfl_submit(p, in, &r));
    jfl_session_wait(session, r, -1);
    CHECK(!jfl_request_status(r));
    jfl_request_unref(r);
  }
  jfl_array_unref(in[0]);
  jfl_array_unref(in[1]);
}

static int threads_of_process(void)
{
  int n = 0;
  DIR *d = opendir("/proc/self/task");
  for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
  if (d) closedir(d);
  return n;
}

/* The most threads a step takes, and the fewest. */
static void range(const jfl_plan *p, int *fewest, int *most)
{
  *fewest = INT32_MAX;
  *most = 0;
  for (int i = 0; i < p->n_step; i++) {
    int n = p->step[i].k.threads;
    if (n < *fewest) *fewest = n;
    if (n > *most) *most = n;
  }
}

/* Comes first: afterwards the pool is there. */
static void a_small_plan_starts_no_thread(void)
{
  int fewest, most, before = threads_of_process();
  open_session(2);
  jfl_plan *p = plan_of("small", model_linear, 4);
  range(p, &fewest, &most);
  CHECK(fewest == 1 && most == 1);
  run(p, 4, 5, 0);
  CHECK_MSG(threads_of_process() == before, "%d threads, %d before", threads_of_process(), before);
  jfl_session_free(session);
}

static void large_steps_take_all_threads_and_small_ones_one(void)
{
  int fewest, most;
  open_session(3);
  range(plan_of("large", model_lenet, BATCH), &fewest, &most);
  CHECK(fewest == 1 && most == 3);
  jfl_session_free(session);
}

/* A plan keeps the threads it was made with. */
static void the_setting_is_for_plans_made_later(void)
{
  int fewest, most;
  open_session(1);
  jfl_plan *early = plan_of("early", model_mlp, BATCH);
  set("threads", 2);
  jfl_plan *late = plan_of("late", model_mlp, BATCH);
  range(early, &fewest, &most);
  CHECK(most == 1);
  range(late, &fewest, &most);
  CHECK(most == 2);
  jfl_session_free(session);
}

/* Work between one thread's worth and that of all gets as many as are worth it. */
static void threads_are_as_many_as_the_work_is_worth(void)
{
  const jfl_op *relu = jfl_op_find("relu");
  jf_tensor x = { NULL, JFL_F32, { 1, { 1000 } } };
  jf_kargs k = { .in = &x, .out = &x, .n_in = 1, .n_out = 1 };
  int before = 1;
  CHECK(jf_worth_threads(relu, &k, 64) == 1);
  for (; x.shape.d[0] < 1 << 28; x.shape.d[0] *= 2) {
    int n = jf_worth_threads(relu, &k, 64);
    CHECK(n >= before && n <= 64 && n <= 2 * before + 1);
    CHECK(jf_worth_threads(relu, &k, 1) == 1);
    before = n;
  }
  CHECK(before == 64);
}

int main(void)
{
  RUN(a_small_plan_starts_no_thread);
  RUN(large_steps_take_all_threads_and_small_ones_one);
  RUN(the_setting_is_for_plans_made_later);
  RUN(threads_are_as_many_as_the_work_is_worth);
  return test_done();
}
