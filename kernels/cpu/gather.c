/* gather, sums of slices by number, and steps along such sums, in parallel. */
#include "op/gather.h"
#include "op/attrs.h"
#include "op/index.h"
#include "optim/segment_update.h"

#include "vector.h"

#include <stdatomic.h>

/* ---- picking slices ---- */

/* Runs of x by id, seen as (planes, n): plane i is one index of the axes in front. */
typedef struct pick_job {
  const char *x;
  char *y;
  const jf_tensor *ids;
  jf_picks p;
  int64_t run, size, span;             /* run: bytes; size: of an element */
  atomic_int wrong;                    /* whether an id is out of range */
} pick_job;

/* SHORT: bytes of a run that are not worth a call of memcpy. */
enum { PICK_BYTES = 1 << 17, PICK_SHORT = 256 };

/* Copies a run, whose size is known to be `run` or a multiple of LINE. */
enum { LINE = 64 };
JF_BODY void pick_run(char *y, const char *x, int64_t run)
{
  if (run > PICK_SHORT || run % LINE) memcpy(y, x, (size_t)run);
  else for (int64_t i = 0; i < run; i += LINE) memcpy(y + i, x + i, LINE);
}

#define PICK_ONES(T, I)                                                                   \
  JF_BODY void pick_##T##_##I(const char *from, char *to, const I *id, int64_t n)         \
  {                                                                                       \
    const T *x = (const T *)from;                                                         \
    T *y = (T *)to;                                                                       \
    for (int64_t j = 0; j < n; j++) y[j] = x[id[j]];                                      \
  }
PICK_ONES(uint32_t, int32_t)
PICK_ONES(uint32_t, int64_t)
PICK_ONES(uint64_t, int32_t)
PICK_ONES(uint64_t, int64_t)

/* The ids from number j on, of which there are n, from one plane of x. */
JF_BODY void pick_some(const pick_job *g, const char *x, char *y, int64_t j, int64_t n)
{
  const int32_t *narrow = (const int32_t *)g->ids->data + j;
  const int64_t *wide = (const int64_t *)g->ids->data + j, run = g->run;
  const int is_narrow = g->ids->dtype == JFL_I32;
  if (run == 4 && g->size == 4) {
    if (is_narrow) pick_uint32_t_int32_t(x, y, narrow, n);
    else pick_uint32_t_int64_t(x, y, wide, n);
  } else if (run == 8 && g->size == 8) {
    if (is_narrow) pick_uint64_t_int32_t(x, y, narrow, n);
    else pick_uint64_t_int64_t(x, y, wide, n);
  } else {
    for (int64_t i = 0; i < n; i++, y += run)
      pick_run(y, x + (is_narrow ? narrow[i] : wide[i]) * run, run);
  }
}

/* Ids that each plane has for itself are checked right before they are used. */
JF_BODY void pick_rows_body(void *ctx, int i)
{
  pick_job *g = ctx;
  const jf_picks *p = &g->p;
  const int64_t to = jf_to(i, g->span, p->batches * p->outer * p->n);
  for (int64_t r = jf_from(i, g->span), n; r < to; r += n) {
    const int64_t plane = r / p->n, j = r % p->n;
    n = p->n - j < to - r ? p->n - j : to - r;
    if (p->outer == 1 && !jf_within(g->ids, r, n, p->m)) {
      atomic_store_explicit(&g->wrong, 1, memory_order_relaxed);
      return;
    }
    pick_some(g, g->x + plane * p->m * g->run, g->y + r * g->run, plane / p->outer * p->n + j, n);
  }
}
JF_VARIANTS(pick_rows)

static jfl_status pick_gather(const jf_kargs *k)
{
  const jf_gather *a = k->attr;
  const jf_tensor *x = &k->in[0];
  pick_job g = { .x = x->data, .y = k->out[0].data, .ids = &k->in[1],
                 .size = (int64_t)jfl_dtype_size(x->dtype) };
  g.p = jf_picks_of(&x->shape, &g.ids->shape, a->axis, a->batch_dims);
  g.run = g.p.run * g.size;
  g.span = PICK_BYTES / g.run + 1;
  if (g.p.outer > 1) JF_TRY(jf_check_range(k, JF_WRONG_INDEX, g.ids, g.p.m));
  jf_run_parts(k, jf_parts(g.p.batches * g.p.outer * g.p.n, g.span), pick_rows(), &g);
  return atomic_load(&g.wrong) ? jf_check_range(k, JF_WRONG_INDEX, g.ids, g.p.m) : JFL_OK;
}

/* ---- picking slices by tuples ---- */

typedef struct tuple_job {
  jf_tuples t;
  const char *x;
  char *y;
  int64_t size, run, span;             /* size: bytes of an element; run: of a slice */
  atomic_int wrong;
} tuple_job;

/* Where the slices of n tuples from number `from` on begin, in bytes; so much is found first that
   the memory fetches them meanwhile. Returns whether all are within x. */
enum { TUPLES = 64 };
#define PLACE_TUPLES(I)                                                                 \
  JF_BODY int place_tuples_##I(const tuple_job *g, int64_t from, int n, int64_t *place) \
  {                                                                                     \
    const jf_tuples *t = &g->t;                                                         \
    const I *id = (const I *)t->ids->data + from * t->n;                                \
    for (int j = 0; j < n; j++) {                                                       \
      int64_t at = 0;                                                                   \
      for (int i = 0; i < t->n; i++, id++) {                                            \
        if (*id < 0 || *id >= t->whole->d[i]) return 0;                                 \
        at += *id * t->step[i];                                                         \
      }                                                                                 \
      place[j] = at * g->size;                                                          \
      __builtin_prefetch(g->x + place[j]);                                              \
    }                                                                                   \
    return 1;                                                                           \
  }
PLACE_TUPLES(int32_t)
PLACE_TUPLES(int64_t)

JF_BODY void pick_tuples_body(void *ctx, int i)
{
  tuple_job *g = ctx;
  const int64_t to = jf_to(i, g->span, g->t.count), run = g->run;
  const int is_narrow = g->t.ids->dtype == JFL_I32;
  int64_t place[TUPLES];
  for (int64_t from = jf_from(i, g->span); from < to; from += TUPLES) {
    const int n = to - from < TUPLES ? (int)(to - from) : TUPLES;
    char *y = g->y + from * run;
    if (!(is_narrow ? place_tuples_int32_t(g, from, n, place)
                    : place_tuples_int64_t(g, from, n, place))) {
      atomic_store_explicit(&g->wrong, 1, memory_order_relaxed);
      return;
    }
    if (run == 4) for (int j = 0; j < n; j++) memcpy(y + 4 * j, g->x + place[j], 4);
    else for (int j = 0; j < n; j++) pick_run(y + j * run, g->x + place[j], run);
  }
}
JF_VARIANTS(pick_tuples)

static jfl_status pick_gather_nd(const jf_kargs *k)
{
  tuple_job g = { .t = jf_tuples_of(&k->in[1], &k->in[0].shape), .x = k->in[0].data,
                  .y = k->out[0].data, .size = (int64_t)jfl_dtype_size(k->in[0].dtype) };
  g.run = g.t.run * g.size;
  g.span = PICK_BYTES / (g.run + 16) + 1;
  jf_run_parts(k, jf_parts(g.t.count, g.span), pick_tuples(), &g);
  return atomic_load(&g.wrong) ? jf_tuples_check(k, &g.t) : JFL_OK;
}

/* ---- adding slices ---- */

/* y[plane, id[j]] += scale x[plane, j] for all j in order. A part of the loop has columns of all
   runs, or where runs are short a range of ids; so each sum is one part's, and does not depend on
   the number of threads. */
typedef struct add_job {
  const float *x;
  float *y, scale;
  const jf_tensor *ids;
  jf_picks p;
  int64_t ignored, columns, rows;      /* of a part */
  int across, down;                    /* how many parts a plane has, by columns and by ids */
} add_job;

enum { ADD_COLUMNS = 64, ADD_RANGES = 2, ADD_SHORT = 8 };

/* Where a run is one number; all ids are in the one range. */
#define ADD_ONES(I)                                                                       \
  JF_BODY void add_ones_##I(const add_job *g, const float *x, float *y, const I *id)      \
  {                                                                                       \
    for (int64_t j = 0; j < g->p.n; j++)                                                  \
      if (id[j] != g->ignored) y[id[j]] += g->scale * x[j];                               \
  }
ADD_ONES(int32_t)
ADD_ONES(int64_t)

JF_BODY void add_slices_body(void *ctx, int i)
{
  const add_job *g = ctx;
  const jf_picks *p = &g->p;
  const int64_t part = i % (g->across * g->down), plane = i / (g->across * g->down);
  const int64_t c0 = part % g->across * g->columns, left = p->run - c0;
  const int64_t n = left < g->columns ? left : g->columns, low = part / g->across * g->rows;
  const int64_t high = low + g->rows < p->m ? low + g->rows : p->m;
  const float *x = g->x + plane * p->n * p->run + c0;
  float *y = g->y + plane * p->m * p->run + c0;
  const int64_t first = plane / p->outer * p->n;
  if (p->run == 1 && g->ids->dtype == JFL_I32)
    add_ones_int32_t(g, x, y, (const int32_t *)g->ids->data + first);
  else if (p->run == 1)
    add_ones_int64_t(g, x, y, (const int64_t *)g->ids->data + first);
  else
    for (int64_t j = 0; j < p->n; j++, x += p->run) {
      const int64_t id = jf_index_at(g->ids, first + j);
      if (id < low || id >= high || id == g->ignored) continue;
      float *to = y + id * p->run;
      JF_EACH_ALONE for (int64_t l = 0; l < n; l++) to[l] += g->scale * x[l];
    }
}
JF_VARIANTS(add_slices)

static void add_all(const jf_kargs *k, add_job *g)
{
  const int64_t planes = g->p.batches * g->p.outer;
  g->columns = g->p.run < 2 * ADD_COLUMNS ? g->p.run : ADD_COLUMNS;
  g->across = (int)((g->p.run + g->columns - 1) / g->columns);
  g->down = g->across == 1 && g->p.run >= ADD_SHORT && planes < 2 * ADD_RANGES ? ADD_RANGES : 1;
  g->rows = (g->p.m + g->down - 1) / g->down;
  jf_run_parts(k, (int)(planes * g->across * g->down), add_slices(), g);
}

static void add_zeros(void *ctx, int i)
{
  const jf_tensor *y = ctx;
  const int64_t n = jf_numel(&y->shape) * (int64_t)sizeof(float), at = jf_from(i, PICK_BYTES);
  memset((char *)y->data + at, 0, (size_t)(jf_to(i, PICK_BYTES, n) - at));
}

static jfl_status add_sums(const jf_kargs *k)
{
  const jf_segment_sum *a = k->attr;
  jf_tensor *y = &k->out[0];
  add_job g = { .x = k->in[0].data, .y = y->data, .scale = 1, .ids = &k->in[1],
                .ignored = a->ignored };
  g.p = jf_picks_of(&y->shape, &g.ids->shape, a->axis, a->batch_dims);
  JF_TRY(jf_check_range(k, JF_WRONG_SEGMENT, g.ids, g.p.m));
  jf_run_parts(k, jf_parts(jf_numel(&y->shape) * (int64_t)sizeof(float), PICK_BYTES), add_zeros, y);
  add_all(k, &g);
  return JFL_OK;
}

static jfl_status add_descend(const jf_kargs *k)
{
  const jf_segment_sum *a = k->attr;
  const double *scalar = jf_update_scalars(k);
  const jf_tensor *w = &k->in[JF_SEGMENT_PARAM];
  add_job g = { .x = k->in[JF_SEGMENT_DATA].data, .y = w->data, .ids = &k->in[JF_SEGMENT_IDS],
                .scale = (float)-(scalar[JF_RATE] * scalar[JF_SCALE]), .ignored = a->ignored };
  g.p = jf_picks_of(&w->shape, &g.ids->shape, a->axis, a->batch_dims);
  JF_TRY(jf_check_range(k, JF_WRONG_SEGMENT, g.ids, g.p.m));
  add_all(k, &g);
  return JFL_OK;
}

static int add_accepts(const jf_kargs *k)
{
  const jf_segment_sum *a = k->attr;
  const int is_step = k->n_in > 2;
  const jf_tensor *y = is_step ? &k->in[JF_SEGMENT_PARAM] : &k->out[0];
  const jf_tensor *ids = &k->in[is_step ? JF_SEGMENT_IDS : 1];
  const jf_picks p = jf_picks_of(&y->shape, &ids->shape, a->axis, a->batch_dims);
  const int64_t planes = p.batches * p.outer, across = (p.run + ADD_COLUMNS - 1) / ADD_COLUMNS;
  return y->dtype == JFL_F32 && p.run > 0 && p.m > 0 && planes * across < INT32_MAX / ADD_RANGES;
}

/* ---- picking single elements along an axis ---- */

/* y[i, j, l] = x[i, id[i, j, l], l], where x is (before, m, after) and ids are (before, n, after);
   they agree in all axes but the middle one. Parts have `span` of the (i, j). */
typedef struct along_job {
  const char *x;
  char *y;
  const jf_tensor *ids;
  int64_t before, m, n, after, span, size;
  atomic_int wrong;
} along_job;

#define ALONG(T, I)                                                                       \
  JF_BODY void along_##T##_##I(const along_job *g, int64_t from, int64_t to)              \
  {                                                                                       \
    const int64_t a = g->after;                                                           \
    const T *x = (const T *)g->x + from / g->n * g->m * a;                                \
    const I *id = (const I *)g->ids->data;                                                \
    T *y = (T *)g->y;                                                                     \
    if (a == 1) for (int64_t r = from; r < to; r++) y[r] = x[id[r]];                      \
    else                                                                                  \
      for (int64_t r = from * a; r < to * a; r += a)                                      \
        for (int64_t l = 0; l < a; l++) y[r + l] = x[id[r + l] * a + l];                  \
  }
ALONG(uint32_t, int32_t)
ALONG(uint32_t, int64_t)
ALONG(uint64_t, int32_t)
ALONG(uint64_t, int64_t)

/* Has the memory fetch the line of x after that of row r, where many of its elements are picked. */
JF_BODY void along_ahead(const along_job *g, int64_t r)
{
  enum { CACHE_LINE = 64, LONGEST = 1 << 14 };
  const int64_t bytes = g->m * g->size, next = r / g->n + 1;
  if (g->after > 1 || bytes > LONGEST || bytes > g->n * CACHE_LINE || next >= g->before) return;
  for (int64_t at = 0; at < bytes; at += CACHE_LINE)
    __builtin_prefetch(g->x + next * bytes + at);
}

/* Lines of x in turn, so that nothing is divided within them. */
JF_BODY void along_lines_body(void *ctx, int i)
{
  along_job *g = ctx;
  const int64_t first = jf_from(i, g->span), to = jf_to(i, g->span, g->before * g->n);
  if (!jf_within(g->ids, first * g->after, (to - first) * g->after, g->m)) {
    atomic_store_explicit(&g->wrong, 1, memory_order_relaxed);
    return;
  }
  for (int64_t r = first, next; r < to; r = next) {
    next = (r / g->n + 1) * g->n < to ? (r / g->n + 1) * g->n : to;
    const int is_narrow = g->ids->dtype == JFL_I32;
    along_ahead(g, r);
    if (g->size == 4 && is_narrow) along_uint32_t_int32_t(g, r, next);
    else if (g->size == 4) along_uint32_t_int64_t(g, r, next);
    else if (is_narrow) along_uint64_t_int32_t(g, r, next);
    else along_uint64_t_int64_t(g, r, next);
  }
}
JF_VARIANTS(along_lines)

/* Whether index agrees with input in all axes but dim. */
static int along_accepts(const jf_kargs *k)
{
  const jfl_shape *s = &k->in[0].shape, *ids = &k->in[1].shape;
  const size_t size = jfl_dtype_size(k->in[0].dtype);
  for (int i = 0; i < s->n; i++)
    if (i != ((const jf_dim_gather *)k->attr)->dim && s->d[i] != ids->d[i]) return 0;
  return size == 4 || size == 8;
}

static jfl_status along_gather(const jf_kargs *k)
{
  const int64_t dim = ((const jf_dim_gather *)k->attr)->dim;
  const jf_axes s = jf_axes_at(&k->in[0].shape, dim);
  along_job g = { .x = k->in[0].data, .y = k->out[0].data, .ids = &k->in[1], .before = s.before,
                  .m = s.m, .n = k->in[1].shape.d[dim], .after = s.after,
                  .size = (int64_t)jfl_dtype_size(k->in[0].dtype) };
  g.span = JF_PART / g.after + 1;
  jf_run_parts(k, jf_parts(g.before * g.n, g.span), along_lines(), &g);
  return atomic_load(&g.wrong) ? jf_check_range(k, JF_WRONG_INDEX, g.ids, s.m) : JFL_OK;
}

/* y is input, plus src at the same places; a part has some of the lines along dim. */
typedef struct along_sum { along_job g; const float *src; float *y; } along_sum;

static void along_add(void *ctx, int i)
{
  const along_sum *s = ctx;
  const along_job *g = &s->g;
  const int64_t a = g->after, to = jf_to(i, g->span, g->before);
  for (int64_t b = jf_from(i, g->span); b < to; b++) {
    float *y = s->y + b * g->m * a;
    if (s->y != (const float *)(const void *)g->x)
      memcpy(y, (const float *)(const void *)g->x + b * g->m * a, (size_t)(g->m * a) * sizeof *y);
    for (int64_t j = 0; j < g->n; j++)
      for (int64_t l = 0; l < a; l++) {
        const int64_t at = (b * g->n + j) * a + l;
        y[jf_index_at(g->ids, at) * a + l] += s->src[at];
      }
  }
}

static int along_add_accepts(const jf_kargs *k)
{
  return k->in[0].dtype == JFL_F32 && along_accepts(k);
}

static jfl_status along_scatter(const jf_kargs *k)
{
  const int64_t dim = ((const jf_dim_gather *)k->attr)->dim;
  const jf_axes s = jf_axes_at(&k->in[0].shape, dim);
  along_sum t = { { .x = k->in[0].data, .ids = &k->in[1], .before = s.before, .m = s.m,
                    .n = k->in[1].shape.d[dim], .after = s.after },
                  k->in[2].data, k->out[0].data };
  t.g.span = JF_PART / ((s.m + t.g.n) * s.after + 1) + 1;
  JF_TRY(jf_check_range(k, JF_WRONG_INDEX, t.g.ids, s.m));
  jf_run_parts(k, jf_parts(s.before, t.g.span), along_add, &t);
  return JFL_OK;
}

JFL_CPU(fast_gather, .op = "gather", .run = pick_gather)
JFL_CPU(fast_gather_nd, .op = "gather_nd", .run = pick_gather_nd)
JFL_CPU(fast_segment_sum, .op = "unsorted_segment_sum", .accepts = add_accepts, .run = add_sums)
JFL_CPU(fast_segment_update, .op = "segment_update", .accepts = add_accepts, .run = add_descend)
JFL_CPU(fast_dim_gather, .op = "dim_gather", .accepts = along_accepts, .run = along_gather)
JFL_CPU(fast_dim_scatter_add, .op = "dim_scatter_add", .accepts = along_add_accepts,
        .run = along_scatter)
