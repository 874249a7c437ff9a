/* What the records state about their ops holds for the plain kernels. */
#include <math.h>
#include <string.h>

#include "dev/number.h"
#include "op/op.h"
#include "test.h"

/* Numbers in rising order, among them those that folding rules must not change. */
static const double odd[] = { -INFINITY, -1e30, -3.25, -1, -1e-40, -0.0, 0, 1e-40, 0.5, 1, 7, 1e30,
                              INFINITY };
enum { N = sizeof odd / sizeof *odd };

typedef struct numbers { double element[N]; } numbers;

static jf_tensor tensor_of(numbers *v, jfl_dtype t)
{
  return (jf_tensor){ .data = v, .dtype = t, .shape = { 1, { N } } };
}

/* Runs the op on one or two tensors of dtype t; returns 0 if it has no kernel for that dtype. */
static int run(const jfl_op *op, jfl_dtype t, numbers *a, numbers *b, numbers *out)
{
  jf_tensor in[] = { tensor_of(a, t), tensor_of(b ? b : a, t) }, y = tensor_of(out, t);
  jf_kargs k = { .in = in, .out = &y, .n_in = b ? 2 : 1, .n_out = 1, .threads = 1 };
  return op->cpu && op->cpu[t] && !op->cpu[t](&k);
}

/* Compares bit for bit, except that any nan equals any other. */
static void check_same(const jfl_op *op, jfl_dtype t, const numbers *a, const numbers *b)
{
  const size_t size = jfl_dtype_size(t);
  for (int i = 0; i < N; i++) {
    const double x = jfl_number_get(t, a, i), y = jfl_number_get(t, b, i);
    const char *p = (const char *)a + (size_t)i * size, *q = (const char *)b + (size_t)i * size;
    CHECK_MSG((x != x && y != y) || !memcmp(p, q, size), "%s of %s: %g and %g", op->name,
              jfl_dtype_name(t), x, y);
  }
}

static void fill(numbers *v, jfl_dtype t, double number)
{
  for (int i = 0; i < N; i++) jfl_number_put(t, v, i, number);
}

static void a_neutral_number_changes_nothing(void)
{
  int checked = 0;
  for (const jfl_op *const *o = jf_ops; *o; o++)
    for (int k = 0; k < 2; k++)
      for (int t = 0; t < JFL_N_DTYPE && (*o)->neutral.inputs >> k & 1; t++) {
        numbers x, neutral, y;
        jf_numbers_put((jfl_dtype)t, &x, 0, N, odd);
        fill(&neutral, (jfl_dtype)t, (*o)->neutral.number);
        if (!run(*o, (jfl_dtype)t, k ? &x : &neutral, k ? &neutral : &x, &y)) continue;
        check_same(*o, (jfl_dtype)t, &x, &y);
        checked++;
      }
  CHECK(checked >= 24);
}

static void inputs_may_change_places(void)
{
  int checked = 0;
  for (const jfl_op *const *o = jf_ops; *o; o++)
    for (int shift = 0; shift < N && (*o)->flags & JF_COMMUTES && !(*o)->attr; shift++)
      for (int t = 0; t < JFL_N_DTYPE; t++) {
        numbers a, b, y = { 0 }, z = { 0 };
        jf_numbers_put((jfl_dtype)t, &a, 0, N, odd);
        for (int i = 0; i < N; i++) jfl_number_put((jfl_dtype)t, &b, i, odd[(i + shift) % N]);
        if (!run(*o, (jfl_dtype)t, &a, &b, &y) || !run(*o, (jfl_dtype)t, &b, &a, &z)) continue;
        check_same(*o, (jfl_dtype)t, &y, &z);
        checked++;
      }
  CHECK(checked >= 24);
}

static void what_adds_gives_the_sum(void)
{
  int checked = 0;
  for (const jfl_op *const *o = jf_ops; *o; o++) {
    numbers a, b, y, sum;
    if (!((*o)->flags & JF_ADDS)) continue;
    jf_numbers_put(JFL_F64, &a, 0, N, odd);
    fill(&b, JFL_F64, 0.25);
    for (int i = 0; i < N; i++) sum.element[i] = odd[i] + 0.25;
    CHECK(run(*o, JFL_F64, &a, &b, &y));
    check_same(*o, JFL_F64, &y, &sum);
    checked++;
  }
  CHECK(checked == 1);
}

static void what_rises_never_falls(void)
{
  int checked = 0;
  for (const jfl_op *const *o = jf_ops; *o; o++) {
    numbers a, y;
    if (!((*o)->flags & JF_RISES)) continue;
    jf_numbers_put(JFL_F64, &a, 0, N, odd);
    CHECK(run(*o, JFL_F64, &a, NULL, &y));
    for (int i = 1; i < N; i++) CHECK(y.element[i] >= y.element[i - 1]);
    checked++;
  }
  CHECK(checked >= 1);
}

/* Numbers within the bounds of a record stay, others become a bound. */
static void bounds_are_kept(void)
{
  int checked = 0;
  for (const jfl_op *const *o = jf_ops; *o; o++) {
    const double low = (*o)->bounds.low, high = (*o)->bounds.high;
    numbers a, y;
    if (low == high) continue;
    jf_numbers_put(JFL_F64, &a, 0, N, odd);
    CHECK(run(*o, JFL_F64, &a, NULL, &y));
    for (int i = 0; i < N; i++) {
      const double x = a.element[i];
      CHECK(x != x || y.element[i] == (x < low ? low : x > high ? high : x));
    }
    checked++;
  }
  CHECK(checked >= 2);
}

/* The axis of a line and the flags in attributes are ints; endings and lines name ops that
   exist. */
static void rules_name_ops_with_the_parts_they_need(void)
{
  for (const jfl_op *const *o = jf_ops; *o; o++) {
    const jfl_op *op = *o;
    if (op->line) CHECK(op->line->op->loop && op->line->axis + sizeof(int) <= op->attr_size);
    if (op->ending) CHECK(op->ending->fused->attr_size >= op->attr_size && op->ending->fused->cpu);
    if (op->ending && op->ending->kept)
      CHECK(op->ending->kept->attr_size == op->ending->fused->attr_size &&
            jf_op_n_out(op->ending->kept) == 2);
    if (op->derivative) {
      const jfl_op *by = op->derivative;
      CHECK(op->grad && by->loop && (!by->attr_size || by->attr_size == op->attr_size));
    }
    if (op->side_sum) {
      const jfl_op *with = op->side_sum->with ? op->side_sum->with : op;
      CHECK(jf_op_n_in(op) == 2 && jf_op_n_out(with) == 2 && with->attr_size >= op->attr_size);
      CHECK(op->side_sum->asked + sizeof(int) <= with->attr_size);
    }
  }
}

int main(void)
{
  RUN(a_neutral_number_changes_nothing);
  RUN(inputs_may_change_places);
  RUN(what_adds_gives_the_sum);
  RUN(what_rises_never_falls);
  RUN(bounds_are_kept);
  RUN(rules_name_ops_with_the_parts_they_need);
  return test_done();
}
