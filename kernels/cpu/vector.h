/* Loops that are compiled for several instruction sets, and how they are split over threads. */
#ifndef JF_VECTOR_H
#define JF_VECTOR_H

#include "dev/cpu/cpu.h"
#include "dev/variants.h"

#include <string.h>

/* Runs part i of a loop. Parts have a fixed size, so that sums do not depend on the number of
   threads. */
typedef void (*jf_part)(void *ctx, int i);

/* JF_VARIANTS(name) defines `jf_part name(void)`, which returns the best build for this processor
   of the function name_body, a JF_BODY. JF_VECTOR_VARIANTS(name) does so for large bodies that an
   op's plain kernel can stand in for: where jf_has_vectors() is 0 there is no build of them. */
#if defined(__x86_64__)
#define JF_VECTOR_VARIANTS(name)                                              \
  JF_AVX512 static void name##_avx512(void *ctx, int i) { name##_body(ctx, i); } \
  JF_AVX2 static void name##_avx2(void *ctx, int i) { name##_body(ctx, i); }  \
  static jf_part name(void) { return jf_has_avx512() ? name##_avx512 : name##_avx2; }
#define JF_VARIANTS(name)                                                     \
  JF_AVX512 static void name##_avx512(void *ctx, int i) { name##_body(ctx, i); } \
  JF_AVX2 static void name##_avx2(void *ctx, int i) { name##_body(ctx, i); }  \
  JF_SMALL static void name##_base(void *ctx, int i) { name##_body(ctx, i); } \
  static jf_part name(void)                                                   \
  {                                                                           \
    if (jf_has_avx512()) return name##_avx512;                                \
    return jf_has_avx2() ? name##_avx2 : name##_base;                         \
  }
#else
#define JF_VARIANTS(name)                                             \
  static void name##_base(void *ctx, int i) { name##_body(ctx, i); }  \
  static jf_part name(void) { return name##_base; }
#define JF_VECTOR_VARIANTS JF_VARIANTS
#endif

/* Elements of a part, where no shape suggests another size. */
enum { JF_PART = 1 << 14 };

/* How many parts of `size` elements n elements make. */
static inline int jf_parts(int64_t n, int64_t size) { return (int)((n + size - 1) / size); }

/* Runs n parts on as many threads as the plan found worthwhile. */
static inline void jf_run_parts(const jf_kargs *k, int n, jf_part part, void *ctx)
{
  jf_parallel(k->threads, n, part, ctx);
}

/* A vector of 16 lanes on every processor. Loads and stores need no alignment. */
typedef float jf_vec __attribute__((vector_size(64)));
typedef int32_t jf_ivec __attribute__((vector_size(64)));
typedef uint32_t jf_uvec __attribute__((vector_size(64)));
typedef float jf_vec_in_memory __attribute__((vector_size(64), aligned(4), may_alias));
enum { JF_LANES = 16 };
#define JF_LOAD(p) ((jf_vec)*(const jf_vec_in_memory *)(p))
#define JF_STORE(p, v) (*(jf_vec_in_memory *)(p) = (v))

/* Lane i of the result is lane i + w of v, for the first lanes; the others hold anything. */
#define JF_LANES_FROM(v, w)                                                          \
  __builtin_shufflevector(v, v, (w) + 0, (w) + 1, (w) + 2, (w) + 3, (w) + 4, (w) + 5, (w) + 6, \
                          (w) + 7, 8, 9, 10, 11, 12, 13, 14, 15)

/* The sum of all lanes, in a fixed order. */
JF_BODY float jf_lane_sum(const jf_vec *v)
{
  jf_vec s = *v;
  s += JF_LANES_FROM(s, 8);
  s += JF_LANES_FROM(s, 4);
  s += JF_LANES_FROM(s, 2);
  s += JF_LANES_FROM(s, 1);
  return s[0];
}

/* The sum of n floats: blocks are summed in float lanes, and their sums in double. */
JF_BODY double jf_sum(const float *x, int64_t n)
{
  enum { BLOCK = 1024 };
  double s = 0;
  for (int64_t i = 0, to; i < n; i = to) {
    jf_vec v[4] = { { 0 } };
    to = n - i < BLOCK ? n : i + BLOCK;
    for (; i + 4 * JF_LANES <= to; i += 4 * JF_LANES)
      for (int j = 0; j < 4; j++) v[j] += JF_LOAD(x + i + j * JF_LANES);
    for (; i + JF_LANES <= to; i += JF_LANES) v[0] += JF_LOAD(x + i);
    v[0] += v[1] + (v[2] + v[3]);
    float rest = 0;
    for (; i < to; i++) rest += x[i];
    s += (double)(jf_lane_sum(v) + rest);
  }
  return s;
}

/* Takes lanes of a where mask m is all ones, and of b where it is zero. */
#define JF_SELECT(m, a, b) ((jf_vec)(((jf_ivec)(a) & (m)) | ((jf_ivec)(b) & ~(m))))

/* Loads the first n <= JF_LANES floats of p; the other lanes are `fill`. */
JF_BODY void jf_load_part(const float *p, int64_t n, float fill, jf_vec *out)
{
  float l[JF_LANES];
  if (n == JF_LANES) {
    *out = JF_LOAD(p);
    return;
  }
  for (int i = 0; i < JF_LANES; i++) l[i] = fill;
  memcpy(l, p, (size_t)n * sizeof *l);
  memcpy(out, l, sizeof l);
}
JF_BODY void jf_store_part(float *p, int64_t n, const jf_vec *v)
{
  if (n == JF_LANES) JF_STORE(p, *v);
  else memcpy(p, v, (size_t)n * sizeof *p);
}

/* Makes of x = n log 2 + r, where |r| <= log(2) / 2, exp r; the low bits of t are n + bias. The
   polynomial is off by at most 2.7e-8 of the result, and exact at 0. */
JF_BODY void jf_exp_rest(jf_vec *x, float bias, jf_uvec *t)
{
  const jf_vec none = { 0 }, magic = none + (0x1.8p23f + bias);
  const jf_vec sum = *x * 1.44269504088896341f + magic, n = sum - magic;
  const jf_vec r = *x - n * 0.693359375f + n * 2.12194440e-4f;
  jf_vec p = none + 1.446831949e-3f;
  p = p * r + 8.362431413e-3f;
  p = p * r + 4.165872969e-2f;
  p = p * r + 1.666660266e-1f;
  p = p * r + 5.000001581e-1f;
  p = p * r + 1;
  *x = p * r + 1;
  *t = (jf_uvec)sum;
}

/* exp of each lane, within 2 units in the last place, for denormal results and infinities too:
   2^n is applied as two factors, since n may be below the least exponent. */
JF_BODY void jf_exp(jf_vec *v)
{
  const jf_vec none = { 0 }, high = none + 89, low = none - 105;
  jf_vec x = JF_SELECT(*v > high, high, *v);
  jf_uvec t;
  x = JF_SELECT(x < low, low, x);
  jf_exp_rest(&x, 254, &t);
  *v = x * (jf_vec)((t >> 1) << 23) * (jf_vec)((t - (t >> 1)) << 23);
}

/* e^v for lanes of at most 88, but 0 where the result would be below 1e-38: numbers between
   are slow, and differences from a maximum give plenty of them. */
JF_BODY void jf_exp_low(jf_vec *v)
{
  const jf_ivec small = *v < -87.5f;
  jf_uvec t;
  jf_exp_rest(v, 127, &t);
  *v = JF_SELECT(small, (jf_vec){ 0 }, *v * (jf_vec)(t << 23));
}

/* e^v for lanes of at most 0, denormal results too, by way of 2^64 times the result: small
   probabilities are told apart. */
JF_BODY void jf_exp_below(jf_vec *v)
{
  const jf_vec low = (jf_vec){ 0 } - 105;
  jf_uvec t;
  *v = JF_SELECT(*v < low, low, *v);
  jf_exp_rest(v, 127 + 64, &t);
  *v = *v * (jf_vec)(t << 23) * 0x1p-64f;
}

/* The first element of part i of n elements, and the one after its last. */
static inline int64_t jf_from(int i, int64_t size) { return (int64_t)i * size; }
static inline int64_t jf_to(int i, int64_t size, int64_t n)
{
  return jf_from(i + 1, size) < n ? jf_from(i + 1, size) : n;
}

#endif
