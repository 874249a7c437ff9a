/* non_max_suppression: a block takes the best box of a line, and its threads leave out those that
   it overlaps, until none is left. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/attrs.h"
#endif

/* data is boxes (batch, n, 4), scores (lines, n), positions (lines, most), and scratch with a byte
   for each score, which says whether the box may still be taken. */
typedef struct suppress_args {
  struct jf_cuda_head head;
  int64_t lines, classes, n, most;
  float overlap, least;
} suppress_args;

#ifdef JF_DEVICE

struct suppress_best { float score; int32_t at; };

/* The best of all threads' in the block, the first of equals; at -1: there is none. */
JF_INLINE suppress_best suppress_block(suppress_best best)
{
  __shared__ suppress_best s[8];
  for (int step = 16; step; step >>= 1) {
    const suppress_best other = { __shfl_xor_sync(0xffffffffu, best.score, step),
                                  __shfl_xor_sync(0xffffffffu, best.at, step) };
    if (other.at >= 0 && (best.at < 0 || other.score > best.score
                          || (other.score == best.score && other.at < best.at))) best = other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = best;
  __syncthreads();
  best = s[0];
  for (int i = 1; i < 8; i++)
    if (s[i].at >= 0 && (best.at < 0 || s[i].score > best.score
                         || (s[i].score == best.score && s[i].at < best.at))) best = s[i];
  return best;
}

/* As in op/suppress.c, rounded as there after each product. */
JF_INLINE bool suppress_overlap(const float *a, const float *b, float threshold)
{
  float both[2], own = 1, other = 1;
  for (int i = 0; i < 2; i++) {
    const float a0 = fminf(a[i], a[i + 2]), a1 = fmaxf(a[i], a[i + 2]);
    const float b0 = fminf(b[i], b[i + 2]), b1 = fmaxf(b[i], b[i + 2]);
    both[i] = fminf(a1, b1) - fmaxf(a0, b0);
    own = __fmul_rn(own, a1 - a0);
    other = __fmul_rn(other, b1 - b0);
  }
  if (!(both[0] > 0 && both[1] > 0)) return false;
  const float area = __fmul_rn(both[0], both[1]), either = own + other - area;
  return either > 0 && area / either > threshold;
}

JF_KERNEL __launch_bounds__(256) suppress(const suppress_args p)
{
  for (int64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
    const float *boxes = (const float *)p.head.data[0] + line / p.classes * p.n * 4;
    const float *scores = (const float *)p.head.data[1] + line * p.n;
    int32_t *y = (int32_t *)p.head.data[2] + line * p.most;
    uint8_t *left = (uint8_t *)p.head.data[3] + line * p.n;
    for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x) left[i] = scores[i] > p.least;
    int64_t taken = 0;
    for (bool any = true; any && taken < p.most;) {
      suppress_best best = { 0, -1 };
      for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x)
        if (left[i] && (best.at < 0 || scores[i] > best.score)) best = { scores[i], (int32_t)i };
      best = suppress_block(best);
      any = best.at >= 0;
      if (!any) continue;
      if (threadIdx.x == 0) y[taken] = best.at;
      taken++;
      const float *top = boxes + 4 * (int64_t)best.at;
      for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x)
        if (left[i] && (i == best.at || suppress_overlap(top, boxes + 4 * i, p.overlap)))
          left[i] = 0;
    }
    for (int64_t i = taken + threadIdx.x; i < p.most; i += blockDim.x) y[i] = -1;
  }
}

#else

extern const char jf_cuda_text_suppress[];

static jfl_status suppress_prepare(jf_kargs *k)
{
  enum { THREADS = 256, WAVES = 8 };
  const jf_suppress *attr = k->attr;
  const int64_t *d = k->in[1].shape.d;
  const suppress_args a = { .lines = d[0] * d[1], .classes = d[1], .n = d[2],
                            .most = attr->max_output, .overlap = (float)attr->iou_threshold,
                            .least = (float)attr->score_threshold };
  const jf_cuda_source source = { .what = "suppress", .text = jf_cuda_text_suppress };
  if (a.lines == 0 || a.most == 0) return JFL_OK;
  k->scratch_size = (size_t)(a.lines * a.n);
  return jf_cuda_prepare(k, &source, "suppress", jf_cuda_grid_within(k, a.lines, THREADS, WAVES),
                         &a, sizeof a);
}

JFL_CUDA(cuda_suppress, JF_CUDA_LAUNCHED("non_max_suppression", NULL, suppress_prepare))

#endif
