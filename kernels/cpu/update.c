/* Optimizer updates of many tensors, and the norm of their gradients, each in one parallel loop.
   The tensors are laid end to end and cut into parts of one size, so that every thread has work
   whether there are many small tensors or a single large one. */
#include "op/clip_scale.h"
#include "optim/update.h"

#include "vector.h"

/* Where each of n tensors starts when they are laid end to end, and where the last one ends. Starts
   are multiples of ALIGN, so that parts of a tensor start at a cache line. */
enum { ALIGN = 64 };
typedef struct fast_update_layout { int n; int64_t start[]; } fast_update_layout;

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

/* Handles n elements of tensor i from element `from` on; u is the visitor's own data. */
typedef void (*fast_update_visit)(void *u, int i, int64_t from, int64_t n);

static void each_stretch(const fast_update_layout *l, int p, fast_update_visit fn, void *u)
{
  const int64_t end = jf_to(p, JF_PART, l->start[l->n]);
  int64_t from = jf_from(p, JF_PART);
  for (int i = tensor_at(l, from); from < end; i++) {
    const int64_t to = l->start[i + 1] < end ? l->start[i + 1] : end;
    fn(u, i, from - l->start[i], to - from);
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

/* Lays out n of k's inputs: every stride-th one. */
static const fast_update_layout *fast_update_lay_out(const jf_kargs *k, int n, int stride)
{
  fast_update_layout *l = k->scratch;
  l->n = n;
  l->start[0] = 0;
  for (int i = 0; i < n; i++) l->start[i + 1] = l->start[i] + aligned(&k->in[i * stride]);
  return l;
}

/* ---- updates ---- */

typedef struct fast_update {
  const jf_kargs *k;
  const fast_update_layout *at;
  jf_update_loop loop;
} fast_update;

static void update_stretch(void *ctx, int i, int64_t from, int64_t n)
{
  const fast_update *u = ctx;
  const jf_tensor *t = jf_update_tensors(u->k, i);
  const int64_t rest = jf_numel(&t->shape) - from;
  jf_update_args a = { t, from, rest < n ? rest : n, jf_update_scalars(u->k) };
  if (a.n > 0) u->loop(&a);
}

static void update_part(void *ctx, int p)
{
  each_stretch(((const fast_update *)ctx)->at, p, update_stretch, ctx);
}

static jfl_status update_prepare(jf_kargs *k, size_t *scratch)
{
  *scratch = layout_size(((const jf_update *)k->attr)->n);
  return JFL_OK;
}

static jfl_status fast_update_run(const jf_kargs *k)
{
  const jf_update *a = k->attr;
  const fast_update_layout *l = fast_update_lay_out(k, a->n, a->stride);
  fast_update u = { k, l, a->choice.rule->best[k->in[0].dtype] };
  jf_run_parts(k, jf_parts(l->start[l->n], JF_PART), update_part, &u);
  return JFL_OK;
}

JFL_CPU(vec_update, .op = "update", .prepare = update_prepare, .run = fast_update_run,
  .priority = 10)

/* ---- norms ---- */

/* Sums of squares, one for each part, which are added in the order of parts. */
typedef struct squares {
  const jf_kargs *k;
  const fast_update_layout *at;
  double *sum;                 /* of each part */
} squares;

/* Adds the sum of squares of one stretch to *sum. */
typedef struct stretch_sum { const float *x; int64_t n; double *sum; } stretch_sum;

JF_BODY void add_squares_body(void *ctx, int i)
{
  const stretch_sum *s = ctx;
  double lane[JF_LANES] = { 0 }, sum = 0;
  int64_t j = 0;
  (void)i;
  for (; j + JF_LANES <= s->n; j += JF_LANES)
    for (int l = 0; l < JF_LANES; l++) lane[l] += (double)s->x[j + l] * (double)s->x[j + l];
  for (; j < s->n; j++) sum += (double)s->x[j] * (double)s->x[j];
  for (int l = 0; l < JF_LANES; l++) sum += lane[l];
  *s->sum += sum;
}
JF_VARIANTS(add_squares)

typedef struct norm_part { const squares *u; int part; } norm_part;

static void norm_stretch(void *ctx, int i, int64_t from, int64_t n)
{
  const norm_part *p = ctx;
  const jf_tensor *t = &p->u->k->in[i];
  const int64_t rest = jf_numel(&t->shape) - from;
  stretch_sum s = { (const float *)t->data + from, rest < n ? rest : n, &p->u->sum[p->part] };
  if (s.n > 0) add_squares()(&s, 0);
}

static void norm_body(void *ctx, int p)
{
  norm_part part = { ctx, p };
  part.u->sum[p] = 0;
  each_stretch(part.u->at, p, norm_stretch, &part);
}

static int norm_accepts(const jf_kargs *k)
{
  for (int i = 0; i < k->n_in; i++)
    if (k->in[i].dtype != JFL_F32) return 0;
  return 1;
}

static jfl_status norm_prepare(jf_kargs *k, size_t *scratch)
{
  int64_t n = 0;
  for (int i = 0; i < k->n_in; i++) n += aligned(&k->in[i]);
  *scratch = layout_size(k->n_in) + (size_t)jf_parts(n, JF_PART) * sizeof(double);
  return JFL_OK;
}

static jfl_status norm_run(const jf_kargs *k)
{
  const fast_update_layout *l = fast_update_lay_out(k, k->n_in, 1);
  const int n = jf_parts(l->start[l->n], JF_PART);
  squares u = { k, l, (double *)((char *)k->scratch + layout_size(k->n_in)) };
  double sum = 0;
  jf_run_parts(k, n, norm_body, &u);
  for (int i = 0; i < n; i++) sum += u.sum[i];
  *(double *)k->out[0].data = jf_clip_factor(((const jf_clip_scale *)k->attr)->clip, sum);
  return JFL_OK;
}

JFL_CPU(vec_clip_scale, .op = "clip_scale", .accepts = norm_accepts, .prepare = norm_prepare,
  .run = norm_run, .priority = 10)
