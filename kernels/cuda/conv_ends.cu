/* The epilogue of a convolution that a library has made, and the gradient of its bias. */
#ifndef JF_DEVICE
#include "conv_ends.h"
#include "formula.h"
#endif

/* See conv_ends.h. */
typedef struct ends_args {
  struct jf_cuda_head head;
  int64_t outer, channels, inner, parts;
} ends_args;

enum { ENDS_THREADS = 256 };

#ifdef JF_DEVICE

/* T is the type of what is read, O that of the result, A that in which act works, V how many
   elements a thread reads at once: 16 bytes of the result, or 1. BIAS, RESIDUAL, KEPT and Y are
   places in data, as in matmul; the product's is Y + 1. Where there is KEPT, of type K, the product
   is multiplied by act of that. FROM is the place of what is summed. */
template <class E> struct alignas(V * sizeof(E)) ends_pack { E v[V]; };

JF_KERNEL conv_finish(const ends_args p)
{
  const O *bias = (const O *)p.head.data[BIAS];
  const ends_pack<O> *residual = (const ends_pack<O> *)p.head.data[RESIDUAL];
  const ends_pack<T> *product = (const ends_pack<T> *)p.head.data[Y + 1];
  const ends_pack<K> *kept = (const ends_pack<K> *)p.head.data[KEPT];
  ends_pack<O> *y = (ends_pack<O> *)p.head.data[Y];
  const int64_t count = p.outer * p.channels * p.inner / V;
  JF_EACH(i, count) {
    const int64_t channel = i * V / p.inner % p.channels;
    const ends_pack<T> from = product[i];
    ends_pack<O> at, add;
    ends_pack<K> slope;
    if (RESIDUAL) add = residual[i];
    if (KEPT) slope = kept[i];
    for (int j = 0; j < V; j++) {
      A v = (A)jf_load(from.v[j]);
      /* With inner 1 the elements of a pack are of channels that follow each other, else of one. */
      if (BIAS) v += (A)jf_load(bias[p.inner == 1 ? channel + j : channel]);
      if (RESIDUAL) v += (A)jf_load(add.v[j]);
      jf_store(&at.v[j], KEPT ? v * act((A)jf_load(slope.v[j])) : act(v));
    }
    y[i] = at;
  }
}

struct ends_sum {
  static __device__ __forceinline__ double of(double a, double b) { return a + b; }
};

/* Each block adds up a part of a channel, whose elements are `inner` apart in runs: threads in
   A, the block in double. data is two inputs, one of which is dy, two results, of which sums are
   the second, and scratch. */
JF_KERNEL conv_bias_part(const ends_args p)
{
  const T *dy = (const T *)p.head.data[FROM];
  const int64_t channel = blockIdx.x / p.parts, part = blockIdx.x % p.parts;
  const int64_t n = p.outer * p.inner, size = (n + p.parts - 1) / p.parts;
  const int64_t end = (part + 1) * size < n ? (part + 1) * size : n;
  A sum = 0;
  for (int64_t i = part * size + threadIdx.x; i < end; i += ENDS_THREADS)
    sum += (A)jf_load(dy[(i / p.inner * p.channels + channel) * p.inner + i % p.inner]);
  const double all = jf_block_join<ends_sum>((double)sum, 0.0);
  if (threadIdx.x) return;
  if (p.parts > 1) ((double *)p.head.data[4])[blockIdx.x] = all;
  else jf_store((O *)p.head.data[3] + channel, (A)all);
}

/* The sums of channels that are innermost: 32 neighbouring threads read 32 channels of a row. */
JF_KERNEL conv_bias_last(const ends_args p)
{
  __shared__ double row[ENDS_THREADS / 32][32];
  const T *dy = (const T *)p.head.data[FROM];
  const int lane = threadIdx.x % 32, line = threadIdx.x / 32, lines = ENDS_THREADS / 32;
  const int64_t channel = blockIdx.x / p.parts * 32 + lane, part = blockIdx.x % p.parts;
  const int64_t size = (p.outer + p.parts - 1) / p.parts;
  const int64_t end = (part + 1) * size < p.outer ? (part + 1) * size : p.outer;
  A sum = 0;
  if (channel < p.channels)
    for (int64_t i = part * size + line; i < end; i += lines)
      sum += (A)jf_load(dy[i * p.channels + channel]);
  row[line][lane] = (double)sum;
  __syncthreads();
  if (line || channel >= p.channels) return;
  double all = 0;
  for (int i = 0; i < lines; i++) all += row[i][lane];
  if (p.parts > 1) ((double *)p.head.data[4])[channel * p.parts + part] = all;
  else jf_store((O *)p.head.data[3] + channel, (A)all);
}

JF_KERNEL conv_bias_join(const ends_args p)
{
  const double *from = (const double *)p.head.data[4];
  JF_EACH(channel, p.channels) {
    double sum = 0;
    for (int64_t i = 0; i < p.parts; i++) sum += from[channel * p.parts + i];
    jf_store((O *)p.head.data[3] + channel, (A)sum);
  }
}

#else

extern const char jf_cuda_text_conv_ends[];

static jf_conv_ends ends_of(const jf_conv *a, const jf_tensor *y)
{
  const jf_conv_extents e = jf_conv_extents_of(a, &y->shape);
  const int64_t inner = e.d[2] * e.d[3] * e.d[4];
  return (jf_conv_ends){ .outer = a->last ? e.d[0] * inner : e.d[0], .channels = e.d[1],
                         .inner = a->last ? 1 : inner, .parts = 1 };
}

/* How many elements of one channel, or of neighbouring channels, fit into 16 bytes, or 1. */
static int ends_vector(const jf_conv_ends *e, jfl_dtype t)
{
  const int n = 16 / (int)jfl_dtype_size(t);
  return (e->inner == 1 ? e->channels : e->inner) % n ? 1 : n;
}

/* The places in data of what a kernel reads and writes, 0: it has no such tensor; the dtypes of
   elements that it reads and writes, and of those at `kept`. */
typedef struct ends_places {
  int y, bias, residual, kept, from;
  jfl_dtype of, to, kept_of;
} ends_places;

/* Finds the kernel of that name, and conv_bias_join where there are parts. */
static jfl_status ends_find(jf_kargs *k, const ends_places *p, const char *act, const char *name,
                            jf_conv_ends *out)
{
  jf_text text = { 0 };
  char *define;
  jfl_status s = jf_formula_act(&text, act, p->to);
  JF_TRY(jf_text_take(&text, &define));
  const jf_cuda_source source = { "the ends of a convolution", jf_cuda_text_conv_ends, define, {
    JF_AS_DTYPE("T", p->of), JF_AS_DTYPE("O", p->to),
    JF_AS_DTYPE("K", p->kept ? p->kept_of : p->to), JF_AS_NUMBER("V", ends_vector(out, p->to)),
    JF_AS_NUMBER("Y", p->y), JF_AS_NUMBER("BIAS", p->bias), JF_AS_NUMBER("RESIDUAL", p->residual),
    JF_AS_NUMBER("KEPT", p->kept), JF_AS_NUMBER("FROM", p->from) } };
  if (!s) s = jf_cuda_find(k, &source, name, &out->work);
  if (!s && out->parts > 1) s = jf_cuda_find(k, &source, "conv_bias_join", &out->join);
  jf_free(define);
  return s;
}

static ends_args ends_args_of(const jf_conv_ends *e)
{
  return (ends_args){ .outer = e->outer, .channels = e->channels, .inner = e->inner,
                      .parts = e->parts };
}

/* Launches f; behind k's tensors is the address `more`. */
static jfl_status ends_launch(const jf_kargs *k, const jf_conv_ends *e, jf_cuda_kernel *f,
                              jf_cuda_grid grid, void *more)
{
  ends_args a = ends_args_of(e);
  int n = 0;
  for (int i = 0; i < k->n_in; i++) a.head.data[n++] = k->in[i].data;
  for (int i = 0; i < k->n_out; i++) a.head.data[n++] = k->out[i].data;
  a.head.data[n] = more;
  return jf_cuda_launch(k, f, grid, &a);
}

/* Finds the kernel that makes n elements. */
static jfl_status ends_finish(jf_kargs *k, const ends_places *places, const char *act, int64_t n,
                              jf_conv_ends *out)
{
  out->grid = jf_cuda_grid_of(k, n / ends_vector(out, places->to));
  return ends_find(k, places, act, "conv_finish", out);
}

/* The end of a product of dtype t. */
static jfl_status ends_epilogue(jf_kargs *k, const jf_epilogue *e, jfl_dtype t, jf_conv_ends *out)
{
  const ends_places places = { .y = k->n_in, .bias = e->bias ? 2 : 0, .of = t,
                               .residual = e->residual ? 2 + (e->bias != 0) : 0,
                               .to = k->out[0].dtype };
  return ends_finish(k, &places, e->act, jf_numel(&k->out[0].shape), out);
}

jfl_status jf_conv_finish_prepare(jf_kargs *k, const jf_epilogue *e, jfl_dtype t,
                                  jf_conv_ends *out)
{
  *out = ends_of(k->attr, &k->out[0]);
  return ends_epilogue(k, e, t, out);
}

/* What has the channels last, as products do. */
static jf_conv_ends ends_of_lines(const jf_tensor *y)
{
  const int64_t n = y->shape.d[y->shape.n - 1];
  return (jf_conv_ends){ .outer = jf_numel(&y->shape) / n, .channels = n, .inner = 1, .parts = 1 };
}

jfl_status jf_matmul_finish_prepare(jf_kargs *k, const jf_epilogue *e, jf_conv_ends *out)
{
  *out = ends_of_lines(&k->out[0]);
  return ends_epilogue(k, e, k->out[0].dtype, out);
}

jfl_status jf_matmul_slope_prepare(jf_kargs *k, const char *act, jf_conv_ends *out)
{
  const jfl_dtype t = k->out[0].dtype;
  const ends_places places = { .y = k->n_in, .kept = 2, .of = t, .to = t,
                               .kept_of = k->in[2].dtype };
  *out = ends_of_lines(&k->out[0]);
  return ends_finish(k, &places, act, jf_numel(&k->out[0].shape), out);
}

jfl_status jf_conv_finish(const jf_kargs *k, const jf_conv_ends *f, void *product)
{
  jf_kargs first = *k;
  first.n_out = 1;
  return ends_launch(&first, f, f->work, f->grid, product);
}

jfl_status jf_widen_prepare(jf_kargs *k, jfl_dtype from, jfl_dtype to, int64_t n,
                            jf_conv_ends *out)
{
  *out = (jf_conv_ends){ .outer = 1, .channels = 1, .inner = n, .parts = 1 };
  return ends_finish(k, &(ends_places){ .of = from, .to = to }, NULL, n, out);
}

jfl_status jf_widen(const jf_kargs *k, const jf_conv_ends *w, const void *from, void *to)
{
  jf_tensor out = { .data = to };
  jf_kargs one = *k;
  one.n_in = 0;
  one.n_out = 1;
  one.out = &out;
  return ends_launch(&one, w, w->work, w->grid, (void *)from);
}

/* Prepares the sums of input `from`, whose channels out describes; `last`: they are its last
   axis. */
static jfl_status ends_sums(jf_kargs *k, int from, int last, jf_conv_ends *out)
{
  enum { LEAST = 16 * ENDS_THREADS };  /* elements of a channel that are worth a block */
  const jf_cuda *c = k->device->state;
  const int64_t columns = last ? (out->channels + 31) / 32 : out->channels;
  const int64_t each = out->outer * out->inner, wanted = 2 * c->multiprocessors / columns;
  out->parts = each / LEAST < wanted ? each / LEAST : wanted;
  if (out->parts < 1) out->parts = 1;
  out->grid = (jf_cuda_grid){ columns * out->parts, ENDS_THREADS, 0 };
  out->join_grid = jf_cuda_grid_of(k, out->channels);
  k->scratch_size = out->parts > 1 ? (size_t)(out->channels * out->parts) * sizeof(double) : 0;
  const ends_places places = { .y = k->n_in, .from = from, .of = k->in[from].dtype,
                               .to = k->out[0].dtype };
  return ends_find(k, &places, NULL, last ? "conv_bias_last" : "conv_bias_part", out);
}

jfl_status jf_conv_bias_grad_prepare(jf_kargs *k, jf_conv_ends *out)
{
  const jf_conv *a = k->attr;
  *out = ends_of(a, &k->in[1]);
  return ends_sums(k, 1, a->last, out);
}

jfl_status jf_conv_bias_grad_add(jf_kargs *k)
{
  jf_conv_ends b = { 0 };
  JF_TRY(jf_conv_bias_grad_prepare(k, &b));
  const ends_args a = ends_args_of(&b);
  JF_TRY(jf_cuda_add(k, b.work, b.grid, &a, sizeof a));
  return b.join ? jf_cuda_add(k, b.join, b.join_grid, &a, sizeof a) : JFL_OK;
}

jfl_status jf_matmul_sums_prepare(jf_kargs *k, int from, jf_conv_ends *out)
{
  *out = ends_of_lines(&k->in[from]);
  return ends_sums(k, from, 1, out);
}

jfl_status jf_conv_bias_grad(const jf_kargs *k, const jf_conv_ends *b)
{
  JF_TRY(ends_launch(k, b, b->work, b->grid, k->scratch));
  return b->join ? ends_launch(k, b, b->join, b->join_grid, k->scratch) : JFL_OK;
}

#endif
