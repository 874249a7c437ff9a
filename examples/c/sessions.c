#include "check.h"

#include <poll.h>

enum { ROWS = 8 };

/* Describes a job that multiplies (ROWS, 4) by a variable of (4, 2); a train job also lowers the
   sum of that. */
static jfl_graph *graph_of(const char *name, jfl_mode mode)
{
  const jfl_shape shape = { 2, { ROWS, 4 } };
  const jfl_variable_spec spec = { .name = "w", .dtype = JFL_F32, .shape = { 2, { 4, 2 } },
                                   .init = JFL_INIT_NORMAL, .b = 0.1, .trainable = 1 };
  const double rate = 0.1;
  const jfl_arg schedule[] = {
    { .name = "boundaries", .kind = JFL_ARG_LIST },
    { .name = "values", .kind = JFL_ARG_LIST, .list = &rate, .n_list = 1 },
  };
  jfl_graph *g;
  jfl_value *in[2] = { NULL, NULL }, *y = NULL;
  check(jfl_graph_new(name, mode, &g));
  check(jfl_graph_input(g, "x", JFL_F32, &shape, &in[0]));
  check(jfl_graph_variable(g, &spec, &in[1]));
  check(jfl_graph_op(g, jfl_op_find("matmul"), in, 2, NULL, 0, NULL, &y));
  check(jfl_graph_output(g, y));
  if (mode == JFL_TRAIN)
    check(jfl_graph_minimize(g, &(jfl_minimize){ .loss = &y, .n_loss = 1, .optimizer = "SGD",
      .schedule = "piecewise_constant_schedule", .schedule_arg = schedule, .n_schedule_arg = 2 }));
  return g;
}

static jfl_plan *job_of(jfl_session *s, const char *name, jfl_mode mode, jfl_job **job)
{
  jfl_graph *g = graph_of(name, mode);
  jfl_plan *plan;
  check(jfl_job_new(s, name, mode, job));
  check(jfl_job_compile(*job, g, &plan));
  jfl_graph_unref(g);                        /* the job keeps it */
  return plan;
}

static jfl_session *session(void)
{
  jfl_session *s;
  check(jfl_session_new(&s));
  return s;
}

/* What a session can be told: here two threads, a seed, and to do without one pass. */
static void settings(void)
{
  jfl_session *s = session();
  double threads;
  int on;
  check(jfl_session_set(s, &(jfl_arg){ .name = "threads", .kind = JFL_ARG_NUMBER, .number = 2 }));
  check(jfl_session_set(s, &(jfl_arg){ .name = "seed", .kind = JFL_ARG_NUMBER, .number = 7 }));
  check(jfl_session_set(s, &(jfl_arg){ .name = "passes", .kind = JFL_ARG_STRING,
                                       .string = "-cse" }));
  check(jfl_session_get(s, "threads", &threads));
  EXPECT(threads == 2);
  for (int i = 0; jfl_session_pass(s, i, &on); i++)
    EXPECT(on == !!strcmp(jfl_session_pass(s, i, &on), "cse"));
  jfl_session_free(s);
}

/* The devices of this machine, and why there is none of a kind. */
static void devices(void)
{
  jfl_session *s = session();
  double device;
  EXPECT(jfl_device_count("cpu") >= 1);
  if (!jfl_device_count("gpu")) printf("no GPU: %s\n", jfl_device_absence("gpu"));
  check(jfl_session_get(s, "device", &device));
  EXPECT(!strcmp(jfl_session_device(s, (int)device), "cpu:0"));
  jfl_session_free(s);
}

/* A job is compiled once and run as often as one likes. */
static void synchronous_run(void)
{
  jfl_session *s = session();
  jfl_job *job;
  jfl_plan *plan = job_of(s, "predict", JFL_PREDICT, &job);
  jfl_array *x = numbers(ROWS, 4), *y;
  EXPECT(jfl_plan_inputs(plan) == 1 && jfl_plan_outputs(plan) == 1);
  check(jfl_run(plan, &x, &y));
  EXPECT(jfl_array_shape(y)->d[1] == 2);
  jfl_array_unref(y);
  jfl_array_unref(x);
  jfl_session_free(s);                       /* jobs, plans and variables go with it */
}

/* What a plan is made of: its inputs, variables and steps, and the memory it takes. */
static void look_at_a_plan(void)
{
  jfl_session *s = session();
  jfl_job *job;
  jfl_plan *plan = job_of(s, "predict", JFL_PREDICT, &job);
  const char *name;
  jfl_dtype t;
  const jfl_shape *shape;
  double variables, temporaries;
  char *text;
  check(jfl_plan_input(plan, 0, &name, &t, &shape));
  EXPECT(!strcmp(name, "x") && t == JFL_F32 && shape->d[0] == ROWS);
  EXPECT(!strcmp(jfl_plan_variable(plan, 0), "w") && !jfl_plan_variable(plan, 1));
  for (int i = 0; i < jfl_plan_steps(plan); i++) {
    jfl_plan_step step;
    check(jfl_plan_step_at(plan, i, &step));
    printf("%s by %s: %g operations\n", step.op, step.kernel, step.flop);
  }
  check(jfl_plan_memory(plan, &variables, &temporaries));
  EXPECT(variables >= 4 * 2 * 4);
  check(jfl_plan_text(plan, &text));
  printf("%s", text);
  jfl_text_free(text);
  jfl_session_free(s);
}

/* A job is defined again under its name: the old plan goes, variables stay. */
static void job_defined_again(void)
{
  jfl_session *s = session();
  jfl_job *job;
  jfl_plan_free(job_of(s, "job", JFL_PREDICT, &job));
  EXPECT(jfl_job_new(s, "job", JFL_TRAIN, &job) == JFL_ENAME);
  check(jfl_job_set_mode(job, JFL_TRAIN));   /* plans that are compiled from now on train */
  jfl_session_free(s);
}

/* The learning rate of the next step is read, set by hand, and left to the schedule again. */
static void learning_rate(void)
{
  jfl_session *s = session();
  jfl_job *job;
  jfl_plan *plan = job_of(s, "train", JFL_TRAIN, &job);
  double rate;
  const double slower = 0.01;
  int is_set;
  check(jfl_plan_rate(plan, 0, &rate));
  EXPECT(rate > 0.099 && rate < 0.101);
  check(jfl_plan_set_rate(plan, 0, &slower));
  check(jfl_plan_rate_set(plan, 0, &is_set, &rate));
  EXPECT(is_set && rate == slower);
  check(jfl_plan_set_rate(plan, 0, NULL));
  jfl_session_free(s);
}

/* Runs are queued, and the host goes on with what it does; its loop waits on a descriptor. */
static void asynchronous_runs(void)
{
  jfl_session *s = session();
  jfl_job *job;
  jfl_plan *plan = job_of(s, "train", JFL_TRAIN, &job);
  jfl_array *x = numbers(ROWS, 4);
  jfl_request *r, *kept;
  int fd, cancelled;
  check(jfl_session_set(s, &(jfl_arg){ .name = "inline_limit", .kind = JFL_ARG_NUMBER }));
  check(jfl_session_fd(s, &fd));
  check(jfl_submit(plan, &x, &r));           /* copies x, and gives a request at once */
  kept = jfl_request_ref(r);
  jfl_request_unref(r);
  struct pollfd p = { .fd = fd, .events = POLLIN };
  while (!jfl_request_done(kept)) poll(&p, 1, 1000);
  check(jfl_request_status(kept));           /* an error of the run is told here */
  EXPECT(jfl_array_size(jfl_request_output(kept, 0)) == ROWS * 2);
  check(jfl_session_due(s, 0));              /* nothing more is due: the descriptor is quiet */
  jfl_request_unref(kept);

  check(jfl_submit(plan, &x, &r));
  check(jfl_request_cancel(r, &cancelled));  /* taken back unless it has begun */
  if (!cancelled) check(jfl_session_wait(s, r, -1));
  EXPECT(jfl_request_done(r) && jfl_session_pending(s) == 0);
  EXPECT(jfl_session_disturbances(s) == (unsigned)cancelled);
  jfl_request_unref(r);
  jfl_array_unref(x);
  jfl_session_free(s);
}

/* A plan that takes long to make is made while the host goes on; runs queue up behind it. */
static void plan_made_behind(void)
{
  jfl_session *s = session();
  jfl_graph *g = graph_of("predict", JFL_PREDICT);
  jfl_job *job;
  jfl_array *x = numbers(ROWS, 4);
  jfl_request *making, *r;
  check(jfl_job_new(s, "predict", JFL_PREDICT, &job));
  check(jfl_compile_submit(job, g, &making));
  check(jfl_submit_behind(making, &x, &r));
  while (!jfl_request_done(r)) jfl_session_wait(s, r, 0.01);   /* or it draws */
  check(jfl_request_status(r));              /* also why the plan cannot be made */
  jfl_plan *plan = jfl_request_plan(making);
  EXPECT(jfl_plan_inputs(plan) == 1);
  jfl_request_unref(r);
  jfl_request_unref(making);
  jfl_graph_unref(g);
  jfl_array_unref(x);
  jfl_session_free(s);
}

/* A run that takes less time than handing it over is made at once. */
static void small_run(void)
{
  jfl_session *s = session();
  jfl_job *job;
  jfl_plan *plan = job_of(s, "predict", JFL_PREDICT, &job);
  jfl_array *x = numbers(ROWS, 4), *y = NULL;
  int ran;
  EXPECT(jfl_plan_is_small(plan));
  check(jfl_run_small(plan, &x, &y, &ran));
  EXPECT(ran && jfl_array_size(y) == ROWS * 2);
  jfl_array_unref(y);
  jfl_array_unref(x);
  jfl_session_free(s);
}

static int asked_to_stop(void *ctx)
{
  return *(const int *)ctx;                  /* such as a flag that a signal's handler sets */
}

/* A run is given up between its steps where the host asks for it. */
static void run_that_is_given_up(void)
{
  jfl_session *s = session();
  jfl_job *job;
  jfl_plan *plan = job_of(s, "predict", JFL_PREDICT, &job);
  jfl_array *x = numbers(ROWS, 4), *y = NULL;
  int stop = 1;
  check(jfl_session_stop_when(s, asked_to_stop, &stop));
  EXPECT(jfl_run(plan, &x, &y) == JFL_ESTATE);
  check(jfl_session_stop_when(s, NULL, NULL));
  check(jfl_run(plan, &x, &y));
  jfl_array_unref(y);
  jfl_array_unref(x);
  jfl_session_free(s);
}

int main(void)
{
  settings();
  devices();
  synchronous_run();
  look_at_a_plan();
  job_defined_again();
  learning_rate();
  asynchronous_runs();
  plan_made_behind();
  small_run();
  run_that_is_given_up();
  return 0;
}
