#include "check.h"

static jfl_session *session(void)
{
  jfl_arg seed;
  jfl_session *s;
  memset(&seed, 0, sizeof seed);
  seed.name = "seed";
  seed.number = 1;
  check(jfl_session_new(&s));
  check(jfl_session_set(s, &seed));
  return s;
}

/* A network is a call for each parameter and op. The variables are called as those that the front
   end in Lua makes for layers "conv1" and "digits", so a checkpoint serves both. */
static void network(void)
{
  const jfl_shape images = { 4, { 10, 1, 28, 28 } }, labels = { 1, { 10 } };
  const jfl_shape filters = { 4, { 8, 1, 5, 5 } }, digits = { 2, { 10, 1152 } };
  jfl_graph *g;
  jfl_value *x[2], *y[2], *loss;
  check(jfl_graph_new("train", JFL_TRAIN, &g));
  check(jfl_graph_input(g, "images", JFL_F32, &images, &x[0]));
  check(jfl_graph_input(g, "labels", JFL_I32, &labels, &y[0]));
  check(jfl_parameter(g, "conv1-weight", JFL_F32, &filters, "glorot_uniform", &x[1]));
  check(jfl_apply(g, "conv2d", x, 2, NULL, &x[0]));
  check(jfl_apply(g, "relu", x, 1, NULL, &x[0]));
  check(jfl_apply(g, "max_pool2d", x, 1, "ksize=2 strides=2", &x[0]));
  check(jfl_apply(g, "reshape", x, 1, "shape=10,-1", &x[0]));
  check(jfl_apply(g, "dropout", x, 1, "rate=0.5", &x[0]));     /* in train jobs alone */
  check(jfl_parameter(g, "digits-weight", JFL_F32, &digits, "glorot_uniform", &x[1]));
  check(jfl_apply(g, "matmul", x, 2, "transpose_b=true", &y[1]));
  check(jfl_apply(g, "sparse_softmax_cross_entropy_with_logits", y, 2, NULL, &loss));
  check(jfl_graph_output(g, loss));
  check(jfl_train(g, loss, "SGD", 0.1, "momentum=0.9 clip_norm=1"));
  jfl_session *s = session();
  jfl_plan *plan;
  check(jfl_session_define(s, g, &plan));    /* g is the job's from here on */
  const jfl_shape *shape;
  check(jfl_variable_info(s, "conv1-weight", NULL, &shape));
  EXPECT(shape->n == 4 && shape->d[0] == 8 && shape->d[3] == 5);
  jfl_session_free(s);
}

/* Parameters, which training changes, and ops make a layer of one's own. */
static void layer_of_the_program(void)
{
  const jfl_shape shape = { 2, { 4, 3 } }, factors = { 1, { 3 } };
  jfl_graph *g;
  jfl_value *in[2], *y;
  check(jfl_graph_new("scale", JFL_PREDICT, &g));
  check(jfl_graph_input(g, "x", JFL_F32, &shape, &in[0]));
  check(jfl_parameter(g, "factors", JFL_F32, &factors, "constant(2)", &in[1]));
  check(jfl_apply(g, "multiply", in, 2, "name=scaled", &y));
  check(jfl_graph_output(g, y));
  jfl_session *s = session();
  jfl_plan *plan;
  check(jfl_session_define(s, g, &plan));
  jfl_array *x = numbers(4, 3), *out;
  check(jfl_run(plan, &x, &out));
  EXPECT(((float *)jfl_array_data(out))[5] == 10);
  jfl_array_unref(out);
  jfl_array_unref(x);
  jfl_session_free(s);
}

int main(void)
{
  network();
  layer_of_the_program();
  return 0;
}
