/* What an optimizer's record can express, shown by two optimizers made up for this test: slots of
   any number, dtype, first value and shape, and numbers of the step. Also tests the public
   functions for optimizers. */
#include "jfl.h"
#include "optim/rule.h"
#include "pass/pass.h"
#include "run/run.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { ROWS = 3, COLUMNS = 5, N = ROWS * COLUMNS, STEPS = 4 };
static const double RATE = 0.25;

/* ---- an optimizer of four slots ---- */

typedef struct odd { double share; int is_doubled; } odd;
static const jf_attr odd_attrs[] = {
  JF_FIELD(odd, share, NUM, "0.5", "a number"),
  JF_FIELD(odd, is_doubled, BOOL, "false", "a flag"),
  {0},
};

#define odd_slots(S) S(low, LIKE, 0) S(high, LIKE, 2) S(sum, F64, 1) S(last, F32, -1)
#define odd_scalars(S) \
  S(share, a->share) S(count, (double)t) S(rate, a->is_doubled ? 2 * lr : lr)
JF_RULE(odd, odd, 0,
  sum += g * share;
  low = fmin(low, g);
  high = fmax(high, g);
  last = (float)g;
  w -= rate * (g + (T)sum + low + high + last) * count)

static const jf_rule *odd_choose(const void *attr)
{
  (void)attr;
  return &odd_rule;
}

static const jfl_optimizer odd_optimizer = {
  .name = "odd", .doc = "A trial.", .attr = odd_attrs, .attr_size = sizeof(odd),
  .rule = odd_choose };

/* Computes the same step for one element, in double; the slots are low, high, sum, last. */
static double odd_step(double w, double g, double *slot, int t)
{
  slot[2] += g * 0.25;
  slot[0] = fmin(slot[0], g);
  slot[1] = fmax(slot[1], g);
  slot[3] = g;
  return w - 2 * RATE * (g + slot[2] + slot[0] + slot[1] + slot[3]) * t;
}

/* ---- an optimizer with a slot for each row ---- */

#define rows_slots(S)
#define rows_scalars(S)
JF_RULE(rows, double, 1, w -= lr * g)

static const jf_rule *rows_choose(const void *attr)
{
  (void)attr;
  return &rows_rule;
}

/* row = row + the sum over columns of g; w -= lr g row. */
static void rows_emit(jfl_graph *g, const jf_step_of *s)
{
  static const jf_slot slot = { "row", JFL_N_DTYPE, 3 };
  const jfl_shape shape = { 2, { s->param->shape.d[0], 1 } };
  jf_step_of scaled = *s;
  const jfl_arg sum[] = { { .name = "axis", .kind = JFL_ARG_NUMBER, .number = 1 },
                          { .name = "keepdims", .kind = JFL_ARG_BOOL, .number = 1 } };
  const jfl_op *reduce = jfl_op_find("reduce_sum");
  void *attr = jf_alloc(g->arena, reduce->attr_size);
  if (!g->err) g->err = jf_attr_read(g->arena, "reduce_sum", reduce->attr, sum, 2, attr);
  jfl_value *row = jf_emit_slot(g, s->param, &slot, &shape);
  jfl_value *next = JF_EMIT(g, add, NULL, row, jf_emit(g, reduce, attr, JF_IN(s->grad)));
  scaled.grad = JF_EMIT(g, multiply, NULL, s->grad, next);
  jf_emit_update(g, &scaled);
  JF_EMIT(g, assign, NULL, row, next);
}

static const jf_attr no_attrs[] = { {0} };
static const jfl_optimizer rows_optimizer = {
  .name = "rows", .doc = "A trial.", .attr = no_attrs, .rule = rows_choose, .emit = rows_emit };

/* ---- jobs that they train ---- */

typedef struct trial { jfl_session *s; jfl_plan *plan; jfl_array *x; } trial;

static const jfl_arg *rates(jfl_arg *arg)
{
  arg[0] = (jfl_arg){ .name = "boundaries", .kind = JFL_ARG_LIST, .list = &RATE };
  arg[1] = (jfl_arg){ .name = "values", .kind = JFL_ARG_LIST, .list = &RATE, .n_list = 1 };
  return arg;
}

static jfl_status minimize(jfl_graph *g, jfl_value *loss, jfl_value *v, const char *optimizer)
{
  jfl_arg schedule[2];
  return jfl_graph_minimize(g, &(jfl_minimize){
    .loss = &loss, .n_loss = 1, .variable = &v, .n_variable = 1, .optimizer = optimizer,
    .schedule = "piecewise_constant_schedule", .schedule_arg = rates(schedule),
    .n_schedule_arg = 2 });
}

/* Minimizes sum(x w), so that the gradient of w is x. Replaces the optimizer that was asked for by
   o. */
static void trial_open(trial *t, const jfl_optimizer *o, const void *attr, jfl_dtype dtype)
{
  const jfl_shape shape = { 2, { ROWS, COLUMNS } };
  jfl_graph *g;
  jfl_job *j;
  jfl_value *x, *w, *product, *loss;
  CHECK(!jfl_session_new(&t->s));
  CHECK(!jfl_graph_new("trial", JFL_TRAIN, &g));
  CHECK(!jfl_graph_input(g, "x", dtype, &shape, &x));
  CHECK(!jfl_graph_variable(g, &(jfl_variable_spec){ .name = "w", .dtype = dtype, .shape = shape,
                                                     .a = 1, .trainable = 1 }, &w));
  CHECK(!jfl_graph_op(g, jfl_op_find("multiply"), (jfl_value *[]){ x, w }, 2, NULL, 0, NULL,
                      &product));
  CHECK(!jfl_graph_op(g, jfl_op_find("reduce_sum"), &product, 1, NULL, 0, NULL, &loss));
  CHECK(!minimize(g, loss, w, "SGD"));
  g->training[0]->optim = o;
  g->training[0]->attr = attr;
  CHECK(!jfl_job_new(t->s, "trial", JFL_TRAIN, &j));
  CHECK_MSG(!jfl_job_compile(j, g, &t->plan), "%s", jfl_errmsg());
  jfl_graph_unref(g);
  CHECK(!jfl_array_new(dtype, &shape, &t->x));
}

static double x_at(int step, int i) { return (i % 7 - 3) * 0.125 * (step + 1); }

static double at(const jfl_array *a, int64_t i)
{
  return jfl_array_dtype(a) == JFL_F64 ? ((const double *)jfl_array_data(a))[i]
                                       : (double)((const float *)jfl_array_data(a))[i];
}

static void trial_step(const trial *t, int step)
{
  void *x = jfl_array_data(t->x);
  for (int i = 0; i < N; i++) {
    if (jfl_array_dtype(t->x) == JFL_F64) ((double *)x)[i] = x_at(step, i);
    else ((float *)x)[i] = (float)x_at(step, i);
  }
  CHECK_MSG(!jfl_run(t->plan, &t->x, NULL), "%s", jfl_errmsg());
}

static void trial_close(trial *t)
{
  jfl_array_unref(t->x);
  jfl_session_free(t->s);
}

static jfl_array *variable(const trial *t, const char *name)
{
  jfl_array *a = NULL;
  CHECK_MSG(!jfl_variable_get(t->s, name, &a), "%s", jfl_errmsg());
  return a;
}

/* ---- tests ---- */

static void steps_slots_of_every_kind(void)
{
  static const odd attr = { 0.25, 1 };
  static const char *const names[] = { "w-low", "w-high", "w-sum", "w-last" };
  const jfl_dtype dtypes[] = { JFL_F32, JFL_F64 };
  for (int d = 0; d < 2; d++) {
    double w[N], slot[N][4];
    trial t;
    trial_open(&t, &odd_optimizer, &attr, dtypes[d]);
    const double tolerance = dtypes[d] == JFL_F64 ? 1e-12 : 1e-4;
    for (int i = 0; i < N; i++) {
      w[i] = 1;
      memcpy(slot[i], (double[]){ 0, 2, 1, -1 }, sizeof slot[i]);
    }
    for (int step = 0; step < STEPS; step++) {
      trial_step(&t, step);
      for (int i = 0; i < N; i++) w[i] = odd_step(w[i], x_at(step, i), slot[i], step + 1);
    }
    jfl_array *got = variable(&t, "w");
    for (int i = 0; i < N; i++)
      CHECK_MSG(fabs(at(got, i) - w[i]) <= tolerance * fmax(1, fabs(w[i])), "%d: %g %g", i,
                at(got, i), w[i]);
    jfl_array_unref(got);
    for (int j = 0; j < 4; j++) {
      got = variable(&t, names[j]);
      CHECK(jfl_array_dtype(got) == (j == 2 ? JFL_F64 : j == 3 ? JFL_F32 : dtypes[d]));
      for (int i = 0; i < N; i++)
        CHECK_MSG(fabs(at(got, i) - slot[i][j]) <= 1e-6, "%s %d", names[j], i);
      jfl_array_unref(got);
    }
    trial_close(&t);
  }
}

static void steps_slots_of_other_shapes(void)
{
  double w[N], row[ROWS] = { 3, 3, 3 };
  trial t;
  trial_open(&t, &rows_optimizer, NULL, JFL_F64);
  for (int i = 0; i < N; i++) w[i] = 1;
  for (int step = 0; step < STEPS; step++) {
    trial_step(&t, step);
    for (int i = 0; i < N; i++) row[i / COLUMNS] += x_at(step, i);
    for (int i = 0; i < N; i++) w[i] -= RATE * x_at(step, i) * row[i / COLUMNS];
  }
  jfl_array *got = variable(&t, "w"), *rows = variable(&t, "w-row");
  for (int i = 0; i < N; i++) CHECK_MSG(fabs(at(got, i) - w[i]) <= 1e-12, "%d", i);
  CHECK(jfl_array_shape(rows)->n == 2 && jfl_array_size(rows) == ROWS);
  for (int i = 0; i < ROWS; i++) CHECK_MSG(fabs(at(rows, i) - row[i]) <= 1e-12, "%d", i);
  jfl_array_unref(got);
  jfl_array_unref(rows);
  trial_close(&t);
}

static void keeps_the_text_of_its_formula(void)
{
  CHECK(!strcmp(rows_rule.formula, "w -= lr * g"));
  CHECK(strstr(odd_rule.formula, "low = fmin(low, g)") != NULL);
  CHECK(odd_rule.n_slot == 4 && !strcmp(odd_rule.slot[2].name, "sum"));
  CHECK(odd_rule.n_scalar == 3 && !strcmp(odd_rule.scalar[1], "count"));
}

static void describes_optimizers(void)
{
  jfl_optimizer_info info;
  jfl_param p;
  CHECK(jfl_optimizer_count() >= 2);
  for (int i = 0; i < jfl_optimizer_count(); i++) {
    jfl_optimizer_describe(jfl_optimizer_at(i), &info);
    CHECK(jfl_optimizer_find(info.name) == jfl_optimizer_at(i));
    CHECK(info.doc && *info.doc);
  }
  CHECK(!jfl_optimizer_find("odd"));
  const jfl_optimizer *sgd = jfl_optimizer_find("SGD");
  const jfl_arg wrong = { .name = "momentum", .kind = JFL_ARG_NUMBER, .number = -1 };
  CHECK(jfl_optimizer_check(sgd, NULL, 0) == JFL_OK);
  CHECK(jfl_optimizer_check(sgd, &wrong, 1) == JFL_EINVAL);
  CHECK(jfl_optimizer_check(NULL, &wrong, 1) == JFL_EINVAL);
  jfl_optimizer_describe(jfl_optimizer_find("Adam"), &info);
  CHECK(info.n_param == 5);
  jfl_optimizer_param(jfl_optimizer_find("Adam"), 1, &p);
  CHECK(!strcmp(p.name, "beta2") && !strcmp(p.type, "number") && !strcmp(p.def, "0.999"));
}

static void gives_the_rates_of_schedules(void)
{
  const double boundaries[] = { 1 }, values[] = { 0.5, 0.25 };
  const jfl_op *op = jfl_op_find("piecewise_constant_schedule");
  jfl_arg arg[] = { { .name = "boundaries", .kind = JFL_ARG_LIST, .list = boundaries, .n_list = 1 },
                    { .name = "values", .kind = JFL_ARG_LIST, .list = values, .n_list = 2 } };
  jfl_op_info info;
  double rate = 0;
  jfl_op_describe(op, &info);
  CHECK(!strcmp(info.schedule, "PiecewiseConstantScheduler") && !info.path);
  CHECK(!jfl_schedule_rate(op, arg, 2, 1, &rate) && rate == 0.5);
  CHECK(!jfl_schedule_rate(op, arg, 2, 2, &rate) && rate == 0.25);
  arg[1].n_list = 1;
  CHECK(jfl_schedule_rate(op, arg, 2, 2, &rate) == JFL_EINVAL);
  CHECK(!strcmp(jfl_error_part(JFL_ERROR_OP), "PiecewiseConstantScheduler"));
  CHECK(!strcmp(jfl_error_part(JFL_ERROR_ARGUMENT), "values"));
  CHECK(jfl_schedule_rate(jfl_op_find("add"), arg, 2, 2, &rate) == JFL_EINVAL);
}

static void sets_rates_between_runs(void)
{
  const double half = 0.5, bad = INFINITY;
  double rate = 0;
  trial t;
  trial_open(&t, &rows_optimizer, NULL, JFL_F32);
  CHECK(!jfl_plan_rate(t.plan, 0, &rate) && rate == RATE);
  CHECK(!jfl_plan_set_rate(t.plan, 0, &half));
  CHECK(!jfl_plan_rate(t.plan, 0, &rate) && rate == 0.5);
  CHECK(!jfl_plan_set_rate(t.plan, 0, NULL));
  CHECK(!jfl_plan_rate(t.plan, 0, &rate) && rate == RATE);
  CHECK(jfl_plan_set_rate(t.plan, 0, &bad) == JFL_EINVAL);
  CHECK(jfl_plan_rate(t.plan, 1, &rate) == JFL_EINVAL && jfl_plan_rate(t.plan, -1, &rate));
  trial_close(&t);
}

static void refuses_a_variable_of_two_optimizers(void)
{
  const jfl_shape one = { 1, { 1 } };
  jfl_graph *g;
  jfl_value *v, *w, *loss;
  CHECK(!jfl_graph_new("two", JFL_TRAIN, &g));
  CHECK(!jfl_graph_variable(g, &(jfl_variable_spec){ .name = "v", .shape = one, .trainable = 1 },
                            &v));
  CHECK(!jfl_graph_variable(g, &(jfl_variable_spec){ .name = "w", .shape = one, .trainable = 1 },
                            &w));
  CHECK(!jfl_graph_op(g, jfl_op_find("add"), (jfl_value *[]){ v, w }, 2, NULL, 0, NULL, &loss));
  CHECK(!minimize(g, loss, v, "SGD"));
  CHECK(minimize(g, loss, v, "Adam") == JFL_EINVAL);
  CHECK(strstr(jfl_errmsg(), "'v' must have one optimizer") != NULL);
  CHECK(!minimize(g, loss, w, "Adam"));
  CHECK(minimize(g, loss, w, "Nadam") == JFL_ENAME);
  jfl_graph_unref(g);
}

int main(void)
{
  RUN(steps_slots_of_every_kind);
  RUN(steps_slots_of_other_shapes);
  RUN(keeps_the_text_of_its_formula);
  RUN(describes_optimizers);
  RUN(gives_the_rates_of_schedules);
  RUN(sets_rates_between_runs);
  RUN(refuses_a_variable_of_two_optimizers);
  return test_done();
}
