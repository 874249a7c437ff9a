/* kernels/cpu/functions.c: compares vectors of exponentials and the like with the library's
   functions in double, over all magnitudes, infinities and not-a-number. */
#include "dev/cpu/cpu.h"
#include "test.h"

#include <math.h>
#include <string.h>

typedef struct function {
  const char *row;
  double (*exact)(double);
  double ulp;                  /* largest error, in units of 2^-24 of the result */
  double off;                  /* or largest absolute error, where results cancel */
} function;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double gelu(double x) { return x * (1 + erf(x * 0.70710678118654752440)) / 2; }
static double slope(double x)
{
  return (1 + erf(x * 0.70710678118654752440)) / 2 + x * exp(x * x / -2) * 0.39894228040143267794;
}
static double softplus(double x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }

static const function functions[] = {
  { "vec_exp", exp, 6, 0 }, { "vec_expm1", expm1, 6, 0 }, { "vec_log", log, 4, 0 },
  { "vec_log1p", log1p, 6, 0 }, { "vec_sigmoid", sigmoid, 8, 1e-38 }, { "vec_tanh", tanh, 6, 0 },
  { "vec_erf", erf, 6, 0 }, { "vec_gelu", gelu, 8, 5e-7 }, { "vec_gelu_slope", slope, 8, 5e-7 },
  { "vec_softplus", softplus, 8, 1e-38 },
};

static void run(const char *name, float *x, float *y, int64_t n)
{
  jf_tensor in = { x, JFL_F32, { 1, { n } } }, out = { y, JFL_F32, { 1, { n } } };
  const jf_kargs k = { .in = &in, .out = &out, .n_in = 1, .n_out = 1, .threads = 1 };
  int found = 0;
  for (const jf_kernel_row *const *r = jf_cpu_rows(); *r; r++) {
    if (strcmp((*r)->name, name)) continue;
    CHECK((*r)->accepts(&k) && (*r)->run(&k) == JFL_OK);
    found = 1;
  }
  CHECK_MSG(found, "%s", name);
}

static void check(const function *f, float x, float got)
{
  const double exact = f->exact((double)x);
  const float want = (float)exact;
  if (want != want) {
    CHECK_MSG(got != got, "%s(%a) is %a, not a nan", f->row, (double)x, (double)got);
    return;
  }
  const double off = fabs((double)got - exact), most = f->ulp * 0x1p-24 * fabs(exact) + f->off;
  CHECK_MSG(got == want || off <= most + 0x1p-149, "%s(%a) is %a, should be %a: %g units", f->row,
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
    run(functions[f].row, x, y, N);
    for (int i = 0; i < N; i++) check(&functions[f], x[i], y[i]);
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
      run(functions[f].row, x, y, n);
      for (int i = 0; i < n; i++)
        if (!(isinf(x[i]) && strstr(functions[f].row, "gelu"))) check(&functions[f], x[i], y[i]);
      run(functions[f].row, x, x, n);       /* in place */
      CHECK(!memcmp(x, y, (size_t)n * sizeof *x));
    }
}

int main(void)
{
  RUN(each_is_near);
  RUN(ends_are_right);
  return test_done();
}
