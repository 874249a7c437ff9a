/* Sums and means of float32 over any axes that leave at most two runs of kept ones, in parallel.
   Short runs are summed in float32 lanes, and those sums in double. */
#include "op/reduce.h"

#include "vector.h"

/* x as (outer, sum, keep, inner): outer and keep are kept, sum and inner summed. Any may be 1. */
typedef struct plane {
  const float *x;
  float *y;
  int64_t outer, sum, keep, inner, span;
  double scale;
} plane;

enum { BLOCK = 1024, COLUMNS = 256 };

/* The sum of n <= BLOCK floats. */
JF_BODY float block_sum(const float *x, int64_t n)
{
  jf_vec a = { 0 }, b = { 0 };
  int64_t i = 0;
  for (; i + 2 * JF_LANES <= n; i += 2 * JF_LANES) {
    a += JF_LOAD(x + i);
    b += JF_LOAD(x + i + JF_LANES);
  }
  a += b;
  float s = jf_lane_sum(&a);
  for (; i < n; i++) s += x[i];
  return s;
}

JF_BODY double long_sum(const float *x, int64_t n)
{
  double s = 0;
  for (int64_t i = 0; i < n; i += BLOCK)
    s += (double)block_sum(x + i, n - i < BLOCK ? n - i : BLOCK);
  return s;
}

/* y[o, j] = scale sum over i, l of x[o, i, j, l]: lines of l side by side. */
JF_BODY void lines_body(void *ctx, int part)
{
  const plane *p = ctx;
  const int64_t to = jf_to(part, p->span, p->outer * p->keep);
  for (int64_t r = jf_from(part, p->span); r < to; r++) {
    const float *x = p->x + (r / p->keep * p->sum * p->keep + r % p->keep) * p->inner;
    double s = 0;
    for (int64_t i = 0; i < p->sum; i++) s += long_sum(x + i * p->keep * p->inner, p->inner);
    p->y[r] = (float)(s * p->scale);
  }
}
JF_VARIANTS(lines)

/* The same where inner is 1: the sum of rows, COLUMNS at a time. */
JF_BODY void columns_body(void *ctx, int part)
{
  const plane *p = ctx;
  const int64_t blocks = jf_parts(p->keep, COLUMNS);
  const int64_t o = part / blocks, from = part % blocks * COLUMNS;
  const int n = p->keep - from < COLUMNS ? (int)(p->keep - from) : COLUMNS;
  const float *x = p->x + o * p->sum * p->keep + from;
  double s[COLUMNS] = { 0 };
  for (int64_t i = 0; i < p->sum; i++)
    for (int j = 0; j < n; j++) s[j] += (double)x[i * p->keep + j];
  for (int j = 0; j < n; j++) p->y[o * p->keep + from + j] = (float)(s[j] * p->scale);
}
JF_VARIANTS(columns)

static int among(const jf_ints *axis, int i)
{
  for (int j = 0; j < axis->n; j++)
    if (axis->v[j] == i) return 1;
  return 0;
}

/* Fits the axes to a plane; 0 where there are too many runs. Axes of extent 1 fit anywhere. */
static int fit(const jf_kargs *k, plane *p)
{
  const jfl_shape *s = &k->in[0].shape;
  const jf_ints *axis = &((const jf_reduce *)k->attr)->axis;
  int64_t *run[] = { &p->outer, &p->sum, &p->keep, &p->inner };
  int at = 0;
  *p = (plane){ .outer = 1, .sum = 1, .keep = 1, .inner = 1 };
  for (int i = 0; i < s->n; i++) {
    if (s->d[i] == 1) continue;
    if (at % 2 != among(axis, i)) at++;
    if (at > 3) return 0;
    *run[at] *= s->d[i];
  }
  /* One run of kept axes and one of summed ones is rows to be summed each. */
  if (p->keep == 1 && p->inner == 1) {
    p->inner = p->sum;
    p->sum = 1;
  }
  return 1;
}

static int accepts(const jf_kargs *k)
{
  plane p;
  return k->in[0].dtype == JFL_F32 && fit(k, &p) && p.outer * (p.keep / COLUMNS + 1) <= INT32_MAX;
}

static jfl_status run(const jf_kargs *k, double scale)
{
  plane p;
  fit(k, &p);
  p.x = k->in[0].data;
  p.y = k->out[0].data;
  p.scale = scale;
  const int64_t work = p.sum * p.inner;
  p.span = work < JF_PART ? JF_PART / work : 1;
  if (p.inner == 1 && p.sum > 1)
    jf_run_parts(k, (int)p.outer * jf_parts(p.keep, COLUMNS), columns(), &p);
  else
    jf_run_parts(k, jf_parts(p.outer * p.keep, p.span), lines(), &p);
  return JFL_OK;
}

static jfl_status sum_run(const jf_kargs *k) { return run(k, 1); }

static jfl_status mean_run(const jf_kargs *k)
{
  return run(k, (double)jf_numel(&k->out[0].shape) / (double)jf_numel(&k->in[0].shape));
}

JFL_CPU(vec_reduce_sum, .op = "reduce_sum", .accepts = accepts, .run = sum_run, .priority = 10)
JFL_CPU(vec_reduce_mean, .op = "reduce_mean", .accepts = accepts, .run = mean_run, .priority = 10)
