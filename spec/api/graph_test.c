/* Whatever a C host gets wrong when it describes a job is reported as a status; it never
   crashes. */
#include <string.h>

#include "counter.h"
#include "test.h"

static const jfl_shape row = { 2, { 1, 3 } };

static jfl_graph *graph(const char *name, jfl_mode mode)
{
  jfl_graph *g = NULL;
  CHECK(!jfl_graph_new(name, mode, &g));
  return g;
}

static int says(const char *text) { return strstr(jfl_errmsg(), text) != NULL; }

static void gradients_stay_within_a_graph(void)
{
  jfl_graph *a = graph("a", JFL_PREDICT), *b = graph("b", JFL_PREDICT);
  jfl_value *x = NULL, *y = NULL, *far = NULL, *dx;
  CHECK(!jfl_graph_input(a, "x", JFL_F32, &row, &x));
  CHECK(!counter_op(a, "multiply", x, x, &y));
  for (int i = 0; i < 100; i++) {
    char name[] = { 'x', (char)('0' + i / 10), (char)('0' + i % 10), '\0' };
    CHECK(!jfl_graph_input(b, name, JFL_F32, &row, &far));
  }
  CHECK(jfl_graph_gradients(a, y, NULL, &far, 1, &dx) == JFL_ESTATE && says("'x99'"));
  CHECK(jfl_graph_gradients(a, y, far, &x, 1, &dx) == JFL_ESTATE && says("'x99'"));
  CHECK(jfl_graph_gradients(a, far, NULL, &x, 1, &dx) == JFL_ESTATE && says("'b'"));
  CHECK(!jfl_graph_gradients(a, y, NULL, &x, 1, &dx));
  jfl_graph_unref(a);
  jfl_graph_unref(b);
}

static void shapes_of_any_rank_are_checked(void)
{
  jfl_graph *g = graph("g", JFL_TRAIN);
  jfl_variable_spec spec = { .name = "w", .dtype = JFL_F32, .shape = row };
  jfl_value *v;
  jfl_array *a;
  CHECK(!jfl_graph_variable(g, &spec, &v));
  for (int n = -1; n < 200; n++) {
    if (n >= 0 && n <= JFL_MAXDIM) continue;
    spec.shape.n = n;
    CHECK(jfl_graph_variable(g, &spec, &v) == JFL_ESHAPE);
    CHECK(jfl_graph_input(g, "x", JFL_F32, &spec.shape, &v) == JFL_ESHAPE);
    CHECK(jfl_array_new(JFL_F32, &spec.shape, &a) == JFL_ESHAPE);
  }
  jfl_graph_unref(g);
}

static void rows_outside_an_array_are_refused(void)
{
  static const int64_t far[] = { INT64_MIN, -1, 0, 1, 2, INT64_MAX - 1, INT64_MAX };
  jfl_array *a, *rows;
  CHECK(!jfl_array_new(JFL_F32, &row, &a));
  for (int i = 0; i < 7; i++)
    for (int j = 0; j < 7; j++) {
      jfl_status s = jfl_array_rows(a, far[i], far[j], &rows);
      const int there = far[j] == 0 ? far[i] == 0 || far[i] == 1 : far[j] == 1 && far[i] == 0;
      CHECK((s == JFL_OK) == there);
      if (!s) jfl_array_unref(rows);
    }
  jfl_array_unref(a);
}

static void values_are_split_along_axes_that_they_have(void)
{
  jfl_graph *g = graph("g", JFL_PREDICT);
  jfl_value *x = NULL, *y = NULL;
  CHECK(!jfl_graph_input(g, "x", JFL_F32, &row, &x));
  CHECK(!counter_op(g, "multiply", x, x, &y));
  for (int axis = -2; axis < 5; axis++) {
    const jfl_distribution d = { JFL_SPLIT, axis };
    const int there = axis == 0 || axis == 1;
    CHECK(jfl_value_distribute(x, d) == (there ? JFL_OK : JFL_ESHAPE));
    CHECK(there || says("the axis to split 'x' along must be from 0 to 1, got "));
    CHECK(!there || jfl_value_distribution(x).axis == axis);
    CHECK(jfl_value_distribute(y, d) == JFL_EINVAL && says("must be an input or a variable"));
  }
  CHECK(jfl_value_distribute(x, (jfl_distribution){ JFL_PARTIAL, 0 }) == JFL_EINVAL);
  CHECK(!jfl_value_distribute(x, (jfl_distribution){ JFL_BROADCAST, 0 }));
  CHECK(jfl_value_distribute(y, (jfl_distribution){ JFL_MIRRORED, 0 }) == JFL_EINVAL);
  jfl_graph_unref(g);
}

static void only_float_blobs_of_train_jobs_have_gradients_to_watch(void)
{
  jfl_graph *predict = graph("p", JFL_PREDICT), *train = graph("t", JFL_TRAIN);
  jfl_value *x, *n;
  CHECK(!jfl_graph_input(predict, "x", JFL_F32, &row, &x));
  CHECK(!jfl_graph_input(train, "n", JFL_I32, &row, &n));
  CHECK(jfl_graph_watch_gradient(predict, x, NULL) == JFL_ESTATE && says("predict job"));
  CHECK(jfl_graph_watch_gradient(train, x, NULL) == JFL_ESTATE && says("got one of job 'p'"));
  CHECK(jfl_graph_watch_gradient(train, n, NULL) == JFL_EDTYPE && says("must be a float blob"));
  jfl_graph_unref(predict);
  jfl_graph_unref(train);
}

static jfl_status compile(jfl_session *s, jfl_graph *g, jfl_plan **p)
{
  jfl_job *j;
  COUNTER_TRY(jfl_job_new(s, "t", JFL_TRAIN, &j));
  return jfl_job_compile(j, g, p);
}

static void watched_gradients_are_the_last_results(void)
{
  jfl_session *s = NULL;
  jfl_graph *g = graph("t", JFL_TRAIN);
  jfl_array *in[2], *out[3];
  jfl_plan *p;
  CHECK(!jfl_session_new(&s));
  CHECK(!counter_body(g));
  jfl_value *w = jfl_graph_find_variable(g, "w");
  CHECK(!jfl_graph_watch_gradient(g, w, NULL));
  CHECK(!compile(s, g, &p) && jfl_plan_outputs(p) == 3);
  CHECK(jfl_graph_watch_gradient(g, w, NULL) == JFL_ESTATE && says("compiled already"));
  CHECK(!counter_inputs(0, in) && !jfl_run(p, in, out));
  CHECK(*(double *)jfl_array_data(out[2]) == -1);
  for (int i = 0; i < 3; i++) jfl_array_unref(out[i]);
  for (int i = 0; i < 2; i++) jfl_array_unref(in[i]);
  jfl_graph_unref(g);
  jfl_session_free(s);
}

static void gradients_that_do_not_flow_are_named(void)
{
  jfl_session *s = NULL;
  jfl_graph *g = graph("t", JFL_TRAIN);
  jfl_value *far;
  jfl_plan *p;
  CHECK(!jfl_session_new(&s));
  CHECK(!jfl_graph_input(g, "far", JFL_F32, &row, &far));
  CHECK(!jfl_graph_watch_gradient(g, far, "train.lua:12"));
  CHECK(!counter_body(g));
  CHECK(compile(s, g, &p) == JFL_EINVAL && says("reaches 'far', watched at train.lua:12"));
  jfl_graph_unref(g);
  jfl_session_free(s);
}

static void an_op_may_have_many_outputs(void)
{
  enum { PARTS = 40 };
  jfl_graph *g = graph("g", JFL_PREDICT);
  const jfl_op *split = jfl_op_find("split");
  const double one = 1;
  jfl_arg arg = { .name = "sizes", .kind = JFL_ARG_LIST, .list = &one, .n_list = 1 };
  jfl_value *x = NULL, *part = NULL, *v = NULL;
  jfl_op_info info;
  int n = 0;
  jfl_array *a = NULL, *parts[PARTS] = { NULL };
  jfl_session *s = NULL;
  jfl_op_describe(split, &info);
  CHECK(info.many && info.n_out == 1);
  CHECK(!jfl_graph_input(g, "x", JFL_F32, &(jfl_shape){ 1, { PARTS } }, &x));
  CHECK(!jfl_graph_op(g, split, &x, 1, &arg, 1, NULL, &part));
  while ((v = jfl_value_output(part, n))) CHECK(jfl_value_shape(v)->d[0] == 1 && n++ < PARTS);
  CHECK(n == PARTS && !jfl_value_output(part, -1) && !jfl_value_output(x, 0));
  CHECK(!strcmp(jfl_value_name(jfl_value_output(part, 39)), "split_1/39"));
  CHECK(!jfl_array_new(JFL_F32, jfl_value_shape(x), &a) && !jfl_session_new(&s));
  for (int i = 0; i < PARTS; i++) ((float *)jfl_array_data(a))[i] = (float)i;
  CHECK(!jfl_op_outputs(split, &a, 1, &arg, 1, &n) && n == PARTS);
  CHECK(!jfl_eager(s, split, &a, 1, &arg, 1, parts));
  for (int i = 0; i < PARTS; i++) {
    CHECK(*(float *)jfl_array_data(parts[i]) == (float)i);
    jfl_array_unref(parts[i]);
  }
  CHECK(jfl_op_outputs(split, &a, 1, NULL, 0, &n) == JFL_EINVAL && n == PARTS);
  jfl_array_unref(a);
  jfl_session_free(s);
  jfl_graph_unref(g);
}

/* ---- values that are rounded ---- */

static void rounded_values_are_checked_and_rounded_once(void)
{
  const jfl_shape matrix = { 2, { 4, 4 } };
  const jfl_variable_spec one = { .name = "step", .dtype = JFL_F32, .shape = { 1, { 1 } } };
  const jfl_variable_spec two = { .name = "steps", .dtype = JFL_F32, .shape = { 1, { 2 } } };
  const jfl_arg turn = { .name = "transpose_b", .kind = JFL_ARG_BOOL, .number = 1 };
  jfl_graph *g = graph("t", JFL_PREDICT), *other = graph("u", JFL_PREDICT);
  jfl_value *in[2], *step, *steps, *y, *v, *strange;
  CHECK(!jfl_graph_input(g, "x", JFL_F32, &matrix, &in[0]));
  CHECK(!jfl_graph_input(g, "w", JFL_F32, &matrix, &in[1]));
  CHECK(!jfl_graph_input(other, "x", JFL_F32, &matrix, &strange));
  CHECK(!jfl_graph_variable(g, &one, &step) && !jfl_graph_variable(g, &two, &steps));
  CHECK(!jfl_graph_op(g, jfl_op_find("matmul"), in, 2, &turn, 1, NULL, &y));
  CHECK(jfl_graph_round(g, in[0], steps, JFL_I8) == JFL_EINVAL);
  CHECK(jfl_graph_round(g, in[0], in[1], JFL_I8) == JFL_EINVAL);
  CHECK(jfl_graph_round(g, in[0], step, JFL_I32) == JFL_EDTYPE);
  CHECK(jfl_graph_round(g, strange, step, JFL_I8) == JFL_EINVAL);
  CHECK(!jfl_graph_product_input(g, in[1], 0, &v) && v == in[0]);
  CHECK(!jfl_graph_product_input(g, in[1], 1, &v) && !v);
  CHECK(!jfl_graph_round(g, in[0], step, JFL_I8) && !jfl_graph_product_input(g, in[1], 0, &v));
  const int n = jfl_graph_nodes(g);
  CHECK(v != in[0] && !jfl_graph_round(g, v, step, JFL_I8) && jfl_graph_nodes(g) == n);
  jfl_graph_unref(g);
  jfl_graph_unref(other);
}

/* ---- settings of a graph ---- */

/* What a graph is set to before its ops are added; 0 and NULL leave out the call. */
typedef struct settings {
  const char *device;
  int64_t shard;
  int recompute, parts;
  jfl_dtype mixed;
} settings;

/* Sets a graph twice if it is `undone`, the second time to what it is without any setting. */
static jfl_status set(jfl_graph *g, jfl_session *s, const settings *o, int undone)
{
  if (o->device) COUNTER_TRY(jfl_graph_place(g, s, o->device));
  if (o->shard) COUNTER_TRY(jfl_graph_shard(g, o->shard));
  if (o->parts) COUNTER_TRY(jfl_graph_micro_batches(g, o->parts));
  if (o->mixed) COUNTER_TRY(jfl_graph_mixed_precision(g, o->mixed));
  if (o->recompute) COUNTER_TRY(jfl_graph_recompute(g, 1));
  if (!undone) return JFL_OK;
  COUNTER_TRY(jfl_graph_place(g, s, "cpu:0-1"));
  COUNTER_TRY(jfl_graph_shard(g, 0));
  COUNTER_TRY(jfl_graph_micro_batches(g, 1));
  COUNTER_TRY(jfl_graph_mixed_precision(g, JFL_F32));
  return jfl_graph_recompute(g, 0);
}

static jfl_status layers(jfl_graph *g)
{
  const jfl_variable_spec spec = { .name = "w", .dtype = JFL_F32, .shape = { 2, { 4, 4 } },
                                   .trainable = 1 };
  const double rate = 1;
  const jfl_arg schedule[] = {
    { .name = "boundaries", .kind = JFL_ARG_LIST },
    { .name = "values", .kind = JFL_ARG_LIST, .list = &rate, .n_list = 1 },
  };
  jfl_value *x, *w, *h;
  COUNTER_TRY(jfl_graph_input(g, "x", JFL_F32, &spec.shape, &x));
  COUNTER_TRY(jfl_graph_variable(g, &spec, &w));
  COUNTER_TRY(counter_op(g, "matmul", x, w, &h));
  for (int i = 0; i < 3; i++)
    COUNTER_TRY(jfl_graph_op(g, jfl_op_find("tanh"), &h, 1, NULL, 0, NULL, &h));
  COUNTER_TRY(jfl_graph_recompute(g, 0));
  COUNTER_TRY(jfl_graph_op(g, jfl_op_find("sin"), &h, 1, NULL, 0, NULL, &h));
  return jfl_graph_minimize(g, &(jfl_minimize){
    .loss = &h, .n_loss = 1, .optimizer = "SGD",
    .schedule = "piecewise_constant_schedule", .schedule_arg = schedule, .n_schedule_arg = 2 });
}

/* New text of a job whose graph is set so, as it is compiled. */
static char *compiled(const settings *o, int undone)
{
  jfl_session *s = NULL;
  jfl_graph *g = graph("t", JFL_TRAIN);
  jfl_plan *p;
  char *text = NULL;
  const jfl_arg two = { .name = "cpu_devices", .kind = JFL_ARG_NUMBER, .number = 2 };
  CHECK(!jfl_session_new(&s) && !jfl_session_set(s, &two));
  CHECK(!set(g, s, o, undone) && !layers(g));
  CHECK_MSG(!compile(s, g, &p) && !jfl_graph_text(g, &text), "%s", jfl_errmsg());
  jfl_graph_unref(g);
  jfl_session_free(s);
  return text;
}

static void settings_change_what_is_compiled_until_they_are_undone(void)
{
  static const settings some[] = {
    { .device = "cpu:0-1", .shard = 1 }, { .device = "cpu:0-1", .parts = 2 },
    { .device = "cpu:0-1", .parts = 4 }, { .device = "cpu:0-1", .mixed = JFL_F16 },
    { .device = "cpu:0-1", .recompute = 1 }, { .device = "cpu:0" }, { .device = "cpu:1" },
  };
  enum { N = sizeof some / sizeof *some };
  char *text[N + 1], *plain = compiled(&(settings){ .device = "cpu:0-1" }, 0);
  text[N] = plain;
  for (int i = 0; i < N; i++) text[i] = compiled(&some[i], 0);
  for (int i = 0; i < N; i++) {
    for (int j = i + 1; j <= N; j++) CHECK_MSG(strcmp(text[i], text[j]), "%d and %d", i, j);
    char *again = compiled(&some[i], 1);
    CHECK_MSG(!strcmp(plain, again), "%d: %s", i, again);
    jfl_text_free(again);
  }
  for (int i = 0; i <= N; i++) jfl_text_free(text[i]);
}

/* ---- lines ---- */

/* tanh of an element of the input: gather is asked for at a line, tanh at none. */
static jfl_status element(jfl_graph *g, const char *line)
{
  jfl_value *in[2], *v = NULL;
  COUNTER_TRY(jfl_graph_input(g, "x", JFL_F32, &(jfl_shape){ 1, { 3 } }, &in[0]));
  COUNTER_TRY(jfl_graph_input(g, "i", JFL_I32, &(jfl_shape){ 1, { 1 } }, &in[1]));
  COUNTER_TRY(jfl_graph_line(g, line));
  COUNTER_TRY(jfl_graph_op(g, jfl_op_find("gather"), in, 2, NULL, 0, NULL, &v));
  COUNTER_TRY(jfl_graph_line(g, NULL));
  COUNTER_TRY(jfl_graph_op(g, jfl_op_find("tanh"), &v, 1, NULL, 0, NULL, &v));
  return jfl_graph_output(g, v);
}

/* Runs a plan of that job, of element i. */
static jfl_status run_element(jfl_plan *p, int i)
{
  jfl_array *in[2], *out = NULL;
  CHECK(!jfl_array_new(JFL_F32, &(jfl_shape){ 1, { 3 } }, &in[0]));
  CHECK(!jfl_array_new(JFL_I32, &(jfl_shape){ 1, { 1 } }, &in[1]));
  *(int32_t *)jfl_array_data(in[1]) = i;
  const jfl_status status = jfl_run(p, in, &out);
  if (!status) jfl_array_unref(out);
  for (int k = 0; k < 2; k++) jfl_array_unref(in[k]);
  return status;
}

static void check_profiled_lines(const jfl_profile *f, const char *want)
{
  const int n = jfl_profile_count(f);
  CHECK(n == 2 && !jfl_profile_line(f, -1) && !jfl_profile_line(f, n));
  for (int i = 0; i < n; i++) {
    jfl_profile_row step;
    const char *line = jfl_profile_line(f, i);
    CHECK(!jfl_profile_at(f, i, &step));
    CHECK(strcmp(step.op, "gather") ? !line : line && !strcmp(line, want));
  }
}

static void what_a_host_says_of_lines_is_told_of_runs(void)
{
  static const char *const line[][2] = { { "net.c:7", "net.c:7" }, { "\x1b:7", "\\x1b:7" } };
  for (int i = 0; i < 2; i++) {
    jfl_session *s = NULL;
    jfl_graph *g = graph("t", JFL_PREDICT);
    jfl_plan *p;
    jfl_profile *f;
    char ending[32];
    CHECK(!jfl_session_new(&s) && !element(g, line[i][0]));
    CHECK_MSG(!jfl_session_define(s, g, &p), "%s", jfl_errmsg());
    CHECK(!jfl_profile_start(s, 0) && !run_element(p, 2) && !jfl_profile_stop(s, &f));
    check_profiled_lines(f, line[i][1]);
    jfl_profile_free(f);
    CHECK(run_element(p, 3) == JFL_EDATA);
    snprintf(ending, sizeof ending, "count from 0; see %s", line[i][1]);
    CHECK_MSG(says(ending), "%s", jfl_errmsg());
    CHECK(!strcmp(jfl_error_part(JFL_ERROR_LINE), line[i][1]));
    jfl_session_free(s);
  }
}

int main(void)
{
  RUN(gradients_stay_within_a_graph);
  RUN(shapes_of_any_rank_are_checked);
  RUN(values_are_split_along_axes_that_they_have);
  RUN(only_float_blobs_of_train_jobs_have_gradients_to_watch);
  RUN(watched_gradients_are_the_last_results);
  RUN(gradients_that_do_not_flow_are_named);
  RUN(rows_outside_an_array_are_refused);
  RUN(an_op_may_have_many_outputs);
  RUN(rounded_values_are_checked_and_rounded_once);
  RUN(settings_change_what_is_compiled_until_they_are_undone);
  RUN(what_a_host_says_of_lines_is_told_of_runs);
  return test_done();
}
