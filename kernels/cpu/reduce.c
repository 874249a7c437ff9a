/* Sums and means of float32 in parallel, over axes of which at most two runs are summed. The tensor
   is summed in contiguous pieces first, then the sums of pieces are added. Few numbers are added in
   float32 lanes, and those sums in double. */
#include "op/reduce.h"

#include "vector.h"

/* x seen as (outer, sum, keep, inner, last), where sum and inner are summed and the others kept;
   any extent may be 1. A piece is `rows` indices of inner, or the rest. If there are few rows,
   there is one piece, which is summed in blocks of columns. */
typedef struct fast_reduce_plane {
  const float *x;
  float *y;
  double *piece;                       /* (outer, sum, keep, pieces, last) */
  int64_t outer, sum, keep, inner, last;
  int64_t rows, pieces, blocks, span;  /* span: pieces, or their blocks, in a part */
  double scale;
} fast_reduce_plane;

/* COLUMNS: of a block where there are few rows; WIDE: the most that are summed side by side. */
enum { COLUMNS = 256, WIDE = 1024, GROUP = 32, LEAST_ROWS = 32, FEW = 8 * JF_PART };

/* sum[j] += the sum of column j over `rows` <= 4 rows, which are `pitch` apart. */
JF_BODY void add_rows(const float *x, int64_t rows, int64_t pitch, int64_t n, float *sum)
{
  const float *a = x, *b = a + pitch, *c = b + pitch, *d = c + pitch;
  if (rows == 4)
    JF_EACH_ALONE for (int64_t j = 0; j < n; j++) sum[j] += (a[j] + b[j]) + (c[j] + d[j]);
  else
    for (int64_t r = 0; r < rows; r++)
      JF_EACH_ALONE for (int64_t j = 0; j < n; j++) sum[j] += x[r * pitch + j];
}

/* y[j] = the sum of column j, for n <= WIDE columns. Rows are read as they lie in memory. */
JF_BODY void sum_columns(const float *x, int64_t rows, int64_t pitch, int64_t n, double *y)
{
  float sum[WIDE];
  for (int64_t j = 0; j < n; j++) y[j] = 0;
  for (int64_t r = 0, to; r < rows; r = to) {
    to = rows - r < GROUP ? rows : r + GROUP;
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (; r < to; r += 4) add_rows(x + r * pitch, to - r < 4 ? to - r : 4, pitch, n, sum);
    for (int64_t j = 0; j < n; j++) y[j] += (double)sum[j];
  }
}

/* Adds up short rows of n < JF_LANES that lie side by side: as many rows as fill the lanes are
   summed as one row. */
JF_BODY void sum_narrow(const float *x, int64_t rows, int64_t n, double *y)
{
  double s[JF_LANES * JF_LANES];
  const int64_t wide = rows / JF_LANES;
  sum_columns(x, wide, JF_LANES * n, JF_LANES * n, s);
  for (int64_t j = 0; j < n; j++) {
    y[j] = 0;
    for (int l = 0; l < JF_LANES; l++) y[j] += s[l * n + j];
    for (int64_t r = wide * JF_LANES; r < rows; r++) y[j] += (double)x[r * n + j];
  }
}

/* Makes results of n sums from number `at` on, where each sum is one piece. */
JF_BODY void whole_results(const fast_reduce_plane *p, int64_t at, int64_t n)
{
  if (p->sum * p->pieces > 1) return;
  for (int64_t j = at; j < at + n; j++) p->y[j] = (float)(p->piece[j] * p->scale);
}

JF_BODY void pieces_body(void *ctx, int part)
{
  const fast_reduce_plane *p = ctx;
  const int64_t to = jf_to(part, p->span, p->outer * p->sum * p->keep * p->pieces * p->blocks);
  for (int64_t t = jf_from(part, p->span); t < to; t++) {
    const int64_t i = t / p->blocks, from = i % p->pieces * p->rows, n = p->last;
    const int64_t rows = p->inner - from < p->rows ? p->inner - from : p->rows;
    const float *x = p->x + (i / p->pieces * p->inner + from) * n;
    double *y = p->piece + i * n;
    if (n == 1) *y = jf_sum(x, rows);
    else if (n < JF_LANES) sum_narrow(x, rows, n, y);
    else if (p->blocks == 1)
      for (int64_t j = 0; j < n; j += WIDE)
        sum_columns(x + j, rows, n, n - j < WIDE ? n - j : WIDE, y + j);
    else {
      const int64_t j = t % p->blocks * COLUMNS, some = n - j < COLUMNS ? n - j : COLUMNS;
      sum_columns(x + j, rows, n, some, y + j);
      whole_results(p, i * n + j, some);
      continue;
    }
    whole_results(p, i * n, n);
  }
}
JF_VECTOR_VARIANTS(pieces)

/* y[o, j, m] = scale sum over i, b of piece[o, i, j, b, m] */
JF_BODY void results_body(void *ctx, int part)
{
  const fast_reduce_plane *p = ctx;
  const int64_t o = part / p->keep, j = part % p->keep;
  const double *from = p->piece + (o * p->sum * p->keep + j) * p->pieces * p->last;
  float *y = p->y + part * p->last;
  for (int64_t m = 0; m < p->last; m += COLUMNS) {
    const int n = p->last - m < COLUMNS ? (int)(p->last - m) : COLUMNS;
    double s[COLUMNS];
    for (int l = 0; l < n; l++) s[l] = 0;
    for (int64_t i = 0; i < p->sum; i++)
      for (int64_t b = 0; b < p->pieces; b++) {
        const double *t = from + (i * p->keep * p->pieces + b) * p->last + m;
        for (int l = 0; l < n; l++) s[l] += t[l];
      }
    for (int l = 0; l < n; l++) y[m + l] = (float)(s[l] * p->scale);
  }
}
JF_VECTOR_VARIANTS(results)

static int fast_reduce_among(const jf_ints *axis, int i)
{
  for (int j = 0; j < axis->n; j++)
    if (axis->v[j] == i) return 1;
  return 0;
}

static void fast_reduce_cut(fast_reduce_plane *p)
{
  const int64_t most = JF_PART / p->last > LEAST_ROWS ? JF_PART / p->last : LEAST_ROWS;
  const int few = p->inner * p->last <= FEW && p->last > COLUMNS;
  p->pieces = few ? 1 : (p->inner + most - 1) / most;
  p->rows = (p->inner + p->pieces - 1) / p->pieces;
  p->blocks = few ? jf_parts(p->last, COLUMNS) : 1;
  p->span = p->pieces == 1 && !few ? 1 + JF_PART / (p->inner * p->last) : 1;
}

/* Fits the axes into that form; returns 0 if there are too many runs of axes. Axes of extent 1 fit
   anywhere. */
static int fast_reduce_fit(const jf_kargs *k, fast_reduce_plane *p)
{
  const jfl_shape *s = &k->in[0].shape;
  const jf_ints *axis = &((const jf_reduce *)k->attr)->axis;
  int64_t *run[] = { &p->outer, &p->sum, &p->keep, &p->inner, &p->last };
  int at = 0;
  *p = (fast_reduce_plane){ .outer = 1, .sum = 1, .keep = 1, .inner = 1, .last = 1 };
  for (int i = 0; i < s->n; i++) {
    if (s->d[i] == 1) continue;
    if (at % 2 != fast_reduce_among(axis, i)) at++;
    if (at > 4) return 0;
    *run[at] *= s->d[i];
  }
  /* A single run of summed axes becomes `inner`, and the axes after it `last`. */
  if (p->inner == 1) {
    p->inner = p->sum;
    p->last = p->keep;
    p->sum = p->keep = 1;
  }
  fast_reduce_cut(p);
  return 1;
}
static int64_t all_pieces(const fast_reduce_plane *p)
{
  return p->outer * p->sum * p->keep * p->pieces;
}

static int fast_reduce_accepts(const jf_kargs *k)
{
  fast_reduce_plane p;
  return jf_has_vectors() && k->in[0].dtype == JFL_F32 && fast_reduce_fit(k, &p) &&
         all_pieces(&p) * p.blocks <= INT32_MAX;
}

static jfl_status fast_reduce_prepare(jf_kargs *k)
{
  fast_reduce_plane p;
  fast_reduce_fit(k, &p);
  k->scratch_size = (size_t)(all_pieces(&p) * p.last) * sizeof *p.piece;
  return JFL_OK;
}

static jfl_status fast_reduce_run(const jf_kargs *k, double scale)
{
  fast_reduce_plane p;
  fast_reduce_fit(k, &p);
  p.x = k->in[0].data;
  p.y = k->out[0].data;
  p.piece = k->scratch;
  p.scale = scale;
  const int64_t n = all_pieces(&p);
  jf_run_parts(k, jf_parts(n * p.blocks, p.span), pieces(), &p);
  if (p.sum * p.pieces == 1) return JFL_OK;
  /* There are far fewer pieces than elements: a small number is not worth a second thread. */
  jf_parallel(n * p.last < JF_PART ? 1 : k->threads, (int)(p.outer * p.keep), results(), &p);
  return JFL_OK;
}

static jfl_status sum_run(const jf_kargs *k) { return fast_reduce_run(k, 1); }

static jfl_status mean_run(const jf_kargs *k)
{
  const int64_t results = jf_numel(&k->out[0].shape);
  const int64_t count = results ? jf_numel(&k->in[0].shape) / results : 1;
  return fast_reduce_run(k, 1 / (double)jf_mean_count(k->attr, count));
}

JFL_CPU(vec_reduce_sum, .op = "reduce_sum", .accepts = fast_reduce_accepts,
        .prepare = fast_reduce_prepare, .run = sum_run)
JFL_CPU(vec_reduce_mean, .op = "reduce_mean", .accepts = fast_reduce_accepts,
        .prepare = fast_reduce_prepare, .run = mean_run)
