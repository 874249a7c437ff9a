/* A device's sources: found while calls are prepared, compiled and loaded when these are made
   ready. */
#ifndef JF_CUDA_IMAGE_H
#define JF_CUDA_IMAGE_H

#include "dev/cuda/cuda.h"

struct jf_cuda_kernel {
  jf_cuda_kernel *next;
  jf_cu_function *function;            /* NULL until its source is loaded */
  char name[];
};

/* Guarded by the device's mu; source belongs to the thread that makes it meanwhile. One that nobody
   waits for any more, as the plan was given up, stays until another plan wants it or the device is
   closed. */
struct jf_cuda_image {
  jf_cuda_image *next;
  uint64_t hash, second;               /* of the source */
  jf_cu_module *module;                /* NULL: not loaded */
  int is_made;                         /* a thread compiles or loads it now */
  jf_cuda_kernel *kernels;
  jf_cuda_source *source;              /* with its texts behind it; NULL once it is loaded */
};

/* The sources that a call waits for: waits of jf_kargs. */
typedef struct jf_cuda_waits { int n; jf_cuda_image *image[]; } jf_cuda_waits;

/* What a compiler made of a source in one of its ways, for all devices of an architecture. */
typedef struct jf_cuda_code { void *image; size_t size; int way; } jf_cuda_code;

/* Whether an image is loaded; else *size is how long its text is. */
int jf_cuda_image_is_loaded(jf_cuda *c, const jf_cuda_image *i, size_t *size);
/* Loads an image unless it is loaded, from *code, or if that is empty from what is compiled now,
   which *code has then; jf_free frees it. Several threads may do so at once: the others wait for
   the first. */
jfl_status jf_cuda_image_load(jf_cuda *c, jf_cuda_image *i, jf_cuda_code *code);

#endif
