/* The factor that clips gradients to a global norm: blocks add up the squares of chunks of all
   tensors in double, then one block adds these sums in their order. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/clip_scale.h"
#endif

enum { CLIP_TENSORS = 128, CLIP_CHUNK = 16384, CLIP_THREADS = 256 };

/* Tensor i is data[i], of count[i] floats or, with wide[i], doubles; its chunks are those of blocks
   block[i] to block[i + 1] - 1. Sums go to scratch from number `first` on. */
typedef struct clip_args {
  int64_t n, first;
  double *sums;
  const void *data[CLIP_TENSORS];
  int64_t count[CLIP_TENSORS];
  int32_t block[CLIP_TENSORS + 1], wide[CLIP_TENSORS];
} clip_args;

typedef struct clip_end_args {
  const double *sums, *by;
  double *scale;
  int64_t n, skips;
  double clip;
} clip_end_args;

#ifdef JF_DEVICE

struct clip_sum { static JF_INLINE double of(double a, double b) { return a + b; } };

template <class T> JF_INLINE double clip_squares_of(const T *x, int64_t from, int64_t to)
{
  double sum = 0;
  for (int64_t i = from + threadIdx.x; i < to; i += blockDim.x) sum += (double)x[i] * (double)x[i];
  return sum;
}

JF_KERNEL __launch_bounds__(256) clip_squares(const clip_args p)
{
  const int32_t block = (int32_t)blockIdx.x;
  int i = 0;
  while (p.block[i + 1] <= block) i++;
  const int64_t from = (int64_t)(block - p.block[i]) * CLIP_CHUNK;
  const int64_t to = from + CLIP_CHUNK < p.count[i] ? from + CLIP_CHUNK : p.count[i];
  double sum = p.wide[i] ? clip_squares_of((const double *)p.data[i], from, to)
                         : clip_squares_of((const float *)p.data[i], from, to);
  sum = jf_block_join<clip_sum>(sum, 0.0);
  if (threadIdx.x == 0) p.sums[p.first + block] = sum;
}

JF_KERNEL __launch_bounds__(256) clip_end(const clip_end_args p)
{
  double sum = 0;
  for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x) sum += p.sums[i];
  sum = jf_block_join<clip_sum>(sum, 0.0);
  if (threadIdx.x > 0) return;
  const double by = *p.by, norm = sqrt(sum) / by;
  if (p.skips && !isfinite(sum)) *p.scale = -1;
  else *p.scale = p.clip == 0 || norm <= p.clip ? 1 / by : p.clip / norm / by;
}

#else

extern const char jf_cuda_text_clip_scale[];

typedef struct clip_call { jf_cuda_kernel *squares, *end; } clip_call;

static int clip_accepts(const jf_kargs *k)
{
  for (int i = JF_CLIP_FIRST; i < k->n_in; i++)
    if (k->in[i].dtype != JFL_F32 && k->in[i].dtype != JFL_F64) return 0;
  return 1;
}

static int64_t clip_blocks(const jf_tensor *t)
{
  return (jf_numel(&t->shape) + CLIP_CHUNK - 1) / CLIP_CHUNK;
}

static jfl_status clip_prepare(jf_kargs *k)
{
  const jf_cuda_source s = { .what = "clip_scale", .text = jf_cuda_text_clip_scale };
  clip_call *call = jf_new(sizeof *call);
  if (!call) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = JF_CLIP_FIRST; i < k->n_in; i++)
    k->scratch_size += (size_t)clip_blocks(&k->in[i]) * sizeof(double);
  jfl_status e = jf_cuda_find(k, &s, "clip_squares", &call->squares);
  if (!e) e = jf_cuda_find(k, &s, "clip_end", &call->end);
  if (e) jf_free(call);
  else k->state = call;
  return e;
}

/* Puts tensors from number *i on into p, as many as fit. */
static void clip_take(const jf_kargs *k, int *i, clip_args *p)
{
  p->n = p->block[0] = 0;
  for (; *i < k->n_in && p->n < CLIP_TENSORS; ++*i) {
    const jf_tensor *t = &k->in[*i];
    p->data[p->n] = t->data;
    p->count[p->n] = jf_numel(&t->shape);
    p->wide[p->n] = t->dtype == JFL_F64;
    p->block[p->n + 1] = p->block[p->n] + (int32_t)clip_blocks(t);
    p->n++;
  }
}

static jfl_status clip_run(const jf_kargs *k)
{
  const clip_call *call = k->state;
  const jf_clip_scale *a = k->attr;
  clip_args p = { .sums = k->scratch };
  for (int i = JF_CLIP_FIRST; i < k->n_in; p.first += p.block[p.n]) {
    clip_take(k, &i, &p);
    const jf_cuda_grid grid = { p.block[p.n], CLIP_THREADS, 0 };
    if (grid.blocks) JF_TRY(jf_cuda_launch(k, call->squares, grid, &p));
  }
  clip_end_args end = { .sums = k->scratch, .by = k->in[JF_CLIP_BY].data, .scale = k->out[0].data,
                        .n = p.first, .skips = a->skips, .clip = a->clip };
  return jf_cuda_launch(k, call->end, (jf_cuda_grid){ 1, CLIP_THREADS, 0 }, &end);
}

JFL_CUDA(cuda_clip_scale, .op = "clip_scale", .accepts = clip_accepts, .prepare = clip_prepare,
  .run = clip_run, .release = jf_free)

#endif
