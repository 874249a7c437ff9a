/* Measures the best that the processor can do, for comparison with kernels. */
#include "vector.h"

enum { TURNS = 1 << 20, TRIES = 5 };
enum { COPY = 1 << 22 };      /* floats of a thread's array, more than most caches hold */

/* Independent chains of multiplications and additions, enough of them to hide the latency. The
   results are stored, so that the compiler cannot remove them. */
#define CHAINS(id, N, VEC, SET, FMA, STORE)                                 \
  static void id(void *ctx, int i)                                          \
  {                                                                         \
    VEC v[N], x = SET(0.999999f), y = SET(1e-9f);                           \
    for (int c = 0; c < N; c++) v[c] = SET(1e-3f * (float)c);               \
    for (int t = 0; t < TURNS; t++)                                         \
      for (int c = 0; c < N; c++) v[c] = FMA(v[c], x, y);                   \
    for (int c = 0; c < N; c++) STORE((float *)ctx + (64 * i + 4 * c), v[c]); \
  }

/* One build of the chains, and how many operations one call does. */
typedef struct peak_loop { jf_part part; double flop; } peak_loop;

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f")))
CHAINS(wide, 10, __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps)
__attribute__((target("avx2,fma")))
CHAINS(peak_half, 10, __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps)
#endif

#define ONE(v) (v)
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define PUT(p, v) (*(p) = (v))
CHAINS(scalar, 10, float, ONE, MULTIPLY_ADD, PUT)

static peak_loop best_loop(void)
{
  const double flop = 2.0 * 10 * TURNS;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return (peak_loop){ wide, 16 * flop };
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return (peak_loop){ peak_half, 8 * flop };
#endif
  return (peak_loop){ scalar, flop };
}

typedef struct arrays { float *from, *to; } arrays;

static void copy_part(void *ctx, int i)
{
  const arrays *a = ctx;
  const float *from = a->from + (size_t)i * COPY;
  float *to = a->to + (size_t)i * COPY;
  for (int j = 0; j < COPY; j++) to[j] = from[j] * 0.5f;
}

/* The rate of the fastest of several tries. */
static double rate(int threads, jf_part part, void *ctx, double work)
{
  double best = 0;
  for (int i = 0; i < TRIES; i++) {
    double start = jf_now();
    jf_parallel(threads, threads, part, ctx);
    double now = work / (jf_now() - start);
    best = now > best ? now : best;
  }
  return best;
}

void jf_cpu_peak(int threads, double *flop, double *bytes)
{
  size_t n = (size_t)threads * COPY;
  arrays a = { jf_new(n * sizeof *a.from), jf_new(n * sizeof *a.to) };
  *flop = *bytes = 0;
  if (a.from && a.to) {
    peak_loop l = best_loop();
    *flop = rate(threads, l.part, a.to, l.flop * threads);
    *bytes = rate(threads, copy_part, &a, 2.0 * (double)n * sizeof *a.from);
  }
  jf_free(a.from);
  jf_free(a.to);
}
