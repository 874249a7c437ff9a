/* Matrix products by cuBLASLt. It lays matrices out in columns: one in rows is its transpose to it,
   so for y = a b it is asked for y^T = b^T a^T, and its first factor is b. */
#include "dev/cuda/blas.h"
#include "dev/cuda/choice.h"

#include <string.h>

/* Of which addresses of tensors, which plans align further, and of a workspace are multiples. */
enum { MOST_CANDIDATES = 8, ALIGNMENT = 16, WORKSPACE_ALIGNMENT = 256 };

struct jf_cuda_multiply {
  jf_cuda *cuda;
  jf_cuda_blas *blas;
  jf_cuda_product what;                  /* but act, which may not live as long */
  int32_t epilogue;
  jf_lt_product *product;
  jf_lt_layout *layout[4];               /* of the library's a, b, c, d */
  jf_lt_algorithm algorithm;
  size_t workspace;
};

/* ---- what is asked of the library ---- */

static int product_type(jfl_dtype t)
{
  return t == JFL_F64 ? JF_LT_F64 : t == JFL_F16 ? JF_LT_F16 : t == JFL_BF16 ? JF_LT_BF16
                                                                           : JF_LT_F32;
}

/* TF32 came with compute capability 8.0. */
static int product_compute(const jf_cuda *c, const jf_cuda_product *p)
{
  if (p->in == JFL_F64) return JF_LT_IN_F64;
  return p->in == JFL_F32 && p->tf32 && c->arch >= 80 ? JF_LT_IN_TF32 : JF_LT_IN_F32;
}

/* The epilogue; 0: the library has none of that kind. Its gelu is the one by a tanh, and its first
   factor is b. */
static int product_epilogue(const jf_cuda_product *p)
{
  const int act = !p->act ? 0 : !strcmp(p->act, "relu") ? JF_LT_WITH_RELU
                  : !strcmp(p->act, "gelu_tanh") ? JF_LT_WITH_GELU : -1;
  if (p->slopes) return JF_LT_TIMES_SLOPE | JF_LT_WITH_KEPT;
  if (p->sums) return p->sums == 1 ? JF_LT_SUMS_B : JF_LT_SUMS_A;
  if (act < 0) return 0;
  const int parts = act | (p->bias ? JF_LT_WITH_BIAS : 0) | (p->keeps ? JF_LT_WITH_KEPT : 0);
  return parts ? parts : JF_LT_PLAIN;
}

static jf_lt product_layout(const jf_cuda_multiply *m, jfl_dtype t, int64_t rows, int64_t columns,
                            jf_lt_layout **out)
{
  const jf_cuda_blas_api *api = m->blas->api;
  const int32_t n = (int32_t)m->what.batch;
  const int64_t step = rows * columns;
  jf_lt e = api->layout_new(out, product_type(t), (uint64_t)rows, (uint64_t)columns, rows);
  if (!e && n > 1) e = api->layout_set(*out, JF_LT_BATCH, &n, sizeof n);
  if (!e && n > 1) e = api->layout_set(*out, JF_LT_BATCH_STEP, &step, sizeof step);
  return e;
}

static jf_lt product_layouts(jf_cuda_multiply *m)
{
  const jf_cuda_product *p = &m->what;
  const int ta = p->transpose_a, tb = p->transpose_b;
  jf_lt e = product_layout(m, p->in, tb ? p->k : p->n, tb ? p->n : p->k, &m->layout[0]);
  if (!e) e = product_layout(m, p->in, ta ? p->m : p->k, ta ? p->k : p->m, &m->layout[1]);
  for (int i = 2; i < 4 && !e; i++) e = product_layout(m, p->out, p->n, p->m, &m->layout[i]);
  return e;
}

static int product_has_kept(const jf_cuda_product *p) { return p->keeps || p->slopes; }

static jf_lt product_describe(jf_cuda_multiply *m)
{
  const jf_cuda_blas_api *api = m->blas->api;
  const jf_cuda_product *p = &m->what;
  const int32_t a = p->transpose_b, b = p->transpose_a;
  const void *bias = (void *)(uintptr_t)ALIGNMENT;     /* it only tells how one is aligned */
  jf_lt e = api->product_new(&m->product, product_compute(m->cuda, p),
                             p->in == JFL_F64 ? JF_LT_F64 : JF_LT_F32);
  if (!e) e = api->product_set(m->product, JF_LT_TRANSPOSE_A, &a, sizeof a);
  if (!e) e = api->product_set(m->product, JF_LT_TRANSPOSE_B, &b, sizeof b);
  if (!e) e = api->product_set(m->product, JF_LT_EPILOGUE, &m->epilogue,
                               sizeof m->epilogue);
  if (!e && (p->bias || p->sums))
    e = api->product_set(m->product, JF_LT_BIAS, &bias, sizeof bias);
  if (!e && product_has_kept(p)) {
    e = api->product_set(m->product, JF_LT_KEPT, &bias, sizeof bias);
    if (!e) e = api->product_set(m->product, JF_LT_KEPT_STEP, &p->n, sizeof p->n);
  }
  return e ? e : product_layouts(m);
}

/* ---- the algorithm ---- */

/* Hopper's algorithms want more (cuBLAS documentation, cublasSetWorkspace). */
static uint64_t product_room(const jf_cuda *c) { return (uint64_t)(c->arch >= 90 ? 32 : 4) << 20; }

static jf_lt product_candidates(const jf_cuda_multiply *m, jf_lt_candidate *out, int *n)
{
  const jf_cuda_blas_api *api = m->blas->api;
  const uint64_t room = product_room(m->cuda);
  /* Where a sum is made in parts, those are kept in float32 though the result has 16 bits. */
  const uint32_t alignment = ALIGNMENT, reductions = m->what.out == JFL_F16 ||
    m->what.out == JFL_BF16 ? JF_LT_IN_COMPUTED : JF_LT_ANY_REDUCTION;
  jf_lt_wishes *w;
  jf_lt e = api->wishes_new(&w);
  *n = 0;
  if (e) return e;
  e = api->wishes_set(w, JF_LT_MOST_WORKSPACE, &room, sizeof room);
  if (!e) e = api->wishes_set(w, JF_LT_REDUCTIONS, &reductions, sizeof reductions);
  for (int i = 0; i < 4 && !e; i++)
    e = api->wishes_set(w, JF_LT_ALIGNMENT_A + i, &alignment, sizeof alignment);
  if (!e) e = api->candidates(m->blas->handle, m->product, m->layout[0], m->layout[1], m->layout[2],
                              m->layout[3], w, MOST_CANDIDATES, out, n);
  api->wishes_free(w);
  return e;
}

/* Tells the library where the tensors beside the factors and the result lie. */
static jf_lt product_place(const jf_cuda_multiply *m, const jf_cuda_factors *f)
{
  const jf_cuda_blas_api *api = m->blas->api;
  const void *bias = m->what.sums ? f->sums : f->bias;
  jf_lt e = 0;
  if (m->what.bias || m->what.sums)
    e = api->product_set(m->product, JF_LT_BIAS, &bias, sizeof bias);
  if (!e && product_has_kept(&m->what))
    e = api->product_set(m->product, JF_LT_KEPT, &f->kept, sizeof f->kept);
  return e;
}

static jf_lt product_queue(const jf_cuda_multiply *m, const jf_cuda_factors *f, jf_cu_stream *s)
{
  static const float one_f32 = 1, none_f32 = 0;
  static const double one_f64 = 1, none_f64 = 0;
  const int wide = m->what.in == JFL_F64;
  const void *one = wide ? (const void *)&one_f64 : &one_f32;
  const void *none = wide ? (const void *)&none_f64 : &none_f32;
  const jf_cuda_blas_api *api = m->blas->api;
  char *workspace = f->scratch;
  workspace += -(uintptr_t)workspace % WORKSPACE_ALIGNMENT;
  const jf_lt e = product_place(m, f);
  if (e) return e;
  return api->multiply(m->blas->handle, m->product, one, f->b, m->layout[0], f->a, m->layout[1],
                       m->what.residual ? one : none, m->what.residual ? f->residual : f->y,
                       m->layout[2], f->y, m->layout[3], &m->algorithm,
                       m->workspace ? workspace : NULL, m->workspace, s);
}

/* What jf_cuda_choose tries. */
typedef struct product_trial {
  jf_cuda_multiply *multiply;
  const jf_lt_candidate *candidate;
  jf_cuda_factors factors;
} product_trial;

static void product_take(jf_cuda_multiply *m, const jf_lt_candidate *c)
{
  m->algorithm = c->algorithm;
  m->workspace = c->workspace;
}

static int product_try(void *ctx, int i, jf_cu_stream *s)
{
  const product_trial *t = ctx;
  product_take(t->multiply, &t->candidate[i]);
  return !product_queue(t->multiply, &t->factors, s);
}

/* Lays tensors and workspace for trials out from `at` on; gives the bytes of them. */
static size_t product_lay_out(const jf_cuda_product *p, size_t workspace, char *at,
                              jf_cuda_factors *f)
{
  const size_t in = jfl_dtype_size(p->in), out = jfl_dtype_size(p->out);
  const int64_t n[] = { p->m * p->k, p->k * p->n, p->m * p->n, p->residual ? p->m * p->n : 0,
                        product_has_kept(p) ? p->m * p->n : 0 };
  char *place[7];
  for (int i = 0; i < 7; i++) {
    place[i] = at;
    const size_t size = i < 5 ? (size_t)(n[i] * p->batch) * (i < 2 ? in : out)
                      : i < 6 ? (size_t)(p->sums == 1 ? p->m : p->n) * out : workspace;
    at += (size + 255) / 256 * 256;
  }
  *f = (jf_cuda_factors){ .a = place[0], .b = place[1], .y = place[2], .residual = place[3],
                          .kept = place[4], .bias = place[5], .sums = place[5],
                          .scratch = place[6] };
  return (size_t)(at - place[0]);
}

/* Gives the fastest of n candidates, or the first, where memory for trials is lacking. */
static int product_measure(jf_cuda_multiply *m, const char *work, int n, const jf_lt_candidate *c)
{
  product_trial t = { .multiply = m, .candidate = c };
  const jf_cuda_driver *api = m->cuda->api;
  size_t workspace = 0;
  jf_cu_address at = 0;
  for (int i = 0; i < n; i++) workspace = c[i].workspace > workspace ? c[i].workspace : workspace;
  const size_t size = product_lay_out(&m->what, workspace, (char *)0, &t.factors);
  if (jf_cuda_take(m->cuda, size, &at)) return 0;
  product_lay_out(&m->what, workspace, (char *)(uintptr_t)at, &t.factors);
  const int choice = api->fill(at, JF_CUDA_TRIAL, size, m->cuda->own)
                     ? 0 : jf_cuda_choose(m->cuda, work, n, product_try, &t);
  jf_cuda_drop(m->cuda, at);
  jf_cuda_trim(m->cuda);
  return choice;
}

static jfl_status product_text(const jf_cuda_multiply *m, char **out)
{
  const jf_cuda_product *p = &m->what;
  jf_text t = { 0 };
  jf_text_add(&t, "cublasLt %zu, room %llu: %lld x (%lld, %lld)%s (%lld, %lld)%s, %s to %s, "
              "compute %d, epilogue %d%s", m->blas->api->version(),
              (unsigned long long)product_room(m->cuda), (long long)p->batch, (long long)p->m,
              (long long)p->k, p->transpose_a ? "'" : "", (long long)p->k, (long long)p->n,
              p->transpose_b ? "'" : "", jfl_dtype_name(p->in), jfl_dtype_name(p->out),
              product_compute(m->cuda, p), m->epilogue, p->residual ? " + y" : "");
  return jf_text_take(&t, out);
}

/* Remembers an algorithm, unless memory is lacking. */
static void product_remember(const jf_cuda_multiply *m, const char *work)
{
  const size_t size = strlen(work) + 1;
  jf_cuda_known *k = jf_new(sizeof *k + size);
  if (!k) return;
  k->algorithm = m->algorithm;
  k->workspace = m->workspace;
  memcpy(k->work, work, size);
  k->next = m->blas->known;
  m->blas->known = k;
}

/* Chooses among what the library proposes; 0: it proposes nothing. */
static int product_decide(jf_cuda_multiply *m, const char *work)
{
  jf_lt_candidate c[MOST_CANDIDATES];
  int n, can = 0;
  for (const jf_cuda_known *k = m->blas->known; k; k = k->next)
    if (!strcmp(k->work, work)) {
      m->algorithm = k->algorithm;
      m->workspace = k->workspace;
      return 1;
    }
  if (product_candidates(m, c, &n)) return 0;
  for (int i = 0; i < n; i++)
    if (!c[i].state) c[can++] = c[i];
  if (!can) return 0;
  const int choice = can > 1 ? product_measure(m, work, can, c) : 0;
  product_take(m, &c[choice]);
  product_remember(m, work);
  return 1;
}

static jfl_status product_choose(jf_cuda_multiply *m)
{
  char *work;
  JF_TRY(product_text(m, &work));
  pthread_mutex_lock(&m->blas->mu);
  const int ok = product_decide(m, work);
  pthread_mutex_unlock(&m->blas->mu);
  jf_free(work);
  return ok ? JFL_OK : JFL_ENOSYS;
}

/* ---- the calls ---- */

void jf_cuda_product_free(void *multiply)
{
  jf_cuda_multiply *m = multiply;
  if (!m) return;
  for (int i = 0; i < 4; i++)
    if (m->layout[i]) m->blas->api->layout_free(m->layout[i]);
  if (m->product) m->blas->api->product_free(m->product);
  jf_free(m);
}

jfl_status jf_cuda_product_new(jf_cuda *c, const jf_cuda_product *p, jf_cuda_multiply **out,
                               size_t *scratch)
{
  const int epilogue = product_epilogue(p);
  if (p->batch > INT32_MAX || !epilogue) return JFL_ENOSYS;
  jf_cuda_blas *b = jf_cuda_blas_open(c);
  if (!b) return JFL_ENOSYS;
  jf_cuda_multiply *m = jf_new(sizeof *m);
  if (!m) return jf_fail(JFL_ENOMEM, "out of memory");
  *m = (jf_cuda_multiply){ .cuda = c, .blas = b, .what = *p, .epilogue = epilogue };
  jfl_status s = jf_cuda_enter(c);
  if (s) return jf_free(m), s;
  s = product_describe(m) ? JFL_ENOSYS : product_choose(m);
  jf_cuda_leave(c);
  if (s) return jf_cuda_product_free(m), s;
  *scratch = m->workspace ? m->workspace + WORKSPACE_ALIGNMENT : 0;
  *out = m;
  return JFL_OK;
}

jfl_status jf_cuda_multiply_run(const jf_kargs *k, const jf_cuda_multiply *m,
                                const jf_cuda_factors *f)
{
  JF_TRY(jf_cuda_enter(m->cuda));
  const jf_lt e = product_queue(m, f, jf_cuda_queue(k));
  jf_cuda_leave(m->cuda);
  if (!e) return JFL_OK;
  if (e == JF_LT_NO_MEMORY) return jf_fail(JFL_ENOMEM, "out of memory on %s", m->cuda->name);
  return jf_fail(JFL_EDEVICE, "%s: a product failed (cuBLASLt status %d)", m->cuda->name, e);
}
