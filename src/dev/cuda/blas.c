/* Opening cuBLASLt, and starting it on a device. */
#include "dev/cuda/blas.h"

#include "base/library.h"

#include <stdio.h>

/* The libraries that are installed, in the order in which they are tried. */
static struct { int n; jf_cuda_blas_api api[JF_CUDA_MAJORS]; } blas;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int blas_find(void *so, jf_cuda_blas_api *api)
{
#define FIND(field, symbol, parameters) && jf_library_find(so, #symbol, &api->field)
  return so JF_CUDA_BLAS(FIND) && jf_library_find(so, "cublasLtGetVersion", &api->version);
#undef FIND
}

static void blas_open(void)
{
  int major[JF_CUDA_MAJORS];
  char name[32];
  jf_cuda_majors(major);
  for (int i = 0; i < JF_CUDA_MAJORS; i++) {
    snprintf(name, sizeof name, "libcublasLt.so.%d", major[i]);
    blas.n += blas_find(jf_library_try(name), &blas.api[blas.n]);
  }
  if (!blas.n) jf_library_lacks("libcublasLt.so", "neither version 13 nor 12 is installed; it "
                                 "comes with the CUDA toolkit");
}

/* Starts the first that this device's driver serves. The caller has entered the device and holds
   mu. */
static void blas_start(jf_cuda *c)
{
  jf_cuda_blas *b = jf_new(sizeof *b);
  char why[80];
  if (!b) return;
  jf_lt e = 0;
  pthread_mutex_init(&b->mu, NULL);
  for (int i = 0; i < blas.n && !b->handle; i++) {
    b->api = &blas.api[i];
    e = b->api->create(&b->handle);
    if (e) b->handle = NULL;
  }
  snprintf(why, sizeof why, "it does not start on %s (cuBLASLt status %d)", c->name, e);
  if (!b->handle) jf_library_lacks("libcublasLt.so", why);
  c->blas = b;
}

jf_cuda_blas *jf_cuda_blas_open(jf_cuda *c)
{
  pthread_once(&once, blas_open);
  if (!blas.n || jf_cuda_enter(c)) return NULL;
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
