/* jfl in a C program without Lua: a small network learns the sine, is asked, and is saved.

     cc -Isrc examples/embed.c build/libjfl.a -l:libz.a -ldl -lm -pthread -o embed && ./embed

   Where jfl is installed: cc embed.c $(pkg-config --cflags --libs jfl) -lm -o embed */
#include "jfl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 64, STEPS = 2000 };

/* The library never prints and never ends the program: this is where this program decides to. */
static void check(jfl_status s)
{
  if (s == JFL_OK) return;
  fprintf(stderr, "%s\n", jfl_errmsg());
  exit(1);
}

static jfl_value *input(jfl_graph *g, const char *name)
{
  const jfl_shape column = { 2, { BATCH, 1 } };
  jfl_value *v;
  check(jfl_graph_input(g, name, JFL_F32, &column, &v));
  return v;
}

/* x W^T + b, of variables whose names are those of a layer in Lua. */
static jfl_value *dense(jfl_graph *g, jfl_value *x, int inputs, int units, const char *fill,
                        const char *weight, const char *bias)
{
  const jfl_shape matrix = { 2, { units, inputs } }, line = { 1, { units } };
  jfl_value *w, *b;
  check(jfl_parameter(g, weight, JFL_F32, &matrix, fill, &w));
  check(jfl_parameter(g, bias, JFL_F32, &line, fill, &b));
  check(jfl_apply(g, "matmul", (jfl_value *[]){ x, w }, 2, "transpose_b=true", &x));
  check(jfl_apply(g, "bias_add", (jfl_value *[]){ x, b }, 2, NULL, &x));
  return x;
}

/* Both jobs describe it, and share its variables by their names. */
static jfl_value *network(jfl_graph *g, jfl_value *x)
{
  x = dense(g, x, 1, 32, "random_normal", "hidden-weight", "hidden-bias");
  check(jfl_apply(g, "tanh", &x, 1, NULL, &x));
  return dense(g, x, 32, 1, "glorot_uniform", "out-weight", "out-bias");
}

static jfl_plan *train_plan(jfl_session *s)
{
  jfl_graph *g;
  jfl_plan *plan;
  check(jfl_graph_new("train", JFL_TRAIN, &g));
  jfl_value *guess = network(g, input(g, "x")), *truth = input(g, "y"), *loss;
  check(jfl_apply(g, "squared_difference", (jfl_value *[]){ guess, truth }, 2, NULL, &loss));
  check(jfl_train(g, loss, "Adam", 0.01, NULL));
  check(jfl_graph_output(g, loss));
  check(jfl_session_define(s, g, &plan));
  return plan;
}

static jfl_plan *predict_plan(jfl_session *s)
{
  jfl_graph *g;
  jfl_plan *plan;
  check(jfl_graph_new("predict", JFL_PREDICT, &g));
  check(jfl_graph_output(g, network(g, input(g, "x"))));
  check(jfl_session_define(s, g, &plan));
  return plan;
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
