/* Running sums and products of float32, kept in double: several lines at a time, as each number of
   one line waits for the one before it. */
#include "op/attrs.h"
#include "op/index.h"

#include "vector.h"

/* x as (before, m, after), taken along m. A part of the loop is `span` lines where after is 1, else
   a block of columns of one index of `before`. */
typedef struct cumulate_job {
  const float *x, *dy;                 /* dy: for a gradient */
  float *y;
  jf_axes s;
  const jf_cumulate *a;
  int64_t span, blocks;
} cumulate_job;

enum { RUN_LINES = 8, RUN_COLUMNS = 128 };

/* The lines from number `from` on, `n` <= RUN_LINES of them. */
#define RUN_ROWS(id, INIT, STEP)                                                          \
  JF_BODY void id##_lines(const cumulate_job *j, int64_t from, int n)                          \
  {                                                                                       \
    const int64_t m = j->s.m, first = j->a->reverse ? m - 1 : 0;                          \
    const int64_t step = j->a->reverse ? -1 : 1;                                          \
    const float *x = j->x + from * m + first;                                             \
    float *y = j->y + from * m + first;                                                   \
    double acc[RUN_LINES];                                                                \
    for (int r = 0; r < RUN_LINES; r++) acc[r] = INIT;                                    \
    for (int64_t i = 0; i < m; i++, x += step, y += step)                                 \
      for (int r = 0; r < n; r++) {                                                       \
        const double v = (double)x[r * m], before = acc[r];                               \
        acc[r] = before STEP v;                                                           \
        y[r * m] = (float)(j->a->exclusive ? before : acc[r]);                            \
      }                                                                                   \
  }                                                                                       \
  JF_BODY void id##_rows_body(void *ctx, int i)                                           \
  {                                                                                       \
    const cumulate_job *j = ctx;                                                               \
    const int64_t to = jf_to(i, j->span, j->s.before);                                    \
    int64_t r = jf_from(i, j->span);                                                      \
    for (; r + RUN_LINES <= to; r += RUN_LINES) id##_lines(j, r, RUN_LINES);              \
    if (r < to) id##_lines(j, r, (int)(to - r));                                          \
  }                                                                                       \
  JF_VECTOR_VARIANTS(id##_rows)
#define RUN_COLUMN_BLOCKS(id, INIT, STEP)                                                 \
  JF_BODY void id##_columns_body(void *ctx, int i)                                        \
  {                                                                                       \
    const cumulate_job *j = ctx;                                                               \
    const int64_t m = j->s.m, after = j->s.after, c0 = i % j->blocks * RUN_COLUMNS;       \
    const int64_t first = (i / j->blocks * m + (j->a->reverse ? m - 1 : 0)) * after + c0; \
    const int64_t step = j->a->reverse ? -after : after;                                  \
    const int64_t n = after - c0 < RUN_COLUMNS ? after - c0 : RUN_COLUMNS;                \
    const float *x = j->x + first;                                                        \
    float *y = j->y + first;                                                              \
    double acc[RUN_COLUMNS];                                                              \
    for (int64_t c = 0; c < n; c++) acc[c] = INIT;                                        \
    for (int64_t l = 0; l < m; l++, x += step, y += step) {                               \
      if (j->a->exclusive)                                                                \
        JF_EACH_ALONE for (int64_t c = 0; c < n; c++) {                                   \
          const double v = (double)x[c];                                                  \
          y[c] = (float)acc[c];                                                           \
          acc[c] = acc[c] STEP v;                                                         \
        }                                                                                 \
      else                                                                                \
        JF_EACH_ALONE for (int64_t c = 0; c < n; c++) {                                   \
          acc[c] = acc[c] STEP (double)x[c];                                              \
          y[c] = (float)acc[c];                                                           \
        }                                                                                 \
    }                                                                                     \
  }                                                                                       \
  JF_VECTOR_VARIANTS(id##_columns)
RUN_ROWS(run_sum, 0, +)
RUN_ROWS(run_product, 1, *)
RUN_COLUMN_BLOCKS(run_sum, 0, +)
RUN_COLUMN_BLOCKS(run_product, 1, *)

static int run_accepts(const jf_kargs *k)
{
  const jf_axes s = jf_axes_at(&k->in[0].shape, ((const jf_cumulate *)k->attr)->axis);
  return jf_has_vectors() && k->in[0].dtype == JFL_F32 &&
         s.before * (s.after / RUN_COLUMNS + 1) < INT32_MAX;
}

static jfl_status run_all(const jf_kargs *k, jf_part rows, jf_part columns)
{
  cumulate_job j = { .x = k->in[0].data, .y = k->out[0].data, .a = k->attr };
  j.s = jf_axes_at(&k->in[0].shape, j.a->axis);
  j.blocks = (j.s.after + RUN_COLUMNS - 1) / RUN_COLUMNS;
  j.span = (JF_PART / (j.s.m + 1) + RUN_LINES) / RUN_LINES * RUN_LINES;
  if (j.s.after == 1) jf_run_parts(k, jf_parts(j.s.before, j.span), rows, &j);
  else jf_run_parts(k, (int)(j.s.before * j.blocks), columns, &j);
  return JFL_OK;
}

static jfl_status run_cumsum(const jf_kargs *k)
{
  return run_all(k, run_sum_rows(), run_sum_columns());
}
static jfl_status run_cumprod(const jf_kargs *k)
{
  return run_all(k, run_product_rows(), run_product_columns());
}

/* Lines of the gradient of cumprod, as op/cumulate.c computes it, BACK_LINES at a time. */
enum { BACK_LINES = 4 };

JF_BODY void back_lines(const cumulate_job *j, const int64_t *at, int n)
{
  const int64_t m = j->s.m, step = j->a->reverse ? -j->s.after : j->s.after;
  double next[BACK_LINES] = { 0 }, before[BACK_LINES] = { 1, 1, 1, 1 };
  for (int64_t l = m - 1; l >= 0; l--)
    for (int r = 0; r < n; r++) {
      const int64_t i = at[r] + l * step;
      const double own = (double)j->dy[i], v = (double)j->x[i];
      const double sum = j->a->exclusive ? next[r] : own + next[r];
      next[r] = (j->a->exclusive ? own : 0) + v * sum;
      j->y[i] = (float)sum;
    }
  for (int64_t l = 0; l < m; l++)
    for (int r = 0; r < n; r++) {
      const int64_t i = at[r] + l * step;
      j->y[i] = (float)(before[r] * (double)j->y[i]);
      before[r] *= (double)j->x[i];
    }
}

JF_BODY void cumulate_back_body(void *ctx, int i)
{
  const cumulate_job *j = ctx;
  const int64_t to = jf_to(i, j->span, j->s.before * j->s.after);
  for (int64_t r = jf_from(i, j->span); r < to; r += BACK_LINES) {
    const int n = to - r < BACK_LINES ? (int)(to - r) : BACK_LINES;
    int64_t at[BACK_LINES] = { 0 };
    for (int l = 0; l < n; l++) {
      at[l] = (r + l) / j->s.after * j->s.m * j->s.after + (r + l) % j->s.after;
      if (j->a->reverse) at[l] += (j->s.m - 1) * j->s.after;
    }
    if (n == BACK_LINES) back_lines(j, at, BACK_LINES);
    else back_lines(j, at, n);
  }
}
JF_VECTOR_VARIANTS(cumulate_back)

static int cumulate_back_accepts(const jf_kargs *k)
{
  return jf_has_vectors() && k->in[0].dtype == JFL_F32;
}

static jfl_status run_cumprod_grad(const jf_kargs *k)
{
  cumulate_job j = { .x = k->in[0].data, .dy = k->in[1].data, .y = k->out[0].data, .a = k->attr };
  j.s = jf_axes_at(&k->in[0].shape, j.a->axis);
  j.span = (JF_PART / j.s.m / BACK_LINES + 1) * BACK_LINES;
  jf_run_parts(k, jf_parts(j.s.before * j.s.after, j.span), cumulate_back(), &j);
  return JFL_OK;
}

JFL_CPU(fast_cumprod_grad, .op = "cumprod_grad", .accepts = cumulate_back_accepts,
        .run = run_cumprod_grad)
JFL_CPU(vec_cumsum, .op = "cumsum", .accepts = run_accepts, .run = run_cumsum)
JFL_CPU(vec_cumprod, .op = "cumprod", .accepts = run_accepts, .run = run_cumprod)
