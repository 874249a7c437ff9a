/* What is known of this build and of the machine, as a text: how jfl was compiled, the processor,
   which of the libraries that are opened when they are needed are there, the devices. */
#include "base/need.h"
#include "dev/variants.h"
#include "system/system.h"

#include <string.h>
#include <zlib.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

/* The headers that jfl is built with tell the version of oneDNN that it opens. */
#if defined __has_include && __has_include(<oneapi/dnnl/dnnl_version.h>)
#include <oneapi/dnnl/dnnl_version.h>
#define TEXT_OF(number) #number
#define LIBRARY_OF(major) "libdnnl.so." TEXT_OF(major)
#define ONEDNN LIBRARY_OF(DNNL_VERSION_MAJOR)
#else
#define ONEDNN NULL
#endif

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

typedef struct build_part {
  const char *name, *file;         /* file: NULL where jfl is built without it */
  const char *use, *without;
  const char *older;               /* another file that serves, or NULL */
} build_part;

static const build_part parts[] = {
  { "oneDNN", ONEDNN, "float32 products and convolutions", "kernels of jfl's own compute them",
    NULL },
  { "OpenBLAS", "libopenblas.so.0", "float64 products", "plain kernels compute them", NULL },
  { "libturbojpeg", "libturbojpeg.so.0", "JPEG files", "they cannot be read or written", NULL },
  { "libpng", "libpng16.so.16", "PNG files", "they cannot be read", NULL },
  { "NVIDIA's driver", "libcuda.so.1", "GPUs", "everything runs on the CPU", NULL },
};

/* What GPUs need besides; told of where there is a driver. */
static const build_part gpu_parts[] = {
  { "NVRTC", "libnvrtc.so.13", "compiling kernels of GPUs", "GPUs cannot be used",
    "libnvrtc.so.12" },
  { "cuBLASLt", "libcublasLt.so.13", "products on GPUs", "slower kernels compute them",
    "libcublasLt.so.12" },
  { "cuDNN", "libcudnn.so.9", "convolutions on GPUs", "slower kernels compute them", NULL },
};

typedef struct { int major, minor, patch; } dnnl_numbers;

/* Adds the version that a library tells of itself, after a blank, or nothing. */
static void build_add_version(jf_text *t, void *so)
{
  const dnnl_numbers *(*dnnl)(void);
  const char *(*blas)(void), *text;
  size_t (*nvidia)(void);          /* 130100 for 13.1.0 */
  uint32_t (*png)(void);           /* 10639 for 1.6.39 */
  *(void **)&dnnl = jf_so_find(so, "dnnl_version");
  *(void **)&blas = jf_so_find(so, "openblas_get_config");
  *(void **)&png = jf_so_find(so, "png_access_version_number");
  *(void **)&nvidia = jf_so_find(so, "cublasLtGetVersion");
  if (!nvidia) *(void **)&nvidia = jf_so_find(so, "cudnnGetVersion");
  if (dnnl) jf_text_add(t, " %d.%d.%d", dnnl()->major, dnnl()->minor, dnnl()->patch);
  else if (nvidia)
    jf_text_add(t, " %zu.%zu.%zu", nvidia() / 10000, nvidia() / 100 % 100, nvidia() % 100);
  else if (png)
    jf_text_add(t, " %u.%u.%u", png() / 10000, png() / 100 % 100, png() % 100);
  else if (blas && (text = strpbrk(blas(), "0123456789")))
    jf_text_add(t, " %.*s", (int)strspn(text, "0123456789."), text);
}

/* Adds a line about a library that may be installed; gives whether it is. */
static int build_add_part(jf_text *t, const build_part *p)
{
  void *so = p->file ? jf_so_open(p->file) : NULL;
  if (!so && p->older) so = jf_so_open(p->older);
  jf_text_add(t, "%s", p->name);
  if (so) {
    build_add_version(t, so);
    jf_text_add(t, ": %s\n", p->use);
  } else {
    jf_text_add(t, " not %s: without it %s\n", p->file ? "found" : "built in", p->without);
  }
  return so != NULL;
}

/* The vector instructions that loops use. */
static const char *build_vectors(void)
{
#ifdef __x86_64__
  return jf_has_avx512() ? "AVX-512" : jf_has_avx2() ? "AVX2" : "SSE2";
#elif defined __aarch64__
  return "NEON";
#else
  return "no vector instructions";
#endif
}

/* The processor's name as it tells it, in 48 bytes padded with blanks; "" where it tells none. */
static void build_processor(char out[49])
{
  memset(out, 0, 49);
#ifdef __x86_64__
  unsigned r[4];
  for (unsigned i = 0; i < 3 && __get_cpuid(0x80000002 + i, &r[0], &r[1], &r[2], &r[3]); i++)
    memcpy(out + 16 * i, r, sizeof r);
  for (size_t n = strlen(out); n && out[n - 1] == ' '; n--) out[n - 1] = '\0';
#endif
}

static void build_add_machine(jf_text *t)
{
  char name[49], system[64];
  const int cores = jf_cpu_count();
  build_processor(name);
  jf_system_name(system, sizeof system);
  jf_text_add(t, "system: %s\n", system);
  jf_text_add(t, "processor: %s%s%d core%s, %s\n", name + strspn(name, " "), *name ? ", " : "",
              cores, cores == 1 ? "" : "s", build_vectors());
}

jfl_status jfl_build_text(char **out)
{
  JF_NEED_POINTER(out);
  jf_text t = { 0 };
  int driver = 0;                  /* whether what was looked for last is there */
  jf_text_add(&t, "compiler: " COMPILER "\n");
  build_add_machine(&t);
  jf_text_add(&t, "zlib %s: compressed files\n", zlibVersion());
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) driver = build_add_part(&t, &parts[i]);
  for (size_t i = 0; driver && i < sizeof gpu_parts / sizeof *gpu_parts; i++)
    build_add_part(&t, &gpu_parts[i]);
  const int gpus = driver ? jfl_device_count("gpu") : 0;
  const char *why = driver ? jfl_device_absence("gpu") : NULL;
  jf_text_add(&t, "devices: %d cpu, %d gpu%s%s\n", jfl_device_count("cpu"), gpus, why ? ": " : "",
              why ? why : "");
  return jf_text_take(&t, out);
}
