/* A job that gets definition after definition through the public API: what stays, and that no byte
   stays behind. */
#include <stdlib.h>

#include "counter.h"
#include "test.h"

static long held;            /* bytes in use */

static void *take(void *ud, size_t size)
{
  (void)ud;
  void *p = malloc(size);
  if (p) held += (long)size;
  return p;
}

static void give(void *ud, void *p, size_t size)
{
  (void)ud;
  held -= (long)size;
  free(p);
}

static jfl_session *session;
static jfl_job *job;

/* Gives w and trains it, or gives w alone. */
static jfl_status definition(jfl_mode mode, jfl_plan **out)
{
  const jfl_shape row = { 2, { 1, 1 } };
  const jfl_variable_spec spec = { .name = "w", .dtype = JFL_F64, .shape = row, .trainable = 1 };
  jfl_graph *g;
  jfl_value *w;
  COUNTER_TRY(jfl_graph_new("job", mode, &g));
  jfl_status s = mode == JFL_TRAIN ? counter_body(g) : jfl_graph_variable(g, &spec, &w);
  if (!s && mode == JFL_PREDICT) s = jfl_graph_output(g, w);
  jfl_job_set_mode(job, mode);
  if (!s) s = jfl_job_compile(job, g, out);
  jfl_graph_unref(g);
  return s;
}

/* The value of w at the beginning of a run. */
static double run(jfl_plan *p, jfl_array *const *in)
{
  jfl_array *out[2] = { NULL, NULL };
  if (jfl_run(p, in, out)) return -1;
  double v = *(const double *)jfl_array_data(out[0]);
  counter_drop(out);
  return v;
}

static void its_variables_stay_and_its_plans_leave_nothing(void)
{
  jfl_array *in[2];
  long before = 0;
  CHECK(!jfl_session_new(&session));
  CHECK(!jfl_job_new(session, "job", JFL_TRAIN, &job));
  CHECK(!counter_inputs(0, in));
  for (int i = 0; i < 1000; i++) {
    jfl_plan *p;
    const int trains = i % 2 == 0;
    CHECK_MSG(!definition(trains ? JFL_TRAIN : JFL_PREDICT, &p), "%s", jfl_errmsg());
    CHECK(run(p, in) == (i + 1) / 2);
    jfl_plan_free(p);
    if (i == 9) before = held;
  }
  CHECK_MSG(held == before, "%ld bytes more", held - before);
  counter_drop(in);
  jfl_session_free(session);
  CHECK_MSG(held == 0, "%ld bytes stay behind", held);
}

/* A session whose job trains; gives its plan. */
static jfl_plan *begin_training(jfl_array **in)
{
  jfl_plan *trains;
  CHECK(!jfl_session_new(&session));
  CHECK(!jfl_job_new(session, "job", JFL_TRAIN, &job));
  CHECK(!counter_inputs(0, in));
  CHECK(!definition(JFL_TRAIN, &trains));
  return trains;
}

static void plans_of_two_definitions_work_side_by_side(void)
{
  jfl_array *in[2];
  jfl_plan *trains = begin_training(in), *reads;
  CHECK(!definition(JFL_PREDICT, &reads));
  for (int i = 0; i < 3; i++) {
    CHECK(run(reads, in) == i);
    CHECK(run(trains, in) == i);
  }
  counter_drop(in);
  jfl_session_free(session);
}

static void a_variable_is_dropped_when_no_plan_has_it(void)
{
  jfl_array *in[2];
  jfl_plan *trains = begin_training(in), *reads;
  CHECK(run(trains, in) == 0);
  CHECK(jfl_variable_drop(session, "w") == JFL_ESTATE);
  CHECK(jfl_plan_variable(trains, 0) && !jfl_plan_variable(trains, 100));
  jfl_plan_free(trains);
  const int n = jfl_variable_count(session);
  CHECK(!jfl_variable_drop(session, "w") && jfl_variable_count(session) == n - 1);
  CHECK(jfl_variable_drop(session, "w") == JFL_ENAME);
  CHECK(!definition(JFL_PREDICT, &reads));
  CHECK(run(reads, in) == 0);
  counter_drop(in);
  jfl_session_free(session);
  CHECK_MSG(held == 0, "%ld bytes stay behind", held);
}

int main(void)
{
  jfl_set_allocator(&(jfl_allocator){ take, give, NULL });
  RUN(its_variables_stay_and_its_plans_leave_nothing);
  RUN(a_variable_is_dropped_when_no_plan_has_it);
  RUN(plans_of_two_definitions_work_side_by_side);
  return test_done();
}
