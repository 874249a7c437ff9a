#include "check.h"

/* All ops, each with its inputs and attributes: what a tool shows or checks. */
static void list_of_ops(void)
{
  for (int i = 0; i < jfl_op_count(); i++) {
    jfl_op_info info;
    jfl_param p;
    check(jfl_op_describe(jfl_op_at(i), &info));
    for (int k = 0; k < info.n_param; k++) {
      check(jfl_op_param(jfl_op_at(i), k, &p));
      EXPECT(p.name && p.type && p.doc);
    }
  }
  jfl_op_info softmax;
  check(jfl_op_describe(jfl_op_find("softmax"), &softmax));
  printf("%s(%s): %s\n", softmax.name, softmax.in[0], softmax.doc);
}

/* All optimizers with their options, which are checked without training anything. */
static void list_of_optimizers(void)
{
  for (int i = 0; i < jfl_optimizer_count(); i++) {
    jfl_optimizer_info info;
    jfl_param p;
    check(jfl_optimizer_describe(jfl_optimizer_at(i), &info));
    for (int k = 0; k < info.n_param; k++) check(jfl_optimizer_param(jfl_optimizer_at(i), k, &p));
  }
  const jfl_arg wrong = { .name = "beta1", .kind = JFL_ARG_NUMBER, .number = 2 };
  EXPECT(jfl_optimizer_check(jfl_optimizer_find("Adam"), &wrong, 1) != JFL_OK);
  printf("%s\n", jfl_errmsg());
}

/* The learning rate that a schedule gives in a step. */
static void learning_rate_of_a_step(void)
{
  const double at = 100, values[] = { 0.1, 0.01 };
  const jfl_arg arg[] = {
    { .name = "boundaries", .kind = JFL_ARG_LIST, .list = &at, .n_list = 1 },
    { .name = "values", .kind = JFL_ARG_LIST, .list = values, .n_list = 2 },
  };
  double rate;
  check(jfl_schedule_rate(jfl_op_find("piecewise_constant_schedule"), arg, 2, 50, &rate));
  EXPECT(rate > 0.099 && rate < 0.101);
}

/* An op runs at once on arrays, without a job. */
static void op_on_arrays(void)
{
  jfl_session *s;
  jfl_array *a = numbers(2, 3), *out;
  const double to = 1;
  const jfl_arg axis = { .name = "axis", .kind = JFL_ARG_LIST, .list = &to, .n_list = 1 };
  int n;
  check(jfl_session_new(&s));
  check(jfl_op_outputs(jfl_op_find("reduce_sum"), &a, 1, &axis, 1, &n));
  EXPECT(n == 1);
  check(jfl_eager(s, jfl_op_find("reduce_sum"), &a, 1, &axis, 1, &out));
  EXPECT(((float *)jfl_array_data(out))[1] == 12);     /* 3 + 4 + 5 */
  jfl_array_unref(out);
  jfl_array_unref(a);
  jfl_session_free(s);
}

/* How a product can be shared among 2 devices, and the part of the first one. */
static void part_of_an_op(void)
{
  const jfl_op *matmul = jfl_op_find("matmul");
  jfl_array *in[] = { numbers(4, 3), numbers(3, 2) }, *half, *out;
  jfl_session *s;
  char *ways;
  check(jfl_session_new(&s));
  check(jfl_op_signatures(matmul, in, 2, NULL, 0, 2, &ways));
  EXPECT(!strncmp(ways, "0,B->0", 6));       /* rows of the first: rows of the result */
  check(jfl_array_rows(in[0], 0, 2, &half));
  const jfl_share first = { .signature = 0, .parts = 2, .member = 0 };
  jfl_array *own[] = { half, in[1] };
  check(jfl_eager_part(s, matmul, in, 2, NULL, 0, &first, own, &out));
  EXPECT(jfl_array_shape(out)->d[0] == 2);
  jfl_text_free(ways);
  jfl_array_unref(out);
  jfl_array_unref(half);
  jfl_array_unref(in[0]);
  jfl_array_unref(in[1]);
  jfl_session_free(s);
}

int main(void)
{
  list_of_ops();
  list_of_optimizers();
  learning_rate_of_a_step();
  op_on_arrays();
  part_of_an_op();
  return 0;
}
