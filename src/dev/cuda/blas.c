/* Opening cuBLASLt, and starting it on a device. */
#include "dev/cuda/blas.h"

#include "base/library.h"

#include <stdio.h>

static struct { int is; jf_cuda_blas_api api; } blas;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int blas_find(void *so)
{
#define FIND(field, symbol, parameters) && jf_library_find(so, #symbol, &blas.api.field)
  return so JF_CUDA_BLAS(FIND) && jf_library_find(so, "cublasLtGetVersion", &blas.api.version);
#undef FIND
}

static void blas_open(void)
{
  static const char *const names[] = { "libcublasLt.so.13", "libcublasLt.so.12", NULL };
  for (int i = 0; names[i] && !blas.is; i++) blas.is = blas_find(jf_library_try(names[i]));
  if (!blas.is) jf_library_lacks("libcublasLt.so", "neither version 13 nor 12 is installed; it "
                                 "comes with the CUDA toolkit");
}

/* Starts the library. The caller has entered the device and holds mu. */
static void blas_start(jf_cuda *c)
{
  jf_cuda_blas *b = jf_new(sizeof *b);
  char why[80];
  if (!b) return;
  b->api = &blas.api;
  pthread_mutex_init(&b->mu, NULL);
  const jf_lt e = b->api->create(&b->handle);
  snprintf(why, sizeof why, "it does not start on %s (cuBLASLt status %d)", c->name, e);
  if (e) jf_library_lacks("libcublasLt.so", why);
  if (e) b->handle = NULL;
  c->blas = b;
}

jf_cuda_blas *jf_cuda_blas_open(jf_cuda *c)
{
  pthread_once(&once, blas_open);
  if (!blas.is || jf_cuda_enter(c)) return NULL;
  pthread_mutex_lock(&c->mu);
  if (!c->blas) blas_start(c);
  jf_cuda_blas *b = c->blas;
  pthread_mutex_unlock(&c->mu);
  jf_cuda_leave(c);
  return b && b->handle ? b : NULL;
}

void jf_cuda_blas_free(jf_cuda *c)
{
  jf_cuda_blas *b = c->blas;
  if (!b) return;
  if (b->handle) b->api->destroy(b->handle);
  for (jf_cuda_known *k = b->known, *next; k; k = next) {
    next = k->next;
    jf_free(k);
  }
  pthread_mutex_destroy(&b->mu);
  jf_free(b);
  c->blas = NULL;
}
