/* Optimizer updates of many tensors in one parallel loop. The tensors are laid end to end and cut into parts
   of one size, so that neither many small ones nor one large one leave a thread without work. */
#include "op/multi_update.h"

#include "vector.h"

/* Where each of n tensors starts when they lie end to end, and the end. Starts are multiples of ALIGN, so that
   parts of a tensor start on a line of memory. */
enum { ALIGN = 64 };
typedef struct layout { int n; int64_t start[]; } layout;

typedef struct update {
  const jf_kargs *k;
  const layout *at;
  jf_update_loop loop;
} update;

/* n elements of tensor i from `from` on. */
static void stretch(const update *u, int i, int64_t from, int64_t n)
{
  jf_update_args a = jf_multi_update_args(u->k, i);
  const int64_t skip = from * (int64_t)jfl_dtype_size(u->k->in[0].dtype);
  a.param = (char *)a.param + skip;
  a.grad = (const char *)a.grad + skip;
  for (int j = 0; j < JF_MAXSLOT; j++)
    if (a.slot[j]) a.slot[j] = (char *)a.slot[j] + skip;
  a.n = a.n - from < n ? a.n - from : n;
  if (a.n > 0) u->loop(&a);
}

/* The tensor that element `at` belongs to. */
static int tensor_at(const layout *l, int64_t at)
{
  int lo = 0, hi = l->n;
  while (hi - lo > 1) {
    int mid = lo + (hi - lo) / 2;
    if (l->start[mid] <= at) lo = mid;
    else hi = mid;
  }
  return lo;
}

static void part(void *ctx, int p)
{
  const update *u = ctx;
  const int64_t *start = u->at->start, end = jf_to(p, JF_PART, start[u->at->n]);
  int64_t from = jf_from(p, JF_PART);
  for (int i = tensor_at(u->at, from); from < end; i++) {
    const int64_t to = start[i + 1] < end ? start[i + 1] : end;
    stretch(u, i, from - start[i], to - from);
    from = to;
  }
}

static jfl_status prepare(jf_kargs *k, size_t *scratch)
{
  const jf_multi_update *a = k->attr;
  layout *l = jf_new(sizeof *l + ((size_t)a->n + 1) * sizeof *l->start);
  (void)scratch;
  if (!l) return jf_fail(JFL_ENOMEM, "multi_update: out of memory");
  l->n = a->n;
  for (int i = 0; i < a->n; i++) {
    const int64_t n = jf_numel(&k->in[i * a->stride].shape);
    l->start[i + 1] = l->start[i] + (n + ALIGN - 1) / ALIGN * ALIGN;
  }
  k->state = l;
  return JFL_OK;
}

static jfl_status run(const jf_kargs *k)
{
  const jf_multi_update *a = k->attr;
  const layout *l = k->state;
  update u = { k, l, a->op->update[k->in[0].dtype] };
  jf_run_parts(k, l->start[l->n], jf_parts(l->start[l->n], JF_PART), part, &u);
  return JFL_OK;
}

JFL_CPU(vec_multi_update, .op = "multi_update", .prepare = prepare, .run = run, .release = jf_free,
  .priority = 10)
