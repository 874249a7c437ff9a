/* jfl in a C program without Lua: a small network learns the sine, is asked, and is saved.

     cc -Isrc examples/embed.c build/libjfl.a -l:libz.a -ldl -lm -pthread -o embed && ./embed */
#include "jfl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 64, HIDDEN = 32, STEPS = 2000 };

/* The library never prints and never ends the program: this is where this program decides to. */
static void check(jfl_status s)
{
  if (s == JFL_OK) return;
  fprintf(stderr, "%s\n", jfl_errmsg());
  exit(1);
}

/* An op of one result on one or two values. */
static jfl_value *op(jfl_graph *g, const char *name, jfl_value *a, jfl_value *b)
{
  jfl_value *in[] = { a, b }, *out = NULL;
  check(jfl_graph_op(g, jfl_op_find(name), in, b ? 2 : 1, NULL, 0, NULL, &out));
  return out;
}

static jfl_value *variable(jfl_graph *g, const char *name, jfl_shape shape, double deviation)
{
  jfl_value *v = NULL;
  const jfl_variable_spec spec = { .name = name, .dtype = JFL_F32, .shape = shape,
                                   .init = JFL_INIT_NORMAL, .b = deviation, .trainable = 1 };
  check(jfl_graph_variable(g, &spec, &v));
  return v;
}

/* y = tanh(x w1 + b1) w2 + b2. Both jobs describe it, and share the variables by their names. */
static jfl_value *network(jfl_graph *g, jfl_value *x)
{
  jfl_value *w1 = variable(g, "w1", (jfl_shape){ 2, { 1, HIDDEN } }, 1.0);
  jfl_value *b1 = variable(g, "b1", (jfl_shape){ 1, { HIDDEN } }, 1.0);
  jfl_value *w2 = variable(g, "w2", (jfl_shape){ 2, { HIDDEN, 1 } }, 0.1);
  jfl_value *b2 = variable(g, "b2", (jfl_shape){ 1, { 1 } }, 0.0);
  jfl_value *hidden = op(g, "tanh", op(g, "bias_add", op(g, "matmul", x, w1), b1), NULL);
  return op(g, "bias_add", op(g, "matmul", hidden, w2), b2);
}

static jfl_value *input(jfl_graph *g, const char *name)
{
  const jfl_shape column = { 2, { BATCH, 1 } };
  jfl_value *v = NULL;
  check(jfl_graph_input(g, name, JFL_F32, &column, &v));
  return v;
}

/* Compiles a graph into the plan of a job; the job keeps the graph. */
static jfl_plan *compile(jfl_session *s, const char *name, jfl_mode mode, jfl_graph *g)
{
  jfl_job *job;
  jfl_plan *plan;
  check(jfl_job_new(s, name, mode, &job));
  check(jfl_job_compile(job, g, &plan));
  jfl_graph_unref(g);
  return plan;
}

static jfl_plan *train_plan(jfl_session *s)
{
  jfl_graph *g;
  check(jfl_graph_new("train", JFL_TRAIN, &g));
  jfl_value *x = input(g, "x"), *y = input(g, "y");
  jfl_value *loss = op(g, "squared_difference", network(g, x), y);
  const double rate = 0.01;
  const jfl_arg schedule[] = {
    { .name = "boundaries", .kind = JFL_ARG_LIST },
    { .name = "values", .kind = JFL_ARG_LIST, .list = &rate, .n_list = 1 },
  };
  check(jfl_graph_output(g, loss));
  check(jfl_graph_minimize(g, &(jfl_minimize){ .loss = &loss, .n_loss = 1, .optimizer = "Adam",
    .schedule = "piecewise_constant_schedule", .schedule_arg = schedule, .n_schedule_arg = 2 }));
  return compile(s, "train", JFL_TRAIN, g);
}

static jfl_plan *predict_plan(jfl_session *s)
{
  jfl_graph *g;
  check(jfl_graph_new("predict", JFL_PREDICT, &g));
  check(jfl_graph_output(g, network(g, input(g, "x"))));
  return compile(s, "predict", JFL_PREDICT, g);
}

static double mean(const jfl_array *a)
{
  const float *p = jfl_array_data(a);
  double sum = 0;
  for (int64_t i = 0; i < jfl_array_size(a); i++) sum += p[i];
  return sum / (double)jfl_array_size(a);
}

/* Arguments are read in place; a result is a new array, which the caller gives back. */
static void train(jfl_plan *plan, jfl_array *x, jfl_array *y)
{
  float *px = jfl_array_data(x), *py = jfl_array_data(y);
  for (int step = 0; step < STEPS; step++) {
    for (int i = 0; i < BATCH; i++) {
      px[i] = (float)(rand() % 6283) / 1000 - 3.1415f;
      py[i] = sinf(px[i]);
    }
    jfl_array *loss;
    check(jfl_run(plan, (jfl_array *[]){ x, y }, &loss));
    if (step % 500 == 499) printf("step %d: loss %.5f\n", step + 1, mean(loss));
    jfl_array_unref(loss);
  }
}

int main(void)
{
  jfl_session *s;
  check(jfl_session_new(&s));
  check(jfl_session_set(s, &(jfl_arg){ .name = "seed", .kind = JFL_ARG_NUMBER, .number = 1 }));
  jfl_plan *trains = train_plan(s), *predicts = predict_plan(s);
  jfl_array *x, *y, *answer;
  const jfl_shape column = { 2, { BATCH, 1 } };
  check(jfl_array_new(JFL_F32, &column, &x));
  check(jfl_array_new(JFL_F32, &column, &y));
  train(trains, x, y);

  float *px = jfl_array_data(x), worst = 0;
  for (int i = 0; i < BATCH; i++) px[i] = -3 + 6 * (float)i / (BATCH - 1);
  check(jfl_run(predicts, &x, &answer));
  const float *py = jfl_array_data(answer);
  for (int i = 0; i < BATCH; i++) worst = fmaxf(worst, fabsf(py[i] - sinf(px[i])));
  printf("sin(%.3f) is about %.3f; the largest error is %.3f\n", px[40], py[40], worst);

  check(jfl_checkpoint_save(s, "sine", 1));
  jfl_array_unref(answer);
  jfl_array_unref(x);
  jfl_array_unref(y);
  jfl_session_free(s);                 /* waits for what runs; jobs, plans and variables go */
  return worst < 0.1f ? 0 : 1;
}
