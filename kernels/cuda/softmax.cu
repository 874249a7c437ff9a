/* Softmax, its logarithm, their gradients, and cross entropy. Some lanes of a warp, or a block,
   take a line; of lines that lie side by side, so that neighbours read neighbours, one thread. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/attrs.h"
#include "op/cross_entropy.h"
#include "op/op.h"

#include <stdio.h>
#endif

/* Lines of m elements, `step` apart; so many lines begin side by side, one element apart. */
typedef struct softmax_args {
  struct jf_cuda_head head;
  int64_t lines, m, step, across;      /* across: threads of a line */
  double smoothing, scale;             /* of cross entropy, */
  int64_t row;                         /* a line of which has so many elements, from m on unread */
  int64_t has_dy;                      /* of its gradient */
} softmax_args;

#ifdef JF_DEVICE

/* T is the elements' type, A that in which they are computed, L that of labels. V elements that lie
   side by side are read at once: 16 bytes, or one. */
template <class E> struct alignas(V * sizeof(E)) softmax_pack { E v[V]; };
typedef decltype(jf_load(T())) A;
struct softmax_sum { static JF_INLINE A of(A a, A b) { return a + b; } };
struct softmax_max { static JF_INLINE A of(A a, A b) { return a > b ? a : b; } };
struct softmax_first {
  static JF_INLINE int64_t of(int64_t a, int64_t b) { return a < b ? a : b; }
};

/* A thread's place: it is number x of the `across` that do line `line`, and must not write if `on`
   is 0, since then others do that line. */
struct softmax_team {
  int across, x, on;
  int64_t base, line;
  JF_INLINE softmax_team(const softmax_args &p)
    : across((int)p.across), x((int)threadIdx.x % across), on(0),
      base((int64_t)blockIdx.x * (blockDim.x / across)), line(0) { }
  /* Goes to the next line; all threads of a block do so together. 0: there are no more. */
  JF_INLINE int next(const softmax_args &p)
  {
    if (base >= p.lines) return 0;
    line = base + threadIdx.x / across;
    on = line < p.lines;
    if (!on) line = p.lines - 1;
    base += (int64_t)gridDim.x * (blockDim.x / across);
    return 1;
  }
  template <class Op> JF_INLINE A join(A v, A none) const
  {
    if (across > 32) return jf_block_join<Op>(v, none);
    for (int lane = across / 2; lane; lane >>= 1)
      v = Op::of(v, __shfl_xor_sync(0xffffffffu, v, lane));
    return v;
  }
};

JF_INLINE int64_t softmax_line(const softmax_args &p, int64_t line)
{
  return line / p.step * p.step * p.m + line % p.step;
}

/* The maximum of a line and the sum of exp(x - maximum), in one sweep: when a thread finds a larger
   number it scales what it has. An infinite maximum makes the sum NaN, as two sweeps would. */
struct softmax_moments { A most, sum; };
template <class E>
JF_INLINE softmax_moments softmax_measure(const softmax_team &t, const E *x, const softmax_args &p)
{
  A most = jf_load(x[0]), sum = 0;
  for (int64_t j = (int64_t)t.x * V; j < p.m; j += (int64_t)t.across * V) {
    const softmax_pack<E> at = *(const softmax_pack<E> *)&x[j * p.step];
    for (int w = 0; w < V && j + w < p.m; w++) {
      const A v = jf_load(at.v[w]);
      if (v > most) {
        sum = sum * exp(most - v) + (v - v + 1);
        most = v;
      } else {
        sum += v == most && v < 0 ? (A)1 : exp(v - most);
      }
    }
  }
  const A all = t.join<softmax_max>(most, (A)jf_load(x[0]));
  return { all, t.join<softmax_sum>(most == all ? sum : sum * exp(most - all), (A)0) };
}

template <bool LOG> JF_INLINE void softmax_of(const softmax_args &p)
{
  for (softmax_team t(p); t.next(p);) {
    const T *x = (const T *)p.head.data[0] + softmax_line(p, t.line);
    T *y = (T *)p.head.data[1] + softmax_line(p, t.line);
    const softmax_moments s = softmax_measure(t, x, p);
    const A less = LOG ? (A)log(s.sum) : (A)0, scale = 1 / s.sum;
    for (int64_t j = t.x; j < p.m && t.on; j += t.across) {
      const A v = (A)jf_load(x[j * p.step]) - s.most;
      jf_store(&y[j * p.step], LOG ? v - less : exp(v) * scale);
    }
  }
}

JF_KERNEL softmax(const softmax_args p) { softmax_of<false>(p); }
JF_KERNEL logsoftmax(const softmax_args p) { softmax_of<true>(p); }

/* dx = y (dy - <y, dy>), of the logarithm dy - exp(y) sum dy. */
template <bool LOG> JF_INLINE void softmax_grad_of(const softmax_args &p)
{
  for (softmax_team t(p); t.next(p);) {
    const int64_t at = softmax_line(p, t.line);
    const T *y = (const T *)p.head.data[0] + at, *dy = (const T *)p.head.data[1] + at;
    T *dx = (T *)p.head.data[2] + at;
    A sum = 0;
    for (int64_t j = t.x; j < p.m; j += t.across) {
      const A d = jf_load(dy[j * p.step]);
      sum += LOG ? d : (A)jf_load(y[j * p.step]) * d;
    }
    sum = t.join<softmax_sum>(sum, (A)0);
    for (int64_t j = t.x; j < p.m && t.on; j += t.across) {
      const A d = jf_load(dy[j * p.step]), v = jf_load(y[j * p.step]);
      jf_store(&dx[j * p.step], LOG ? d - exp(v) * sum : v * (d - sum));
    }
  }
}

JF_KERNEL softmax_grad(const softmax_args p) { softmax_grad_of<false>(p); }
JF_KERNEL logsoftmax_grad(const softmax_args p) { softmax_grad_of<true>(p); }

/* ---- cross entropy: T is the type of all but labels, logits of type X, and their gradient ---- */

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

/* data is labels, logits, loss, most, inverse */
JF_KERNEL cross_entropy(const softmax_args p)
{
  for (softmax_team t(p); t.next(p);) {
    const X *x = (const X *)p.head.data[1] + t.line * p.row;
    const int64_t label = ((const L *)p.head.data[0])[t.line];
    const softmax_moments s = softmax_measure(t, x, p);
    A all = 0;
    for (int64_t j = t.x; p.smoothing != 0 && j < p.m; j += t.across) all += jf_load(x[j]);
    if (p.smoothing != 0) all = t.join<softmax_sum>(all, (A)0);
    if (t.x > 0 || !t.on || label < 0 || label >= p.m) continue;
    A own = jf_load(x[label]);
    if (p.smoothing != 0) own += (A)p.smoothing * (all / (A)p.m - own);
    jf_store((T *)p.head.data[2] + t.line, log(s.sum) - (own - s.most));
    jf_store((T *)p.head.data[3] + t.line, s.most);
    jf_store((T *)p.head.data[4] + t.line, 1 / s.sum);
  }
}

/* Labels are shares: the loss is the sum of share (log sum - (x - most)). */
JF_KERNEL spread_entropy(const softmax_args p)
{
  for (softmax_team t(p); t.next(p);) {
    const int64_t at = t.line * p.m;
    const T *share = (const T *)p.head.data[0] + at, *x = (const T *)p.head.data[1] + at;
    T *loss = (T *)p.head.data[2] + t.line, *prob = (T *)p.head.data[3] + at;
    const softmax_moments s = softmax_measure(t, x, p);
    const A less = log(s.sum), scale = 1 / s.sum;
    A sum = 0;
    for (int64_t j = t.x; j < p.m; j += t.across) {
      const A v = (A)jf_load(x[j]) - s.most;
      sum += (A)jf_load(share[j]) * (less - v);
      if (t.on) jf_store(&prob[j], exp(v) * scale);
    }
    sum = t.join<softmax_sum>(sum, (A)0);
    if (t.x == 0 && t.on) jf_store(loss, sum);
  }
}

/* dx, of type G, is scale dy (prob - mass); data is labels, logits, most, inverse, [dy], dx */
JF_KERNEL cross_entropy_grad(const softmax_args p)
{
  const T *dy = (const T *)p.head.data[4];
  G *to = (G *)p.head.data[p.has_dy ? 5 : 4];
  for (softmax_team t(p); t.next(p);) {
    const X *x = (const X *)p.head.data[1] + t.line * p.row;
    G *dx = to + t.line * p.row;
    const int64_t label = ((const L *)p.head.data[0])[t.line];
    const A most = jf_load(((const T *)p.head.data[2])[t.line]);
    const A inverse = jf_load(((const T *)p.head.data[3])[t.line]);
    const A d = (A)p.scale * (p.has_dy ? (A)jf_load(dy[t.line]) : (A)1);
    const A share = (A)(p.smoothing / (double)p.m), own = (A)(1 - p.smoothing);
    for (int64_t j = (int64_t)t.x * V; j < p.row && t.on; j += (int64_t)t.across * V) {
      const softmax_pack<X> from = *(const softmax_pack<X> *)&x[j];
      softmax_pack<G> at;
      for (int w = 0; w < V; w++) {
        const A prob = exp((A)jf_load(from.v[w]) - most) * inverse;
        const A slope = d * (prob - share - (j + w == label ? own : (A)0));
        jf_store(&at.v[w], j + w < p.m ? slope : (A)0);
      }
      *(softmax_pack<G> *)&dx[j] = at;
    }
  }
}

#else

extern const char jf_cuda_text_softmax[];

static int softmax_accepts(const jf_kargs *k) { return jf_is_float(k->out[0].dtype); }

/* Chooses the threads of a line, and gives the grid. */
static jf_cuda_grid softmax_grid(const jf_kargs *k, softmax_args *a)
{
  enum { THREADS = 256, WARP = 32, WAVES = 32, MANY = 1 << 13, LONG = 512 };
  a->across = 1;
  if (a->step == 1 || a->lines < MANY)
    while (a->across < a->m && a->across < WARP) a->across *= 2;
  if (a->across == WARP && a->m > LONG) a->across = THREADS;
  const int64_t down = THREADS / a->across, n = (a->lines + down - 1) / down;
  return jf_cuda_grid_within(k, n, THREADS, WAVES);
}

static jfl_status cuda_softmax_prepare(jf_kargs *k)
{
  const jfl_shape *s = &k->out[0].shape;
  const int64_t axis = ((const jf_softmax *)k->attr)->axis;
  const char *t = jf_cuda_stored(k->out[0].dtype);
  const jf_cuda_source source = { "softmax", jf_cuda_text_softmax, NULL,
                                  { JF_AS_TYPE("T", t), JF_AS_TYPE("X", t), JF_AS_TYPE("G", t),
                                    JF_AS_TYPE("L", "int32_t"), JF_AS_NUMBER("V", 1) } };
  softmax_args a = { .m = s->d[axis], .step = 1, .lines = 1 };
  for (int i = 0; i < s->n; i++) {
    if (i != axis) a.lines *= s->d[i];
    if (i > axis) a.step *= s->d[i];
  }
  if (!jf_numel(s)) return JFL_OK;
  const jf_cuda_grid grid = softmax_grid(k, &a);
  return jf_cuda_prepare(k, &source, k->op->name, grid, &a, sizeof a);
}

JFL_CUDA(cuda_softmax, JF_CUDA_LAUNCHED("softmax logsoftmax softmax_grad logsoftmax_grad",
                                        softmax_accepts, cuda_softmax_prepare))

/* ---- cross entropy ---- */

/* How many logits a thread reads at once: 16 bytes of a line that a block has, if each line begins
   where 16 bytes do. */
static int entropy_at_once(const jf_kargs *k, const softmax_args *p)
{
  enum { WARP = 32, BYTES = 16 };
  const int n = BYTES / (int)jfl_dtype_size(k->in[1].dtype);
  return p->across > WARP && p->row % n == 0 ? n : 1;
}

/* Labels that are class numbers are looked through for wrong ones by a kernel of its own. */
static jfl_status cross_entropy_prepare(jf_kargs *k)
{
  const int spread = k->op == &jf_op_softmax_cross_entropy_with_logits;
  const jf_cross_entropy none = { 0 }, *a = spread ? &none : k->attr;
  const jfl_shape *s = &k->in[1].shape;
  const int backward = k->op == &jf_op_sparse_softmax_cross_entropy_grad;
  const int grad = !spread && k->n_in > JF_ENTROPY_MOST;
  const jfl_dtype t = grad ? k->in[JF_ENTROPY_MOST].dtype : k->out[0].dtype;
  softmax_args p = { .m = spread ? s->d[s->n - 1] : jf_entropy_classes(k), .row = s->d[s->n - 1],
                     .step = 1, .smoothing = a->label_smoothing, .scale = a->scale,
                     .has_dy = k->n_in > JF_ENTROPY_DY };
  p.lines = p.row ? jf_numel(s) / p.row : 0;
  const jf_cuda_grid grid = softmax_grid(k, &p);
  const jf_cuda_source source = { "cross entropy", jf_cuda_text_softmax, NULL,
                                  { JF_AS_DTYPE("T", t),
                                    JF_AS_DTYPE("X", k->in[1].dtype),
                                    JF_AS_DTYPE("G", grad ? k->out[0].dtype : t),
                                    JF_AS_DTYPE("L", k->in[0].dtype),
                                    JF_AS_NUMBER("V", spread ? 1 : entropy_at_once(k, &p)) } };
  if (!spread)
    JF_TRY(jf_cuda_prepare(k, &source, "check_labels", (jf_cuda_grid){ 1, 256, 0 }, &p, sizeof p));
  return jf_cuda_prepare(k, &source, spread ? "spread_entropy"
                         : backward ? "cross_entropy_grad" : "cross_entropy", grid, &p, sizeof p);
}

static int spread_entropy_accepts(const jf_kargs *k)
{
  return k->in[1].dtype == JFL_F32 || k->in[1].dtype == JFL_F64;
}
static int cross_entropy_accepts(const jf_kargs *k)
{
  return spread_entropy_accepts(k) || ((const jf_cross_entropy *)k->attr)->halves.reads;
}

JFL_CUDA(cuda_sparse_softmax_cross_entropy,
  JF_CUDA_LAUNCHED("sparse_softmax_cross_entropy_with_logits sparse_softmax_cross_entropy_grad",
                   cross_entropy_accepts, cross_entropy_prepare))
JFL_CUDA(cuda_softmax_cross_entropy,
  JF_CUDA_LAUNCHED("softmax_cross_entropy_with_logits", spread_entropy_accepts,
                   cross_entropy_prepare))

#endif
