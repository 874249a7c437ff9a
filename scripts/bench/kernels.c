/* Times the CPU's fast rows on the layers of LeNet and the MLP and on pools of other networks, with
   1 and 2 threads; an argument picks rows by name. Numbers are random, as branches that depend on
   them are slower than on regular ones.
   make build/bench-kernels && build/bench-kernels */
#include "dev/cpu/cpu.h"
#include "dev/dev.h"
#include "op/attrs.h"
#include "op/conv.h"
#include "op/dropout.h"
#include "op/matmul.h"
#include "optim/optim.h"
#include "op/pool2d.h"
#include "op/reduce.h"
#include "op/transpose.h"

#include <stdio.h>
#include <string.h>

static jf_tensor tensor(int n, const int64_t *d)
{
  jf_tensor t = { .dtype = JFL_F32, .shape.n = n };
  memcpy(t.shape.d, d, sizeof(int64_t) * (size_t)n);
  int64_t size = jf_numel(&t.shape);
  float *v = t.data = jf_new((size_t)size * sizeof *v);
  for (int64_t i = 0; i < size; i++)
    v[i] = (float)jf_philox_at(1, 0, (uint64_t)i).w[0] * 0x1p-32f - 0.5f;
  return t;
}
#define T(...) tensor(sizeof((int64_t[]){ __VA_ARGS__ }) / 8, (int64_t[]){ __VA_ARGS__ })

/* Seconds of the fastest run: the others were disturbed. */
static double fastest(const jf_kernel_row *row, const jf_kargs *k)
{
  double best = 1e9;
  for (int i = 0; i < 40; i++) {
    double start = jf_now();
    row->run(k);
    double t = jf_now() - start;
    if (t < best) best = t;
  }
  return best;
}

/* One line of the table; work is in flop, or in bytes moved. */
static void time_row(const jf_kernel_row *row, jf_kargs *k, const char *what, double work)
{
  if (row->accepts && !row->accepts(k)) return;
  printf("%-26s %-22s", row->name, what);
  for (k->threads = 1; k->threads <= 2; k->threads++) {
    if (row->prepare && row->prepare(k)) break;
    k->scratch = jf_new(k->scratch_size);
    double s = fastest(row, k);
    printf("  %9.1f us %7.1f G/s", s * 1e6, work / s * 1e-9);
    if (row->release) row->release(k->state);
    jf_free(k->scratch);
  }
  printf("\n");
}

/* Rows of op whose name holds `only`. */
static void bench(const char *only, const char *op, jf_tensor *in, int n_in, jf_tensor *out,
                  const void *attr, const char *what, double work)
{
  for (const jf_kernel_row *const *r = jf_cpu_rows(); *r; r++) {
    if (!(*r)->op || !jf_has_word((*r)->op, op) || (only && !strstr((*r)->name, only))) continue;
    jf_kargs k = { .op = jfl_op_find(op), .in = in, .out = out, .n_in = n_in, .n_out = 2,
                   .attr = attr };
    time_row(*r, &k, what, work);
  }
}

static void conv(const char *only, int64_t n, int64_t c, int64_t hw, int64_t o)
{
  jf_conv a = { .groups = 1, .axes = 2, .stride = { 1, 1, 1 }, .dilation = { 1, 1, 1 },
                .pad = { 0, 0, 2, 2, 2, 2 } };
  jf_tensor x = T(n, c, hw, hw), w = T(o, c, 5, 5), y = T(n, o, hw, hw);
  double flop = 2.0 * (double)(n * c * o * hw * hw * 25);
  char what[64];
  snprintf(what, sizeof what, "%dx%dx%dx%d %d@5x5", (int)n, (int)c, (int)hw, (int)hw, (int)o);
  bench(only, "conv2d", (jf_tensor[]){ x, w }, 2, &y, &a, what, flop);
  bench(only, "conv2d_data_grad", (jf_tensor[]){ w, y }, 2, &x, &a, what, flop);
  bench(only, "conv2d_filter_grad", (jf_tensor[]){ x, y }, 2, &w, &a, what, flop);
}

/* The same on blocks of channels, with packed filters; x stays plain where it has one channel. */
static void blocked_conv(const char *only, int64_t n, int64_t c, int64_t hw, int64_t o)
{
  const int64_t b = jf_cpu_channel_block();
  if (!b) return;
  const int first = c == 1;
  jf_conv a = { .groups = 1, .axes = 2, .stride = { 1, 1, 1 }, .dilation = { 1, 1, 1 },
                .pad = { 0, 0, 2, 2, 2, 2 },
                  .block = b, .block_x = !first, .block_y = 1, .packed = 1 };
  jf_tensor x = first ? T(n, c, hw, hw) : T(n, c / b, hw, hw, b), y = T(n, o / b, hw, hw, b);
  jf_tensor w = first ? T(o / b, 5, 5, c, b) : T(o / b, c / b, 5, 5, b, b);
  double flop = 2.0 * (double)(n * c * o * hw * hw * 25);
  char what[64];
  snprintf(what, sizeof what, "%dx%dx%dx%d/%d %d@5x5", (int)n, (int)c, (int)hw, (int)hw, (int)b,
           (int)o);
  bench(only, "conv2d", (jf_tensor[]){ x, w }, 2, &y, &a, what, flop);
  if (!first) bench(only, "conv2d_data_grad", (jf_tensor[]){ w, y }, 2, &x, &a, what, flop);
  bench(only, "conv2d_filter_grad", (jf_tensor[]){ x, y }, 2, &w, &a, what, flop);
}

/* From plain to blocks of channels and back; bytes read and written. */
static void relayout(const char *only, int64_t n, int64_t c, int64_t hw)
{
  const jf_transpose to = { JF_INTS(0, 1, 3, 4, 2) }, back = { JF_INTS(0, 1, 4, 2, 3) };
  jf_tensor x = T(n, c / 16, 16, hw, hw), y = T(n, c / 16, hw, hw, 16);
  double bytes = 8.0 * (double)(n * c * hw * hw);
  char what[64];
  snprintf(what, sizeof what, "%dx%dx%dx%d", (int)n, (int)c, (int)hw, (int)hw);
  bench(only, "transpose", &x, 1, &y, &to, what, bytes);
  bench(only, "transpose", &y, 1, &x, &back, what, bytes);
}

/* The three products of a dense layer: y = x w', dx = dy w, dw = dy' x. */
static void dense(const char *only, int64_t n, int64_t in, int64_t units)
{
  jf_tensor x = T(n, in), w = T(units, in), y = T(n, units);
  double flop = 2.0 * (double)(n * in * units);
  char what[64];
  snprintf(what, sizeof what, "%dx%dx%d", (int)n, (int)in, (int)units);
  bench(only, "matmul", (jf_tensor[]){ x, w }, 2, &y, &(jf_matmul){ .transpose_b = 1 }, what, flop);
  bench(only, "matmul", (jf_tensor[]){ y, w }, 2, &x, &(jf_matmul){ .f32_result = 0 }, what, flop);
  bench(only, "matmul", (jf_tensor[]){ y, x }, 2, &w, &(jf_matmul){ .transpose_a = 1 }, what, flop);
}

/* What else a training step does to LeNet's largest tensors; bytes read and written. */
static void passes(const char *only)
{
  enum { MB = 100 * 32 * 28 * 28 * 4 };
  jf_tensor x = T(100, 32, 28, 28), b = T(32), y = T(100, 32, 28, 28);
  jf_bias_add channels = { .axis = 1 };
  jf_reduce sums = { .axis = JF_INTS(0, 2, 3) };
  const char *what = "100x32x28x28";
  bench(only, "relu", &x, 1, &y, NULL, what, 2.0 * MB);
  bench(only, "relu_grad", (jf_tensor[]){ x, y }, 2, &y, NULL, what, 3.0 * MB);
  bench(only, "bias_add", (jf_tensor[]){ x, b }, 2, &y, &channels, what, 2.0 * MB);
  bench(only, "reduce_sum", &x, 1, &b, &sums, what, MB);
  bench(only, "reduce_sum", (jf_tensor[]){ T(100, 2, 28, 28, 16) }, 1, &b, &sums,
        "100x2x28x28x16", MB);
}

/* The four pools of planes of h x h, cut into blocks of channels where `block` says so; a plane's
   window is k x k. */
typedef struct windows { int64_t n, c, h, k, stride, pad, block; } windows;

static jf_tensor planes(const windows *w, int64_t h)
{
  return w->block ? T(w->n, w->c / w->block, h, h, w->block) : T(w->n, w->c, h, h);
}

static void pool(const char *only, const windows *w)
{
  const int64_t out = (w->h + 2 * w->pad - w->k) / w->stride + 1;
  jf_tensor x = planes(w, w->h), dx = planes(w, w->h), y = planes(w, out), dy = planes(w, out);
  jf_pool2d a = { .kernel = { w->k, w->k }, .stride = { w->stride, w->stride },
                  .pad = { w->pad, w->pad, w->pad, w->pad }, .axis = 2, .block = w->block };
  const double full = 4.0 * (double)jf_numel(&x.shape), part = 4.0 * (double)jf_numel(&y.shape);
  char what[64];
  snprintf(what, sizeof what, "%dx%dx%d%s %d/%d", (int)w->n, (int)w->c, (int)w->h,
           w->block ? " b" : "", (int)w->k, (int)w->stride);
  bench(only, "max_pool2d", &x, 1, &y, &a, what, full + part);
  bench(only, "max_pool2d_grad", (jf_tensor[]){ x, y, dy }, 3, &dx, &a, what, 2 * full + part);
  bench(only, "avg_pool2d", &x, 1, &y, &a, what, full + part);
  bench(only, "avg_pool2d_grad", &dy, 1, &dx, &a, what, full + part);
  for (int i = 0; i < 4; i++) jf_free((jf_tensor[]){ x, dx, y, dy }[i].data);
}

static void pools(const char *only)
{
  static const windows w[] = {
    { 100, 32, 28, 2, 2, 0, 0 },  { 100, 64, 14, 2, 2, 0, 0 }, { 8, 64, 112, 3, 2, 1, 0 },
    { 100, 32, 28, 2, 1, 0, 0 },  { 64, 512, 7, 7, 1, 0, 0 },  { 16, 64, 35, 3, 1, 1, 0 },
    { 100, 32, 28, 2, 2, 0, 16 }, { 100, 64, 14, 2, 2, 0, 16 }, { 8, 64, 112, 3, 2, 1, 16 },
    { 100, 32, 28, 2, 1, 0, 16 }, { 64, 512, 7, 7, 1, 0, 16 },  { 16, 64, 35, 3, 1, 1, 16 },
    { 100, 32, 28, 2, 2, 0, 8 },  { 8, 64, 112, 3, 2, 1, 8 },
  };
  for (size_t i = 0; i < sizeof w / sizeof *w; i++) pool(only, &w[i]);
}

static jf_optim_choice sgd(const double *momentum)
{
  const jfl_optimizer *o = jf_optim_find("SGD");
  return (jf_optim_choice){ .optim = o, .attr = momentum, .rule = jf_optim_rule(o, momentum) };
}

/* What it does to the dense layers' tensors. */
static void vectors(const char *only)
{
  jf_tensor w = T(512, 3136), g = T(512, 3136), m = T(512, 3136), x = T(100, 512);
  jf_tensor scalars = { .data = jf_new(3 * sizeof(double)), .dtype = JFL_F64,
                        .shape = { 1, { 3 } } };
  const double none[2] = { 0 }, heavy[2] = { 0.9 };    /* as the record lays options out */
  jf_tensor out[] = { T(100, 512), T(100, 512) };
  jf_tensor mask = { .data = jf_new(51200), .dtype = JFL_I8, .shape = x.shape };
  double size = 512 * 3136 * 4;
  out[1] = mask;
  bench(only, "update", (jf_tensor[]){ w, g, scalars }, 3, NULL,
        &(jf_update){ .choice = sgd(none), .stride = 2, .n = 1 }, "SGD 512x3136", 3 * size);
  bench(only, "update", (jf_tensor[]){ w, g, m, scalars }, 4, NULL,
        &(jf_update){ .choice = sgd(heavy), .stride = 3, .n = 1 },
        "momentum 512x3136", 5 * size);
  bench(only, "dropout", &x, 1, out, &(jf_dropout){ 0.5 }, "100x512", 9.0 * 51200);
  bench(only, "softmax", &x, 1, out, &(jf_softmax){ 1 }, "100x512", 8.0 * 51200);
  bench(only, "reduce_sum", &x, 1, out, &(jf_reduce){ .axis = JF_INTS(0) }, "100x512",
        4.0 * 51200);
  bench(only, "reduce_sum", &w, 1, out, &(jf_reduce){ .axis = JF_INTS(0) }, "512x3136", size);
  bench(only, "reduce_sum", &w, 1, out, &(jf_reduce){ .axis = JF_INTS(0, 1) }, "512x3136 all",
        size);
}

int main(int argc, char **argv)
{
  const char *only = argc > 1 ? argv[1] : NULL;
  printf("%-22s %-24s  %21s  %21s\n", "row", "shape", "1 thread", "2 threads");
  conv(only, 100, 1, 28, 32);
  conv(only, 100, 32, 14, 64);
  conv(only, 1, 32, 14, 64);
  blocked_conv(only, 100, 1, 28, 32);
  blocked_conv(only, 100, 32, 14, 64);
  blocked_conv(only, 1, 32, 14, 64);
  relayout(only, 100, 32, 28);
  relayout(only, 100, 64, 7);
  relayout(only, 1, 64, 7);
  dense(only, 100, 784, 512);
  dense(only, 100, 3136, 512);
  dense(only, 100, 512, 10);
  dense(only, 1, 784, 512);
  dense(only, 1, 3136, 512);
  passes(only);
  pools(only);
  vectors(only);
  return 0;
}
