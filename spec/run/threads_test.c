/* How many threads steps take, and what the threads do between calls. */
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "models.h"
#include "run/run.h"
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

/* Runs p n times on a batch; n_async of these runs are done by the worker. */
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
  model_drop(in);
}

static int threads_of_process(void)
{
  int n = 0;
  DIR *d = opendir("/proc/self/task");
  for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
  if (d) closedir(d);
  return n;
}

/* Gives the fewest and the most threads that a step takes. */
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

/* ---- idle threads ---- */

static double cpu_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *wait_forever(void *p)
{
  pause();
  return p;
}

/* 's': synchronous runs, 'a': asynchronous ones, 't': in a program with a thread of its own. */
static const char *const programs[] = { "s", "a", "sa", "sat" };
enum { N_PROGRAMS = 4, IDLE_MS = 20 };

static void rest(double seconds)
{
  const time_t whole = (time_t)seconds;
  nanosleep(&(struct timespec){ whole, (long)(1e9 * (seconds - (double)whole)) }, NULL);
}

/* Exits with the milliseconds of processor time that one idle second takes, of a few the least. On
   a busy machine helpers that have just worked may get to their rest a little later. */
static _Noreturn void work_and_idle(const char *what)
{
  pthread_t other;
  if (strchr(what, 't') && pthread_create(&other, NULL, wait_forever, NULL)) _exit(255);
  open_session(2);
  jfl_plan *p = plan_of("idle", model_mlp, BATCH);
  for (int i = 0; i < 5; i++) run(p, BATCH, strchr(what, 's') ? 4 : 0, strchr(what, 'a') ? 4 : 0);
  rest(0.3);
  double ms = INFINITY;
  for (int i = 0; i < 5 && ms >= IDLE_MS; i++) {
    const double before = cpu_seconds();
    rest(1);
    ms = fmin(ms, 1e3 * (cpu_seconds() - before));
  }
  _exit(test_state.bad_checks ? 255 : ms < 254 ? (int)ms : 254);
}

/* Runs in child processes, as helpers are started once for each process. */
static void idle_threads_take_no_time(void)
{
  pid_t pid[N_PROGRAMS];
  for (int i = 0; i < N_PROGRAMS; i++)
    if ((pid[i] = fork()) == 0) work_and_idle(programs[i]);
  for (int i = 0; i < N_PROGRAMS; i++) {
    int status = 0;
    CHECK(waitpid(pid[i], &status, 0) == pid[i] && WIFEXITED(status));
    CHECK_MSG(WEXITSTATUS(status) < IDLE_MS, "%d ms after '%s'", WEXITSTATUS(status), programs[i]);
  }
}

/* ---- how many ---- */

/* Must run before the tests that start helpers. */
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

/* Must run before the tests that use the pool. */
static void a_forked_child_goes_on_with_one_thread(void)
{
  int status = 1;
  open_session(1);
  jfl_plan *p = plan_of("forked", model_lenet, 4);
  run(p, 4, 1, 1);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(300);
    run(p, 4, 1, 1);
    _exit(test_state.bad_checks != 0);
  }
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
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

/* A step with work for more than one thread but not for all gets as many as the work is worth. */
static void threads_are_as_many_as_the_work_is_worth(void)
{
  const jfl_op *relu = jfl_op_find("relu");
  jf_tensor x = { .dtype = JFL_F32, .shape = { 1, { 1000 } } };
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

/* ---- on whichever thread ---- */

/* Gives the losses of the steps of a new model. Step i is asynchronous if `async` has bit i, else
   synchronous. */
static void losses(unsigned async, int n, float *loss)
{
  jfl_array *in[2], *out[1];
  jfl_request *r;
  open_session(2);
  const jfl_arg seed = { .name = "seed", .kind = JFL_ARG_NUMBER, .number = 3 };
  CHECK(!jfl_session_set(session, &seed));
  jfl_plan *p = plan_of("turns", model_mlp, BATCH);
  CHECK(!model_inputs(BATCH, in));
  for (int i = 0; i < n; i++) {
    if (async >> i & 1) {
      CHECK(!jfl_submit(p, in, &r));
      jfl_session_wait(session, r, -1);
      loss[i] = *(float *)jfl_array_data(jfl_request_output(r, 0));
      jfl_request_unref(r);
    } else {
      CHECK(!jfl_run(p, in, out));
      loss[i] = *(float *)jfl_array_data(out[0]);
      jfl_array_unref(out[0]);
    }
  }
  model_drop(in);
  jfl_session_free(session);
}

static void runs_are_the_same_wherever_they_run(void)
{
  float here[8], turns[8], mixed[8];
  losses(0, 8, here);
  losses(0xaa, 8, turns);
  losses(0x31, 8, mixed);
  CHECK(here[7] < here[0]);
  CHECK(!memcmp(here, turns, sizeof here) && !memcmp(here, mixed, sizeof here));
}

/* A run may also fail between others that succeed. */
static void a_run_on_the_worker_fails_with_its_message(void)
{
  jfl_array *in[2], *out[1];
  jfl_request *r[3];
  open_session(2);
  set("max_inflight", 3);
  jfl_plan *p = plan_of("bad", model_mlp, BATCH);
  CHECK(!model_inputs(BATCH, in));
  for (int i = 0; i < 3; i++) CHECK(!jfl_submit(p, in, &r[i]));
  *(int32_t *)jfl_array_data(in[1]) = 77;
  CHECK(jfl_run(p, in, out) == JFL_EDATA);
  CHECK_MSG(strstr(jfl_errmsg(), "got 77") != NULL, "%s", jfl_errmsg());
  for (int i = 0; i < 3; i++) {
    CHECK(jfl_request_done(r[i]) && !jfl_request_status(r[i]));
    jfl_request_unref(r[i]);
  }
  *(int32_t *)jfl_array_data(in[1]) = 7;
  run(p, BATCH, 1, 1);
  model_drop(in);
  jfl_session_free(session);
}

static void ops_run_at_once_after_asynchronous_runs(void)
{
  jfl_array *in[2], *sum[1];
  open_session(2);
  run(plan_of("op", model_mlp, BATCH), BATCH, 0, 1);
  const jfl_shape large = { 1, { 1 << 21 } };
  for (int i = 0; i < 2; i++) CHECK(!jfl_array_new(JFL_F32, &large, &in[i]));
  ((float *)jfl_array_data(in[0]))[12345] = 2;
  CHECK(!jfl_eager(session, jfl_op_find("add"), in, 2, NULL, 0, sum));
  CHECK(((float *)jfl_array_data(sum[0]))[12345] == 2);
  jfl_array_unref(sum[0]);
  CHECK(jfl_eager(session, jfl_op_find("add"), in, 1, NULL, 0, sum) != JFL_OK);
  model_drop(in);
  jfl_session_free(session);
}

static int worker_policy(void)
{
  int policy = -1;
  struct sched_param none;
  CHECK(session->has_worker && !pthread_getschedparam(session->worker, &policy, &none));
  return policy;
}

/* In the background even a small plan is the worker's, whose priority is the lowest. */
static void the_background_is_the_workers(void)
{
  open_session(2);
  jfl_plan *small = plan_of("behind", model_linear, 1), *large = plan_of("large", model_mlp, BATCH);
  set("inline_limit", 1e6);
  run(small, 1, 0, 1);
  CHECK(!session->has_worker);
  set("background", 1);
  run(small, 1, 1, 1);
  CHECK(worker_policy() == SCHED_IDLE && sched_getscheduler(0) == SCHED_OTHER);
  run(large, BATCH, 1, 2);
  set("background", 0);
  run(large, BATCH, 1, 1);
  CHECK(worker_policy() == SCHED_OTHER);
  jfl_session_free(session);
}

/* That says on how many threads later ones go; those that have no choice are not timed. */
static void runs_on_several_threads_are_timed(void)
{
  for (int background = 0; background < 2; background++)
    for (int threads = 1; threads < 3; threads++) {
      open_session(threads);
      jfl_plan *p = plan_of("timed", model_mlp, BATCH);
      set("background", background);
      run(p, BATCH, 1, 0);
      const jf_pace *pace = &p->execution[0]->pace;
      CHECK_MSG((pace->seconds > 0 || pace->warm) == (threads > 1 && !background),
                "%d threads, background %d", threads, background);
      CHECK(pace->seconds < 1e4);
      jfl_session_free(session);
    }
}

int main(void)
{
  RUN(idle_threads_take_no_time);
  RUN(a_small_plan_starts_no_thread);
  RUN(a_forked_child_goes_on_with_one_thread);
  RUN(large_steps_take_all_threads_and_small_ones_one);
  RUN(the_setting_is_for_plans_made_later);
  RUN(threads_are_as_many_as_the_work_is_worth);
  RUN(runs_are_the_same_wherever_they_run);
  RUN(a_run_on_the_worker_fails_with_its_message);
  RUN(ops_run_at_once_after_asynchronous_runs);
  RUN(the_background_is_the_workers);
  RUN(runs_on_several_threads_are_timed);
  return test_done();
}
