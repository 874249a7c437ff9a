/* The position of the largest or smallest element along an axis. Some lanes of a warp, or a block,
   search a line; where lines lie side by side, so that neighbouring threads read neighbouring
   elements, one thread does. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/attrs.h"
#include "op/op.h"

#include <stdio.h>
#endif

/* Lines of m elements, `after` apart; so many lines begin side by side. */
typedef struct search_args {
  struct jf_cuda_head head;
  int64_t lines, m, after, across;
} search_args;

#ifdef JF_DEVICE

/* T is the elements' type, V that in which they are compared; BETTER is > or <. */
struct search_best { V v; int64_t at; };

/* A NaN beats any number, and of equals the first wins. */
JF_INLINE bool search_beats(const search_best &a, const search_best &b)
{
  if (a.v != a.v || b.v != b.v) return a.v != a.v && (b.v == b.v || a.at < b.at);
  return a.v BETTER b.v || (a.v == b.v && a.at < b.at);
}

JF_INLINE search_best search_lanes(search_best best, int lanes)
{
  for (int lane = lanes / 2; lane; lane >>= 1) {
    const search_best other = { __shfl_xor_sync(0xffffffffu, best.v, lane),
                                __shfl_xor_sync(0xffffffffu, best.at, lane) };
    if (search_beats(other, best)) best = other;
  }
  return best;
}

JF_INLINE search_best search_block(search_best best)
{
  __shared__ V v[8];
  __shared__ int64_t at[8];
  best = search_lanes(best, 32);
  __syncthreads();
  if (threadIdx.x % 32 == 0) v[threadIdx.x / 32] = best.v, at[threadIdx.x / 32] = best.at;
  __syncthreads();
  for (int i = 0; i < 8; i++) {
    const search_best other = { v[i], at[i] };
    if (search_beats(other, best)) best = other;
  }
  return best;
}

JF_KERNEL __launch_bounds__(256) search(const search_args p)
{
  const int across = (int)p.across, down = 256 / across, x = threadIdx.x % across;
  int32_t *y = (int32_t *)p.head.data[1];
  for (int64_t base = (int64_t)blockIdx.x * down; base < p.lines;
       base += (int64_t)gridDim.x * down) {
    const int64_t own = base + threadIdx.x / across, line = own < p.lines ? own : p.lines - 1;
    const T *from = (const T *)p.head.data[0] + line / p.after * p.m * p.after + line % p.after;
    const int64_t first = x < p.m ? x : p.m - 1;
    search_best best = { (V)jf_load(from[first * p.after]), first };
    for (int64_t j = x + across; j < p.m; j += across) {
      const search_best other = { (V)jf_load(from[j * p.after]), j };
      if (search_beats(other, best)) best = other;
    }
    best = across > 32 ? search_block(best) : search_lanes(best, across);
    if (x == 0 && own < p.lines) y[own] = (int32_t)best.at;
  }
}

#else

extern const char jf_cuda_text_argmax[];

/* The type in which elements are compared: shuffles move no fewer than 4 bytes. */
static const char *search_type(jfl_dtype t)
{
  if (t == JFL_F64) return "double";
  if (t == JFL_I64) return "int64_t";
  return jf_is_float(t) ? "float" : "int32_t";
}

static jfl_status search_prepare(jf_kargs *k)
{
  enum { THREADS = 256, WARP = 32, WAVES = 32, MANY = 1 << 12, LONG = 1024 };
  const jfl_dtype t = k->in[0].dtype;
  const jfl_shape *s = &k->in[0].shape;
  const int64_t axis = ((const jf_argmax *)k->attr)->axis;
  search_args a = { .lines = jf_numel(&k->out[0].shape), .m = s->d[axis], .after = 1,
                    .across = 1 };
  for (int i = (int)axis + 1; i < s->n; i++) a.after *= s->d[i];
  if (a.lines == 0) return JFL_OK;
  if (a.after == 1 || a.lines < MANY)
    while (a.across < a.m && a.across < WARP) a.across *= 2;
  if (a.across > 1 && a.m > LONG) a.across = THREADS;
  const int64_t down = THREADS / a.across, blocks = (a.lines + down - 1) / down;
  const jf_cuda_source source = { "argmax", jf_cuda_text_argmax, k->op == &jf_op_argmax
                                  ? "#define BETTER >\n" : "#define BETTER <\n",
                                  { JF_AS_DTYPE("T", t), JF_AS_TYPE("V", search_type(t)) } };
  return jf_cuda_prepare(k, &source, "search", jf_cuda_grid_within(k, blocks, THREADS, WAVES), &a,
                         sizeof a);
}

JFL_CUDA(cuda_argmax, JF_CUDA_LAUNCHED("argmax argmin", NULL, search_prepare))

#endif
