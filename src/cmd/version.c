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
} part;

static const part parts[] = {
  { "oneDNN", ONEDNN, "float32 products and convolutions", "plain kernels compute them" },
  { "OpenBLAS", "libopenblas.so.0", "float64 products", "plain kernels compute them" },
  { "libedit", JF_LIBEDIT, "editing of lines", "lines are plain" },
};

typedef struct { int major, minor, patch; } dnnl_numbers;

/* Writes the version that a library tells of itself, after a blank, or "". */
static void version_of(void *so, char *out, size_t size)
{
  const dnnl_numbers *(*dnnl)(void);
  const char *(*blas)(void), *text;
  *out = '\0';
  *(void **)&dnnl = dlsym(so, "dnnl_version");
  *(void **)&blas = dlsym(so, "openblas_get_config");
  if (dnnl) snprintf(out, size, " %d.%d.%d", dnnl()->major, dnnl()->minor, dnnl()->patch);
  else if (blas && (text = strpbrk(blas(), "0123456789")))
    snprintf(out, size, " %.*s", (int)strspn(text, "0123456789."), text);
}

static void print_part(const part *p)
{
  char version[32];
  void *so = p->file ? dlopen(p->file, RTLD_LAZY | RTLD_LOCAL) : NULL;
  if (so) {
    version_of(so, version, sizeof version);
    printf("  %s%s: %s\n", p->name, version, p->use);
  } else {
    printf("  %s not %s: without it %s\n", p->name, p->file ? "found" : "built in", p->without);
  }
}

void jf_print_version(int with_parts)
{
  puts("jfl " JFL_VERSION " (" LUAJIT_VERSION ")");
  for (size_t i = 0; with_parts && i < sizeof parts / sizeof *parts; i++) print_part(&parts[i]);
  fflush(stdout);
}
