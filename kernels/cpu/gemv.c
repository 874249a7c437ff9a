/* Products of a matrix and a vector, as with batch size 1. Their speed is that of memory. */
#include "optim/matmul_update.h"

#include "finish.h"
#include "vector.h"

/* y (n) = x (k) times a matrix, which is stored as n rows of k, or as k rows of n. */
typedef struct gemv {
  const float *x, *m;
  float *y;
  int64_t n, k, span;
  float scale;
} gemv;

enum { ROWS = 4, COLUMNS = 16 * JF_LANES };

/* y[r] = <x, m[r]> for rows r to r + ROWS - 1; x is loaded once for all of them. */
JF_BODY void dots(const gemv *g, int64_t r)
{
  jf_vec sum[ROWS] = { { 0 } };
  float rest[ROWS] = { 0 };
  const float *m = g->m + r * g->k;
  int64_t i = 0;
  for (; i + JF_LANES <= g->k; i += JF_LANES)
    for (int j = 0; j < ROWS; j++) sum[j] += JF_LOAD(g->x + i) * JF_LOAD(m + j * g->k + i);
  for (; i < g->k; i++)
    for (int j = 0; j < ROWS; j++) rest[j] += g->x[i] * m[j * g->k + i];
  for (int j = 0; j < ROWS; j++) g->y[r + j] = jf_lane_sum(&sum[j]) + rest[j];
}

JF_BODY float dot(const float *x, const float *y, int64_t n)
{
  jf_vec sum = { 0 };
  float rest = 0;
  int64_t i = 0;
  for (; i + JF_LANES <= n; i += JF_LANES) sum += JF_LOAD(x + i) * JF_LOAD(y + i);
  for (; i < n; i++) rest += x[i] * y[i];
  return jf_lane_sum(&sum) + rest;
}

JF_BODY void rows_body(void *ctx, int part)
{
  const gemv *g = ctx;
  const int64_t end = jf_to(part, g->span, g->n);
  int64_t r = jf_from(part, g->span);
  for (; r + ROWS <= end; r += ROWS) dots(g, r);
  for (; r < end; r++) g->y[r] = dot(g->x, g->m + r * g->k, g->k);
}
JF_VARIANTS(rows)

/* y[j] = sum over i of x[i] m[i, j], for a block of columns that is kept in registers. */
JF_BODY void gemv_columns_body(void *ctx, int part)
{
  const gemv *g = ctx;
  const int64_t from = jf_from(part, COLUMNS), end = jf_to(part, COLUMNS, g->n);
  const float *m = g->m + from;
  jf_vec sum[COLUMNS / JF_LANES] = { { 0 } };
  if (end - from == COLUMNS) {
    for (int64_t i = 0; i < g->k; i++, m += g->n)
      for (int j = 0; j < COLUMNS / JF_LANES; j++) sum[j] += g->x[i] * JF_LOAD(m + j * JF_LANES);
    memcpy(g->y + from, sum, sizeof sum);
    return;
  }
  float s[COLUMNS] = { 0 };
  for (int64_t i = 0; i < g->k; i++, m += g->n)
    for (int64_t j = 0; j < end - from; j++) s[j] += g->x[i] * m[j];
  memcpy(g->y + from, s, (size_t)(end - from) * sizeof *s);
}
JF_VARIANTS(gemv_columns)

/* y (n, k): row r is x times the number m[r]. */
JF_BODY void outer_body(void *ctx, int part)
{
  const gemv *g = ctx;
  const int64_t end = jf_to(part, g->span, g->n), k = g->k;
  const float *x = g->x;
  for (int64_t r = jf_from(part, g->span); r < end; r++) {
    const float a = g->m[r];
    float *y = g->y + r * k;
    for (int64_t i = 0; i < k; i++) y[i] = a * x[i];
  }
}
JF_VARIANTS(outer)

/* y (n, k): adds scale m[r] x to row r. */
JF_BODY void add_outer_body(void *ctx, int part)
{
  const gemv *g = ctx;
  const int64_t end = jf_to(part, g->span, g->n), k = g->k;
  const float *x = g->x;
  for (int64_t r = jf_from(part, g->span); r < end; r++) {
    const float a = g->scale * g->m[r];
    float *y = g->y + r * k;
    JF_EACH_ALONE for (int64_t i = 0; i < k; i++) y[i] += a * x[i];
  }
}
JF_VARIANTS(add_outer)

/* Rows, columns and inner extent of the product of two plain matrices. */
typedef struct gemv_extents { int64_t m, n, k; } gemv_extents;

static gemv_extents gemv_measure(const jf_kargs *k)
{
  const jf_matmul *a = k->attr;
  const int64_t *y = k->out[0].shape.d;
  return (gemv_extents){ y[0], y[1], k->in[0].shape.d[a->transpose_a ? 0 : 1] };
}

static int gemv_accepts(const jf_kargs *k)
{
  if (k->in[0].dtype != JFL_F32 || k->out[0].shape.n != 2) return 0;
  if (((const jf_matmul *)k->attr)->panel) return 0;
  gemv_extents e = gemv_measure(k);
  return e.m == 1 || e.n == 1 || e.k == 1;
}

/* by_rows: the matrix is stored as n rows of k. */
static jfl_status gemv_multiply(const jf_kargs *k, gemv *g, int by_rows)
{
  g->span = g->k < JF_PART ? (JF_PART / g->k + ROWS - 1) / ROWS * ROWS : ROWS;
  if (by_rows) jf_run_parts(k, jf_parts(g->n, g->span), rows(), g);
  else jf_run_parts(k, jf_parts(g->n, COLUMNS), gemv_columns(), g);
  return JFL_OK;
}

/* Computes the product of a column and a row. */
static jfl_status multiples(const jf_kargs *k, float scale, jf_part part)
{
  const gemv_extents e = gemv_measure(k);
  gemv g = { k->in[1].data, k->in[0].data, k->out[0].data,
             e.m,           e.n,           e.n < JF_PART ? JF_PART / e.n : 1,
             scale };
  jf_run_parts(k, jf_parts(e.m, g.span), part, &g);
  return JFL_OK;
}

static jfl_status gemv_run(const jf_kargs *k)
{
  const jf_matmul *t = k->attr;
  const gemv_extents e = gemv_measure(k);
  const float *a = k->in[0].data, *b = k->in[1].data;
  float *y = k->out[0].data;
  if (e.m == 1) return gemv_multiply(k, &(gemv){ a, b, y, e.n, e.k, 0, 1 }, t->transpose_b);
  if (e.n == 1) return gemv_multiply(k, &(gemv){ b, a, y, e.m, e.k, 0, 1 }, !t->transpose_a);
  return multiples(k, 1, outer());
}

JFL_CPU(vec_gemv, .op = "matmul", .accepts = gemv_accepts, .run = gemv_run, .priority = JF_SHAPED)

static jfl_status run_then(const jf_kargs *k)
{
  JF_TRY(gemv_run(k));
  return jf_finish(k, &((const jf_matmul_fused *)k->attr)->epilogue, 1, 0);
}

JFL_CPU(vec_gemv_then, .op = "matmul_fused", .accepts = gemv_accepts, .run = run_then,
        .priority = JF_SHAPED)

static int update_accepts(const jf_kargs *k)
{
  const jf_kargs p = jf_step_product(k);
  return p.in[0].dtype == JFL_F32 && gemv_measure(&p).k == 1;
}

static jfl_status gemv_update_run(const jf_kargs *k)
{
  const jf_kargs p = jf_step_product(k);
  return multiples(&p, (float)-jf_step_rate(k), add_outer());
}

JFL_CPU(vec_outer_update, .op = "matmul_update", .accepts = update_accepts, .run = gemv_update_run,
  .priority = JF_SHAPED)
