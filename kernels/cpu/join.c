/* concat, stack, join and split at the speed of memory. The joined tensor is seen as (before, row),
   where each part has a run of every row. */
#include "op/index.h"
#include "op/slice.h"
#include "op/split.h"

#include "vector.h"

/* A part: its run of row r is `run` bytes at `at` + r * pitch. */
typedef struct join_piece { char *at; int64_t run, pitch; } join_piece;

/* The joined tensor and its parts; `joins`: from the parts to it. Sizes in bytes. */
typedef struct join_job {
  const join_piece *piece;
  int n, joins;
  char *whole;
  int64_t before, row, span;           /* span: rows in a part of the loop, or bytes */
} join_job;

enum { JOIN_BYTES = 1 << 17, JOIN_SHORT = 64 };

/* Runs of 4 or 8 bytes. They may be several elements, so nothing is known of where they lie. */
typedef uint32_t join_four __attribute__((aligned(1), may_alias));
typedef uint64_t join_eight __attribute__((aligned(1), may_alias));

/* Copies the runs of rows from `from` to `to` of a part; `whole` is where they are in the first of
   these rows. */
#define JOIN_NUMBERS(T)                                                                    \
  JF_BODY void copy_##T(const join_job *j, const join_piece *p, char *whole, int64_t from, \
                        int64_t to)                                                        \
  {                                                                                        \
    char *part = p->at + from * p->pitch;                                                  \
    for (int64_t r = 0; r < to - from; r++) {                                              \
      T *x = (T *)(part + r * p->pitch), *y = (T *)(whole + r * j->row);                   \
      if (j->joins) *y = *x; else *x = *y;                                                 \
    }                                                                                      \
  }
JOIN_NUMBERS(join_four)
JOIN_NUMBERS(join_eight)

static void join_runs(const join_job *j, const join_piece *p, char *whole, int64_t from, int64_t to)
{
  if (p->run == 4) copy_join_four(j, p, whole, from, to);
  else if (p->run == 8) copy_join_eight(j, p, whole, from, to);
  else
    for (int64_t r = from; r < to; r++, whole += j->row) {
      char *part = p->at + r * p->pitch;
      memcpy(j->joins ? whole : part, j->joins ? part : whole, (size_t)p->run);
    }
}

/* Two parts whose rows are one number, in turn. */
#define JOIN_PAIRS(T)                                                                        \
  JF_BODY void pair_##T(const join_job *j, int64_t from, int64_t to)                         \
  {                                                                                          \
    T *a = (T *)j->piece[0].at, *b = (T *)j->piece[1].at, *y = (T *)j->whole;                \
    if (j->joins)                                                                            \
      JF_EACH_ALONE for (int64_t r = from; r < to; r++) { y[2 * r] = a[r]; y[2 * r + 1] = b[r]; } \
    else                                                                                     \
      JF_EACH_ALONE for (int64_t r = from; r < to; r++) { a[r] = y[2 * r]; b[r] = y[2 * r + 1]; } \
  }
JOIN_PAIRS(join_four)
JOIN_PAIRS(join_eight)

static int join_is_pair(const join_job *j)
{
  const int64_t run = j->row / 2;
  if (j->n != 2 || (j->row != 8 && j->row != 16)) return 0;
  return j->piece[0].run == run && j->piece[0].pitch == run && j->piece[1].pitch == run;
}

JF_BODY void join_pairs_body(void *ctx, int i)
{
  const join_job *j = ctx;
  const int64_t from = jf_from(i, j->span), to = jf_to(i, j->span, j->before);
  if (j->row == 8) pair_join_four(j, from, to);
  else pair_join_eight(j, from, to);
}
JF_VARIANTS(join_pairs)

/* Some rows, part after part. */
static void join_rows(void *ctx, int i)
{
  const join_job *j = ctx;
  const int64_t from = jf_from(i, j->span), to = jf_to(i, j->span, j->before);
  char *whole = j->whole + from * j->row;
  for (int p = 0; p < j->n; whole += j->piece[p++].run)
    join_runs(j, &j->piece[p], whole, from, to);
}

/* Some bytes of the joined tensor, which need not begin where a row or a run does. */
static void join_bytes(void *ctx, int i)
{
  const join_job *j = ctx;
  int64_t at = jf_from(i, j->span), end = jf_to(i, j->span, j->before * j->row);
  int64_t r = at / j->row, skip = at % j->row;
  for (; at < end; r++, skip = 0)
    for (int p = 0; p < j->n && at < end; p++) {
      const int64_t run = j->piece[p].run;
      if (skip >= run) {
        skip -= run;
        continue;
      }
      const int64_t n = run - skip < end - at ? run - skip : end - at;
      char *part = j->piece[p].at + r * j->piece[p].pitch + skip, *whole = j->whole + at;
      memcpy(j->joins ? whole : part, j->joins ? part : whole, (size_t)n);
      at += n;
      skip = 0;
    }
}

/* A call whose parts are whole tensors, or what `cut` says of them. */
typedef struct join_call {
  const jf_tensor *part, *whole;
  int n, joins;
  int64_t axis;
  const jf_join *cut;
} join_call;

static jfl_status join_all(const jf_kargs *k, const join_call *c)
{
  const jf_axes s = jf_axes_at(&c->whole->shape, c->axis);
  const int64_t one = s.after * (int64_t)jfl_dtype_size(c->whole->dtype);
  join_piece *piece = k->scratch;
  join_job j = { piece, c->n, c->joins, c->whole->data, s.before, s.m * one, JOIN_BYTES };
  if (j.before * j.row == 0) return JFL_OK;
  for (int i = 0; i < c->n; i++) {
    const jf_tensor *t = &c->part[i];
    const int64_t whole = jf_numel(&t->shape) / (s.before * s.after) * one;
    piece[i] = (join_piece){ t->data, c->cut ? c->cut->size.v[i] * one : whole, whole };
    if (c->cut) piece[i].at += c->cut->begin.v[i] * one;
  }
  if (j.row / j.n >= JOIN_SHORT) {
    jf_run_parts(k, jf_parts(j.before * j.row, j.span), join_bytes, &j);
    return JFL_OK;
  }
  j.span = JOIN_BYTES / j.row + 1;
  jf_run_parts(k, jf_parts(j.before, j.span), join_is_pair(&j) ? join_pairs() : join_rows, &j);
  return JFL_OK;
}

static jfl_status join_prepare(jf_kargs *k, size_t *scratch)
{
  *scratch = (size_t)(k->n_in + k->n_out) * sizeof(join_piece);
  return JFL_OK;
}

static jfl_status join_whole(const jf_kargs *k)
{
  return join_all(k, &(join_call){ k->in, k->out, k->n_in, 1,
                                   ((const jf_concat *)k->attr)->axis, NULL });
}

static jfl_status join_cut(const jf_kargs *k)
{
  return join_all(k, &(join_call){ k->in, k->out, k->n_in, 1, ((const jf_join *)k->attr)->axis,
                                   k->attr });
}

static jfl_status join_split(const jf_kargs *k)
{
  return join_all(k, &(join_call){ k->out, k->in, k->n_out, 0,
                                   ((const jf_split *)k->attr)->axis, NULL });
}

JFL_CPU(fast_concat, .op = "concat", .prepare = join_prepare, .run = join_whole, .priority = 10)
JFL_CPU(fast_stack, .op = "stack", .prepare = join_prepare, .run = join_whole, .priority = 10)
JFL_CPU(fast_join, .op = "join", .prepare = join_prepare, .run = join_cut, .priority = 10)
JFL_CPU(fast_split, .op = "split", .prepare = join_prepare, .run = join_split, .priority = 10)
