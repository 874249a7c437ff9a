/* Where a second thread begins to pay: times steps of growing size on one thread and on all, as
   they stand in a plan, one after another on the same data. GRAIN in src/choose/work.c comes
   from the sizes where the last column passes 1. make build/bench-threads &&
   build/bench-threads */
#include "dev/cpu/cpu.h"
#include "dev/dev.h"
#include "op/dropout.h"
#include "op/matmul.h"
#include "op/reduce.h"
#include "optim/optim.h"
#include "op/attrs.h"
#include "choose/choose.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS = 200, MOST = 1 << 23 };

/* Operands of every case; a case says only their shapes. */
static float *memory[4];
static double rate = 1e-3;

/* One step: shapes and dtypes of up to four inputs and two outputs. */
typedef struct step {
  const char *op;
  const void *attr;
  jf_tensor in[4], out[2];
  int n_in, n_out;
} step;

static jf_tensor matrix(int64_t rows, int64_t columns)
{
  return (jf_tensor){ .dtype = JFL_F32, .shape = { 2, { rows, columns } } };
}

static jf_kargs args_of(step *s, int threads)
{
  for (int i = 0; i < s->n_in; i++) s->in[i].data = memory[i];
  for (int i = 0; i < s->n_out; i++) s->out[i].data = memory[3 - i];
  for (int i = 0; i < s->n_in; i++)
    if (s->in[i].dtype == JFL_F64) s->in[i].data = &rate;
  return (jf_kargs){ .op = jfl_op_find(s->op), .in = s->in, .out = s->out, .n_in = s->n_in,
                     .n_out = s->n_out, .attr = s->attr, .threads = threads };
}

static const jf_kernel_row *row_of(const step *s, jf_kargs *k)
{
  const jf_kernel_row *best = NULL;
  for (const jf_kernel_row *const *r = jf_cpu_rows(); *r; r++)
    if ((!(*r)->op || jf_has_word((*r)->op, s->op)) && (!best || (*r)->priority > best->priority) &&
        (!(*r)->accepts || (*r)->accepts(k)))
      best = *r;
  return best && (!best->prepare || !best->prepare(k)) ? best : NULL;
}

/* Seconds of the fastest run on that many threads: the others were disturbed. */
static double fastest(step *s, int threads)
{
  double best = 1e9;
  jf_kargs k = args_of(s, threads);
  const jf_kernel_row *row = row_of(s, &k);
  k.scratch = jf_new(k.scratch_size);
  for (int i = 0; row && i < ROUNDS; i++) {
    double start = jf_now();
    row->run(&k);
    double t = jf_now() - start;
    if (i > ROUNDS / 4 && t < best) best = t;
  }
  if (row && row->release) row->release(k.state);
  jf_free(k.scratch);
  return best;
}

static void compare(step s, const char *what)
{
  jf_kargs k = args_of(&s, 1);
  double one = fastest(&s, 1), all = fastest(&s, jf_cpu_count());
  printf("%-14s %-14s %8.2f M %10.2f us %10.2f us %6.2f\n", s.op, what,
         jf_work(jfl_op_find(s.op), &k) / 1e6, one * 1e6, all * 1e6, one / all);
}

static void vectors(int64_t rows)
{
  static const jf_dropout half = { 0.5 };
  static const jf_softmax lines = { 1 };
  const jf_reduce down = { .axis = JF_INTS(0) };
  const double options[2] = { 0 };    /* as the record lays them out */
  const jfl_optimizer *sgd = jf_optim_find("SGD");
  const jf_optim_choice choice = { .optim = sgd, .rule = jf_optim_rule(sgd, options) };
  const jf_update plain = { .choice = choice, .stride = 2, .n = 1 };
  jf_tensor x = matrix(rows, 512), mask = { .dtype = JFL_I8, .shape = x.shape };
  jf_tensor sum = { .dtype = JFL_F32, .shape = { 1, { 512 } } };
  jf_tensor scalars = { .dtype = JFL_F64, .shape = { 1, { 2 } } };
  char what[32];
  snprintf(what, sizeof what, "%d x 512", (int)rows);
  compare((step){ "reduce_sum", &down, { x }, { sum }, 1, 1 }, what);
  compare((step){ "update", &plain, { x, x, scalars }, { x }, 3, 0 }, what);
  compare((step){ "softmax", &lines, { x }, { x }, 1, 1 }, what);
  compare((step){ "dropout", &half, { x }, { x, mask }, 1, 2 }, what);
}

static void products(int64_t m, int64_t k, int64_t n)
{
  char what[32];
  snprintf(what, sizeof what, "%dx%dx%d", (int)m, (int)k, (int)n);
  compare((step){ "matmul", &(jf_matmul){ .transpose_b = 1 }, { matrix(m, k), matrix(n, k) },
                  { matrix(m, n) }, 2, 1 },
          what);
}

int main(void)
{
  for (int i = 0; i < 4; i++)
    if (!(memory[i] = jf_new(MOST * sizeof(float)))) return 1;
  printf("%-14s %-14s %10s %13s %13s %6s\n", "op", "shape", "work", "1 thread", "all", "gain");
  for (int64_t rows = 8; rows <= 4096; rows *= 2) vectors(rows);
  for (int64_t m = 1; m <= 256; m *= 4)
    for (int64_t n = 8; n <= 512; n *= 4) products(m, 512, n);
  for (int i = 0; i < 4; i++) jf_free(memory[i]);
  return 0;
}
