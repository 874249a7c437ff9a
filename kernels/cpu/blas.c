/* OpenBLAS behind dlopen. The functions used have kept their C prototypes for decades, so no
   header is needed to build. */
#include "base/base.h"
#include "blas.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
/* Bytes that it and the buffer of its first product take: where the buffer cannot be had, it asks
   for it for ever. */
enum { ROOM = 192 << 20 };

/* Set once by blas_open_library, immutable afterwards. */
static struct {
  void (*dgemm)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                const double *a, int lda, const double *b, int ldb, double beta, double *c,
                int ldc);
  void (*set_num_threads)(int n);
  int ready;
} lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define LIBRARY "libopenblas.so.0"

/* OpenBLAS takes a processor newer than itself for one of 2004, and is then ten times too slow
   (seen with 0.3.21 on Emerald Rapids). Gives the name of the processor that it should assume
   instead, or NULL if its choice is good or the user made it. */
static const char *better_core(void *so)
{
#if defined(__x86_64__)
  const char *(*name)(void);
  if (!jf_library_find(so, "openblas_get_corename", &name) || strcmp(name(), "Prescott"))
    return NULL;
  if (getenv("OPENBLAS_CORETYPE")) return NULL;
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#else
  (void)so;
#endif
  return NULL;
}

/* OpenBLAS chooses the processor when it is loaded, and only environment variables can change that.
   It must not start threads of its own, which would compete with ours. */
static void *blas_load(void)
{
  const char *env[] = { "OPENBLAS_NUM_THREADS", "1", NULL, NULL, NULL };
  void *so = jf_library_open(LIBRARY, env, ROOM);
  const char *core = so ? better_core(so) : NULL;
  if (!core) return so;
  jf_library_close(so);
  env[2] = "OPENBLAS_CORETYPE";
  env[3] = core;
  return jf_library_open(LIBRARY, env, ROOM);
}

static void blas_open_library(void)
{
  void *so = jf_library_safe(LIBRARY) ? blas_load() : NULL;
  lib.ready = jf_library_find(so, "cblas_dgemm", &lib.dgemm) &&
              jf_library_find(so, "openblas_set_num_threads", &lib.set_num_threads);
  if (lib.ready) lib.set_num_threads(1);
}

static void blas_multiply(const jf_gemm *g)
{
  lib.dgemm(ROW_MAJOR, g->trans_a ? TRANS : NO_TRANS, g->trans_b ? TRANS : NO_TRANS, g->m, g->n,
            g->k, g->alpha, g->a, g->lda, g->b, g->ldb, g->beta, g->c, g->ldc);
}

jf_blas jf_blas_open(void)
{
  pthread_once(&once, blas_open_library);
  return lib.ready ? blas_multiply : NULL;
}
