/* Connectionist temporal classification, as op/ctc_loss.c computes it: a block for each sample,
   whose threads share the places of a path. All sums are of logarithms, in double. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/ctc_loss.h"
#endif

enum { CTC_PROBS, CTC_TARGETS, CTC_TIMES, CTC_LABELS, CTC_LOSS, CTC_SLOPE, CTC_SCRATCH };
/* Scratch has, for each sample: `times` + 2 rows of `places` doubles; `places` links; where its
   labels begin. wide: which of inputs 1 to 3 are int64. row: labels of a row of targets, or 0: they
   are all in one row, of `most`. */
typedef struct ctc_args {
  struct jf_cuda_head head;
  int64_t times, samples, classes, places, most, row, blank, zero_infinity;
  int64_t wide[4];
} ctc_args;

#ifdef JF_DEVICE

/* T is the elements' type. */
#define NONE __longlong_as_double((long long)0xfff0000000000000ull)

JF_INLINE int64_t ctc_index(const ctc_args &a, int input, int64_t i)
{
  const void *p = a.head.data[input];
  return a.wide[input] ? ((const int64_t *)p)[i] : ((const int32_t *)p)[i];
}

JF_INLINE int32_t *ctc_links(const ctc_args &a)
{
  return (int32_t *)((double *)a.head.data[CTC_SCRATCH] + a.samples * (a.times + 2) * a.places);
}

JF_INLINE int64_t *ctc_first(const ctc_args &a)
{
  const int64_t links = (a.samples * a.places + 1) / 2 * 2;
  return (int64_t *)(ctc_links(a) + links);
}

/* ---- what may be wrong: one block finds the first of it ---- */

struct ctc_least {
  static __device__ __forceinline__ int64_t of(int64_t a, int64_t b) { return a < b ? a : b; }
};

/* Reports the first length that is not from 0 to `most`; gives whether there is one. */
JF_INLINE int ctc_check_lengths(const ctc_args &a, int input, int64_t most)
{
  int64_t first = a.samples;
  for (int64_t i = threadIdx.x; i < a.samples && first == a.samples; i += blockDim.x) {
    const int64_t n = ctc_index(a, input, i);
    if (n < 0 || n > most) first = i;
  }
  first = jf_block_join<ctc_least>(first, a.samples);
  if (first == a.samples) return 0;
  if (threadIdx.x == 0)
    jf_report(a.head, JF_WRONG_LENGTH, ctc_index(a, input, first), first, most + 1);
  return 1;
}

/* Sets where the labels of each sample begin. */
JF_INLINE void ctc_find_first(const ctc_args &a)
{
  __shared__ int64_t length[256];
  int64_t sum = 0;
  for (int64_t from = 0; from < a.samples; from += 256) {
    const int64_t i = from + threadIdx.x;
    __syncthreads();
    length[threadIdx.x] = i < a.samples ? ctc_index(a, CTC_LABELS, i) : 0;
    __syncthreads();
    for (int l = 0; l < 256 && threadIdx.x == 0 && from + l < a.samples; l++) {
      ctc_first(a)[from + l] = a.row ? (from + l) * a.row : sum;
      sum += length[l];
    }
  }
  __threadfence();
  __syncthreads();
}

/* The first label of a sample that is no class; -1: its labels are more than there are; the number
   of its labels: nothing is wrong. */
JF_INLINE int64_t ctc_wrong(const ctc_args &a, int64_t i)
{
  const int64_t first = ctc_first(a)[i], n = ctc_index(a, CTC_LABELS, i);
  if (!a.row && first + n > a.most) return -1;
  for (int64_t j = 0; j < n; j++) {
    const int64_t label = ctc_index(a, CTC_TARGETS, first + j);
    if (label < 0 || label >= a.classes) return j;
  }
  return n;
}

JF_KERNEL ctc_check(const ctc_args a)
{
  if (ctc_check_lengths(a, CTC_TIMES, a.times)) return;
  if (ctc_check_lengths(a, CTC_LABELS, a.most)) return;
  ctc_find_first(a);
  int64_t bad = a.samples;
  for (int64_t i = threadIdx.x; i < a.samples && bad == a.samples; i += blockDim.x)
    if (ctc_wrong(a, i) != ctc_index(a, CTC_LABELS, i)) bad = i;
  bad = jf_block_join<ctc_least>(bad, a.samples);
  if (bad == a.samples || threadIdx.x) return;
  const int64_t first = ctc_first(a)[bad], j = ctc_wrong(a, bad);
  if (j < 0)
    jf_report(a.head, JF_WRONG_LENGTH, ctc_index(a, CTC_LABELS, bad), bad, a.most - first + 1);
  else
    jf_report(a.head, JF_WRONG_LABEL, ctc_index(a, CTC_TARGETS, first + j), first + j, a.classes);
}

/* ---- the loss of a sample and its slope ---- */

struct ctc_sample {
  const T *x;                          /* x[t * step + class] */
  T *slope;
  double *alpha, *beta;
  int32_t *link;                       /* of place p: the next one of that class, or -1 */
  int64_t first, places, times, step;
};

JF_INLINE int64_t ctc_class(const ctc_args &a, const ctc_sample &s, int64_t place)
{
  return place % 2 ? ctc_index(a, CTC_TARGETS, s.first + place / 2) : a.blank;
}

/* Whether a path may come to that place from the one two before. */
JF_INLINE int ctc_skips(const ctc_args &a, const ctc_sample &s, int64_t place)
{
  return place > 1 && place % 2 && ctc_class(a, s, place) != ctc_class(a, s, place - 2);
}

/* log(exp a + exp b + exp c) */
JF_INLINE double ctc_add(double a, double b, double c)
{
  const double most = fmax(a, fmax(b, c));
  if (most == NONE) return most;
  return most + log(exp(a - most) + exp(b - most) + exp(c - most));
}

/* alpha[t][p]: all ways to be at place p at time t. */
JF_INLINE void ctc_forward(const ctc_args &a, const ctc_sample &s)
{
  for (int64_t t = 0; t < s.times; t++) {
    double *to = s.alpha + t * s.places;
    const double *b = to - s.places;
    for (int64_t p = threadIdx.x; p < s.places; p += blockDim.x) {
      const double from = t == 0 ? (p < 2 ? 0 : NONE)
        : ctc_add(b[p], p ? b[p - 1] : NONE, ctc_skips(a, s, p) ? b[p - 2] : NONE);
      to[p] = from + (double)jf_load(s.x[t * s.step + ctc_class(a, s, p)]);
    }
    __syncthreads();
  }
}

/* beta[p]: all ways from place p at time t to the end. alpha becomes the share of all ways that
   pass there. */
JF_INLINE void ctc_backward(const ctc_args &a, const ctc_sample &s, double all)
{
  const int64_t n = s.places;
  for (int64_t t = s.times - 1; t >= 0; t--) {
    const double *next = s.beta + (t + 1) % 2 * n;
    double *b = s.beta + t % 2 * n;
    for (int64_t p = threadIdx.x; p < n; p += blockDim.x) {
      const double to = t == s.times - 1 ? (p + 2 >= n ? 0 : NONE)
        : ctc_add(next[p], p + 1 < n ? next[p + 1] : NONE,
                  p + 2 < n && ctc_skips(a, s, p + 2) ? next[p + 2] : NONE);
      b[p] = to + (double)jf_load(s.x[t * s.step + ctc_class(a, s, p)]);
      s.alpha[t * n + p] = exp(s.alpha[t * n + p] + to - all);
    }
    __syncthreads();
  }
}

/* Links the places of each label; -2: an earlier place, or the blank, has that class. */
JF_INLINE void ctc_link(const ctc_args &a, const ctc_sample &s)
{
  for (int64_t p = 1 + 2 * (int64_t)threadIdx.x; p < s.places; p += 2 * blockDim.x) {
    const int64_t own = ctc_class(a, s, p);
    int32_t next = -1;
    for (int64_t q = p + 2; q < s.places && next < 0; q += 2)
      if (ctc_class(a, s, q) == own) next = (int32_t)q;
    s.link[p] = next;
    s.link[p - 1] = own != a.blank;
    for (int64_t q = 1; q < p && s.link[p - 1]; q += 2)
      if (ctc_class(a, s, q) == own) s.link[p - 1] = 0;
  }
  __syncthreads();
}

/* The slope: minus the shares of all places of a class. A warp has one time. */
JF_INLINE void ctc_slope(const ctc_args &a, const ctc_sample &s)
{
  const int lane = threadIdx.x & 31;
  for (int64_t t = threadIdx.x >> 5; t < s.times; t += blockDim.x >> 5) {
    const double *share = s.alpha + t * s.places;
    T *to = s.slope + t * s.step;
    double sum = 0;
    for (int64_t p = lane; p < s.places; p += 32)
      if (p % 2 == 0 || ctc_class(a, s, p) == a.blank) sum += share[p];
    for (int l = 16; l; l >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, l);
    if (lane == 0) jf_store(&to[a.blank], (T)-sum);
    for (int64_t p = 1 + 2 * lane; p < s.places; p += 64) {
      if (!s.link[p - 1]) continue;
      double own = 0;
      for (int64_t q = p; q >= 0; q = s.link[q]) own += share[q];
      jf_store(&to[ctc_class(a, s, p)], (T)-own);
    }
  }
}

JF_INLINE ctc_sample ctc_sample_of(const ctc_args &a, int64_t i)
{
  ctc_sample s;
  s.times = ctc_index(a, CTC_TIMES, i);
  s.places = 2 * ctc_index(a, CTC_LABELS, i) + 1;
  s.step = a.samples * a.classes;
  s.first = ctc_first(a)[i];
  s.x = (const T *)a.head.data[CTC_PROBS] + i * a.classes;
  s.slope = (T *)a.head.data[CTC_SLOPE] + i * a.classes;
  s.alpha = (double *)a.head.data[CTC_SCRATCH] + i * (a.times + 2) * a.places;
  s.beta = s.alpha + a.times * a.places;
  s.link = ctc_links(a) + i * a.places;
  return s;
}

JF_KERNEL ctc(const ctc_args a)
{
  if (jf_halted(a.head)) return;
  for (int64_t i = blockIdx.x; i < a.samples; i += gridDim.x) {
    const ctc_sample s = ctc_sample_of(a, i);
    for (int64_t t = 0; t < a.times; t++)
      for (int64_t c = threadIdx.x; c < a.classes; c += blockDim.x)
        jf_store(&s.slope[t * s.step + c], (T)0);
    __syncthreads();
    ctc_forward(a, s);
    const double *last = s.alpha + s.times * s.places - 1;
    double all = s.places > 1 ? NONE : 0;
    if (s.times) all = ctc_add(last[0], s.places > 1 ? last[-1] : NONE, NONE);
    __syncthreads();
    if (threadIdx.x == 0)
      jf_store(&((T *)a.head.data[CTC_LOSS])[i], (T)(all == NONE && a.zero_infinity ? 0 : -all));
    if (all == NONE || all != all) continue;
    ctc_backward(a, s, all);
    ctc_link(a, s);
    ctc_slope(a, s);
  }
}

#else

extern const char jf_cuda_text_ctc[];

static int ctc_accepts(const jf_kargs *k)
{
  return k->in[0].dtype == JFL_F32 || k->in[0].dtype == JFL_F64;
}

/* The bytes of scratch; where extents are more than any memory holds, so is the size. */
static size_t ctc_scratch_size(const ctc_args *a)
{
  const double places = (double)a->places, samples = (double)a->samples;
  const double size = samples * (((double)a->times + 2) * places * 8 + places * 4 + 8) + 8;
  return size < 0x1p62 ? (size_t)size : (size_t)1 << 62;
}

static jfl_status ctc_prepare(jf_kargs *k)
{
  const jf_ctc *c = k->attr;
  const jfl_shape *x = &k->in[JF_CTC_LOG_PROBS].shape, *t = &k->in[JF_CTC_TARGETS].shape;
  const jf_cuda_source s = { "ctc loss", jf_cuda_text_ctc, NULL,
                             { JF_AS_DTYPE("T", k->in[0].dtype) } };
  ctc_args a = { .times = x->d[0], .samples = x->d[1], .classes = x->d[2],
                 .places = jf_ctc_places(k), .most = t->d[t->n - 1],
                 .row = t->n == 2 ? t->d[1] : 0, .blank = c->blank,
                 .zero_infinity = c->zero_infinity };
  if (a.samples == 0) return JFL_OK;
  if (a.places > INT32_MAX) return JFL_ENOSYS;
  for (int i = JF_CTC_TARGETS; i <= JF_CTC_TARGET_LENGTHS; i++)
    a.wide[i] = k->in[i].dtype == JFL_I64;
  k->scratch_size = ctc_scratch_size(&a);
  JF_TRY(jf_cuda_prepare(k, &s, "ctc_check", (jf_cuda_grid){ 1, 256, 0 }, &a, sizeof a));
  return jf_cuda_prepare(k, &s, "ctc", (jf_cuda_grid){ a.samples, 256, 0 }, &a, sizeof a);
}

JFL_CUDA(cuda_ctc_loss, JF_CUDA_LAUNCHED("ctc_loss", ctc_accepts, ctc_prepare))

#endif
