#include "check.h"

/* An input has a name, by which errors and plans call it, a dtype and a shape. */
static jfl_value *input(jfl_graph *g, const char *name, int64_t rows, int64_t columns)
{
  const jfl_shape shape = { 2, { rows, columns } };
  jfl_value *v = NULL;
  check(jfl_graph_input(g, name, JFL_F32, &shape, &v));
  return v;
}

/* A variable has a name and what it holds at first: numbers of a standard deviation of 0.1. */
static jfl_value *weight(jfl_graph *g, const char *name, int64_t rows, int64_t columns)
{
  const jfl_variable_spec spec = { .name = name, .dtype = JFL_F32,
    .shape = { 2, { rows, columns } }, .init = JFL_INIT_NORMAL, .b = 0.1, .trainable = 1 };
  jfl_value *v = NULL;
  check(jfl_graph_variable(g, &spec, &v));
  return v;
}

static jfl_value *product(jfl_graph *g, jfl_value *a, jfl_value *b)
{
  jfl_value *in[] = { a, b }, *out = NULL;
  check(jfl_graph_op(g, jfl_op_find("matmul"), in, 2, NULL, 0, NULL, &out));
  return out;
}

/* A graph is built from inputs, variables and ops; each value knows its dtype, shape and name. */
static void graph_of_one_layer(void)
{
  jfl_graph *g;
  char *text;
  check(jfl_graph_new("predict", JFL_PREDICT, &g));
  EXPECT(jfl_graph_mode(g) == JFL_PREDICT);
  jfl_value *x = input(g, "x", 8, 4), *w = weight(g, "w", 4, 2), *y = product(g, x, w);
  EXPECT(jfl_graph_find_variable(g, "w") == w && jfl_value_graph(y) == g);
  EXPECT(jfl_value_shape(y)->d[1] == 2 && jfl_value_dtype(y) == JFL_F32);
  printf("%s\n", jfl_value_name(y));
  check(jfl_graph_output(g, y));
  check(jfl_graph_text(g, &text));
  printf("%s", text);
  jfl_text_free(text);
  jfl_graph *kept = jfl_graph_ref(g);        /* a graph is counted, as arrays are */
  jfl_graph_unref(g);
  jfl_graph_unref(kept);
}

/* An op with several results gives them one by one. */
static void op_of_several_results(void)
{
  const double sizes[] = { 1, 3 };
  const jfl_arg arg[] = {
    { .name = "sizes", .kind = JFL_ARG_LIST, .list = sizes, .n_list = 2 },
    { .name = "axis", .kind = JFL_ARG_NUMBER, .number = 1 },
  };
  jfl_graph *g;
  jfl_value *part = NULL;
  check(jfl_graph_new("predict", JFL_PREDICT, &g));
  jfl_value *x = input(g, "x", 8, 4);
  check(jfl_graph_op(g, jfl_op_find("split"), &x, 1, arg, 2, "parts", &part));
  EXPECT(jfl_value_shape(part)->d[1] == 1);
  EXPECT(jfl_value_shape(jfl_value_output(part, 1))->d[1] == 3);
  EXPECT(jfl_value_output(part, 2) == NULL);
  jfl_graph_unref(g);
}

/* What a train job minimizes, and with which optimizer; SGD steps at a rate of 0.1. */
static void graph_that_trains(void)
{
  const double rate = 0.1;
  const jfl_arg schedule[] = {
    { .name = "boundaries", .kind = JFL_ARG_LIST },
    { .name = "values", .kind = JFL_ARG_LIST, .list = &rate, .n_list = 1 },
  };
  jfl_graph *g;
  char *text;
  check(jfl_graph_new("train", JFL_TRAIN, &g));
  jfl_value *x = input(g, "x", 8, 4), *loss = product(g, x, weight(g, "w", 4, 1));
  check(jfl_graph_output(g, loss));
  check(jfl_graph_minimize(g, &(jfl_minimize){ .loss = &loss, .n_loss = 1, .optimizer = "SGD",
    .schedule = "piecewise_constant_schedule", .schedule_arg = schedule, .n_schedule_arg = 2,
    .clip_norm = 1 }));
  check(jfl_graph_watch_gradient(g, jfl_graph_find_variable(g, "w"), "graphs.c"));

  /* Compiling changes the graph; its text as it was described stays. */
  jfl_session *s;
  jfl_job *job;
  jfl_plan *plan;
  check(jfl_session_new(&s));
  check(jfl_job_new(s, "train", JFL_TRAIN, &job));
  check(jfl_job_compile(job, g, &plan));
  EXPECT(jfl_plan_outputs(plan) == 2);       /* the losses, and the gradient that is watched */
  check(jfl_graph_traced_text(g, &text));
  printf("%s", text);
  jfl_text_free(text);
  jfl_graph_unref(g);
  jfl_session_free(s);
}

/* Gradients are values like others: here those of the sum of y. */
static void gradients_as_values(void)
{
  jfl_graph *g;
  jfl_value *gradient = NULL;
  check(jfl_graph_new("predict", JFL_PREDICT, &g));
  jfl_value *x = input(g, "x", 8, 4), *y = product(g, x, weight(g, "w", 4, 2));
  check(jfl_graph_gradients(g, y, NULL, &x, 1, &gradient));
  EXPECT(jfl_value_shape(gradient)->d[0] == 8 && jfl_value_shape(gradient)->d[1] == 4);
  jfl_graph_unref(g);
}

/* A large model trades time for memory, and rounds what its products read. */
static void graph_of_less_memory(void)
{
  jfl_graph *g;
  check(jfl_graph_new("train", JFL_TRAIN, &g));
  check(jfl_graph_mixed_precision(g, JFL_F16));
  check(jfl_graph_micro_batches(g, 2));      /* 8 rows are two parts of 4 */
  check(jfl_graph_shard(g, 1024));           /* on several devices: large variables in parts */
  jfl_value *x = input(g, "x", 8, 4);
  check(jfl_graph_recompute(g, 1));          /* what is added now is computed again later */
  jfl_value *y = product(g, x, weight(g, "w", 4, 4));
  check(jfl_graph_recompute(g, 0));
  check(jfl_graph_output(g, y));
  jfl_graph_unref(g);
}

/* A calibrated network: what its first product reads beside the weights is rounded to int8. */
static void graph_of_integers(void)
{
  const jfl_variable_spec scale = { .name = "scale", .dtype = JFL_F32, .shape = { 1, { 1 } },
                                    .init = JFL_INIT_CONSTANT, .a = 0.05 };
  const jfl_arg transpose = { .name = "transpose_b", .kind = JFL_ARG_BOOL, .number = 1 };
  jfl_graph *g;
  jfl_value *y = NULL, *read = NULL, *step = NULL;
  check(jfl_graph_new("predict", JFL_PREDICT, &g));
  jfl_value *in[] = { input(g, "x", 8, 4), weight(g, "w", 2, 4) };
  check(jfl_graph_op(g, jfl_op_find("matmul"), in, 2, &transpose, 1, NULL, &y));
  check(jfl_graph_product_input(g, in[1], 0, &read));
  EXPECT(read == in[0]);
  check(jfl_graph_variable(g, &scale, &step));
  check(jfl_graph_round(g, read, step, JFL_I8));
  check(jfl_graph_product_input(g, in[1], 0, &read));
  EXPECT(read != in[0]);
  check(jfl_graph_output(g, y));
  jfl_graph_unref(g);
}

/* A graph on two devices, here two shares of the processor: rows of x are split between them. */
static void graph_on_two_devices(void)
{
  const jfl_arg two = { .name = "cpu_devices", .kind = JFL_ARG_NUMBER, .number = 2 };
  jfl_session *s;
  jfl_graph *g;
  jfl_members m;
  check(jfl_session_new(&s));
  check(jfl_session_set(s, &two));
  check(jfl_graph_new("predict", JFL_PREDICT, &g));
  check(jfl_graph_place(g, s, "cpu:0-1"));
  check(jfl_graph_members(g, s, &m));
  EXPECT(m.n == 2 && m.n_here == 2);
  jfl_value *x = input(g, "x", 8, 4);
  check(jfl_value_distribute(x, (jfl_distribution){ JFL_SPLIT, 0 }));
  EXPECT(jfl_value_distribution(x).kind == JFL_SPLIT);
  jfl_value *y = product(g, x, weight(g, "w", 4, 2));
  printf("%s is on %s\n", jfl_value_name(y), jfl_value_place(y, s));

  jfl_value *each = NULL;
  check(jfl_graph_mirror(g, 1));             /* from here on each device draws for itself */
  check(jfl_graph_change_view(g, s, y, 1, &each));
  EXPECT(jfl_value_shape(each)->d[0] == 4);  /* each device's rows are a value of their own */
  check(jfl_graph_mirror(g, 0));
  jfl_graph_unref(g);
  jfl_session_free(s);
}

/* A tool that draws a graph, or checks it, goes through its values and nodes. */
static void nodes_of_a_graph(void)
{
  const jfl_shape shape = { 2, { 2, 3 } };
  jfl_graph *g;
  jfl_value *x;
  jfl_node node;
  char *attributes;
  check(jfl_graph_new("job", JFL_PREDICT, &g));
  check(jfl_graph_input(g, "x", JFL_F32, &shape, &x));
  check(jfl_apply(g, "softmax", &x, 1, "axis=1 name=share", &x));
  EXPECT(jfl_value_origin(jfl_graph_value(g, 0)) == JFL_IS_INPUT);
  EXPECT(jfl_value_origin(jfl_graph_value(g, 1)) == JFL_IS_RESULT);
  EXPECT(jfl_graph_value(g, 2) == NULL);
  EXPECT(jfl_graph_nodes(g) == 1);
  check(jfl_graph_node(g, 0, &node));
  EXPECT(!strcmp(node.op, "softmax") && !strcmp(node.name, "share"));
  EXPECT(node.n_in == 1 && node.in[0] == jfl_graph_value(g, 0) && node.out[0] == x);
  check(jfl_graph_attributes(g, 0, &attributes));
  EXPECT(strstr(attributes, "axis") != NULL);
  jfl_text_free(attributes);
  jfl_graph_unref(g);
}

/* The attributes of a node are arguments again, by which the same op can be called elsewhere; so
   are a variable's. */
static void attributes_of_a_node(void)
{
  jfl_graph *g;
  const jfl_arg *arg;
  int n;
  check(jfl_graph_new("job", JFL_PREDICT, &g));
  jfl_value *y = product(g, input(g, "x", 8, 4), weight(g, "w", 4, 2));
  check(jfl_graph_line(g, "job.c:12"));
  check(jfl_apply(g, "softmax", &y, 1, "axis=-1", &y));
  check(jfl_graph_output(g, y));
  EXPECT(jfl_graph_result(g, 0) == y && jfl_graph_result(g, 1) == NULL);
  EXPECT(!strcmp(jfl_graph_node_line(g, 1), "job.c:12") && !strcmp(jfl_value_line(y), "job.c:12"));
  EXPECT(jfl_graph_node_line(g, 0) == NULL && jfl_graph_node_line(g, 2) == NULL);
  check(jfl_graph_arguments(g, 1, &arg, &n));
  EXPECT(n == 1 && !strcmp(arg[0].name, "axis"));
  EXPECT(arg[0].kind == JFL_ARG_NUMBER && arg[0].number == 1);   /* the last of two axes */
  jfl_arguments_free(arg);
  const jfl_variable_spec *spec = jfl_value_variable(jfl_graph_find_variable(g, "w"));
  EXPECT(spec->trainable && spec->shape.d[0] == 4 && jfl_value_variable(y) == NULL);
  jfl_graph_unref(g);
}

int main(void)
{
  nodes_of_a_graph();
  attributes_of_a_node();
  graph_of_one_layer();
  op_of_several_results();
  graph_that_trains();
  gradients_as_values();
  graph_of_less_memory();
  graph_of_integers();
  graph_on_two_devices();
  return 0;
}
