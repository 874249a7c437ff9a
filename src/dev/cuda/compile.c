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
  X(binary_size, nvrtcGetCUBINSize, (nvrtc_program *p, size_t *size))                             \
  X(binary, nvrtcGetCUBIN, (nvrtc_program *p, char *to))                                          \
  X(ptx_size, nvrtcGetPTXSize, (nvrtc_program *p, size_t *size))                                  \
  X(ptx, nvrtcGetPTX, (nvrtc_program *p, char *to))                                               \
  X(arch_count, nvrtcGetNumSupportedArchs, (int *n))                                              \
  X(archs, nvrtcGetSupportedArchs, (int *arch))

enum { MOST_ARCHS = 64 };

/* An installed compiler: its version, 13010 for 13.1, and the architectures that it knows. */
typedef struct nvrtc_compiler {
#define FIELD(field, symbol, parameters) int (*field) parameters;
  NVRTC(FIELD)
#undef FIELD
  int number, n_arch, arch[MOST_ARCHS];
} nvrtc_compiler;

/* The compilers that are installed, in the order in which they are tried. */
static struct { int n; nvrtc_compiler one[JF_CUDA_MAJORS]; } installed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int compile_find(void *so, nvrtc_compiler *c)
{
  int major, minor, n;
#define FIND(field, symbol, parameters) && jf_library_find(so, #symbol, &c->field)
  if (!(so NVRTC(FIND))) return 0;
#undef FIND
  if (c->version(&major, &minor) || c->arch_count(&n) || n < 1 || n > MOST_ARCHS ||
      c->archs(c->arch)) return 0;
  c->number = 1000 * major + 10 * minor;
  c->n_arch = n;
  return 1;
}

static void compile_open(void)
{
  int major[JF_CUDA_MAJORS];
  char name[32];
  jf_cuda_majors(major);
  for (int i = 0; i < JF_CUDA_MAJORS; i++) {
    snprintf(name, sizeof name, "libnvrtc.so.%d", major[i]);
    installed.n += compile_find(jf_library_try(name), &installed.one[installed.n]);
  }
}

int jf_cuda_compile_ways(void)
{
  pthread_once(&once, compile_open);
  return installed.n ? 2 * installed.n : 1;
}

static jfl_status compile_need(void)
{
  if (jf_cuda_compile_ways() > 1) return JFL_OK;
  return jf_fail(JFL_EDEVICE, "NVIDIA's compiler of kernels is not installed (there is neither "
                 "libnvrtc.so.13 nor libnvrtc.so.12); it comes with the CUDA toolkit");
}

/* ---- one program ---- */

/* What is to be made: by which compiler, for which architecture, as machine code of that one or as
   PTX, which drivers compile for that one and all newer ones. */
typedef struct compile_target {
  const nvrtc_compiler *by;
  int arch, is_ptx;
} compile_target;

/* Machine code for an architecture that the compiler knows; else PTX for the newest older one. */
static jfl_status compile_aim(const nvrtc_compiler *c, int arch, compile_target *out)
{
  int best = 0;
  for (int i = 0; i < c->n_arch; i++)
    if (c->arch[i] <= arch && c->arch[i] > best) best = c->arch[i];
  *out = (compile_target){ c, best, best != arch };
  if (best) return JFL_OK;
  return jf_fail(JFL_EDEVICE, "NVIDIA's compiler of kernels %d.%d makes nothing for compute "
                 "capability %d.%d; that of another CUDA toolkit does", c->number / 1000,
                 c->number % 1000 / 10, arch / 10, arch % 10);
}

/* Fails with the first lines of what the compiler said. */
static jfl_status compile_say(const nvrtc_compiler *c, nvrtc_program *p, const char *what)
{
  enum { LONGEST = 600 };
  size_t size = 0;
  char *log = NULL;
  if (!c->log_size(p, &size)) log = jf_new(size + 1);
  if (log) c->log(p, log);
  jfl_status s = jf_fail(JFL_EDEVICE, "%s does not compile: %.*s", what, LONGEST,
                         log ? log : "out of memory");
  jf_free(log);
  return s;
}

static jfl_status compile_take(const compile_target *t, nvrtc_program *p, const char *what,
                               void **image, size_t *size)
{
  const nvrtc_compiler *c = t->by;
  if ((t->is_ptx ? c->ptx_size : c->binary_size)(p, size) || *size == 0)
    return compile_say(c, p, what);
  *image = jf_new_raw(*size);
  if (!*image) return jf_fail(JFL_ENOMEM, "out of memory");
  if (!(t->is_ptx ? c->ptx : c->binary)(p, *image)) return JFL_OK;
  jf_free(*image);
  return compile_say(c, p, what);
}

static jfl_status compile_program(const compile_target *t, const char *what, const char *text,
                                  void **image, size_t *size)
{
  char option[40];
  const char *const options[] = { option, "--std=c++17", "-default-device" };
  nvrtc_program *p = NULL;
  snprintf(option, sizeof option, "--gpu-architecture=%s_%d", t->is_ptx ? "compute" : "sm",
           t->arch);
  if (t->by->program_new(&p, text, "kernel.cu", 0, NULL, NULL))
    return jf_fail(JFL_ENOMEM, "out of memory for compiling %s", what);
  jfl_status s = t->by->compile(p, sizeof options / sizeof *options, options)
      ? compile_say(t->by, p, what) : compile_take(t, p, what, image, size);
  t->by->program_free(&p);
  return s;
}

/* What decides the image: the compiler, what it aims at, the text. */
static uint64_t compile_key(const compile_target *t, const char *text)
{
  const int about[] = { t->by->number, t->arch, t->is_ptx };
  return jf_hash_str(jf_hash(0, about, sizeof about), text);
}

jfl_status jf_cuda_compile(int arch, const jf_cuda_source *s, int way, void **image, size_t *size)
{
  compile_target target;
  jf_text whole = { 0 };
  JF_TRY(compile_need());
  JF_TRY(compile_aim(&installed.one[way / 2], arch, &target));
  jf_text_put(&whole, jf_cuda_prelude, strlen(jf_cuda_prelude));
  if (s->define) jf_text_put(&whole, s->define, strlen(s->define));
  jf_text_put(&whole, s->text, strlen(s->text));
  char *text;
  JF_TRY(jf_text_take(&whole, &text));
  const uint64_t key = compile_key(&target, text);
  jfl_status e = JFL_OK;
  if (way % 2 || !jf_cuda_cache_read(key, text, image, size)) {
    e = compile_program(&target, s->what, text, image, size);
    if (!e) jf_cuda_cache_write(key, text, *image, *size);
  }
  jf_free(text);
  return e;
}
