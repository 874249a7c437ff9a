/* What stands before every source of the GPU's kernels: types, floats of 16 bits, random bits, and
   the record of what a kernel finds wrong. JF_DEVICE tells sources which half of them is meant. */
#define JF_DEVICE 1
#if defined(__CUDACC_RTC__) && !defined(JF_EMULATED)
/* A formula serves all dtypes, so that some of its comparisons are never true for one; programs
   name what some of them do not use (550), and divide by the extents of empty tensors (179). */
#pragma nv_diag_suppress 514
#pragma nv_diag_suppress 550
#pragma nv_diag_suppress 179
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define INT64_MIN (-9223372036854775807LL - 1)
#define INT64_MAX 9223372036854775807LL
#endif
#define JF_KERNEL extern "C" __global__ void
#define JF_DEVICE_INLINE __device__ __forceinline__
#define JF_INLINE JF_DEVICE_INLINE

/* ---- floats of 16 bits: stored as uint16_t, computed in float ---- */

struct jf_f16 { uint16_t bits; };
struct jf_bf16 { uint16_t bits; };

JF_INLINE float jf_load(float v) { return v; }
JF_INLINE double jf_load(double v) { return v; }
JF_INLINE int8_t jf_load(int8_t v) { return v; }
JF_INLINE uint8_t jf_load(uint8_t v) { return v; }
JF_INLINE int32_t jf_load(int32_t v) { return v; }
JF_INLINE int64_t jf_load(int64_t v) { return v; }
JF_INLINE float jf_load(jf_bf16 v) { return __uint_as_float((uint32_t)v.bits << 16); }
JF_INLINE float jf_load(jf_f16 v)
{
  const uint32_t size = v.bits & 0x7fff, widen = size < 0x7c00 ? 112u << 23 : 224u << 23;
  const float f = size < 0x400 ? (float)(int)size * 5.9604644775390625e-8f
                               : __uint_as_float((size << 13) + widen);
  return __uint_as_float(__float_as_uint(f) | (uint32_t)(v.bits & 0x8000) << 16);
}

/* Each rounds to the nearest, halfway cases to even. */
JF_INLINE void jf_store(jf_bf16 *to, float v)
{
  const uint32_t u = __float_as_uint(v);
  to->bits = (uint16_t)(v != v ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}
JF_INLINE void jf_store(jf_bf16 *to, double v) { jf_store(to, (float)v); }
JF_INLINE void jf_store(jf_f16 *to, double v)
{
  const uint64_t u = (uint64_t)__double_as_longlong(v), size = u & 0x7fffffffffffffffull;
  const double d = fabs(v);
  const uint64_t normal = ((size + 0x1ffffffffffull + (u >> 42 & 1)) >> 42) - (1008u << 10);
  const uint64_t small = (uint64_t)__double_as_longlong(d + 268435456.0) & 0x7ff;
  const uint64_t h = d < 6.103515625e-5 ? small : d < 65520 ? normal : v != v ? 0x7e00 : 0x7c00;
  to->bits = (uint16_t)((u >> 48 & 0x8000) | h);
}
JF_INLINE void jf_store(jf_f16 *to, float v) { jf_store(to, (double)v); }
template <class T> JF_INLINE void jf_store(T *to, T v) { *to = v; }

/* ---- random bits (Philox 4x32-10, as src/base/rng.c) ---- */

/* Of a part, whose element 0 is element `first` of the whole. */
struct jf_random { uint64_t key, run; int64_t first; };
struct jf_words { uint32_t w[4]; };

JF_INLINE jf_words jf_philox(jf_random r, uint64_t counter)
{
  uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32);
  uint32_t c2 = (uint32_t)r.run, c3 = (uint32_t)(r.run >> 32);
  uint32_t k0 = (uint32_t)r.key, k1 = (uint32_t)(r.key >> 32);
  for (int round = 0; round < 10; round++) {
    const uint32_t h0 = __umulhi(0xD2511F53u, c0), h1 = __umulhi(0xCD9E8D57u, c2);
    const uint32_t l0 = 0xD2511F53u * c0, l1 = 0xCD9E8D57u * c2;
    c0 = h1 ^ c1 ^ k0;
    c2 = h0 ^ c3 ^ k1;
    c1 = l1;
    c3 = l0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return { { c0, c1, c2, c3 } };
}

/* The number in [0, 1) of 24 bits that belongs to element i. */
JF_INLINE double jf_uniform(jf_random r, int64_t i)
{
  const uint64_t at = (uint64_t)(r.first + i);
  const jf_words p = jf_philox(r, at / 4);
  return (double)(p.w[at & 3] >> 8) * 5.9604644775390625e-8;
}

/* ---- the head of a kernel's parameter, and what a kernel finds wrong (dev/kernel.h) ---- */

struct jf_fault { int32_t what, step; int64_t value, at, limit; };
struct jf_run_record { jf_fault fault; uint64_t number; };
struct jf_cuda_head { void *data[8]; jf_fault *fault; int64_t step; uint64_t key; int64_t first; };

/* The random bits of the run whose record begins with that fault. */
JF_INLINE jf_random jf_random_of(const jf_cuda_head &h)
{
  return { h.key, ((const jf_run_record *)h.fault)->number, h.first };
}
enum { JF_WRONG_LABEL = 1, JF_WRONG_INDEX, JF_WRONG_SEGMENT, JF_WRONG_LENGTH };

/* Whether an earlier step has found something wrong, so that nothing may change a variable. */
JF_INLINE int jf_halted(const jf_cuda_head &h)
{
  return h.fault && *(volatile int32_t *)&h.fault->what != 0;
}

/* Reports that element `at` is `value`, which is not from 0 to limit - 1. One thread of a kernel
   calls it, with the lowest such position. */
JF_INLINE void jf_report(const jf_cuda_head &h, int what, int64_t value, int64_t at, int64_t limit)
{
  if (!h.fault || h.fault->what) return;
  h.fault->step = (int32_t)h.step;
  h.fault->value = value;
  h.fault->at = at;
  h.fault->limit = limit;
  __threadfence();
  h.fault->what = what;
}

/* Does what jf_report does for any number of threads, of which the one with the lowest position is
   heard. `what` is -1 while one of them writes. */
JF_INLINE void jf_report_least(const jf_cuda_head &h, int what, int64_t value, int64_t at,
                               int64_t limit)
{
  for (int done = !h.fault; !done;) {
    const int32_t was = atomicExch(&h.fault->what, -1);
    if (was == -1) continue;
    volatile jf_fault *f = h.fault;
    __threadfence();
    const int first = !was || (f->step == (int32_t)h.step && at < f->at);
    if (first) {
      f->step = (int32_t)h.step;
      f->value = value;
      f->at = at;
      f->limit = limit;
    }
    __threadfence();
    atomicExch(&h.fault->what, first ? what : was);
    done = 1;
  }
}

/* ---- loops and sums ---- */

/* Gives i / n, and what is left in *rest. Divisions of 32 bits are several times quicker. */
JF_INLINE int64_t jf_divide(int64_t i, int64_t n, int64_t *rest)
{
  if (!((uint64_t)(i | n) >> 32)) {
    const uint32_t q = (uint32_t)i / (uint32_t)n;
    *rest = (uint32_t)i - q * (uint32_t)n;
    return q;
  }
  const int64_t q = i / n;
  *rest = i - q * n;
  return q;
}

#define JF_EACH(i, n)                                                            \
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n);      \
       i += (int64_t)gridDim.x * blockDim.x)

/* Joins a number of each thread of a warp; every lane gets the result. */
template <class Op, class A> JF_INLINE A jf_warp_join(A v)
{
  for (int lane = 16; lane; lane >>= 1) v = Op::of(v, __shfl_xor_sync(0xffffffffu, v, lane));
  return v;
}

/* Joins a number of each thread of a block, whose threads are a multiple of 32; every thread gets
   the result. `none` is joined without effect. */
template <class Op, class A> JF_INLINE A jf_block_join(A v, A none)
{
  __shared__ A part[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  v = jf_warp_join<Op>(v);
  __syncthreads();
  if (lane == 0) part[warp] = v;
  __syncthreads();
  return jf_warp_join<Op>(lane < warps ? part[lane] : none);
}
