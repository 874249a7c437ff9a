/* Tasks among the runs: saves, whose files are written on a thread of their own, and readings and
   settings of variables. The worker and the writer are held by hooks, so no clock decides. */
#include <stdatomic.h>
#include <sys/wait.h>

#include "counter.h"
#include "scratch.h"
#include "test.h"

static jfl_session *session;
static jfl_plan *plan;
static jfl_array *good[2];

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
  set("inline_limit", 0);
  set("max_inflight", 40);
}

static void close_session(void)
{
  counter_drop(good);
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

static void submit_runs(int n)
{
  jfl_request *r;
  while (n--) CHECK(!jfl_submit(plan, good, &r)), jfl_request_unref(r);
}

static jfl_request *save(const char *path)
{
  jfl_request *r = NULL;
  CHECK_MSG(!jfl_checkpoint_submit(session, path, 1, NULL, 0, &r), "%s", jfl_errmsg());
  return r;
}

static jfl_status end_of(jfl_request *r)
{
  jfl_session_wait(session, r, -1);
  CHECK(jfl_request_done(r));
  const jfl_status s = jfl_request_status(r);
  jfl_request_unref(r);
  return s;
}

/* What a checkpoint keeps of the variable, and the number of runs beside it. */
static double saved(const char *path, char runs[32])
{
  jfl_checkpoint *c;
  jfl_array *a;
  double v = -1;
  CHECK_MSG(!jfl_checkpoint_open(path, &c), "%s", jfl_errmsg());
  const char *meta = jf_source_meta(&c->source, "run.counter");
  snprintf(runs, 32, "%s", meta ? meta : "");
  for (int i = 0; i < jfl_checkpoint_count(c); i++) {
    jfl_dtype t;
    const jfl_shape *shape;
    uint64_t size;
    if (strcmp(jfl_checkpoint_tensor(c, i, &size, &t, &shape), "w")) continue;
    CHECK(!jfl_checkpoint_read(c, i, t, shape, &a));
    v = value(a);
    jfl_array_unref(a);
  }
  jfl_checkpoint_close(c);
  return v;
}

/* ---- threads that are held ---- */

static atomic_int holds_worker, holds_writer;

static void hold(void *ud, const char *what)
{
  (void)ud;
  while (!strcmp(what, "worker") && atomic_load(&holds_worker)) usleep(1000);
  while (!strcmp(what, "writer") && atomic_load(&holds_writer)) usleep(1000);
}

/* ---- whose memory it is ---- */

/* The budgets of a task's threads: of the worker and of the writer. */
static jf_budget *of_worker, *of_writer;

static jfl_status note_worker(jfl_request *r)
{
  (void)r;
  of_worker = jf_memory_budget();
  return JFL_OK;
}

static jfl_status note_writer(jfl_request *r)
{
  (void)r;
  of_writer = jf_memory_budget();
  return JFL_OK;
}

static void forget_note(void *state) { (void)state; }

static void what_is_done_for_a_session_counts_as_its_makers(void)
{
  static const jf_task note = {
    .many = "notes", .take = note_worker, .finish = note_writer, .free = forget_note
  };
  jf_budget *const b = jf_budget_new(0), *const before = jf_memory_charge(b);
  jfl_request *r;
  open_session();
  jf_memory_charge(before);
  CHECK(!jf_task_submit(session, &note, NULL, &session->n_reads, &r));
  CHECK(end_of(r) == JFL_OK);
  CHECK(b && of_worker == b && of_writer == b);
  close_session();
  jf_budget_drop(b);
}

/* ---- saves ---- */

static void a_save_keeps_what_was_there_as_of_the_call(void)
{
  char runs[32];
  open_session();
  atomic_store(&holds_worker, 1);
  submit_runs(3);
  jfl_request *r = save(in_scratch("as_of"));
  submit_runs(4);
  CHECK(!jfl_request_done(r));
  atomic_store(&holds_worker, 0);
  CHECK(end_of(r) == JFL_OK);
  CHECK(run() == 7);
  CHECK(saved(in_scratch("as_of"), runs) == 3 && !strcmp(runs, "3"));
  close_session();
}

static void runs_go_on_while_files_are_written(void)
{
  char runs[32];
  open_session();
  atomic_store(&holds_writer, 1);
  jfl_request *r = save(in_scratch("behind"));
  for (int i = 0; i < 5; i++) CHECK(run() == i);
  CHECK(jfl_session_pending(session) == 0 && !jfl_request_done(r));
  CHECK(!jfl_session_wait(session, r, 0) && !jfl_request_done(r));
  atomic_store(&holds_writer, 0);
  CHECK(end_of(r) == JFL_OK);
  CHECK(saved(in_scratch("behind"), runs) == 0);
  close_session();
}

static void saves_of_one_path_are_written_one_after_another(void)
{
  char runs[32];
  jfl_request *r[3];
  open_session();
  atomic_store(&holds_writer, 1);
  for (int i = 0; i < 3; i++) {
    r[i] = save(in_scratch("same"));
    CHECK(run() == i);
  }
  atomic_store(&holds_writer, 0);
  for (int i = 0; i < 3; i++) CHECK(end_of(r[i]) == JFL_OK);
  CHECK(saved(in_scratch("same"), runs) == 2);
  close_session();
}

static void a_save_or_load_waits_for_those_before_it(void)
{
  char runs[32];
  jfl_report *report;
  open_session();
  jfl_request *first = save(in_scratch("waits"));
  CHECK(run() == 0);
  CHECK_MSG(!jfl_checkpoint_save(session, in_scratch("waits"), 1), "%s", jfl_errmsg());
  CHECK(jfl_request_done(first) && saved(in_scratch("waits"), runs) == 1);
  CHECK(end_of(first) == JFL_OK);
  jfl_request *second = save(in_scratch("loaded"));
  for (int i = 1; i < 4; i++) CHECK(run() == i);
  CHECK_MSG(!jfl_checkpoint_load(session, in_scratch("loaded"), 1, &report), "%s", jfl_errmsg());
  CHECK(jfl_request_done(second) && end_of(second) == JFL_OK);
  CHECK(run() == 1);
  jfl_report_free(report);
  close_session();
}

static void what_the_disk_refuses_is_told_by_the_request(void)
{
  jfl_request *r;
  open_session();
  CHECK(!close(creat(in_scratch("file"), 0600)));
  CHECK(end_of(save(in_scratch("file"))) == JFL_ESTATE);
  CHECK(strstr(jfl_errmsg(), "must be a directory") != NULL);
  CHECK(end_of(save(in_scratch("file/below"))) == JFL_EIO);
  CHECK(jfl_checkpoint_submit(session, "", 1, NULL, 0, &r) != JFL_OK);
  const jfl_note bad = { "key", "\xff" };
  CHECK(jfl_checkpoint_submit(session, in_scratch("noted"), 1, &bad, 1, &r) == JFL_ENAME);
  CHECK(run() == 0);
  CHECK(end_of(save(in_scratch("fine"))) == JFL_OK);
  close_session();
}

static void too_many_saves_are_refused(void)
{
  jfl_request *r[2], *more;
  open_session();
  set("max_inflight", 2);
  atomic_store(&holds_writer, 1);
  for (int i = 0; i < 2; i++) r[i] = save(in_scratch("many"));
  CHECK(jfl_checkpoint_submit(session, in_scratch("many"), 1, NULL, 0, &more) == JFL_EFULL);
  CHECK(strstr(jfl_errmsg(), "2 saves are in flight already") != NULL);
  CHECK(run() == 0);
  atomic_store(&holds_writer, 0);
  for (int i = 0; i < 2; i++) CHECK(end_of(r[i]) == JFL_OK);
  CHECK(end_of(save(in_scratch("many"))) == JFL_OK);
  close_session();
}

static void a_save_that_has_not_begun_can_be_taken_back(void)
{
  int cancelled = 0;
  struct stat st;
  open_session();
  atomic_store(&holds_worker, 1);
  jfl_request *r = save(in_scratch("taken"));
  CHECK(!jfl_request_cancel(r, &cancelled) && cancelled);
  atomic_store(&holds_worker, 0);
  CHECK(end_of(r) == JFL_ESTATE && strstr(jfl_errmsg(), "cancelled") != NULL);
  CHECK(stat(in_scratch("taken"), &st) != 0 && jfl_session_disturbances(session) == 0);
  close_session();
}

static void the_end_of_a_session_waits_for_files(void)
{
  char runs[32];
  jfl_request *r[2];
  open_session();
  CHECK(run() == 0);
  for (int i = 0; i < 2; i++) {
    char name[] = "end0";
    name[3] = (char)('0' + i);
    r[i] = save(in_scratch(name));
  }
  CHECK(run() == 1);
  close_session();
  for (int i = 0; i < 2; i++) {
    CHECK(jfl_request_done(r[i]) && jfl_request_status(r[i]) == JFL_OK);
    jfl_request_unref(r[i]);
  }
  CHECK(saved(in_scratch("end0"), runs) == 1 && saved(in_scratch("end1"), runs) == 1);
}

static void a_change_of_priority_leaves_files_to_be_written(void)
{
  open_session();
  set("background", 1);
  jfl_request *r = save(in_scratch("low"));
  set("background", 0);
  CHECK(run() == 0);
  CHECK(end_of(r) == JFL_OK);
  close_session();
}

/* ---- forks ---- */

static jfl_request *in_flight;

static int child_loses_it(void)
{
  jfl_session_wait(session, in_flight, -1);
  if (!jfl_request_done(in_flight)) return 1;
  if (!jfl_request_status(in_flight) || !strstr(jfl_errmsg(), "forked")) return 2;
  if (getenv("JFL_DEVICE")) return 0;
  if (run() != 1) return 3;
  jfl_request *own = save(in_scratch("child"));
  jfl_session_wait(session, own, -1);
  return jfl_request_status(own) ? 4 : 0;
}

static void a_forked_child_loses_what_is_written(void)
{
  char runs[32];
  open_session();
  atomic_store(&holds_writer, 1);
  in_flight = save(in_scratch("parent"));
  CHECK(run() == 0);
  const pid_t pid = fork();
  if (!pid) {
    atomic_store(&holds_writer, 0);
    alarm(300);
    _exit(child_loses_it());
  }
  int status = 1;
  waitpid(pid, &status, 0);
  CHECK_MSG(WIFEXITED(status) && !WEXITSTATUS(status), "%d", WEXITSTATUS(status));
  atomic_store(&holds_writer, 0);
  CHECK(end_of(in_flight) == JFL_OK && saved(in_scratch("parent"), runs) == 0);
  close_session();
}

/* ---- plans that are made among the runs ---- */

static jfl_graph *described(const char *name)
{
  jfl_graph *g = NULL;
  CHECK(!jfl_graph_new(name, JFL_TRAIN, &g) && !counter_body(g));
  return g;
}

static jfl_request *compile(const char *name)
{
  jfl_request *r = NULL;
  jfl_job *job = NULL;
  jfl_graph *g = described(name);
  CHECK(!jfl_job_new(session, name, JFL_TRAIN, &job));
  CHECK_MSG(!jfl_compile_submit(job, g, &r), "%s", jfl_errmsg());
  jfl_graph_unref(g);
  return r;
}

static jfl_request *submit_behind(jfl_request *compiling)
{
  jfl_request *r = NULL;
  CHECK_MSG(!jfl_submit_behind(compiling, good, &r), "%s", jfl_errmsg());
  return r;
}

static double result_of(jfl_request *r)
{
  jfl_session_wait(session, r, -1);
  CHECK_MSG(jfl_request_status(r) == JFL_OK, "%s", jfl_errmsg());
  const double v = jfl_request_output(r, 0) ? value(jfl_request_output(r, 0)) : -1;
  jfl_request_unref(r);
  return v;
}

static void runs_queue_behind_the_making_of_their_plan(void)
{
  jfl_request *r[4];
  open_session();
  atomic_store(&holds_worker, 1);
  submit_runs(2);
  jfl_request *c = compile("other");
  for (int i = 0; i < 4; i++) r[i] = submit_behind(c);
  CHECK(!jfl_request_done(c) && !jfl_request_plan(c));
  atomic_store(&holds_worker, 0);
  for (int i = 0; i < 4; i++) CHECK(result_of(r[i]) == 2 + i);
  CHECK(jfl_request_plan(c) != NULL && jfl_request_status(c) == JFL_OK);
  CHECK(run() == 6);
  CHECK(result_of(submit_behind(c)) == 7);
  jfl_plan_free(jfl_request_plan(c));
  jfl_request_unref(c);
  close_session();
}

static void what_looks_at_variables_waits_for_plans(void)
{
  CHECK(!jfl_session_new(&session));
  CHECK(!counter_inputs(0, good));
  for (int i = 0; i < 20; i++) {
    char name[16];
    snprintf(name, sizeof name, "job%d", i);
    jfl_request *c = compile(name);
    if (i % 2) CHECK(jfl_variable_count(session) > 0);
    else CHECK(!jfl_variable_info(session, "w", NULL, NULL));
    jfl_request_unref(c);
  }
  close_session();
}

static void a_plan_that_cannot_be_made_fails_its_runs(void)
{
  open_session();
  set("memory_limit", 1);
  jfl_request *c = compile("other"), *r = submit_behind(c);
  CHECK(end_of(r) == JFL_ENOMEM);
  CHECK(strstr(jfl_errmsg(), "memory_limit") && strstr(jfl_errmsg(), "other"));
  CHECK(jfl_request_status(c) == JFL_ENOMEM && !jfl_request_plan(c));
  CHECK(end_of(submit_behind(c)) == JFL_ENOMEM);
  jfl_request_unref(c);
  set("memory_limit", 0);
  CHECK(run() == 0);
  close_session();
}

static void what_a_plan_will_take_is_checked_at_once(void)
{
  jfl_request *r;
  open_session();
  atomic_store(&holds_worker, 1);
  jfl_request *c = compile("other");
  jfl_array *swapped[] = { good[1], good[0] };
  CHECK(jfl_submit_behind(c, swapped, &r) == JFL_ESHAPE);
  for (int i = 0; i < 40; i++) jfl_request_unref(submit_behind(c));
  CHECK(jfl_submit_behind(c, good, &r) == JFL_EFULL);
  jfl_job *job = NULL;
  jfl_graph *g = described("third");
  CHECK(!jfl_job_new(session, "third", JFL_PREDICT, &job));
  CHECK(jfl_compile_submit(job, g, &r) == JFL_EINVAL);
  jfl_graph_unref(g);
  atomic_store(&holds_worker, 0);
  CHECK(run() == 40);
  CHECK(!jfl_submit(jfl_request_plan(c), good, &r) && result_of(r) == 41);
  jfl_request_unref(c);
  close_session();
}

static void asking_for_a_variable_waits_only_for_plans_that_may_make_it(void)
{
  const jfl_shape *shape = NULL;
  jfl_dtype dtype;
  const char *devices;
  jfl_distribution d;
  open_session();
  atomic_store(&holds_worker, 1);
  submit_runs(1);
  jfl_request *c = compile("other");
  CHECK(!jfl_variable_info(session, "w", &dtype, &shape) && dtype == JFL_F64 && shape);
  CHECK(!jfl_variable_distribution(session, "w", &devices, &d) && d.kind == JFL_BROADCAST);
  CHECK(!jfl_request_done(c));
  atomic_store(&holds_worker, 0);
  CHECK(jfl_variable_info(session, "no such variable", NULL, NULL) == JFL_ENAME);
  CHECK(jfl_request_done(c));
  jfl_request_unref(c);
  close_session();
}

static void a_plan_is_freed_behind_its_runs_and_nobody_waits(void)
{
  jfl_plan *other;
  jfl_request *r[2];
  open_session();
  CHECK_MSG(!counter_plan(session, "other", &other), "%s", jfl_errmsg());
  const jfl_job *job = other->job;
  atomic_store(&holds_worker, 1);
  for (int i = 0; i < 2; i++) CHECK(!jfl_submit(other, good, &r[i]));
  jfl_plan_free(other);
  CHECK(job->n_plan == 1 && jfl_submit(other, good, &r[0]) == JFL_EINVAL);
  submit_runs(1);
  atomic_store(&holds_worker, 0);
  for (int i = 0; i < 2; i++) CHECK(result_of(r[i]) == i);
  CHECK(run() == 3 && !job->n_plan);
  close_session();
}

static void closing_leaves_no_plan_that_was_to_be_freed(void)
{
  jfl_plan *other;
  open_session();
  CHECK_MSG(!counter_plan(session, "other", &other), "%s", jfl_errmsg());
  atomic_store(&holds_worker, 1);
  submit_runs(2);
  jfl_plan_free(other);
  counter_drop(good);
  atomic_store(&holds_worker, 0);
  jfl_session_free(session);
}

static void closing_drops_plans_that_are_not_made(void)
{
  open_session();
  atomic_store(&holds_worker, 1);
  submit_runs(3);
  jfl_request *c = compile("other"), *r = submit_behind(c);
  counter_drop(good);
  atomic_store(&holds_worker, 0);
  jfl_session_free(session);
  CHECK(jfl_request_done(c) && jfl_request_done(r));
  jfl_request_unref(r);
  jfl_request_unref(c);
}

/* ---- readings ---- */

static void a_reading_gives_what_was_there_as_of_the_call(void)
{
  jfl_request *r;
  open_session();
  atomic_store(&holds_worker, 1);
  submit_runs(2);
  CHECK(!jfl_variables_submit(session, &r));
  submit_runs(1);
  CHECK(!jfl_request_output(r, 0) && !jfl_request_name(r, 0));
  atomic_store(&holds_worker, 0);
  jfl_session_wait(session, r, -1);
  CHECK(run() == 3);
  int found = 0;
  for (int i = 0; jfl_request_name(r, i); i++) {
    CHECK(!strcmp(jfl_request_name(r, i), jfl_variable_name(session, i)));
    if (strcmp(jfl_request_name(r, i), "w")) continue;
    found = 1;
    CHECK(value(jfl_request_output(r, i)) == 2);
  }
  CHECK(found && !jfl_request_name(r, jfl_variable_count(session)));
  jfl_request_unref(r);
  close_session();
}

/* ---- settings ---- */

static jfl_request *set_to(double v)
{
  const char *const name = "w";
  jfl_array *a;
  jfl_request *r = NULL;
  CHECK(!jfl_array_new(JFL_F64, &(jfl_shape){ 2, { 1, 1 } }, &a));
  *(double *)jfl_array_data(a) = v;
  CHECK_MSG(!jfl_variables_set_submit(session, &name, &a, 1, &r), "%s", jfl_errmsg());
  *(double *)jfl_array_data(a) = -1;          /* it was copied */
  jfl_array_unref(a);
  return r;
}

static void a_setting_takes_its_turn_among_the_runs(void)
{
  jfl_request *before, *after;
  open_session();
  CHECK(run() == 0);
  const unsigned disturbances = jfl_session_disturbances(session);
  atomic_store(&holds_worker, 1);
  jfl_request *r = set_to(7);
  CHECK(!jfl_submit(plan, good, &before));
  jfl_request *again = set_to(20);
  CHECK(!jfl_submit(plan, good, &after));
  CHECK(!jfl_request_done(r) && !jfl_request_done(again));
  atomic_store(&holds_worker, 0);
  CHECK(end_of(again) == JFL_OK && end_of(r) == JFL_OK);
  CHECK(jfl_session_wait(session, after, -1) == JFL_OK);
  CHECK(value(jfl_request_output(before, 0)) == 7 && value(jfl_request_output(after, 0)) == 20);
  jfl_request_unref(before);
  jfl_request_unref(after);
  CHECK(run() == 21 && jfl_session_disturbances(session) != disturbances);
  close_session();
}

/* Nothing is set, and the variable that fits is as it was. */
static void what_is_wrong_with_a_setting_is_told_at_once(void)
{
  static const char *const names[] = { "w", "nobody" };
  jfl_array *a[2];
  jfl_request *r;
  open_session();
  CHECK(run() == 0);
  for (int i = 0; i < 2; i++) CHECK(!jfl_variable_get(session, "w", &a[i]));
  CHECK(jfl_variables_set_submit(session, names, a, 2, &r) == JFL_ENAME);
  CHECK(strstr(jfl_errmsg(), "unknown variable 'nobody'") != NULL);
  jfl_array_unref(a[0]);
  CHECK(!jfl_array_new(JFL_F32, &(jfl_shape){ 1, { 3 } }, &a[0]));
  CHECK(jfl_variables_set_submit(session, names, a, 1, &r) == JFL_ESHAPE);
  CHECK(strstr(jfl_errmsg(), "variable 'w' must be") != NULL);
  for (int i = 0; i < 2; i++) jfl_array_unref(a[i]);
  CHECK(run() == 1);
  close_session();
}

static void a_setting_that_has_not_begun_can_be_taken_back(void)
{
  int cancelled = 0;
  open_session();
  CHECK(run() == 0);
  set("max_inflight", 1);
  atomic_store(&holds_worker, 1);
  jfl_request *r = set_to(9), *more;
  const char *const name = "w";
  jfl_array *a;
  CHECK(!jfl_array_new(JFL_F64, &(jfl_shape){ 2, { 1, 1 } }, &a));
  CHECK(jfl_variables_set_submit(session, &name, &a, 1, &more) == JFL_EFULL);
  CHECK(strstr(jfl_errmsg(), "1 settings are in flight already") != NULL);
  jfl_array_unref(a);
  CHECK(!jfl_request_cancel(r, &cancelled) && cancelled);
  atomic_store(&holds_worker, 0);
  CHECK(end_of(r) == JFL_ESTATE);
  CHECK(run() == 1);
  close_session();
}

static void runs_have_results_without_names(void)
{
  jfl_request *r;
  open_session();
  CHECK(!jfl_submit(plan, good, &r));
  jfl_session_wait(session, r, -1);
  CHECK(jfl_request_output(r, 0) && !jfl_request_name(r, 0));
  jfl_request_unref(r);
  close_session();
}

/* Jobs are added by the session's thread while the worker looks at them. */
static void jobs_may_be_added_while_a_save_has_its_turn(void)
{
  jfl_job *job;
  open_session();
  jfl_request *r[40];
  for (int i = 0; i < 40; i++) {
    char name[16];
    snprintf(name, sizeof name, "job%d", i);
    r[i] = save(in_scratch("jobs"));
    CHECK(!jfl_job_new(session, name, JFL_PREDICT, &job));
  }
  for (int i = 0; i < 40; i++) CHECK(end_of(r[i]) == JFL_OK);
  close_session();
}

int main(void)
{
  scratch_make();
  CHECK(!jfl_set_thread_hooks(&(jfl_thread_hooks){ .start = hold }));
  RUN(what_is_done_for_a_session_counts_as_its_makers);
  RUN(a_save_keeps_what_was_there_as_of_the_call);
  RUN(runs_go_on_while_files_are_written);
  RUN(saves_of_one_path_are_written_one_after_another);
  RUN(a_save_or_load_waits_for_those_before_it);
  RUN(what_the_disk_refuses_is_told_by_the_request);
  RUN(too_many_saves_are_refused);
  RUN(a_save_that_has_not_begun_can_be_taken_back);
  RUN(the_end_of_a_session_waits_for_files);
  RUN(a_change_of_priority_leaves_files_to_be_written);
  RUN(a_forked_child_loses_what_is_written);
  RUN(runs_queue_behind_the_making_of_their_plan);
  RUN(what_looks_at_variables_waits_for_plans);
  RUN(a_plan_that_cannot_be_made_fails_its_runs);
  RUN(what_a_plan_will_take_is_checked_at_once);
  RUN(asking_for_a_variable_waits_only_for_plans_that_may_make_it);
  RUN(a_plan_is_freed_behind_its_runs_and_nobody_waits);
  RUN(closing_leaves_no_plan_that_was_to_be_freed);
  RUN(closing_drops_plans_that_are_not_made);
  RUN(a_reading_gives_what_was_there_as_of_the_call);
  RUN(a_setting_takes_its_turn_among_the_runs);
  RUN(what_is_wrong_with_a_setting_is_told_at_once);
  RUN(a_setting_that_has_not_begun_can_be_taken_back);
  RUN(runs_have_results_without_names);
  RUN(jobs_may_be_added_while_a_save_has_its_turn);
  return test_done();
}
