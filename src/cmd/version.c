/* What --version prints: the version, and which of the libraries that are opened when they are
   needed are there. */
#include "cmd/cmd.h"

#include "jfl.h"

#include <dlfcn.h>
#include <luajit.h>
#include <stdio.h>
#include <string.h>

/* The headers that jfl is built with tell the version of oneDNN that it opens. */
#if defined __has_include && __has_include(<oneapi/dnnl/dnnl_version.h>)
#include <oneapi/dnnl/dnnl_version.h>
#define TEXT_OF(number) #number
#define LIBRARY_OF(major) "libdnnl.so." TEXT_OF(major)
#define ONEDNN LIBRARY_OF(DNNL_VERSION_MAJOR)
#else
#define ONEDNN NULL
#endif

typedef struct part {
  const char *name, *file;         /* file: NULL where jfl is built without it */
  const char *use, *without;
  const char *older;               /* another file that serves, or NULL */
} part;

static const part parts[] = {
  { "oneDNN", ONEDNN, "float32 products and convolutions", "plain kernels compute them", NULL },
  { "OpenBLAS", "libopenblas.so.0", "float64 products", "plain kernels compute them", NULL },
  { "libedit", JF_LIBEDIT, "editing of lines", "lines are plain", NULL },
  { "NVIDIA's driver", "libcuda.so.1", "GPUs", "everything runs on the CPU", NULL },
};

/* What GPUs need besides; told of where there is a driver. */
static const part gpu_parts[] = {
  { "NVRTC", "libnvrtc.so.13", "compiling kernels of GPUs", "GPUs cannot be used",
    "libnvrtc.so.12" },
  { "cuBLASLt", "libcublasLt.so.13", "products on GPUs", "slower kernels compute them",
    "libcublasLt.so.12" },
  { "cuDNN", "libcudnn.so.9", "convolutions on GPUs", "slower kernels compute them", NULL },
};

typedef struct { int major, minor, patch; } dnnl_numbers;

/* Writes the version that a library tells of itself, after a blank, or "". */
static void version_of(void *so, char *out, size_t size)
{
  const dnnl_numbers *(*dnnl)(void);
  const char *(*blas)(void), *text;
  size_t (*nvidia)(void);          /* 130100 for 13.1.0 */
  *out = '\0';
  *(void **)&dnnl = dlsym(so, "dnnl_version");
  *(void **)&blas = dlsym(so, "openblas_get_config");
  *(void **)&nvidia = dlsym(so, "cublasLtGetVersion");
  if (!nvidia) *(void **)&nvidia = dlsym(so, "cudnnGetVersion");
  if (dnnl) snprintf(out, size, " %d.%d.%d", dnnl()->major, dnnl()->minor, dnnl()->patch);
  else if (nvidia)
    snprintf(out, size, " %zu.%zu.%zu", nvidia() / 10000, nvidia() / 100 % 100, nvidia() % 100);
  else if (blas && (text = strpbrk(blas(), "0123456789")))
    snprintf(out, size, " %.*s", (int)strspn(text, "0123456789."), text);
}

/* Gives whether it was found. */
static int print_part(const part *p)
{
  char version[32];
  void *so = p->file ? dlopen(p->file, RTLD_LAZY | RTLD_LOCAL) : NULL;
  if (!so && p->older) so = dlopen(p->older, RTLD_LAZY | RTLD_LOCAL);
  if (so) {
    version_of(so, version, sizeof version);
    printf("  %s%s: %s\n", p->name, version, p->use);
  } else {
    printf("  %s not %s: without it %s\n", p->name, p->file ? "found" : "built in", p->without);
  }
  return so != NULL;
}

void jf_print_version(int with_parts)
{
  puts("jfl " JFL_VERSION " (" LUAJIT_VERSION ")");
  int gpus = 0;                    /* what was found last, the driver */
  for (size_t i = 0; with_parts && i < sizeof parts / sizeof *parts; i++)
    gpus = print_part(&parts[i]);
  for (size_t i = 0; gpus && i < sizeof gpu_parts / sizeof *gpu_parts; i++)
    print_part(&gpu_parts[i]);
  fflush(stdout);
}
