/* What a kernel's source is compiled under by g++ in place of NVIDIA's compiler. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __restrict__ __restrict

struct emulated_index { unsigned x, y, z; };
struct emulated_world {
  emulated_index thread, block, block_size, grid;
  void (*sync)();
  uint64_t (*shuffle)(unsigned mask, uint64_t value, int from);
  unsigned (*ballot)(unsigned mask, int value);
  void *shared;
};
extern "C" { __attribute__((visibility("default"))) emulated_world *emulated; }
#define threadIdx (emulated->thread)
#define blockIdx (emulated->block)
#define blockDim (emulated->block_size)
#define gridDim (emulated->grid)
static const int warpSize = 32;

struct __align__(8) float2 { float x, y; };
struct __align__(16) float4 { float x, y, z, w; };
struct __align__(8) int2 { int x, y; };
struct __align__(16) int4 { int x, y, z, w; };
struct __align__(16) uint4 { unsigned x, y, z, w; };
struct __align__(16) double2 { double x, y; };
static inline float4 make_float4(float x, float y, float z, float w) { return { x, y, z, w }; }
static inline float2 make_float2(float x, float y) { return { x, y }; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
  return { x, y, z, w };
}

/* ---- threads that meet ---- */

static inline void __syncthreads() { emulated->sync(); }
static inline int emulated_lane()
{
  return (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31);
}
static inline unsigned __ballot_sync(unsigned mask, int v) { return emulated->ballot(mask, v); }
static inline int __any_sync(unsigned mask, int v) { return emulated->ballot(mask, v) != 0; }
static inline int __all_sync(unsigned mask, int v) { return emulated->ballot(mask, !v) == 0; }
static inline void __syncwarp(unsigned mask = 0xffffffffu) { emulated->ballot(mask, 1); }
template <class T> static inline T emulated_shuffle(unsigned mask, T v, int from)
{
  static_assert(sizeof(T) <= 8, "a shuffle moves up to 8 bytes");
  uint64_t bits = 0;
  memcpy(&bits, &v, sizeof v);
  bits = emulated->shuffle(mask, bits, from);
  memcpy(&v, &bits, sizeof v);
  return v;
}
template <class T> static inline T __shfl_sync(unsigned mask, T v, int from, int width = 32)
{
  const int base = emulated_lane() & ~(width - 1);
  return emulated_shuffle(mask, v, base + (from & (width - 1)));
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32)
{
  const int lane = emulated_lane(), from = lane ^ bits;
  return emulated_shuffle(mask, v, from / width > lane / width ? lane : from);
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32)
{
  const int lane = emulated_lane(), end = (lane & ~(width - 1)) + width;
  return emulated_shuffle(mask, v, lane + (int)by < end ? lane + (int)by : lane);
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32)
{
  const int lane = emulated_lane(), base = lane & ~(width - 1);
  return emulated_shuffle(mask, v, lane - (int)by >= base ? lane - (int)by : lane);
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}

/* ---- atomics: one kernel runs at a time, and its threads take turns only where they meet ---- */

template <class T> static inline T atomicAdd(T *p, T v) { T old = *p; *p = old + v; return old; }
template <class T> static inline T atomicMax(T *p, T v)
{
  T old = *p;
  if (v > old) *p = v;
  return old;
}
template <class T> static inline T atomicMin(T *p, T v)
{
  T old = *p;
  if (v < old) *p = v;
  return old;
}
template <class T> static inline T atomicExch(T *p, T v) { T old = *p; *p = v; return old; }
template <class T> static inline T atomicOr(T *p, T v) { T old = *p; *p = old | v; return old; }
template <class T> static inline T atomicCAS(T *p, T compare, T v)
{
  T old = *p;
  if (old == compare) *p = v;
  return old;
}

/* ---- arithmetic that C lacks ---- */

static inline int __float_as_int(float v) { int i; memcpy(&i, &v, 4); return i; }
static inline unsigned __float_as_uint(float v) { unsigned i; memcpy(&i, &v, 4); return i; }
static inline float __int_as_float(int v) { float f; memcpy(&f, &v, 4); return f; }
static inline float __uint_as_float(unsigned v) { float f; memcpy(&f, &v, 4); return f; }
static inline long long __double_as_longlong(double v) { long long i; memcpy(&i, &v, 8); return i; }
static inline double __longlong_as_double(long long v) { double f; memcpy(&f, &v, 8); return f; }
static inline unsigned __umulhi(unsigned a, unsigned b)
{
  return (unsigned)((uint64_t)a * b >> 32);
}
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
static inline float rsqrtf(float v) { return 1 / sqrtf(v); }
static inline double rsqrt(double v) { return 1 / sqrt(v); }
/* The C library has functions of these names inside. */
#define __expf expf
#define __logf logf
/* Rounded at once, so that nothing joins a product and a sum. */
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fdividef(float a, float b) { return a / b; }
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class A, class B> static inline std::common_type_t<A, B> min(A a, B b)
{
  return a < b ? a : b;
}
template <class A, class B> static inline std::common_type_t<A, B> max(A a, B b)
{
  return a > b ? a : b;
}

/* ---- how the driver calls a kernel ---- */

template <class... A, size_t... I>
static void emulated_call(void (*f)(A...), void **p, std::index_sequence<I...>)
{
  f(*(std::decay_t<A> *)p[I]...);
}
template <class... A> static void emulated_enter(void (*f)(A...), void **p)
{
  emulated_call(f, p, std::index_sequence_for<A...>());
}
template <class... A> static int emulated_sizes(void (*)(A...), size_t *to)
{
  const size_t sizes[] = { sizeof(std::decay_t<A>)..., 0 };
  for (size_t i = 0; i < sizeof...(A); i++) to[i] = sizes[i];
  return (int)sizeof...(A);
}
#define EMULATED_KERNEL(name)                                                               \
  extern "C" __attribute__((visibility("default"))) void emulated_call_##name(void **p)     \
  {                                                                                         \
    emulated_enter(name, p);                                                                \
  }                                                                                         \
  extern "C" __attribute__((visibility("default"))) int emulated_sizes_##name(size_t *to)   \
  {                                                                                         \
    return emulated_sizes(name, to);                                                        \
  }
