/* kernels/cpu/functions.c: compares vectors of exponentials and the like with the library's
   functions in double, over all magnitudes, infinities and not-a-number. */
#include "dev/cpu/cpu.h"
#include "ir/ir.h"
#include "test.h"

#include <math.h>
#include <string.h>

typedef struct function {
  const char *op;
  double (*exact)(double);
  double ulp;                  /* largest error, in units of 2^-24 of the result */
  double off;                  /* or largest absolute error, where results cancel */
} function;

/* What the functions with an attribute are given. */
#define ELU 0.7
static double attribute[] = { 1.5, ELU };

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double gelu(double x) { return x * (1 + erf(x * 0.70710678118654752440)) / 2; }
static double slope(double x)
{
  return (1 + erf(x * 0.70710678118654752440)) / 2 + x * exp(x * x / -2) * 0.39894228040143267794;
}
static double softplus(double x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }
static double silu(double x) { return x / (1 + exp(-x)); }
static double silu_slope(double x) { return (1 + x / (1 + exp(x))) / (1 + exp(-x)); }
static double swish(double x) { return x / (1 + exp(-1.5 * x)); }
static double gelu_tanh(double x)
{
  return x / (1 + exp(-2 * 0.7978845608028654 * x * (1 + 0.044715 * x * x)));
}
static double mish(double x) { return x * tanh(softplus(x)); }
static double mish_slope(double x)
{
  const double t = tanh(softplus(x));
  return t + x * sigmoid(x) * (1 - t * t);
}
static double log_sigmoid(double x) { return -softplus(-x); }
static double elu(double x) { return x > 0 ? x : ELU * expm1(x); }
static double selu(double x)
{
  return 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * expm1(x));
}

static const function functions[] = {
  { "exp", exp, 6, 0 }, { "expm1", expm1, 6, 0 }, { "log", log, 4, 0 },
  { "log1p", log1p, 6, 0 }, { "sigmoid", sigmoid, 8, 1e-38 }, { "tanh", tanh, 6, 0 },
  { "erf", erf, 6, 0 }, { "gelu", gelu, 8, 5e-7 }, { "gelu_slope", slope, 8, 5e-7 },
  { "softplus", softplus, 8, 1e-38 },
  { "exp2", exp2, 6, 0 }, { "log2", log2, 8, 2e-7 }, { "log10", log10, 8, 1e-7 },
  { "sin", sin, 6, 2e-7 }, { "cos", cos, 6, 2e-7 }, { "tan", tan, 200, 4e-7 },
  { "asin", asin, 8, 0 }, { "acos", acos, 8, 2e-7 }, { "atan", atan, 8, 0 },
  { "sinh", sinh, 10, 0 }, { "cosh", cosh, 10, 0 }, { "asinh", asinh, 10, 0 },
  { "acosh", acosh, 10, 0 }, { "atanh", atanh, 10, 0 }, { "erfc", erfc, 150, 1e-30 },
  { "silu", silu, 12, 2e-36 }, { "silu_slope", silu_slope, 12, 3e-7 },
  { "swish", swish, 150, 2e-36 }, { "gelu_tanh", gelu_tanh, 200, 2e-36 },
  { "mish", mish, 12, 2e-36 }, { "mish_slope", mish_slope, 12, 6e-7 },
  { "log_sigmoid", log_sigmoid, 8, 1e-38 }, { "selu", selu, 8, 1e-38 },
  { "elu", elu, 8, 0 },
};

/* Makes a call of that op by the row that serves all of them. */
static void call(const char *op, jf_kargs *k)
{
  const jf_kernel_row *const *r = jf_cpu_rows();
  k->op = jfl_op_find(op);
  while (*r && strcmp((*r)->name, "vec_function")) r++;
  CHECK_MSG(k->op && *r && (*r)->accepts(k) && (*r)->prepare(k) == JFL_OK &&
            (*r)->run(k) == JFL_OK, "%s", op);
}

static void run(const char *op, float *x, float *y, int64_t n)
{
  jf_tensor in = { .data = x, .dtype = JFL_F32, .shape = { 1, { n } } };
  jf_tensor out = { .data = y, .dtype = JFL_F32, .shape = { 1, { n } } };
  jf_kargs k = { .in = &in, .out = &out, .n_in = 1, .n_out = 1, .threads = 1,
                 .attr = &attribute[strcmp(op, "elu") == 0] };
  call(op, &k);
}

static void check(const function *f, float x, float got)
{
  const double exact = f->exact((double)x);
  const float want = (float)exact;
  if (want != want) {
    CHECK_MSG(got != got, "%s(%a) is %a, not a nan", f->op, (double)x, (double)got);
    return;
  }
  const double off = fabs((double)got - exact), most = f->ulp * 0x1p-24 * fabs(exact) + f->off;
  CHECK_MSG(got == want || off <= most + 0x1p-149, "%s(%a) is %a, should be %a: %g units", f->op,
            (double)x, (double)got, (double)want, off / (0x1p-24 * fabs(exact)));
}

static void each_is_near(void)
{
  enum { N = 60000 };
  static float x[N], y[N];
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
    for (int i = 0; i < N; i++)       /* first evenly spaced, then of any magnitude */
      x[i] = i < N / 2 ? (float)(i - N / 4) * 0.0071f
                       : (i % 2 ? -1 : 1) * exp2f((float)(i - N / 2) * (276.0f / (N / 2)) - 149);
    run(functions[f].op, x, y, N);
    for (int i = 0; i < N; i++) check(&functions[f], x[i], y[i]);
  }
}

/* Whether a function of that number is left open: products of x and a function that goes to 0. */
static int is_open(const function *f, float x)
{
  return isinf(x) && (strstr(f->op, "elu") || strstr(f->op, "silu") || strstr(f->op, "mish") ||
                      strstr(f->op, "swish"));
}

/* At 0 the slope of the side below counts, as where 0 has a sign: PyTorch's elu. */
static void elu_of_zero_is_of_the_side_below(void)
{
  enum { N = 40 };
  static float x[N], y[N];
  attribute[1] = -1;
  run("elu", x, y, N);
  attribute[1] = ELU;
  for (int i = 0; i < N; i++) CHECK(signbit(y[i]));
}

/* Powers of numbers of all kinds. */
static void powers_are_near(void)
{
  enum { N = 4000 };
  static float a[N], b[N], y[N];
  static const float ends[] = { 0, -0.0f, 1, -1, 2, 3, -3, 0.5f, INFINITY, -INFINITY, NAN, 1e-40f };
  enum { ENDS = sizeof ends / sizeof *ends };
  for (int i = 0; i < N; i++) {
    a[i] = i < ENDS * ENDS ? ends[i / ENDS] : exp2f((float)(i % 61) * 0.7f - 20);
    b[i] = i < ENDS * ENDS ? ends[i % ENDS] : (float)(i % 97) * 0.31f - 15;
  }
  const jfl_shape n = { 1, { N } };
  jf_tensor in[] = { { .data = a, .dtype = JFL_F32, .shape = n },
                     { .data = b, .dtype = JFL_F32, .shape = n } };
  jf_tensor out = { .data = y, .dtype = JFL_F32, .shape = n };
  jf_kargs k = { .in = in, .out = &out, .n_in = 2, .n_out = 1, .threads = 1 };
  call("pow", &k);
  for (int i = 0; i < N; i++) {
    const double exact = pow((double)a[i], (double)b[i]);
    const float want = (float)exact;
    const double off = fabs((double)y[i] - exact);
    const int same = y[i] == want || (want != want && y[i] != y[i]);
    CHECK_MSG(same || off <= 4 * 0x1p-24 * fabs(exact) + 0x1p-149,
              "%a to the power %a is %a, should be %a", (double)a[i], (double)b[i], (double)y[i],
              (double)want);
  }
}

/* The op's own kernel's answer for a and b, of which either may be one number for all. */
static void compare(const char *op, jf_tensor a, jf_tensor b, int8_t *y, int64_t n)
{
  jf_tensor in[] = { a, b }, out = { .data = y, .dtype = JFL_I8, .shape = { 1, { n } } };
  jf_kargs k = { .in = in, .out = &out, .n_in = 2, .n_out = 1, .threads = 1 };
  CHECK(jfl_op_find(op)->cpu[JFL_F32](&k) == JFL_OK);
}

static void comparisons_are_those_of_c(void)
{
  enum { N = 203 };
  static const float some[] = { 0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 0x1p-149f };
  static const char *const names[] = {
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"
  };
  float a[N], b[N];
  int8_t y[N];
  for (int i = 0; i < N; i++) a[i] = some[i % 8], b[i] = some[i / 8 % 8];
  for (int f = 0; f < 6; f++)
    for (int kind = 0; kind < 3; kind++) {  /* two tensors; one number on the right; on the left */
      const int u = kind != 2, v = kind != 1;
      compare(names[f], (jf_tensor){ .data = a + 2, .dtype = JFL_F32,
                           .shape = { 1, { u ? N - 2 : 1 } } },
              (jf_tensor){ .data = b + 2, .dtype = JFL_F32,
                           .shape = { 1, { v ? N - 2 : 1 } } }, y, N - 2);
      for (int i = 0; i < N - 2; i++) {
        const float p = a[2 + i * u], q = b[2 + i * v];
        const int want[] = { p == q, p != q, p < q, p <= q, p > q, p >= q };
        CHECK_MSG(y[i] == want[f], "%s(%g, %g) is %d", names[f], (double)p, (double)q, y[i]);
      }
    }
}

static void ends_are_right(void)
{
  static const float ends[] = {
    0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-149f, 0x1p-126f, 3.4e38f, -3.4e38f,
    88.7f, 88.8f, -87.3f, -103.9f, -104.5f, 0.5f, -0.5f, 0.625f, -0.625f, 4, -4, 1e-20f,
    -0.99999994f, 17.5f, 2
  };
  enum { N = sizeof ends / sizeof *ends };
  float x[N], y[N];
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
    for (int n = 1; n <= N; n++) {    /* with any rest of a vector */
      memcpy(x, ends + N - n, (size_t)n * sizeof *x);
      run(functions[f].op, x, y, n);
      for (int i = 0; i < n; i++)
        if (!is_open(&functions[f], x[i])) check(&functions[f], x[i], y[i]);
      run(functions[f].op, x, x, n);       /* in place */
      CHECK(!memcmp(x, y, (size_t)n * sizeof *x));
    }
}

int main(void)
{
  RUN(each_is_near);
  RUN(ends_are_right);
  RUN(elu_of_zero_is_of_the_side_below);
  RUN(powers_are_near);
  RUN(comparisons_are_those_of_c);
  return test_done();
}
