/* Tensors of random numbers: the CPU's, bit for bit, but for logarithms and cosines. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/op.h"
#include "op/random.h"
#endif

/* data is the result, then scratch. low and span: the least number and how far it is to the bound;
   or mean and standard deviation. */
typedef struct random_args {
  struct jf_cuda_head head;
  int64_t n;
  double low, span, bound;
} random_args;

#ifdef JF_DEVICE

/* T is the elements' type, and each kernel draws both numbers of a block of random words. */
struct __align__(2 * sizeof(T)) random_pair { T v[2]; };

/* A number in [0, 1) of 53 bits, made of half a block of random words: half 0 or 1. */
JF_INLINE double random_unit(const jf_words &r, int i)
{
  const uint64_t w = (uint64_t)r.w[2 * i] << 32 | r.w[2 * i + 1];
  return (double)(w >> 11) * 1.1102230246251565e-16;
}

/* How many blocks of random words there are; and the one of block i: a part may begin and end
   within one. */
JF_INLINE int64_t random_pairs(const random_args &a)
{
  return (a.n + a.head.first % 2 + 1) / 2;
}

JF_INLINE jf_words random_words(const random_args &a, int64_t pair)
{
  return jf_philox(jf_random_of(a.head), (uint64_t)(a.head.first / 2 + pair));
}

JF_INLINE void random_put(const random_args &a, int64_t pair, T first, T second)
{
  T *y = (T *)a.head.data[0];
  const int64_t odd = a.head.first % 2, i = 2 * pair - odd;
  if (!odd && i + 1 < a.n) {
    ((random_pair *)y)[pair] = { { first, second } };
    return;
  }
  if (i >= 0) y[i] = first;
  if (i + 1 < a.n) y[i + 1] = second;
}

JF_INLINE T random_within(const random_args &a, double unit)
{
  const T v = (T)__dadd_rn(a.low, __dmul_rn(a.span, unit));
  return v < (T)a.bound ? v : (T)a.low;
}

JF_KERNEL random_uniform(const random_args a)
{
  JF_EACH(i, random_pairs(a)) {
    const jf_words r = random_words(a, i);
    random_put(a, i, random_within(a, random_unit(r, 0)), random_within(a, random_unit(r, 1)));
  }
}

/* Box and Muller's transform. */
JF_KERNEL random_normal(const random_args a)
{
  JF_EACH(i, random_pairs(a)) {
    const jf_words r = random_words(a, i);
    const double radius = a.span * sqrt(-2 * log(1 - random_unit(r, 0)));
    const double angle = 6.283185307179586 * random_unit(r, 1);
    random_put(a, i, (T)(a.low + radius * cos(angle)), (T)(a.low + radius * sin(angle)));
  }
}

JF_KERNEL random_randint(const random_args a)
{
  const int64_t low = (int64_t)a.low;
  JF_EACH(i, random_pairs(a)) {
    const jf_words r = random_words(a, i);
    random_put(a, i, (T)(low + (int64_t)(a.span * random_unit(r, 0))),
               (T)(low + (int64_t)(a.span * random_unit(r, 1))));
  }
}

/* ---- permutations ---- */

/* Fisher and Yates' shuffle lets step i put at place i what is at place j(i) <= i, and i at j(i).
   So what a place p holds in the end is the last step i > p with j(i) = p. If there is none it is
   what was at q = j(p) before step p: the last step between with j = q, or what step q put there,
   which is found in the same way. Steps with the same j are few; `first` and `next` list them, in
   any order. */
JF_KERNEL permutation_begin(const random_args a)
{
  int32_t *first = (int32_t *)a.head.data[1];
  JF_EACH(i, a.n) first[i] = -1;
}

JF_KERNEL permutation_draw(const random_args a)
{
  int32_t *first = (int32_t *)a.head.data[1], *next = first + a.n, *drawn = next + a.n;
  const jf_random source = jf_random_of(a.head);
  JF_EACH(i, a.n) {
    const jf_words r = jf_philox(source, (uint64_t)i);
    const int32_t j = (int32_t)((double)(i + 1) * random_unit(r, 0));
    drawn[i] = j;
    next[i] = atomicExch(&first[j], (int32_t)i);
  }
}

/* The last step above `after` and below `before` that has that j; -1: there is none. */
JF_INLINE int32_t permutation_last(const int32_t *first, const int32_t *next, int32_t j,
                                   int32_t after, int32_t before)
{
  int32_t last = -1;
  for (int32_t i = first[j]; i >= 0; i = next[i])
    if (i > after && i < before && i > last) last = i;
  return last;
}

JF_KERNEL permutation(const random_args a)
{
  const int32_t *first = (const int32_t *)a.head.data[1], *next = first + a.n;
  const int32_t *drawn = next + a.n;
  JF_EACH(place, a.n) {
    int32_t p = (int32_t)place, v = permutation_last(first, next, p, p, INT32_MAX);
    while (v < 0 && drawn[p] != p) {
      v = permutation_last(first, next, drawn[p], drawn[p], p);
      p = drawn[p];
    }
    ((T *)a.head.data[0])[place] = (T)(v < 0 ? p : v);
  }
}

#else

extern const char jf_cuda_text_random[];

static int random_accepts(const jf_kargs *k)
{
  const jfl_dtype t = k->out[0].dtype;
  return t == JFL_F32 || t == JFL_F64 || t == JFL_I32 || t == JFL_I64;
}

/* Adds the kernel `name` with a thread for each of n. */
static jfl_status random_add(jf_kargs *k, const char *name, int64_t n, const random_args *a)
{
  const jf_cuda_source s = { "random numbers", jf_cuda_text_random, NULL,
                             { JF_AS_DTYPE("T", k->out[0].dtype) } };
  return jf_cuda_each(k, &s, name, n, a, sizeof *a);
}

static jfl_status random_prepare(jf_kargs *k, random_args a)
{
  a.n = jf_numel(&k->out[0].shape);
  return random_add(k, k->op->name, a.n / 2 + 1, &a);
}

static jfl_status uniform_prepare(jf_kargs *k)
{
  const jf_random_uniform *a = k->attr;
  return random_prepare(k, (random_args){ .low = a->minval, .span = a->maxval - a->minval,
                                          .bound = a->maxval });
}

static jfl_status normal_prepare(jf_kargs *k)
{
  const jf_random_normal *a = k->attr;
  return random_prepare(k, (random_args){ .low = a->mean, .span = a->stddev });
}

static jfl_status randint_prepare(jf_kargs *k)
{
  const jf_random_randint *a = k->attr;
  return random_prepare(k, (random_args){ .low = a->low, .span = a->high - a->low });
}

static jfl_status permutation_prepare(jf_kargs *k)
{
  static const char *const names[] = { "permutation_begin", "permutation_draw", "permutation" };
  const random_args a = { .n = jf_numel(&k->out[0].shape) };
  k->scratch_size = 3 * (size_t)a.n * sizeof(int32_t);
  for (int i = 0; i < 3; i++) JF_TRY(random_add(k, names[i], a.n, &a));
  return JFL_OK;
}

JFL_CUDA(cuda_random_uniform, JF_CUDA_LAUNCHED("random_uniform", random_accepts, uniform_prepare))
JFL_CUDA(cuda_random_normal, JF_CUDA_LAUNCHED("random_normal", random_accepts, normal_prepare))
JFL_CUDA(cuda_random_randint, JF_CUDA_LAUNCHED("random_randint", random_accepts, randint_prepare))
JFL_CUDA(cuda_random_permutation,
  JF_CUDA_LAUNCHED("random_permutation", random_accepts, permutation_prepare))

#endif
