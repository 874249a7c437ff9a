/* What a kernel's source is compiled under by g++ in place of NVIDIA's compiler. It includes
   nothing: reading the headers of C++ takes longer than compiling most kernels. */
typedef __SIZE_TYPE__ size_t;
typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
#define NULL __null
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT32_MIN (-INT32_MAX - 1)
#define INT32_MAX 2147483647
#define INT64_MIN (-INT64_MAX - 1)
#define INT64_MAX 9223372036854775807L
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
extern "C" void *memcpy(void *to, const void *from, size_t size);
extern "C" void *memset(void *to, int byte, size_t size);

/* A function of mathematics for double, for float by both of its names, for whole numbers. */
template <class T> struct emulated_whole { };
#define EMULATED_WHOLE(type) template <> struct emulated_whole<type> { typedef double number; };
EMULATED_WHOLE(int)
EMULATED_WHOLE(unsigned)
EMULATED_WHOLE(long)
EMULATED_WHOLE(unsigned long)
EMULATED_WHOLE(long long)
EMULATED_WHOLE(unsigned long long)
#define EMULATED_1(name)                                                           \
  extern "C" double name(double);                                                  \
  extern "C" float name##f(float);                                                 \
  static inline float name(float a) { return __builtin_##name##f(a); }             \
  template <class T> static inline typename emulated_whole<T>::number name(T a)    \
  {                                                                                \
    return __builtin_##name((double)a);                                            \
  }
#define EMULATED_2(name)                                                           \
  extern "C" double name(double, double);                                          \
  extern "C" float name##f(float, float);                                          \
  static inline float name(float a, float b) { return __builtin_##name##f(a, b); }
EMULATED_1(sin) EMULATED_1(cos) EMULATED_1(tan) EMULATED_1(asin) EMULATED_1(acos) EMULATED_1(atan)
EMULATED_1(sinh) EMULATED_1(cosh) EMULATED_1(tanh)
EMULATED_1(asinh) EMULATED_1(acosh) EMULATED_1(atanh)
EMULATED_1(exp) EMULATED_1(exp2) EMULATED_1(expm1)
EMULATED_1(log) EMULATED_1(log2) EMULATED_1(log10) EMULATED_1(log1p)
EMULATED_1(sqrt) EMULATED_1(fabs) EMULATED_1(erf) EMULATED_1(erfc) EMULATED_1(lgamma)
EMULATED_1(floor) EMULATED_1(ceil) EMULATED_1(round) EMULATED_1(rint) EMULATED_1(trunc)
EMULATED_2(pow) EMULATED_2(fmod) EMULATED_2(atan2) EMULATED_2(fmin) EMULATED_2(fmax)
#define isfinite __builtin_isfinite
#define isinf __builtin_isinf
#define isnan __builtin_isnan

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)           /* read by emulated_bounds_NAME alone */
#define __restrict__ __restrict

struct emulated_index { unsigned x, y, z; };
struct emulated_world {
  emulated_index thread, block, block_size, grid;
  int (*sync)(int line, int put);
  uint64_t (*shuffle)(unsigned mask, uint64_t value, int from);
  unsigned (*ballot)(unsigned mask, int value);
  void *shared;
  void (*yield)();
  void (*trap)(int error, int line);
  void (*touch)(const void *at, int size, int how);
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

static inline void __syncthreads(int line = __builtin_LINE()) { emulated->sync(line, 0); }
static inline int __syncthreads_or(int v, int line = __builtin_LINE())
{
  return emulated->sync(line, v != 0);
}
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

/* ---- atomics: threads take turns only where they meet, and behind each atomic ---- */

#ifdef __SANITIZE_THREAD__
#define EMULATED_UNSEEN __attribute__((noinline, no_sanitize("thread")))
#define EMULATED_TOUCH(p) emulated->touch(p, sizeof *(p), 2)
/* Before a launch there is nothing that could be told. */
static EMULATED_UNSEEN void emulated_see(const void *p, unsigned long size, int how)
{
  if (emulated) emulated->touch(p, (int)size, how);
}
#else
#define EMULATED_UNSEEN inline
#define EMULATED_TOUCH(p)
#endif
#define EMULATED_ATOMIC(name, now)                                    \
  template <class T> static EMULATED_UNSEEN T name(T *p, T v)         \
  {                                                                   \
    EMULATED_TOUCH(p);                                                \
    T old = *p;                                                       \
    *p = now;                                                         \
    emulated->yield();                                                \
    return old;                                                       \
  }
EMULATED_ATOMIC(atomicAdd, old + v)
EMULATED_ATOMIC(atomicMax, v > old ? v : old)
EMULATED_ATOMIC(atomicMin, v < old ? v : old)
EMULATED_ATOMIC(atomicExch, v)
EMULATED_ATOMIC(atomicOr, old | v)
template <class T> static EMULATED_UNSEEN T atomicCAS(T *p, T compare, T v)
{
  EMULATED_TOUCH(p);
  T old = *p;
  if (old == compare) *p = v;
  emulated->yield();
  return old;
}

/* ---- what the compiler's checks call ---- */

/* An access through a pointer that its type's alignment does not allow. */
struct emulated_mismatch { const char *file; unsigned line, column; };
extern "C" void __ubsan_handle_type_mismatch_v1(emulated_mismatch *where, unsigned long)
{
  emulated->trap(716, (int)where->line);
}
#ifdef __SANITIZE_THREAD__
#define EMULATED_SEEN(size)                                                                  \
  extern "C" EMULATED_UNSEEN void __tsan_read##size(void *p) { emulated_see(p, size, 0); }   \
  extern "C" EMULATED_UNSEEN void __tsan_write##size(void *p) { emulated_see(p, size, 1); }
EMULATED_SEEN(1) EMULATED_SEEN(2) EMULATED_SEEN(4) EMULATED_SEEN(8) EMULATED_SEEN(16)
extern "C" EMULATED_UNSEEN void __tsan_read_range(void *p, unsigned long n)
{
  emulated_see(p, n, 0);
}
extern "C" EMULATED_UNSEEN void __tsan_write_range(void *p, unsigned long n)
{
  emulated_see(p, n, 1);
}
extern "C" EMULATED_UNSEEN void __tsan_init() { }
#endif

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
#define EMULATED_ROUNDED(name, type, by)            \
  static inline type name(type a, type b)           \
  {                                                 \
    type v = a by b;                                \
    __asm__("" : "+x"(v));                          \
    return v;                                       \
  }
EMULATED_ROUNDED(__dmul_rn, double, *)
EMULATED_ROUNDED(__dadd_rn, double, +)
EMULATED_ROUNDED(__fmul_rn, float, *)
EMULATED_ROUNDED(__fadd_rn, float, +)
static inline float __fdividef(float a, float b) { return a / b; }
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class A, class B> static inline decltype(true ? A() : B()) min(A a, B b)
{
  return a < b ? a : b;
}
template <class A, class B> static inline decltype(true ? A() : B()) max(A a, B b)
{
  return a > b ? a : b;
}

/* ---- how the driver calls a kernel ---- */

template <int... I> struct emulated_numbers { };
template <class... A, int... I>
static void emulated_call(void (*f)(A...), void **p, emulated_numbers<I...>)
{
  f(*(A *)p[I]...);
}
template <class... A> static void emulated_enter(void (*f)(A...), void **p)
{
  emulated_call(f, p, emulated_numbers<__integer_pack((int)sizeof...(A))...>());
}
template <class... A> static int emulated_sizes(void (*)(A...), size_t *to)
{
  const size_t sizes[] = { sizeof(A)..., 0 };
  for (size_t i = 0; i < sizeof...(A); i++) to[i] = sizes[i];
  return (int)sizeof...(A);
}
/* What stands for a kernel that there is not: `name` is found where the source has no other. */
struct emulated_none { };
static inline int emulated_sizes(void (*)(emulated_none), size_t *) { return -1; }
#define EMULATED_NONE(name) static inline void name(emulated_none) { }
#define EMULATED_KERNEL(name)                                                               \
  extern "C" __attribute__((visibility("default"))) void emulated_call_##name(void **p)     \
  {                                                                                         \
    emulated_enter(name, p);                                                                \
  }                                                                                         \
  extern "C" __attribute__((visibility("default"))) int emulated_sizes_##name(size_t *to)   \
  {                                                                                         \
    return emulated_sizes(name, to);                                                        \
  }
/* The most threads of a block, which is asked for when all of the source has been read: so where
   __launch_bounds__ stands in what is between __global__ and the kernel's name is its first
   argument. */
static inline unsigned emulated_first(int n, ...) { return (unsigned)n; }
#define EMULATED_BOUNDS(name, between)                                                      \
  extern "C" __attribute__((visibility("default"))) unsigned emulated_bounds_##name()       \
  {                                                                                         \
    return 0 between;                                                                       \
  }
