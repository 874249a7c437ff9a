/* Compiles functions for several instruction sets; a call uses the best build for this
   processor. */
#ifndef JF_VARIANTS_H
#define JF_VARIANTS_H

/* JF_DISPATCH(name, (parameters), (arguments)) defines the static function `name`, which calls the
   best build of name_body, a JF_BODY. The choice takes some nanoseconds, so a call should do more
   than that. JF_DISPATCH_OF(D) is that for a loop whose elements are of dtype D: there is no build
   for AVX-512 of loops of integers and doubles, which are seldom and wait for memory.
   JF_DISPATCH_VECTOR is for large bodies for which a plain loop can stand in: the function may be
   called only where jf_has_vectors(). */
#define JF_BODY static inline __attribute__((always_inline))
/* The build for processors that have none of the sets is kept small. */
#ifdef __clang__
#define JF_SMALL
#else
#define JF_SMALL __attribute__((optimize("O2")))
#endif
#if defined(__x86_64__)
#define JF_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#define JF_AVX2 __attribute__((target("avx2,fma")))
#define JF_DISPATCH(name, PARAMETERS, ARGUMENTS)                             \
  JF_AVX512 static void name##_avx512 PARAMETERS { name##_body ARGUMENTS; }  \
  JF_AVX2 static void name##_avx2 PARAMETERS { name##_body ARGUMENTS; }      \
  JF_SMALL static void name##_base PARAMETERS { name##_body ARGUMENTS; }     \
  static void name PARAMETERS                                                \
  {                                                                          \
    if (jf_has_avx512()) name##_avx512 ARGUMENTS;                            \
    else if (jf_has_avx2()) name##_avx2 ARGUMENTS;                           \
    else name##_base ARGUMENTS;                                              \
  }
#define JF_DISPATCH_VECTOR(name, PARAMETERS, ARGUMENTS)                      \
  JF_AVX512 static void name##_avx512 PARAMETERS { name##_body ARGUMENTS; }  \
  JF_AVX2 static void name##_avx2 PARAMETERS { name##_body ARGUMENTS; }      \
  static void name PARAMETERS                                                \
  {                                                                          \
    if (jf_has_avx512()) name##_avx512 ARGUMENTS;                            \
    else name##_avx2 ARGUMENTS;                                              \
  }
#define JF_DISPATCH_FEW(name, PARAMETERS, ARGUMENTS)                         \
  JF_AVX2 static void name##_avx2 PARAMETERS { name##_body ARGUMENTS; }      \
  JF_SMALL static void name##_base PARAMETERS { name##_body ARGUMENTS; }     \
  static void name PARAMETERS                                                \
  {                                                                          \
    if (jf_has_avx2()) name##_avx2 ARGUMENTS;                                \
    else name##_base ARGUMENTS;                                              \
  }
static inline int jf_has_avx512(void)
{
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
static inline int jf_has_avx2(void)
{
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
static inline int jf_has_vectors(void) { return jf_has_avx2(); }
#else
#define JF_DISPATCH(name, PARAMETERS, ARGUMENTS) \
  static void name PARAMETERS { name##_body ARGUMENTS; }
#define JF_DISPATCH_FEW JF_DISPATCH
#define JF_DISPATCH_VECTOR JF_DISPATCH
static inline int jf_has_vectors(void) { return 1; }
#endif
#define JF_DISPATCH_OF(D) JF_DISPATCH_##D
#define JF_DISPATCH_F32 JF_DISPATCH
#define JF_DISPATCH_F64 JF_DISPATCH_FEW
#define JF_DISPATCH_F16 JF_DISPATCH
#define JF_DISPATCH_BF16 JF_DISPATCH
#define JF_DISPATCH_I8 JF_DISPATCH_FEW
#define JF_DISPATCH_U8 JF_DISPATCH_FEW
#define JF_DISPATCH_I32 JF_DISPATCH_FEW
#define JF_DISPATCH_I64 JF_DISPATCH_FEW

/* Goes before a loop in which no iteration reads what another one writes. An output may be an
   input, element for element. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"   /* loops that call libm are not vectorized */
#define JF_EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#else
#define JF_EACH_ALONE _Pragma("GCC ivdep")
#endif

#endif
