/* Compiling kernels by NVRTC, which is opened when the first source is not in the cache. */
#include "dev/cuda/cache.h"
#include "dev/cuda/cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* NVRTC's functions that are used here (NVRTC documentation, version 12 and later). */
typedef struct nvrtc_program nvrtc_program;
#define NVRTC(X)                                                                                  \
  X(version, nvrtcVersion, (int *major, int *minor))                                              \
  X(program_new, nvrtcCreateProgram, (nvrtc_program **out, const char *text, const char *name,    \
                                      int n_header, const char *const *header,                    \
                                      const char *const *header_name))                            \
  X(program_free, nvrtcDestroyProgram, (nvrtc_program **p))                                       \
  X(compile, nvrtcCompileProgram, (nvrtc_program *p, int n_option, const char *const *option))    \
  X(log_size, nvrtcGetProgramLogSize, (nvrtc_program *p, size_t *size))                           \
  X(log, nvrtcGetProgramLog, (nvrtc_program *p, char *to))                                        \
  X(image_size, nvrtcGetCUBINSize, (nvrtc_program *p, size_t *size))                              \
  X(image, nvrtcGetCUBIN, (nvrtc_program *p, char *to))

typedef struct nvrtc_api {
#define FIELD(field, symbol, parameters) int (*field) parameters;
  NVRTC(FIELD)
#undef FIELD
} nvrtc_api;

static struct { int is, version; nvrtc_api api; } nvrtc;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int compile_find(void *so)
{
#define FIND(field, symbol, parameters) && jf_library_find(so, #symbol, &nvrtc.api.field)
  return so NVRTC(FIND);
#undef FIND
}

static void compile_open(void)
{
  static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", NULL };
  int major = 0, minor = 0;
  for (int i = 0; names[i] && !nvrtc.is; i++)
    nvrtc.is = compile_find(jf_library_try(names[i]));
  if (nvrtc.is && !nvrtc.api.version(&major, &minor)) nvrtc.version = 1000 * major + 10 * minor;
}

static jfl_status compile_need(void)
{
  pthread_once(&once, compile_open);
  if (nvrtc.is) return JFL_OK;
  return jf_fail(JFL_EDEVICE, "NVIDIA's compiler of kernels is not installed (there is neither "
                 "libnvrtc.so.13 nor libnvrtc.so.12); it comes with the CUDA toolkit");
}

/* ---- one program ---- */

/* Fails with the first lines of what the compiler said. */
static jfl_status compile_say(nvrtc_program *p, const char *what)
{
  enum { LONGEST = 600 };
  size_t size = 0;
  char *log = NULL;
  if (!nvrtc.api.log_size(p, &size)) log = jf_new(size + 1);
  if (log) nvrtc.api.log(p, log);
  jfl_status s = jf_fail(JFL_EDEVICE, "%s does not compile: %.*s", what, LONGEST,
                         log ? log : "out of memory");
  jf_free(log);
  return s;
}

static jfl_status compile_take(nvrtc_program *p, const char *what, void **image, size_t *size)
{
  if (nvrtc.api.image_size(p, size) || *size == 0) return compile_say(p, what);
  *image = jf_new_raw(*size);
  if (!*image) return jf_fail(JFL_ENOMEM, "out of memory");
  if (!nvrtc.api.image(p, *image)) return JFL_OK;
  jf_free(*image);
  return compile_say(p, what);
}

static jfl_status compile_program(int arch, const char *what, const char *text, void **image,
                                  size_t *size)
{
  char target[32];
  const char *option[] = { target, "--std=c++17", "-default-device" };
  nvrtc_program *p = NULL;
  snprintf(target, sizeof target, "--gpu-architecture=sm_%d", arch);
  if (nvrtc.api.program_new(&p, text, "kernel.cu", 0, NULL, NULL))
    return jf_fail(JFL_ENOMEM, "out of memory for compiling %s", what);
  jfl_status s = nvrtc.api.compile(p, sizeof option / sizeof *option, option)
      ? compile_say(p, what) : compile_take(p, what, image, size);
  nvrtc.api.program_free(&p);
  return s;
}

/* What decides the image: the compiler, the architecture, the text. */
static uint64_t compile_key(int arch, const char *text)
{
  const int about[] = { nvrtc.version, arch };
  return jf_hash_str(jf_hash(0, about, sizeof about), text);
}

jfl_status jf_cuda_compile(int arch, const jf_cuda_source *s, int anew, void **image,
                           size_t *size)
{
  jf_text whole = { 0 };
  JF_TRY(compile_need());
  jf_text_put(&whole, jf_cuda_prelude, strlen(jf_cuda_prelude));
  if (s->define) jf_text_put(&whole, s->define, strlen(s->define));
  jf_text_put(&whole, s->text, strlen(s->text));
  char *text;
  JF_TRY(jf_text_take(&whole, &text));
  const uint64_t key = compile_key(arch, text);
  jfl_status e = JFL_OK;
  if (anew || !jf_cuda_cache_read(key, text, image, size)) {
    e = compile_program(arch, s->what, text, image, size);
    if (!e) jf_cuda_cache_write(key, text, *image, *size);
  }
  jf_free(text);
  return e;
}
