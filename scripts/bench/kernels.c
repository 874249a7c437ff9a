/* Times the CPU's fast rows on LeNet's and the MLP's layers, with 1 and 2 threads, against plain memory.
   make build/bench-kernels, or: cc -Isrc -Ibuild scripts/bench/kernels.c build/libjfl.a -ldl -lm */
#include "dev/dev.h"
#include "op/conv2d.h"
#include "op/matmul.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jf_tensor tensor(int n, const int64_t *d)
{
  jf_tensor t = { .dtype = JFL_F32, .shape.n = n };
  memcpy(t.shape.d, d, sizeof(int64_t) * (size_t)n);
  int64_t size = jf_numel(&t.shape);
  float *v = t.data = jf_new((size_t)size * sizeof *v);
  for (int64_t i = 0; i < size; i++) v[i] = (float)(i * 7919 % 1000) / 1000 - 0.5f;
  return t;
}
#define T(...) tensor(sizeof((int64_t[]){ __VA_ARGS__ }) / 8, (int64_t[]){ __VA_ARGS__ })

static int compare(const void *a, const void *b)
{
  return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Median seconds of a run. */
static double median(const jf_kernel_row *row, const jf_kargs *k)
{
  enum { RUNS = 31 };
  double t[RUNS];
  for (int i = 0; i < 5; i++) row->run(k);
  for (int i = 0; i < RUNS; i++) {
    double start = jf_now();
    row->run(k);
    t[i] = jf_now() - start;
  }
  qsort(t, RUNS, sizeof *t, compare);
  return t[RUNS / 2];
}

/* What the table prints of one call: work is in flop, or in bytes moved. */
static void row_time(const jf_kernel_row *row, jf_kargs *k, const char *what, double work)
{
  printf("%-22s %-24s", row->name, what);
  for (k->threads = 1; k->threads <= 2; k->threads++) {
    size_t scratch = 0;
    if (row->accepts && !row->accepts(k)) return (void)printf(" not accepted\n");
    if (row->prepare && row->prepare(k, &scratch)) return (void)printf(" %s\n", jfl_errmsg());
    k->scratch = jf_new(scratch);
    double s = median(row, k);
    printf("  %9.1f us %7.1f G/s", s * 1e6, work / s * 1e-9);
    if (row->release) row->release(k->state);
    jf_free(k->scratch);
  }
  printf("\n");
}

static void bench(const char *only, const char *op, jf_tensor *in, int n_in, jf_tensor *out,
                  const void *attr, const char *what, double work)
{
  for (const jf_kernel_row *const *r = jf_cpu_rows(); *r; r++) {
    if (strcmp((*r)->op, op) || (only && !strstr((*r)->name, only))) continue;
    jf_kargs k = { .in = in, .out = out, .n_in = n_in, .n_out = 1, .attr = attr };
    row_time(*r, &k, what, work);
  }
}

static void conv(const char *only, int64_t n, int64_t c, int64_t hw, int64_t o)
{
  jf_conv2d a = { .groups = 1, .stride = { 1, 1 }, .dilation = { 1, 1 }, .pad = { 2, 2, 2, 2 } };
  jf_tensor x = T(n, c, hw, hw), w = T(o, c, 5, 5), y = T(n, o, hw, hw);
  double flop = 2.0 * (double)(n * c * o * hw * hw * 25);
  char what[64];
  snprintf(what, sizeof what, "%dx%dx%dx%d %d@5x5", (int)n, (int)c, (int)hw, (int)hw, (int)o);
  bench(only, "conv2d", (jf_tensor[]){ x, w }, 2, &y, &a, what, flop);
  bench(only, "conv2d_data_grad", (jf_tensor[]){ w, y }, 2, &x, &a, what, flop);
  bench(only, "conv2d_filter_grad", (jf_tensor[]){ x, y }, 2, &w, &a, what, flop);
}

/* The three products of a dense layer: y = x w', dx = dy w, dw = dy' x. */
static void dense(const char *only, int64_t n, int64_t in, int64_t units)
{
  jf_tensor x = T(n, in), w = T(units, in), y = T(n, units);
  double flop = 2.0 * (double)(n * in * units);
  char what[64];
  snprintf(what, sizeof what, "%dx%dx%d", (int)n, (int)in, (int)units);
  bench(only, "matmul", (jf_tensor[]){ x, w }, 2, &y, &(jf_matmul){ 0, 1 }, what, flop);
  bench(only, "matmul", (jf_tensor[]){ y, w }, 2, &x, &(jf_matmul){ 0, 0 }, what, flop);
  bench(only, "matmul", (jf_tensor[]){ y, x }, 2, &w, &(jf_matmul){ 1, 0 }, what, flop);
}

int main(int argc, char **argv)
{
  const char *only = argc > 1 ? argv[1] : NULL;
  printf("%-22s %-24s  %21s  %21s\n", "row", "shape", "1 thread", "2 threads");
  conv(only, 100, 1, 28, 32);
  conv(only, 100, 32, 14, 64);
  conv(only, 1, 32, 14, 64);
  dense(only, 100, 784, 512);
  dense(only, 100, 3136, 512);
  dense(only, 100, 512, 10);
  dense(only, 1, 784, 512);
  dense(only, 1, 3136, 512);
  return 0;
}
