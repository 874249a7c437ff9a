/* Optimizer updates of many tensors, and the norm of their gradients, each in one parallel loop.
   The tensors are laid end to end and cut into parts of one size, so that every thread has work
   whether there are many small tensors or a single large one. */
#include "op/clip_scale.h"
#include "optim/update.h"

#include "vector.h"

/* Where each of n tensors starts when they are laid end to end, and where the last one ends. Starts
   are multiples of ALIGN, so that parts of a tensor start at a cache line. */
enum { ALIGN = 64 };
typedef struct fast_update_layout {
  const jf_kargs *k;
  int first, stride;           /* tensor i is input first + i stride of the call */
  int n;
  int64_t start[];
} fast_update_layout;

/* The tensor to which element `at` belongs. */
static int tensor_at(const fast_update_layout *l, int64_t at)
{
  int lo = 0, hi = l->n;
  while (hi - lo > 1) {
    int mid = lo + (hi - lo) / 2;
    if (l->start[mid] <= at) lo = mid;
    else hi = mid;
  }
  return lo;
}

static const jf_tensor *fast_update_tensor(const fast_update_layout *l, int i)
{
  return &l->k->in[l->first + i * l->stride];
}

/* Elements `from` to `from` + n - 1 of tensor i, as far as part p has them. Each stretch has a
   number of its own, p + i: the next one is of the next part, of the next tensor, or of both. */
typedef struct stretch { int p, i; int64_t from, n; } stretch;
/* Handles a stretch; u is the visitor's own data. */
typedef void (*fast_update_visit)(void *u, const stretch *s);

static void each_stretch(const fast_update_layout *l, int p, fast_update_visit fn, void *u)
{
  const int64_t end = jf_to(p, JF_PART, l->start[l->n]);
  int64_t from = jf_from(p, JF_PART);
  for (int i = tensor_at(l, from); from < end; i++) {
    const int64_t to = l->start[i + 1] < end ? l->start[i + 1] : end;
    const int64_t rest = l->start[i] + jf_numel(&fast_update_tensor(l, i)->shape) - from;
    const stretch s = { p, i, from - l->start[i], rest < to - from ? rest : to - from };
    if (s.n > 0) fn(u, &s);
    from = to;
  }
}

/* How many bytes a layout of n tensors takes. It lies in scratch, so there is nothing to
   release. */
static size_t layout_size(int n)
{
  return sizeof(fast_update_layout) + ((size_t)n + 1) * sizeof(int64_t);
}

static int64_t aligned(const jf_tensor *t)
{
  return (jf_numel(&t->shape) + ALIGN - 1) / ALIGN * ALIGN;
}

/* Lays out n of k's inputs: every stride-th one from `first` on. */
static const fast_update_layout *fast_update_lay_out(const jf_kargs *k, int n, int first,
                                                     int stride)
{
  fast_update_layout *l = k->scratch;
  *l = (fast_update_layout){ .k = k, .n = n, .first = first, .stride = stride };
  l->start[0] = 0;
  for (int i = 0; i < n; i++) l->start[i + 1] = l->start[i] + aligned(fast_update_tensor(l, i));
  return l;
}

/* How many parts those inputs will make. */
static int fast_update_parts(const jf_kargs *k, int n, int first, int stride)
{
  int64_t size = 0;
  for (int i = 0; i < n; i++) size += aligned(&k->in[first + i * stride]);
  return jf_parts(size, JF_PART);
}

/* ---- updates ---- */

typedef struct fast_update {
  const jf_kargs *k;
  const fast_update_layout *at;
  const jf_rule *rule;
  double *of_stretch, *of_tensor;      /* sums, for rules that have some */
} fast_update;

static jf_update_args fast_update_args(const fast_update *u, const stretch *s, double *sum)
{
  return (jf_update_args){ jf_update_tensors(u->k, s->i), s->from, s->n, jf_update_scalars(u->k),
                           sum };
}

static void measure_stretch(void *ctx, const stretch *s)
{
  const fast_update *u = ctx;
  const int n = u->rule->n_sum;
  double *sum = u->of_stretch + (size_t)(s->p + s->i) * (size_t)n;
  const jf_update_args a = fast_update_args(u, s, sum);
  for (int i = 0; i < n; i++) sum[i] = 0;
  u->rule->measure_best[a.tensor->dtype](&a);
}

static void measure_part(void *ctx, int p)
{
  each_stretch(((const fast_update *)ctx)->at, p, measure_stretch, ctx);
}

/* Adds the sums of a tensor's stretches, in their order. */
static void measure_tensor(const fast_update *u, int i)
{
  const fast_update_layout *l = u->at;
  const int n = u->rule->n_sum;
  const int end = jf_parts(l->start[i] + jf_numel(&fast_update_tensor(l, i)->shape), JF_PART);
  double *total = u->of_tensor + (size_t)i * (size_t)n;
  for (int k = 0; k < n; k++) total[k] = 0;
  for (int p = (int)(l->start[i] / JF_PART); p < end; p++)
    for (int k = 0; k < n; k++) total[k] += u->of_stretch[(size_t)(p + i) * (size_t)n + (size_t)k];
}

static void update_stretch(void *ctx, const stretch *s)
{
  const fast_update *u = ctx;
  const jf_update_args a =
    fast_update_args(u, s, u->of_tensor + (size_t)s->i * (size_t)u->rule->n_sum);
  jf_average_args average;
  u->rule->best[a.tensor->dtype](&a);
  if (!((const jf_update *)u->k->attr)->averages) return;
  jf_average_of(u->k, &a, &average);
  jf_average->best[a.tensor->dtype](&average.args);
}

static void update_part(void *ctx, int p)
{
  each_stretch(((const fast_update *)ctx)->at, p, update_stretch, ctx);
}

/* How many sums there are of stretches, of which no more exist than parts and tensors together. */
static size_t n_stretch_sums(const jf_kargs *k)
{
  const jf_update *a = k->attr;
  return (size_t)(fast_update_parts(k, a->n, 0, a->stride) + a->n) * (size_t)a->choice.rule->n_sum;
}

static jfl_status update_prepare(jf_kargs *k)
{
  const jf_update *a = k->attr;
  k->scratch_size = layout_size(a->n);
  if (a->choice.rule->n_sum)
    k->scratch_size +=
        (n_stretch_sums(k) + (size_t)a->n * (size_t)a->choice.rule->n_sum) * sizeof(double);
  return JFL_OK;
}

static jfl_status fast_update_run(const jf_kargs *k)
{
  const jf_update *a = k->attr;
  if (jf_update_skips(k)) return JFL_OK;
  const fast_update_layout *l = fast_update_lay_out(k, a->n, 0, a->stride);
  const int n = jf_parts(l->start[l->n], JF_PART);
  double *sums = (double *)(void *)((char *)k->scratch + layout_size(a->n));
  fast_update u = { k, l, a->choice.rule, sums, sums };
  if (u.rule->n_sum) {
    u.of_tensor += n_stretch_sums(k);
    jf_run_parts(k, n, measure_part, &u);
    for (int i = 0; i < a->n; i++) measure_tensor(&u, i);
  }
  jf_run_parts(k, n, update_part, &u);
  return JFL_OK;
}

JFL_CPU(vec_update, .op = "update", .prepare = update_prepare, .run = fast_update_run)

/* ---- norms ---- */

/* Sums of squares, one for each part, which are added in the order of parts. */
typedef struct squares {
  const fast_update_layout *at;
  double *sum;                 /* of each part */
} squares;

#define STRETCH_SQUARES(D, T)                                                                \
  JF_BODY void add_squares_##D##_body(const T *x, int64_t n, double *out)                    \
  {                                                                                          \
    double lane[4 * JF_LANES] = { 0 }, sum = 0;                                              \
    int64_t j = 0;                                                                           \
    for (; j + 4 * JF_LANES <= n; j += 4 * JF_LANES)                                         \
      for (int l = 0; l < 4 * JF_LANES; l++) lane[l] += (double)x[j + l] * (double)x[j + l]; \
    for (; j < n; j++) sum += (double)x[j] * (double)x[j];                                   \
    for (int l = 0; l < 4 * JF_LANES; l++) sum += lane[l];                                   \
    *out += sum;                                                                             \
  }                                                                                          \
  JF_DISPATCH(add_squares_##D, (const T *x, int64_t n, double *out), (x, n, out))
STRETCH_SQUARES(F32, float)
STRETCH_SQUARES(F64, double)

static void norm_stretch(void *ctx, const stretch *s)
{
  const squares *u = ctx;
  const jf_tensor *t = fast_update_tensor(u->at, s->i);
  if (t->dtype == JFL_F32)
    add_squares_F32((const float *)t->data + s->from, s->n, &u->sum[s->p]);
  else
    add_squares_F64((const double *)t->data + s->from, s->n, &u->sum[s->p]);
}

static void norm_body(void *ctx, int p)
{
  const squares *u = ctx;
  u->sum[p] = 0;
  each_stretch(u->at, p, norm_stretch, ctx);
}

static jfl_status norm_prepare(jf_kargs *k)
{
  const int n = k->n_in - JF_CLIP_FIRST;
  k->scratch_size = layout_size(n) +
             (size_t)fast_update_parts(k, n, JF_CLIP_FIRST, 1) * sizeof(double);
  return JFL_OK;
}

static jfl_status norm_run(const jf_kargs *k)
{
  const fast_update_layout *l = fast_update_lay_out(k, k->n_in - JF_CLIP_FIRST, JF_CLIP_FIRST, 1);
  const int n = jf_parts(l->start[l->n], JF_PART);
  squares u = { l, (double *)(void *)((char *)k->scratch + layout_size(l->n)) };
  double sum = 0;
  jf_run_parts(k, n, norm_body, &u);
  for (int i = 0; i < n; i++) sum += u.sum[i];
  *(double *)k->out[0].data = jf_clip_factor(k, sum);
  return JFL_OK;
}

JFL_CPU(vec_clip_scale, .op = "clip_scale", .prepare = norm_prepare, .run = norm_run)
