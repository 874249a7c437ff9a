/* Reductions over any axes: products, extremes, all and any, and those sums that programs do not
   serve (single.c). */
#ifndef JF_DEVICE
#include "base/walk.h"
#include "dev/cuda/cuda.h"
#include "op/op.h"
#include "op/reduce.h"

#include <stdio.h>
#include <string.h>
#endif

/* Result i is made of `count` elements of x. The axes of x are two nests: those that are kept, over
   which i runs, and those that are gone. Steps are in elements. */
typedef struct reduce_args {
  struct jf_cuda_head head;
  int64_t results, count, whole, n_kept, n_gone, parts;
  int64_t kept[8], kept_step[8], gone[8], gone_step[8];
} reduce_args;

#ifdef JF_DEVICE

/* The source is given T, the elements' type; A, in which they are joined; INIT, which is joined
   without effect; STEP(a, v); and FINISH(a, n) of n elements. */
struct reduce_step {
  static __device__ __forceinline__ A of(A a, A v) { return STEP(a, v); }
};

JF_INLINE int64_t reduce_offset(int64_t index, int64_t n, const int64_t *d, const int64_t *step)
{
  int64_t at = 0;
  for (int k = (int)n - 1; k >= 0; k--) {
    at += index % d[k] * step[k];
    index /= d[k];
  }
  return at;
}

/* One thread for each result. */
JF_KERNEL reduce_few(const reduce_args a)
{
  const T *x = (const T *)a.head.data[0];
  T *y = (T *)a.head.data[1];
  JF_EACH(i, a.results) {
    const T *from = x + reduce_offset(i, a.n_kept, a.kept, a.kept_step);
    A sum = (A)INIT;
    for (int64_t j = 0; j < a.count; j++)
      sum = STEP(sum, (A)jf_load(from[reduce_offset(j, a.n_gone, a.gone, a.gone_step)]));
    jf_store(&y[i], (T)(FINISH(sum, a.whole)));
  }
}

/* A block for each part of each result; of several parts another kernel makes the result. */
JF_KERNEL reduce_many(const reduce_args a)
{
  const T *x = (const T *)a.head.data[0];
  T *y = (T *)a.head.data[1];
  const int64_t all = a.results * a.parts;
  for (int64_t i = blockIdx.x; i < all; i += gridDim.x) {
    const T *from = x + reduce_offset(i / a.parts, a.n_kept, a.kept, a.kept_step);
    const int64_t by = (int64_t)blockDim.x * a.parts;
    A sum = (A)INIT;
    for (int64_t j = i % a.parts * blockDim.x + threadIdx.x; j < a.count; j += by)
      sum = STEP(sum, (A)jf_load(from[reduce_offset(j, a.n_gone, a.gone, a.gone_step)]));
    sum = jf_block_join<reduce_step>(sum, (A)INIT);
    if (threadIdx.x > 0) continue;
    if (a.parts > 1) ((A *)a.head.data[2])[i] = sum;
    else jf_store(&y[i], (T)(FINISH(sum, a.whole)));
  }
}

JF_KERNEL reduce_parts(const reduce_args a)
{
  const A *part = (const A *)a.head.data[2];
  JF_EACH(i, a.results) {
    A sum = (A)INIT;
    for (int64_t j = 0; j < a.parts; j++) sum = STEP(sum, part[i * a.parts + j]);
    jf_store((T *)a.head.data[1] + i, (T)(FINISH(sum, a.whole)));
  }
}

#else

extern const char jf_cuda_text_reduce[];

/* Whether axis i of x is reduced. */
static int reduce_goes(const jf_kargs *k, int i)
{
  const jf_ints *axis = &((const jf_reduce *)k->attr)->axis;
  for (int j = 0; j < axis->n; j++)
    if (axis->v[j] == i) return 1;
  return 0;
}

static void reduce_split(const jf_kargs *k, reduce_args *a)
{
  const jfl_shape *s = &k->in[0].shape;
  int64_t dense[JFL_MAXDIM], step[2][1][JFL_MAXDIM];
  jf_nest nest[2] = { { .n_op = 1, .step = step[0] }, { .n_op = 1, .step = step[1] } };
  jf_dense_steps(s->n, s->d, 1, dense);
  for (int i = 0; i < s->n; i++) {
    const int gone = reduce_goes(k, i);
    jf_nest *w = &nest[gone];
    w->d[w->n] = s->d[i];
    step[gone][0][w->n++] = dense[i];
  }
  a->results = a->count = 1;
  for (int i = 0; i < nest[0].n; i++) a->results *= nest[0].d[i];
  for (int i = 0; i < nest[1].n; i++) a->count *= nest[1].d[i];
  a->whole = jf_mean_count(k->attr, a->count);
  for (int i = 0; i < 2; i++)
    if (nest[i].n) jf_nest_join(&nest[i], 0);
  a->n_kept = nest[0].n;
  a->n_gone = nest[1].n;
  memcpy(a->kept, nest[0].d, sizeof a->kept);
  memcpy(a->gone, nest[1].d, sizeof a->gone);
  memcpy(a->kept_step, step[0], sizeof a->kept_step);
  memcpy(a->gone_step, step[1], sizeof a->gone_step);
}

enum { REDUCE_FEW = 128, REDUCE_THREADS = 256, REDUCE_WAVES = 32, REDUCE_TURNS = 16 };

/* Whether one thread makes a result: of few elements, or where neighbouring results are made of
   neighbouring elements and there are many of them. */
static int reduce_is_few(const reduce_args *a)
{
  const int along = a->n_kept > 0 && a->kept_step[a->n_kept - 1] == 1;
  return a->count <= REDUCE_FEW || (along && a->results >= REDUCE_THREADS * REDUCE_WAVES);
}

static jfl_status reduce_launches(jf_kargs *k, const jf_cuda_source *s, reduce_args *a)
{
  const jf_cuda *c = k->device->state;
  const int64_t most = (int64_t)c->multiprocessors * REDUCE_WAVES;
  const int64_t parts = a->count / (REDUCE_THREADS * REDUCE_TURNS), room = most / (a->results + 1);
  if (reduce_is_few(a)) return jf_cuda_each(k, s, "reduce_few", a->results, a, sizeof *a);
  a->parts = parts < room ? parts : room;
  if (a->parts < 1) a->parts = 1;
  const int64_t all = a->results * a->parts;
  const jf_cuda_grid grid = jf_cuda_grid_within(k, all, REDUCE_THREADS, REDUCE_WAVES);
  JF_TRY(jf_cuda_prepare(k, s, "reduce_many", grid, a, sizeof *a));
  if (a->parts == 1) return JFL_OK;
  k->scratch_size = (size_t)all * sizeof(double);
  return jf_cuda_each(k, s, "reduce_parts", a->results, a, sizeof *a);
}

/* The type in which extremes are joined, and its ends: shuffles move no fewer than 4 bytes. */
static const struct { const char *type, *least, *most; } ends[JFL_N_DTYPE] = {
  [JFL_F32] = { "float", "(-1.0f / 0.0f)", "(1.0f / 0.0f)" },
  [JFL_F64] = { "double", "(-1.0 / 0.0)", "(1.0 / 0.0)" },
  [JFL_I8] = { "int32_t", "INT8_MIN", "INT8_MAX" }, [JFL_U8] = { "int32_t", "0", "UINT8_MAX" },
  [JFL_I32] = { "int32_t", "INT32_MIN", "INT32_MAX" },
  [JFL_I64] = { "int64_t", "INT64_MIN", "INT64_MAX" },
};

/* How elements are joined: in which type, from which value on, by which expression of a and v, and
   what is made of the whole. Sums of integers wrap; all other sums and products are in double, as
   those of the CPU. */
typedef struct reduce_how { const char *type, *init, *step, *finish; } reduce_how;
static reduce_how reduce_how_of(const jf_kargs *k)
{
  const jfl_dtype t = k->in[0].dtype;
  const char *wide = jf_is_float(t) ? "double" : "uint64_t";
  if (k->op == &jf_op_reduce_sum) return (reduce_how){ wide, "0", "(a) + (v)", "(a)" };
  if (k->op == &jf_op_reduce_mean)
    return (reduce_how){ "double", "0", "(a) + (v)", "(a) / (double)(n)" };
  if (k->op == &jf_op_reduce_prod) return (reduce_how){ wide, "1", "(a) * (v)", "(a)" };
  if (k->op == &jf_op_reduce_any)
    return (reduce_how){ "int32_t", "0", "(a) | ((v) != 0)", "(a)" };
  if (k->op == &jf_op_reduce_all)
    return (reduce_how){ "int32_t", "1", "(a) & ((v) != 0)", "(a)" };
  if (k->op == &jf_op_reduce_max)
    return (reduce_how){ ends[t].type, ends[t].least, "(a) > (v) || (a) != (a) ? (a) : (v)",
                         "(a)" };
  return (reduce_how){ ends[t].type, ends[t].most, "(a) < (v) || (a) != (a) ? (a) : (v)", "(a)" };
}

static jfl_status reduce_prepare(jf_kargs *k)
{
  const reduce_how how = reduce_how_of(k);
  reduce_args a = { .parts = 1 };
  char define[256];
  reduce_split(k, &a);
  if (!a.results) return JFL_OK;
  snprintf(define, sizeof define, "#define INIT %s\n#define STEP(a, v) (%s)\n"
           "#define FINISH(a, n) (%s)\n", how.init, how.step, how.finish);
  const jf_cuda_source s = { "reduce", jf_cuda_text_reduce, define,
                             { JF_AS_DTYPE("T", k->in[0].dtype), JF_AS_TYPE("A", how.type) } };
  return reduce_launches(k, &s, &a);
}

static int reduce_accepts_extreme(const jf_kargs *k) { return ends[k->in[0].dtype].type != NULL; }

static int reduce_accepts_sum(const jf_kargs *k)
{
  const jfl_dtype t = k->in[0].dtype;
  return t == JFL_F32 || t == JFL_F64 || t == JFL_I32 || t == JFL_I64;
}

static int reduce_accepts_truth(const jf_kargs *k) { return k->in[0].dtype == JFL_I8; }

JFL_CUDA(cuda_reduce,
  JF_CUDA_LAUNCHED("reduce_sum reduce_mean reduce_prod", reduce_accepts_sum, reduce_prepare))
JFL_CUDA(cuda_reduce_extreme,
  JF_CUDA_LAUNCHED("reduce_max reduce_min", reduce_accepts_extreme, reduce_prepare))
JFL_CUDA(cuda_reduce_truth,
  JF_CUDA_LAUNCHED("reduce_any reduce_all", reduce_accepts_truth, reduce_prepare))

#endif
