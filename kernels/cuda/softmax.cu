/* Softmax, its logarithm, their gradients, and cross entropy against class numbers. A block takes
   one line at a time. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "formula.h"
#include "op/cross_entropy.h"
#include "op/op.h"
#include "op/softmax.h"

#include <stdio.h>
#endif

/* Lines of m elements, `step` apart; so many lines begin side by side, one element apart. */
typedef struct softmax_args {
  struct jf_cuda_head head;
  int64_t lines, m, step;
  double smoothing, scale;             /* of cross entropy */
  int64_t has_dy;                      /* of its gradient */
} softmax_args;

#ifdef JF_DEVICE

/* T is the elements' type, A that in which they are computed, L that of labels. */
struct softmax_sum { static __device__ __forceinline__ A of(A a, A b) { return a + b; } };
struct softmax_max { static __device__ __forceinline__ A of(A a, A b) { return a > b ? a : b; } };
struct softmax_first {
  static __device__ __forceinline__ int64_t of(int64_t a, int64_t b) { return a < b ? a : b; }
};

JF_INLINE int64_t softmax_line(const softmax_args &p, int64_t line)
{
  return line / p.step * p.step * p.m + line % p.step;
}

JF_INLINE A softmax_maximum(const T *x, const softmax_args &p)
{
  A most = jf_load(x[0]);
  for (int64_t j = threadIdx.x; j < p.m; j += blockDim.x) {
    const A v = jf_load(x[j * p.step]);
    most = v > most ? v : most;
  }
  return jf_block_join<softmax_max>(most, (A)jf_load(x[0]));
}

JF_INLINE A softmax_total(const T *x, const softmax_args &p, A most)
{
  A sum = 0;
  for (int64_t j = threadIdx.x; j < p.m; j += blockDim.x)
    sum += exp((A)jf_load(x[j * p.step]) - most);
  return jf_block_join<softmax_sum>(sum, (A)0);
}

JF_KERNEL softmax(const softmax_args p)
{
  for (int64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
    const T *x = (const T *)p.head.data[0] + softmax_line(p, line);
    T *y = (T *)p.head.data[1] + softmax_line(p, line);
    const A most = softmax_maximum(x, p), sum = softmax_total(x, p, most);
    __syncthreads();
    for (int64_t j = threadIdx.x; j < p.m; j += blockDim.x)
      jf_store(&y[j * p.step], exp((A)jf_load(x[j * p.step]) - most) / sum);
  }
}

JF_KERNEL logsoftmax(const softmax_args p)
{
  for (int64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
    const T *x = (const T *)p.head.data[0] + softmax_line(p, line);
    T *y = (T *)p.head.data[1] + softmax_line(p, line);
    const A most = softmax_maximum(x, p), sum = log(softmax_total(x, p, most));
    __syncthreads();
    for (int64_t j = threadIdx.x; j < p.m; j += blockDim.x)
      jf_store(&y[j * p.step], (A)jf_load(x[j * p.step]) - most - sum);
  }
}

/* dx = y (dy - <y, dy>) */
JF_KERNEL softmax_grad(const softmax_args p)
{
  for (int64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
    const int64_t at = softmax_line(p, line);
    const T *y = (const T *)p.head.data[0] + at, *dy = (const T *)p.head.data[1] + at;
    T *dx = (T *)p.head.data[2] + at;
    A dot = 0;
    for (int64_t j = threadIdx.x; j < p.m; j += blockDim.x)
      dot += (A)jf_load(y[j * p.step]) * (A)jf_load(dy[j * p.step]);
    dot = jf_block_join<softmax_sum>(dot, (A)0);
    for (int64_t j = threadIdx.x; j < p.m; j += blockDim.x)
      jf_store(&dx[j * p.step], (A)jf_load(y[j * p.step]) * ((A)jf_load(dy[j * p.step]) - dot));
  }
}

/* dx = dy - exp(y) sum dy */
JF_KERNEL logsoftmax_grad(const softmax_args p)
{
  for (int64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
    const int64_t at = softmax_line(p, line);
    const T *y = (const T *)p.head.data[0] + at, *dy = (const T *)p.head.data[1] + at;
    T *dx = (T *)p.head.data[2] + at;
    A sum = 0;
    for (int64_t j = threadIdx.x; j < p.m; j += blockDim.x) sum += (A)jf_load(dy[j * p.step]);
    sum = jf_block_join<softmax_sum>(sum, (A)0);
    for (int64_t j = threadIdx.x; j < p.m; j += blockDim.x)
      jf_store(&dx[j * p.step],
               (A)jf_load(dy[j * p.step]) - exp((A)jf_load(y[j * p.step])) * sum);
  }
}

/* ---- cross entropy: data is labels, logits, loss, prob ---- */

/* Reports the first label that is no class. One block does it. */
JF_KERNEL check_labels(const softmax_args p)
{
  const L *label = (const L *)p.head.data[0];
  int64_t first = p.lines;
  for (int64_t i = threadIdx.x; i < p.lines && first == p.lines; i += blockDim.x)
    if (label[i] < 0 || label[i] >= p.m) first = i;
  first = jf_block_join<softmax_first>(first, p.lines);
  if (threadIdx.x == 0 && first < p.lines)
    jf_report(p.head, JF_WRONG_LABEL, label[first], first, p.m);
}

JF_KERNEL cross_entropy(const softmax_args p)
{
  for (int64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
    const T *x = (const T *)p.head.data[1] + line * p.m;
    T *loss = (T *)p.head.data[2] + line, *prob = (T *)p.head.data[3] + line * p.m;
    const int64_t label = ((const L *)p.head.data[0])[line];
    const A most = softmax_maximum(x, p), sum = softmax_total(x, p, most);
    A all = 0;
    for (int64_t j = threadIdx.x; j < p.m; j += blockDim.x) {
      all += (A)jf_load(x[j]);
      jf_store(&prob[j], exp((A)jf_load(x[j]) - most) / sum);
    }
    all = jf_block_join<softmax_sum>(all, (A)0);
    if (threadIdx.x > 0 || label < 0 || label >= p.m) continue;
    A own = jf_load(x[label]);
    own += (A)p.smoothing * (all / (A)p.m - own);
    jf_store(loss, log(sum) - (own - most));
  }
}

/* dx = scale dy (prob - mass); data is labels, prob, [dy], dx */
JF_KERNEL cross_entropy_grad(const softmax_args p)
{
  const T *dy = (const T *)p.head.data[2];
  T *to = (T *)p.head.data[p.has_dy ? 3 : 2];
  for (int64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
    const T *prob = (const T *)p.head.data[1] + line * p.m;
    T *dx = to + line * p.m;
    const int64_t label = ((const L *)p.head.data[0])[line];
    const A d = (A)p.scale * (p.has_dy ? (A)jf_load(dy[line]) : (A)1);
    const A share = (A)(p.smoothing / (double)p.m), own = (A)(1 - p.smoothing);
    for (int64_t j = threadIdx.x; j < p.m; j += blockDim.x)
      jf_store(&dx[j], d * ((A)jf_load(prob[j]) - share - (j == label ? own : (A)0)));
  }
}

#else

extern const char jf_cuda_text_softmax[];

enum { SOFTMAX_THREADS = 128 };

static int softmax_accepts(const jf_kargs *k) { return jf_is_float(k->out[0].dtype); }

static jf_cuda_grid softmax_grid(const jf_kargs *k, int64_t lines)
{
  enum { WAVES = 32 };
  const jf_cuda *c = k->device->state;
  const int64_t most = (int64_t)c->multiprocessors * WAVES, n = lines < most ? lines : most;
  return (jf_cuda_grid){ n < 1 ? 1 : n, SOFTMAX_THREADS, 0 };
}

/* The types of elements and of labels. */
static jf_cuda_source softmax_source(jfl_dtype t)
{
  return (jf_cuda_source){ "softmax", jf_cuda_text_softmax,
                           t == JFL_F64 ? "typedef double A;\n" : "typedef float A;\n" };
}

static jfl_status softmax_make(jf_kargs *k, const char *name)
{
  const jfl_dtype t = k->out[0].dtype;
  const jfl_shape *s = &k->out[0].shape;
  const int64_t axis = ((const jf_softmax *)k->attr)->axis;
  const jf_cuda_type types[] = { { "T", t }, { "L", JFL_I32 }, { NULL, JFL_F32 } };
  const jf_cuda_source source = softmax_source(t);
  softmax_args a = { .m = s->d[axis], .step = 1, .lines = 1 };
  for (int i = 0; i < s->n; i++) {
    if (i != axis) a.lines *= s->d[i];
    if (i > axis) a.step *= s->d[i];
  }
  return jf_cuda_prepare(k, &source, types, name, softmax_grid(k, a.lines), &a, sizeof a);
}

static jfl_status cuda_softmax_prepare(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return softmax_make(k, k->op->name);
}

JFL_CUDA(cuda_softmax, JF_CUDA_LAUNCHED("softmax", softmax_accepts, cuda_softmax_prepare))
JFL_CUDA(cuda_logsoftmax, JF_CUDA_LAUNCHED("logsoftmax", softmax_accepts, cuda_softmax_prepare))
JFL_CUDA(cuda_softmax_grad, JF_CUDA_LAUNCHED("softmax_grad", softmax_accepts, cuda_softmax_prepare))
JFL_CUDA(cuda_logsoftmax_grad,
  JF_CUDA_LAUNCHED("logsoftmax_grad", softmax_accepts, cuda_softmax_prepare))

/* ---- cross entropy ---- */

typedef struct cross_entropy_call {
  jf_cu_function *check, *work;
  softmax_args args;
} cross_entropy_call;

static jfl_status cross_entropy_find(const jf_kargs *k, const char *name, jf_cu_function **out)
{
  const jfl_dtype t = k->in[1].dtype;
  char define[128];
  snprintf(define, sizeof define, "%stypedef %s T;\ntypedef %s L;\n", softmax_source(t).define,
           jf_cuda_stored(t), jf_cuda_stored(k->in[0].dtype));
  const jf_cuda_source s = { "cross entropy", jf_cuda_text_softmax, define };
  return jf_cuda_function(k->device->state, &s, name, out);
}

static jfl_status cross_entropy_make(jf_kargs *k, const char *name)
{
  const jf_cross_entropy *a = k->attr;
  const jfl_shape *s = &k->in[1].shape;
  cross_entropy_call *c = jf_new(sizeof *c);
  if (!c) return jf_fail(JFL_ENOMEM, "out of memory");
  c->args = (softmax_args){ .m = s->d[s->n - 1], .step = 1, .lines = jf_numel(&k->in[0].shape),
                            .smoothing = a->label_smoothing, .scale = a->scale,
                            .has_dy = k->n_in > 2 };
  jfl_status e = cross_entropy_find(k, "check_labels", &c->check);
  if (!e) e = cross_entropy_find(k, name, &c->work);
  if (e) jf_free(c);
  else k->state = c;
  return e;
}

static jfl_status cross_entropy_prepare(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return cross_entropy_make(k, "cross_entropy");
}

static jfl_status cross_entropy_grad_prepare(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return cross_entropy_make(k, "cross_entropy_grad");
}

static jfl_status cross_entropy_run(const jf_kargs *k)
{
  const cross_entropy_call *c = k->state;
  softmax_args a = c->args;
  int n = 0;
  a.head = jf_cuda_head_of(k);
  for (int i = 0; i < k->n_in; i++) a.head.data[n++] = k->in[i].data;
  for (int i = 0; i < k->n_out; i++) a.head.data[n++] = k->out[i].data;
  JF_TRY(jf_cuda_launch(k, c->check, (jf_cuda_grid){ 1, 256, 0 }, &a));
  return jf_cuda_launch(k, c->work, softmax_grid(k, a.lines), &a);
}

static int cross_entropy_accepts(const jf_kargs *k)
{
  return k->in[1].dtype == JFL_F32 || k->in[1].dtype == JFL_F64;
}

#define CROSS_ENTROPIES(op_, prepare_) \
  .op = op_, .accepts = cross_entropy_accepts, .prepare = prepare_, .run = cross_entropy_run, \
  .release = jf_free, .priority = 10
JFL_CUDA(cuda_sparse_softmax_cross_entropy,
  CROSS_ENTROPIES("sparse_softmax_cross_entropy_with_logits", cross_entropy_prepare))
JFL_CUDA(cuda_sparse_softmax_cross_entropy_grad,
  CROSS_ENTROPIES("sparse_softmax_cross_entropy_grad", cross_entropy_grad_prepare))

#endif
