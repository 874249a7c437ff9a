#include "check.h"

/* Runs a product of matrices once. */
static void work(jfl_session *s)
{
  jfl_array *in[] = { numbers(100, 100), numbers(100, 100) }, *out;
  const jfl_shape shape = { 2, { 100, 100 } };
  jfl_graph *g;
  jfl_job *job;
  jfl_plan *plan;
  jfl_value *v[2] = { NULL, NULL }, *y = NULL;
  check(jfl_graph_new("job", JFL_PREDICT, &g));
  check(jfl_graph_input(g, "a", JFL_F32, &shape, &v[0]));
  check(jfl_graph_input(g, "b", JFL_F32, &shape, &v[1]));
  check(jfl_graph_line(g, "model.txt:7"));       /* what the host's own users wrote, for messages */
  check(jfl_graph_op(g, jfl_op_find("matmul"), v, 2, NULL, 0, NULL, &y));
  check(jfl_graph_output(g, y));
  check(jfl_job_new(s, "job", JFL_PREDICT, &job));
  check(jfl_job_compile(job, g, &plan));
  check(jfl_run(plan, in, &out));
  jfl_array_unref(out);
  jfl_array_unref(in[0]);
  jfl_array_unref(in[1]);
  jfl_graph_unref(g);
}

/* Where the time goes: a row for each step of each plan. */
static void time_of_each_step(void)
{
  jfl_session *s;
  jfl_profile *profile;
  double computing, waiting;
  check(jfl_session_new(&s));
  check(jfl_profile_start(s, 1000));
  work(s);
  check(jfl_profile_stop(s, &profile));
  EXPECT(jfl_profile_count(profile) >= 1);
  for (int i = 0; i < jfl_profile_count(profile); i++) {
    jfl_profile_row row;
    check(jfl_profile_at(profile, i, &row));
    printf("%s: %s of %s, %d runs\n", row.job, row.op, jfl_profile_line(profile, i),
           (int)row.runs);
  }
  check(jfl_profile_waiting(profile, &computing, &waiting));     /* of one rank among several */
  check(jfl_profile_trace(profile, "trace.json"));
  jfl_profile_free(profile);
  remove("trace.json");
  jfl_session_free(s);
}

/* What the machine can do at best, to compare with. */
static void peak_of_the_machine(void)
{
  double flop, bytes;
  check(jfl_machine_peak(1, &flop, &bytes));
  EXPECT(flop > 1e8 && bytes > 1e7);
}

int main(void)
{
  time_of_each_step();
  peak_of_the_machine();
  return 0;
}
