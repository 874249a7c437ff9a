/* Plans on devices that work asynchronously: results are right only because steps wait. */
#include <stdlib.h>
#include <string.h>

#include "run/run.h"
#include "test.h"

static jfl_session *session;
static jfl_plan *plan;

static jfl_status negate(jfl_graph *g, jfl_value *x, jfl_value **y)
{
  return jfl_graph_op(g, jfl_op_find("negative"), &x, 1, NULL, 0, NULL, y);
}

/* z = -x on one device, where x is negated many times on another device before. */
static jfl_status describe(jfl_graph *g)
{
  const jfl_shape one = { 1, { 1 } };
  jfl_value *x;
  JF_TRY(jfl_graph_input(g, "x", JFL_F64, &one, &x));
  JF_TRY(jfl_graph_place(g, session, "sim:0"));
  for (int i = 0; i < 12; i++) JF_TRY(negate(g, x, &x));
  JF_TRY(jfl_graph_place(g, session, "sim:1"));
  JF_TRY(negate(g, x, &x));
  return jfl_graph_output(g, x);
}

static void open_plan(void)
{
  const jfl_arg passes = { .name = "passes", .kind = JFL_ARG_STRING, .string = "-fold -fuse" };
  jfl_graph *g;
  jfl_job *job;
  CHECK(!jfl_session_new(&session));
  CHECK(!jfl_session_set(session, &passes));
  CHECK(!jfl_graph_new("chain", JFL_PREDICT, &g));
  CHECK_MSG(!describe(g), "%s", jfl_errmsg());
  CHECK(!jfl_job_new(session, "chain", JFL_PREDICT, &job));
  CHECK_MSG(!jfl_job_compile(job, g, &plan), "%s", jfl_errmsg());
  jfl_graph_unref(g);
}

/* Runs the plan n times; returns how many runs gave the right result. */
static int right_runs(int n)
{
  const jfl_shape one = { 1, { 1 } };
  int right = 0;
  for (int i = 1; i <= n; i++) {
    jfl_array *x, *y;
    CHECK(!jfl_array_new(JFL_F64, &one, &x));
    *(double *)jfl_array_data(x) = i;
    CHECK_MSG(!jfl_run(plan, &x, &y), "%s", jfl_errmsg());
    right += *(double *)jfl_array_data(y) == -i;
    jfl_array_unref(x);
    jfl_array_unref(y);
  }
  return right;
}

static int n_awaits(const jfl_plan *p)
{
  int n = 0;
  for (int s = 0; s < p->n_step; s++) n += p->step[s].n_await;
  return n;
}

static void steps_wait_for_other_devices(void)
{
  open_plan();
  CHECK_MSG(n_awaits(plan) >= 1, "%d", n_awaits(plan));
  int right = right_runs(10);
  CHECK_MSG(right == 10, "%d of 10", right);
  jfl_session_free(session);
}

/* Sooner or later, as the devices are late by chance. */
static void a_plan_without_its_waits_gives_wrong_results(void)
{
  int right = 0;
  open_plan();
  for (int s = 0; s < plan->n_step; s++) ((jf_step *)plan->step)[s].n_await = 0;
  while (right < 1000 && right_runs(1)) right++;
  CHECK_MSG(right < 1000, "all of %d", right);
  jfl_session_free(session);
}

static void a_run_waits_for_its_inputs_and_results(void)
{
  open_plan();
  for (int i = 0; i < 20; i++) CHECK(right_runs(3) == 3);
  jfl_session_free(session);
}

/* ---- what a device finds wrong ---- */

static int finds;               /* whether its record can be read, and has a fault */

static jfl_status get_record(jf_device *d, void *stream, void *to, const void *from, size_t size)
{
  (void)d, (void)stream, (void)from;
  if (!finds) return jf_fail(JFL_EIO, "the record cannot be read");
  const jf_fault label = { .what = JF_WRONG_LABEL, .value = 7, .limit = 3 };
  memcpy(to, &label, size);
  return JFL_OK;
}

static jfl_status wait_well(jf_device *d, void *stream) { return (void)d, (void)stream, JFL_OK; }

/* It is of the run before where this one's cannot be read. */
static void a_fault_is_told_of_its_own_run(void)
{
  const jf_kind kind = { .get = get_record, .wait = wait_well };
  jf_device device = { .kind = &kind };
  jf_run_record record = { 0 };
  jf_site site = { .device = &device };
  finds = 1;
  CHECK(jf_site_settle(&site, &record) != JFL_OK && strstr(jfl_errmsg(), "got 7"));
  finds = 0;
  CHECK(jf_site_settle(&site, &record) == JFL_EIO);
  CHECK_MSG(!strcmp(jfl_errmsg(), "the record cannot be read"), "%s", jfl_errmsg());
}

int main(void)
{
  setenv("JFL_SIM_DELAY", "2000", 1);
  RUN(steps_wait_for_other_devices);
  RUN(a_plan_without_its_waits_gives_wrong_results);
  RUN(a_run_waits_for_its_inputs_and_results);
  RUN(a_fault_is_told_of_its_own_run);
  return test_done();
}
