/* Sums and products of all elements up to each place along an axis, and the gradient of products.
   Each is a scan: every element is a state, states are joined from the beginning of a line on, and
   a result is made of what is joined before its place. Many lines side by side are gone through by
   a thread each; others by blocks, a chunk of a line each, to which a first launch gives the state
   of each chunk alone. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/attrs.h"
#include "op/index.h"
#include "op/op.h"

#include <string.h>
#endif

enum {
  CUMULATE_THREADS = 256, CUMULATE_EACH = 4, CUMULATE_CHUNK = CUMULATE_THREADS * CUMULATE_EACH
};

/* Lines of (before, m, after), of which each is taken from its end if it is reversed. at_y: number
   of the head's data; scratch follows it. */
typedef struct cumulate_args {
  struct jf_cuda_head head;
  int64_t lines, m, after, chunks, reversed, exclusive, at_y;
} cumulate_args;

#ifdef JF_DEVICE

/* The source is given T, the elements' type; A, in which they are joined; and one of SUM, PRODUCT,
   BACK or FORTH, which says what a state is. S::join(a, b): what is joined up to a, then b. */
#if defined(SUM)
struct S {
  A v;
  static JF_INLINE S none() { return { 0 }; }
  static JF_INLINE S join(const S &a, const S &b) { return { a.v + b.v }; }
};
#elif defined(PRODUCT) || defined(FORTH)
/* finite: 0, or NaN where an element is not finite. What is behind a 0 may overflow, which does no
   harm to the product, but infinity and NaN do. */
struct S {
  A v, finite;
  static JF_INLINE S none() { return { 1, 0 }; }
  static JF_INLINE S join(const S &a, const S &b)
  {
    return { a.v == 0 ? b.finite : a.v * b.v, a.finite + b.finite };
  }
};
#define SECOND finite
#endif
#if defined(BACK)
/* The map n -> m n + v; 0 stays 0, also where m overflows. */
struct S {
  A v, m;
  static JF_INLINE S none() { return { 0, 1 }; }
  static JF_INLINE A times(A a, A b) { return a == 0 || b == 0 ? 0 : a * b; }
  static JF_INLINE S join(const S &a, const S &b)
  {
    return { times(b.m, a.v) + b.v, times(b.m, a.m) };
  }
};
#define SECOND m
#endif

/* The gradient of products takes two scans (src/op/cumulate.c): BACK makes S[i] of x and dy, from
   the end on, and puts it into dx; FORTH multiplies it by the product of all x before i. */
JF_INLINE S cumulate_state(const cumulate_args &a, int64_t i)
{
  const A x = (A)((const T *)a.head.data[0])[i];
#ifdef BACK
  const A dy = (A)((const T *)a.head.data[1])[i];
  return { a.exclusive ? dy : x * dy, x };
#endif
#if defined(SUM)
  return { x };
#endif
#if defined(PRODUCT) || defined(FORTH)
  return { x, x - x };
#endif
}

/* before: what is joined before element i, whose state is `own`. */
JF_INLINE void cumulate_write(const cumulate_args &a, int64_t i, const S &before, const S &own)
{
  T *y = (T *)a.head.data[a.at_y] + i;
#if defined(BACK)
  *y = (T)(a.exclusive ? before.v : (A)((const T *)a.head.data[1])[i] + before.v);
#elif defined(FORTH)
  *y = (T)(before.v * (A)*y);
#endif
#if defined(SUM) || defined(PRODUCT)
  *y = (T)(a.exclusive ? before.v : S::join(before, own).v);
#endif
}

/* Where place j of a line is. */
JF_INLINE int64_t cumulate_at(const cumulate_args &a, int64_t line, int64_t j)
{
  int64_t after;
  const int64_t before = jf_divide(line, a.after, &after);
  return (before * a.m + (a.reversed ? a.m - 1 - j : j)) * a.after + after;
}

/* A thread for each line. */
JF_KERNEL cumulate_each(const cumulate_args a)
{
  JF_EACH(line, a.lines) {
    S all = S::none();
    for (int64_t j = 0; j < a.m; j++) {
      const int64_t i = cumulate_at(a, line, j);
      const S own = cumulate_state(a, i);
      cumulate_write(a, i, all, own);
      all = S::join(all, own);
    }
  }
}

JF_INLINE S cumulate_from(const S &v, int by)
{
  S w;
  w.v = __shfl_up_sync(0xffffffffu, v.v, by);
#ifdef SECOND
  w.SECOND = __shfl_up_sync(0xffffffffu, v.SECOND, by);
#endif
  return w;
}

/* Joins the values of a block's threads: returns the join of those before this thread, and sets
   *all to the join of all. */
JF_INLINE S cumulate_before(S v, S *all)
{
  __shared__ S part[CUMULATE_THREADS / 32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int by = 1; by < 32; by *= 2) {
    const S low = cumulate_from(v, by);
    if (lane >= by) v = S::join(low, v);
  }
  S before = cumulate_from(v, 1);
  if (lane == 0) before = S::none();
  __syncthreads();
  if (lane == 31) part[warp] = v;
  __syncthreads();
  S whole = S::none(), lead = S::none();
  for (int w = 0; w < CUMULATE_THREADS / 32; w++) {
    if (w == warp) lead = whole;
    whole = S::join(whole, part[w]);
  }
  *all = whole;
  return S::join(lead, before);
}

/* Joins the elements of this thread among those of a chunk, which follow each other. */
JF_INLINE S cumulate_own(const cumulate_args &a, int64_t line, int64_t from)
{
  S own = S::none();
  for (int64_t j = from; j < from + CUMULATE_EACH && j < a.m; j++)
    own = S::join(own, cumulate_state(a, cumulate_at(a, line, j)));
  return own;
}

/* The state of each chunk alone, to scratch. */
JF_KERNEL cumulate_totals(const cumulate_args a)
{
  S *total = (S *)a.head.data[a.at_y + 1];
  for (int64_t b = blockIdx.x; b < a.lines * a.chunks; b += gridDim.x) {
    const int64_t from = b % a.chunks * CUMULATE_CHUNK + threadIdx.x * CUMULATE_EACH;
    S all;
    cumulate_before(cumulate_own(a, b / a.chunks, from), &all);
    if (threadIdx.x == 0) total[b] = all;
  }
}

/* What the chunks of a line before number `chunk` join to. */
JF_INLINE S cumulate_lead(const cumulate_args &a, int64_t line, int64_t chunk)
{
  const S *total = (const S *)a.head.data[a.at_y + 1] + line * a.chunks;
  const int64_t each = (chunk + CUMULATE_THREADS - 1) / CUMULATE_THREADS;
  S own = S::none(), all;
  for (int64_t c = threadIdx.x * each; c < (threadIdx.x + 1) * each && c < chunk; c++)
    own = S::join(own, total[c]);
  cumulate_before(own, &all);
  return all;
}

/* A block for each chunk of each line. */
JF_KERNEL cumulate_chunks(const cumulate_args a)
{
  for (int64_t b = blockIdx.x; b < a.lines * a.chunks; b += gridDim.x) {
    const int64_t line = b / a.chunks, chunk = b % a.chunks;
    const int64_t from = chunk * CUMULATE_CHUNK + threadIdx.x * CUMULATE_EACH;
    S lead = S::none(), all;
    if (chunk > 0) lead = cumulate_lead(a, line, chunk);
    lead = S::join(lead, cumulate_before(cumulate_own(a, line, from), &all));
    for (int64_t j = from; j < from + CUMULATE_EACH && j < a.m; j++) {
      const int64_t i = cumulate_at(a, line, j);
      const S own = cumulate_state(a, i);
      cumulate_write(a, i, lead, own);
      lead = S::join(lead, own);
    }
  }
}

#else

extern const char jf_cuda_text_cumulate[];

static int cumulate_accepts(const jf_kargs *k)
{
  const jfl_dtype t = k->in[0].dtype;
  return t == JFL_F32 || t == JFL_F64 || t == JFL_I32 || t == JFL_I64;
}

/* Adds the launches of a scan, whose states are made of numbers of `type`. `what` says of which; a
   state takes up to STATE bytes. */
static jfl_status cumulate_add(jf_kargs *k, const char *what, const char *type, cumulate_args *a)
{
  enum { SHORT = 64, SIDE_BY_SIDE = 32, MANY = 4096, WAVES = 32, STATE = 16 };
  const int side_by_side = a->after >= SIDE_BY_SIDE && a->lines >= MANY;
  const jf_cuda_source s = { "running sums", jf_cuda_text_cumulate, NULL,
                             { JF_AS_DTYPE("T", k->in[0].dtype), JF_AS_TYPE("A", type),
                               JF_AS_NUMBER(what, 1) } };
  if (a->m <= SHORT || side_by_side)
    return jf_cuda_each(k, &s, "cumulate_each", a->lines, a, sizeof *a);
  a->chunks = (a->m + CUMULATE_CHUNK - 1) / CUMULATE_CHUNK;
  const int64_t n = a->lines * a->chunks;
  const jf_cuda_grid grid = jf_cuda_grid_within(k, n, CUMULATE_THREADS, WAVES);
  k->scratch_size = (size_t)n * STATE;
  if (a->chunks > 1) JF_TRY(jf_cuda_prepare(k, &s, "cumulate_totals", grid, a, sizeof *a));
  return jf_cuda_prepare(k, &s, "cumulate_chunks", grid, a, sizeof *a);
}

static cumulate_args cumulate_args_of(const jf_kargs *k)
{
  const jf_cumulate *a = k->attr;
  const jf_axes s = jf_axes_at(&k->in[0].shape, a->axis);
  return (cumulate_args){ .lines = s.m ? s.before * s.after : 0, .m = s.m, .after = s.after,
                          .reversed = a->reverse, .exclusive = a->exclusive, .at_y = k->n_in };
}

/* Sums and products of floats are made in double, as those of the CPU; those of integers wrap. */
static jfl_status cumulate_prepare(jf_kargs *k)
{
  cumulate_args a = cumulate_args_of(k);
  if (!a.lines) return JFL_OK;
  return cumulate_add(k, k->op == &jf_op_cumprod ? "PRODUCT" : "SUM",
                      jf_is_float(k->in[0].dtype) ? "double" : "uint64_t", &a);
}

static jfl_status cumprod_grad_prepare(jf_kargs *k)
{
  cumulate_args a = cumulate_args_of(k);
  if (!a.lines) return JFL_OK;
  a.reversed = !a.reversed;
  JF_TRY(cumulate_add(k, "BACK", "double", &a));
  a.reversed = !a.reversed;
  return cumulate_add(k, "FORTH", "double", &a);
}

static int cumulate_accepts_float(const jf_kargs *k)
{
  return cumulate_accepts(k) && jf_is_float(k->in[0].dtype);
}

JFL_CUDA(cuda_cumulate, JF_CUDA_LAUNCHED("cumsum cumprod", cumulate_accepts, cumulate_prepare))
JFL_CUDA(cuda_cumprod_grad,
  JF_CUDA_LAUNCHED("cumprod_grad", cumulate_accepts_float, cumprod_grad_prepare))

#endif
