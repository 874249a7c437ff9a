/* concat, stack and split at the speed of memory. The joined tensor is seen as (before, row), where
   each part has a run of every row. */
#include "op/index.h"
#include "op/slice.h"
#include "op/split.h"

#include "vector.h"

/* The joined tensor and its parts; `joins`: from the parts to it. Sizes in bytes. */
typedef struct join_job {
  const jf_tensor *part;
  int n, joins;
  char *whole;
  int64_t before, row, span;           /* span: rows in a part of the loop, or bytes */
} join_job;

enum { JOIN_BYTES = 1 << 17, JOIN_SHORT = 64 };

static int64_t join_run(const join_job *j, int i)
{
  const jf_tensor *t = &j->part[i];
  return jf_numel(&t->shape) / j->before * (int64_t)jfl_dtype_size(t->dtype);
}

/* Runs of 4 or 8 bytes. They may be several elements, so nothing is known of where they lie. */
typedef uint32_t join_four __attribute__((aligned(1), may_alias));
typedef uint64_t join_eight __attribute__((aligned(1), may_alias));

/* Copies `count` runs, `pitch` bytes apart in the joined tensor. */
#define JOIN_NUMBERS(T)                                                                   \
  JF_BODY void copy_##T(char *whole, char *part, int64_t count, int64_t pitch, int joins) \
  {                                                                                       \
    T *x = (T *)part;                                                                     \
    for (int64_t r = 0; r < count; r++) {                                                 \
      T *y = (T *)(whole + r * pitch);                                                    \
      if (joins) *y = x[r]; else x[r] = *y;                                               \
    }                                                                                     \
  }
JOIN_NUMBERS(join_four)
JOIN_NUMBERS(join_eight)

JF_BODY void join_runs(char *whole, char *part, int64_t count, int64_t pitch, int64_t run,
                       int joins)
{
  if (run == 4) copy_join_four(whole, part, count, pitch, joins);
  else if (run == 8) copy_join_eight(whole, part, count, pitch, joins);
  else
    for (int64_t r = 0; r < count; r++, whole += pitch, part += run)
      memcpy(joins ? whole : part, joins ? part : whole, (size_t)run);
}

/* Some rows, part after part. */
JF_BODY void join_rows_body(void *ctx, int i)
{
  const join_job *j = ctx;
  const int64_t from = jf_from(i, j->span), to = jf_to(i, j->span, j->before);
  int64_t at = from * j->row;
  for (int p = 0; p < j->n; p++) {
    const int64_t run = join_run(j, p);
    char *part = (char *)j->part[p].data + from * run;
    if (j->joins) join_runs(j->whole + at, part, to - from, j->row, run, 1);
    else join_runs(j->whole + at, part, to - from, j->row, run, 0);
    at += run;
  }
}
JF_VARIANTS(join_rows)

/* Some bytes of the joined tensor, which need not begin where a row or a run does. */
static void join_bytes(void *ctx, int i)
{
  const join_job *j = ctx;
  int64_t at = jf_from(i, j->span), end = jf_to(i, j->span, j->before * j->row);
  int64_t r = at / j->row, skip = at % j->row;
  for (; at < end; r++, skip = 0)
    for (int p = 0; p < j->n && at < end; p++) {
      const int64_t run = join_run(j, p);
      if (skip >= run) {
        skip -= run;
        continue;
      }
      const int64_t n = run - skip < end - at ? run - skip : end - at;
      char *part = (char *)j->part[p].data + r * run + skip, *whole = j->whole + at;
      memcpy(j->joins ? whole : part, j->joins ? part : whole, (size_t)n);
      at += n;
      skip = 0;
    }
}

static jfl_status join_all(const jf_kargs *k, const jf_tensor *part, int n,
                           const jf_tensor *whole, int64_t axis, int joins)
{
  join_job j = { .part = part, .n = n, .joins = joins, .whole = whole->data, .before = 1 };
  const int64_t bytes = jf_numel(&whole->shape) * (int64_t)jfl_dtype_size(whole->dtype);
  for (int i = 0; i < axis; i++) j.before *= whole->shape.d[i];
  j.row = bytes / j.before;
  if (j.row / n < JOIN_SHORT) {
    j.span = JOIN_BYTES / j.row + 1;
    jf_run_parts(k, jf_parts(j.before, j.span), join_rows(), &j);
  } else {
    j.span = JOIN_BYTES;
    jf_run_parts(k, jf_parts(bytes, j.span), join_bytes, &j);
  }
  return JFL_OK;
}

static jfl_status join_concat(const jf_kargs *k)
{
  return join_all(k, k->in, k->n_in, k->out, ((const jf_concat *)k->attr)->axis, 1);
}

static jfl_status join_split(const jf_kargs *k)
{
  return join_all(k, k->out, k->n_out, k->in, ((const jf_split *)k->attr)->axis, 0);
}

JFL_CPU(fast_concat, .op = "concat", .run = join_concat, .priority = 10)
JFL_CPU(fast_stack, .op = "stack", .run = join_concat, .priority = 10)
JFL_CPU(fast_split, .op = "split", .run = join_split, .priority = 10)
