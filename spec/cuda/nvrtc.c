/* An emulation of NVRTC: compiles the source of kernels by g++ under runtime.h. What it gives in
   place of a cubin is a shared object, behind a head that says which kernels it has.
   JFL_EMULATED_COMPILE=0 compiles nothing, for those who ask which kernels there are but run none.
   JFL_EMULATED_ARCHS="75 90" are the architectures that it knows. It has the version of its file's
   name.
   JFL_EMULATED_SOURCES=FOLDER keeps each source there.
   JFL_EMULATED_COMPILES=FILE gets at the end how many programs were compiled.
   JFL_EMULATED_TOGETHER=2 has each of the first 2 programs wait until the other is compiled, too;
   after a minute alone it does not compile.
   JFL_EMULATED_REFUSE=TEXT compiles no source that has this text.
   JFL_EMULATED_SLOW=100 has each program take 100 ms more.
   JFL_EMULATED_FMA=1 joins products and sums, as NVIDIA's compiler does by default;
   JFL_EMULATED_RACES=1 has kernels tell of each access, for race.c. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image.h"
#include "version.h"

extern char **environ;

enum { NVRTC_OK = 0, NVRTC_OUT_OF_MEMORY = 1, NVRTC_INVALID_INPUT = 3, NVRTC_INVALID_PROGRAM = 4,
       NVRTC_INVALID_OPTION = 5, NVRTC_COMPILATION = 6 };

/* The folder of this library, where runtime.h is too. */
static char folder[512];

__attribute__((constructor)) static void nvrtc_find_folder(void)
{
  Dl_info info;
  if (!dladdr((void *)nvrtc_find_folder, &info)) return;
  snprintf(folder, sizeof folder, "%s", info.dli_fname);
  *strrchr(folder, '/') = 0;
}

typedef struct program {
  char *source, *log, *image;
  size_t image_size;
  int arch, is_ptx;
} program;

/* The architectures that it knows; gives how many. */
static int nvrtc_archs(int *out)
{
  const char *at = getenv("JFL_EMULATED_ARCHS");
  int n = 0;
  if (!at) at = "75 80 86 87 88 89 90 100 103 110 120 121";
  for (char *end; n < 64 && (out[n] = (int)strtol(at, &end, 10)) > 0; at = end) n++;
  return n;
}

static int nvrtc_major(void) { return emulated_major((void *)nvrtc_major); }

/* ---- files ---- */

static int nvrtc_write(const char *path, const char *text, size_t n)
{
  FILE *f = fopen(path, "w");
  int ok = f && fwrite(text, 1, n, f) == n;
  if (f && fclose(f)) ok = 0;
  return ok;
}

static char *nvrtc_read(const char *path, size_t *size)
{
  FILE *f = fopen(path, "r");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  const long n = ftell(f);
  rewind(f);
  char *text = n < 0 ? NULL : calloc(1, (size_t)n + 1);
  if (text && fread(text, 1, (size_t)n, f) != (size_t)n) {
    free(text);
    text = NULL;
  }
  fclose(f);
  *size = (size_t)n;
  return text;
}

/* Runs a command with its output in a file. */
static int nvrtc_run(char *const *argv, const char *log)
{
  posix_spawn_file_actions_t files;
  pid_t child;
  int status = -1;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!posix_spawnp(&child, argv[0], &files, NULL, argv, environ))
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  posix_spawn_file_actions_destroy(&files);
  return status;
}

/* ---- which kernels there are ---- */

static int is_name(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* What stands between __global__ and a kernel's name. */
typedef struct between { const char *at; int n; } between;

/* The name of the function declared behind `at`: the word before the first parenthesis, that of
   __launch_bounds__ apart. */
static int nvrtc_name(const char *at, char *to, size_t size, between *out)
{
  out->at = at + strspn(at, " ");
  if (!strncmp(out->at, "void ", 5)) out->at += 5;
  static const char bounds[] = "__launch_bounds__";
  while (*at) {
    while (*at && !is_name(*at)) at++;
    const char *word = at;
    while (is_name(*at)) at++;
    const size_t n = (size_t)(at - word);
    if (n == sizeof bounds - 1 && !memcmp(word, bounds, n)) {
      while (*at && *at != ')') at++;
      continue;
    }
    while (*at == ' ' || *at == '\n') at++;
    if (*at != '(') continue;
    if (n >= size) return 0;
    memcpy(to, word, n);
    to[n] = 0;
    out->n = (int)(word - out->at);
    return 1;
  }
  return 0;
}

/* The words that kernels are declared by: __global__, and macros without parameters for it. */
typedef struct kernel_words { int n; const char *word[8]; size_t size[8]; } kernel_words;

/* The first of these words from `at` on, and in *end what is behind it; NULL: there is none. */
static const char *nvrtc_find_word(const kernel_words *w, const char *at, const char *limit,
                                   const char **end)
{
  while (at < limit) {
    const char *word = at;
    while (at < limit && is_name(*at)) at++;
    for (int i = 0; i < w->n && at > word; i++)
      if ((size_t)(at - word) == w->size[i] && !memcmp(word, w->word[i], w->size[i]))
        return *end = at, word;
    if (at == word) at++;
  }
  return NULL;
}

/* Takes in a line that defines a macro; 0: only the preprocessor can tell what it makes. */
static int nvrtc_define(kernel_words *w, const char *line, const char *limit)
{
  const char *name = line + strlen("#define "), *end = name;
  const char *behind;
  while (is_name(*end)) end++;
  if (!nvrtc_find_word(w, end, limit, &behind)) return 1;
  if (*end == '(' || w->n == sizeof w->word / sizeof *w->word) return 0;
  w->word[w->n] = name;
  w->size[w->n++] = (size_t)(end - name);
  return 1;
}

/* The end of a line; one that ends in a backslash goes on. */
static const char *nvrtc_line_end(const char *at)
{
  while (*at && (*at != '\n' || at[-1] == '\\')) at++;
  return at;
}

/* Finds what may be kernels, also what the preprocessor would leave out. Gives 0 where the source
   must be preprocessed first. */
static int nvrtc_find_kernels(const char *source, image_head *h, between *b)
{
  kernel_words w = { 1, { "__global__" }, { strlen("__global__") } };
  h->n = 0;
  for (const char *at = source; *at; at += *at == '\n') {
    const char *const limit = nvrtc_line_end(at), *end = at;
    if (!strncmp(at, "#define ", strlen("#define ")) && !nvrtc_define(&w, at, limit)) return 0;
    while (*at != '#' && nvrtc_find_word(&w, end, limit, &end)) {
      if (h->n == IMAGE_MOST || !nvrtc_name(end, h->name[h->n], IMAGE_NAME, &b[h->n])) return 0;
      h->n++;
    }
    at = limit;
  }
  return 1;
}

/* The source as g++ gets it. It is in a namespace, so that for kernels which it does not have after
   all there is something else by their name. Static shared memory of unknown size is the block's
   dynamic one. */
static char *nvrtc_complete(const char *source, const image_head *h, const between *b, size_t *size)
{
  char *text = NULL;
  FILE *f = open_memstream(&text, size);
  if (!f) return NULL;
  fputs("#include \"runtime.h\"\n", f);
  for (int i = 0; i < h->n; i++) fprintf(f, "EMULATED_NONE(%s)\n", h->name[i]);
  fputs("namespace emulated_source {\n#line 1\n", f);
  for (const char *at = source; *at;) {
    static const char dynamic[] = "extern __shared__";
    if (strncmp(at, dynamic, sizeof dynamic - 1)) {
      fputc(*at++, f);
      continue;
    }
    /* extern __shared__ TYPE NAME[]; becomes TYPE *const NAME = (TYPE *)emulated->shared; */
    const char *type = at + sizeof dynamic - 1, *end = strchr(type, '[');
    const char *name = end;
    if (!end) break;
    while (name > type && is_name(name[-1])) name--;
    const int n_type = (int)(name - type), n_name = (int)(end - name);
    fprintf(f, "%.*s *const %.*s = (%.*s *)emulated->shared", n_type, type, n_name, name, n_type,
            type);
    at = strchr(end, ']') + 1;
  }
  fputs("\n#undef __launch_bounds__\n#define __launch_bounds__(...) + emulated_first(__VA_ARGS__)",
        f);
  for (int i = 0; i < h->n; i++)
    fprintf(f, "\nEMULATED_KERNEL(%s)\nEMULATED_BOUNDS(%s, %.*s)", h->name[i], h->name[i], b[i].n,
            b[i].at);
  fputs("\n}\n", f);
  fclose(f);
  return text;
}

/* ---- compiling ---- */

enum { MOST_OPTIONS = 64 };

/* Takes in "sm_90" or "compute_90"; 0 if the architecture is none that it knows. */
static int nvrtc_aim(program *p, const char *target)
{
  int known[65];
  const int n = nvrtc_archs(known);
  p->is_ptx = !strncmp(target, "compute_", 8);
  p->arch = atoi(target + (p->is_ptx ? 8 : 3));
  for (int i = 0; i < n; i++)
    if (known[i] == p->arch) return 1;
  return 0;
}

/* Translates an option; 0 if NVRTC has none such. */
static int nvrtc_option(program *p, const char *option, char **argv, int *n)
{
  static const char arch[] = "--gpu-architecture=";
  static const char *const ignored[] = { "--std=", "-std=",
    "--ptxas-options=", "--fmad=", "-fmad=", "--device-as-default", "-default-device",
    "--restrict", "-lineinfo", "--generate-line-info", "--extra-device-vectorization", "-w",
    "--split-compile=", "--use_fast_math", "--prec-div=", "--prec-sqrt=", "--ftz=",
    "--relocatable-device-code=false", "--dopt=on" };
  if (!strncmp(option, arch, sizeof arch - 1)) return nvrtc_aim(p, option + sizeof arch - 1);
  if (!strncmp(option, "-D", 2)) return argv[(*n)++] = (char *)option, 1;
  if (!strncmp(option, "--define-macro=", 15)) {
    static _Thread_local char define[MOST_OPTIONS][256];
    snprintf(define[*n], sizeof define[*n], "-D%s", option + 15);
    argv[*n] = define[*n];
    return ++*n;
  }
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
    if (!strncmp(option, ignored[i], strlen(ignored[i]))) return 1;
  return 0;
}

typedef struct scratch { char folder[64], source[96], whole[96], out[96], log[96]; } scratch;

static int nvrtc_scratch(scratch *s)
{
  const char *temporary = getenv("TMPDIR");
  snprintf(s->folder, sizeof s->folder, "%.30s/jfl_nvrtc_XXXXXX", temporary ? temporary : "/tmp");
  if (!mkdtemp(s->folder)) return 0;
  snprintf(s->source, sizeof s->source, "%s/kernel.cpp", s->folder);
  snprintf(s->whole, sizeof s->whole, "%s/whole.cpp", s->folder);
  snprintf(s->out, sizeof s->out, "%s/out", s->folder);
  snprintf(s->log, sizeof s->log, "%s/log", s->folder);
  return 1;
}

static void nvrtc_sweep(const scratch *s)
{
  unlink(s->source);
  unlink(s->whole);
  unlink(s->out);
  unlink(s->log);
  rmdir(s->folder);
}

/* A run of g++ on a file. */
typedef struct compiler_call { char *argv[MOST_OPTIONS + 32]; int n; } compiler_call;

static void nvrtc_add(compiler_call *c, const char *const *words)
{
  while (*words) c->argv[c->n++] = (char *)*words++;
}

static int nvrtc_call(compiler_call *c, const scratch *s, const char *file, char **define,
                      int n_define)
{
  nvrtc_add(c, (const char *const[]){ "-nostdinc", "-D__CUDACC__", "-D__CUDACC_RTC__",
                                      "-D__CUDA_ARCH__=900", "-DJF_EMULATED", NULL });
  for (int i = 0; i < n_define; i++) c->argv[c->n++] = define[i];
  nvrtc_add(c, (const char *const[]){ "-o", s->out, file, NULL });
  c->argv[c->n] = NULL;
  return !nvrtc_run(c->argv, s->log);
}

static char *nvrtc_preprocess(const program *p, const scratch *s, char **define, int n_define)
{
  compiler_call c = { .n = 0 };
  size_t size;
  nvrtc_add(&c, (const char *const[]){ "g++", "-std=c++17", "-E", "-P", NULL });
  if (!nvrtc_write(s->source, p->source, strlen(p->source))) return NULL;
  return nvrtc_call(&c, s, s->source, define, n_define) ? nvrtc_read(s->out, &size) : NULL;
}

static int nvrtc_is_set(const char *name)
{
  const char *value = getenv(name);
  return value && !strcmp(value, "1");
}

static int nvrtc_build(program *p, const scratch *s, const image_head *h, const between *b,
                       const char *source, char **define, int n_define)
{
  /* The program has the C library's mathematics already; to look for libraries takes as long as the
     rest of linking. */
  const char *const words[] = { "g++", "-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden",
    "-fno-strict-aliasing", "-fsanitize=alignment", "-fno-exceptions", "-fno-rtti",
    "-fno-asynchronous-unwind-tables", "-I", folder, "-shared", "-nostdlib", NULL };
  compiler_call c = { .n = 0 };
  size_t n, size;
  char *whole = nvrtc_complete(source, h, b, &n);
  const int written = whole && nvrtc_write(s->whole, whole, n);
  free(whole);
  nvrtc_add(&c, words);
  nvrtc_add(&c, nvrtc_is_set("JFL_EMULATED_FMA")
                    ? (const char *const[]){ "-ffp-contract=fast", "-mfma",
                                             "-fexpensive-optimizations", NULL }
                    : (const char *const[]){ "-ffp-contract=off", NULL });
  if (nvrtc_is_set("JFL_EMULATED_RACES"))
    nvrtc_add(&c, (const char *const[]){ "-fsanitize=thread", "--param",
                                         "tsan-instrument-func-entry-exit=0", NULL });
  if (!written || !nvrtc_call(&c, s, s->whole, define, n_define)) return 0;
  char *object = nvrtc_read(s->out, &size);
  if (!object) return 0;
  p->image_size = sizeof *h + size;
  p->image = malloc(p->image_size);
  if (p->image) {
    memcpy(p->image, h, sizeof *h);
    memcpy(p->image + sizeof *h, object, size);
  }
  free(object);
  return p->image != NULL;
}

/* ---- sources that are kept, images without code ---- */

static void nvrtc_keep(const char *source)
{
  const char *kept = getenv("JFL_EMULATED_SOURCES");
  uint64_t hash = 14695981039346656037u;             /* FNV-1a */
  char path[512], fresh[540];
  if (!kept || !*kept) return;
  for (const char *c = source; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
  snprintf(path, sizeof path, "%s/%016llx.cu", kept, (unsigned long long)hash);
  snprintf(fresh, sizeof fresh, "%s.%d.%d", path, (int)getpid(), (int)gettid());
  if (!access(path, F_OK)) return;
  if (!nvrtc_write(fresh, source, strlen(source)) || rename(fresh, path)) unlink(fresh);
}

static int nvrtc_is_hollow(void)
{
  const char *compile = getenv("JFL_EMULATED_COMPILE");
  return compile && !strcmp(compile, "0");
}

static int nvrtc_give_hollow(program *p)
{
  const image_head h = { .magic = IMAGE_MAGIC, .arch = p->arch, .is_ptx = p->is_ptx,
                         .version = 1000 * nvrtc_major(), .hollow = 1 };
  p->image = malloc(sizeof h);
  if (!p->image) return NVRTC_OUT_OF_MEMORY;
  memcpy(p->image, &h, sizeof h);
  p->image_size = sizeof h;
  return NVRTC_OK;
}

/* ---- what tests ask for ---- */

/* Programs that came to be compiled. */
static int compiled;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t meets = PTHREAD_COND_INITIALIZER;

__attribute__((destructor)) static void nvrtc_write_compiled(void)
{
  const char *path = getenv("JFL_EMULATED_COMPILES");
  FILE *f = path ? fopen(path, "w") : NULL;
  if (f) fprintf(f, "%d\n", compiled);
  if (f) fclose(f);
}

/* Counts one; 0: it was alone for a minute where it should not be. */
static int nvrtc_meet(void)
{
  const char *together = getenv("JFL_EMULATED_TOGETHER");
  const int wanted = together ? atoi(together) : 0;
  struct timespec until;
  int late = 0;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 60;
  pthread_mutex_lock(&mu);
  compiled++;
  pthread_cond_broadcast(&meets);
  while (compiled < wanted && !late) late = pthread_cond_timedwait(&meets, &mu, &until);
  pthread_mutex_unlock(&mu);
  return !late;
}

static void nvrtc_pause(void)
{
  const char *slow = getenv("JFL_EMULATED_SLOW");
  if (slow) usleep((useconds_t)atoi(slow) * 1000);
}

/* Whether the source is one that must not compile; then the log says so. */
static int nvrtc_refuses(program *p)
{
  const char *text = getenv("JFL_EMULATED_REFUSE");
  if (!text || !*text || !strstr(p->source, text)) return 0;
  free(p->log);
  if (asprintf(&p->log, "this source has '%s'", text) < 0) p->log = strdup("");
  return 1;
}

/* ---- the entry points ---- */

#define ENTRY __attribute__((visibility("default")))

ENTRY int nvrtcVersion(int *major, int *minor)
{
  *major = nvrtc_major();
  /* Versions of no real compiler, and what is compiled in another way, or by other sources of this
     emulation (of which EMULATED_SUM is a sum), apart: caches must not mix them up. */
  *minor = 100 + 8 * (int)(EMULATED_SUM % 1000000u) + nvrtc_is_hollow() +
           2 * nvrtc_is_set("JFL_EMULATED_FMA") + 4 * nvrtc_is_set("JFL_EMULATED_RACES");
  return NVRTC_OK;
}

ENTRY const char *nvrtcGetErrorString(int e)
{
  return e == NVRTC_OK ? "NVRTC_SUCCESS" : e == NVRTC_COMPILATION ? "NVRTC_ERROR_COMPILATION"
       : e == NVRTC_INVALID_OPTION ? "NVRTC_ERROR_INVALID_OPTION" : "NVRTC_ERROR";
}

ENTRY int nvrtcCreateProgram(program **out, const char *source, const char *name, int n_header,
                             const char *const *header, const char *const *header_name)
{
  (void)name;
  (void)header;
  (void)header_name;
  if (!out || !source || n_header) return NVRTC_INVALID_INPUT;
  program *p = calloc(1, sizeof *p);
  if (!p) return NVRTC_OUT_OF_MEMORY;
  p->source = strdup(source);
  p->log = strdup("");
  *out = p;
  return NVRTC_OK;
}

ENTRY int nvrtcCompileProgram(program *p, int n_option, const char *const *option)
{
  char *define[MOST_OPTIONS];
  int n_define = 0, ok = 0;
  scratch s;
  image_head h = { .magic = IMAGE_MAGIC };
  between b[IMAGE_MOST];
  if (!p || n_option > MOST_OPTIONS) return NVRTC_INVALID_PROGRAM;
  for (int i = 0; i < n_option; i++)
    if (!nvrtc_option(p, option[i], define, &n_define)) return NVRTC_INVALID_OPTION;
  h.arch = p->arch;
  h.is_ptx = p->is_ptx;
  h.version = 1000 * nvrtc_major();
  nvrtc_keep(p->source);
  if (!nvrtc_meet() || nvrtc_refuses(p)) return NVRTC_COMPILATION;
  nvrtc_pause();
  if (nvrtc_is_hollow()) return nvrtc_give_hollow(p);
  if (!nvrtc_scratch(&s)) return NVRTC_OUT_OF_MEMORY;
  char *source = p->source, *expanded = NULL;
  if (!nvrtc_find_kernels(source, &h, b)) {
    source = expanded = nvrtc_preprocess(p, &s, define, n_define);
    if (source && !nvrtc_find_kernels(source, &h, b)) source = NULL;
  }
  if (source) ok = nvrtc_build(p, &s, &h, b, source, define, n_define);
  free(expanded);
  size_t size;
  char *log = nvrtc_read(s.log, &size);
  if (log) {
    free(p->log);
    p->log = log;
  }
  nvrtc_sweep(&s);
  return ok ? NVRTC_OK : NVRTC_COMPILATION;
}

ENTRY int nvrtcGetProgramLogSize(const program *p, size_t *size)
{
  *size = strlen(p->log) + 1;
  return NVRTC_OK;
}

ENTRY int nvrtcGetProgramLog(const program *p, char *to)
{
  strcpy(to, p->log);
  return NVRTC_OK;
}

ENTRY int nvrtcGetNumSupportedArchs(int *n)
{
  int known[65];
  *n = nvrtc_archs(known);
  return NVRTC_OK;
}

ENTRY int nvrtcGetSupportedArchs(int *out)
{
  int known[65];
  memcpy(out, known, (size_t)nvrtc_archs(known) * sizeof *out);
  return NVRTC_OK;
}

/* There is a cubin of "sm_90", and PTX of "compute_90" alone. */
static int nvrtc_give(const program *p, int is_ptx, size_t *size, char *to)
{
  const int has = p->image && p->is_ptx == is_ptx;
  if (size) *size = has ? p->image_size : 0;
  if (!has) return size ? NVRTC_OK : NVRTC_INVALID_PROGRAM;
  if (to) memcpy(to, p->image, p->image_size);
  return NVRTC_OK;
}

ENTRY int nvrtcGetPTXSize(const program *p, size_t *size) { return nvrtc_give(p, 1, size, NULL); }
ENTRY int nvrtcGetPTX(const program *p, char *to) { return nvrtc_give(p, 1, NULL, to); }
ENTRY int nvrtcGetCUBINSize(const program *p, size_t *size) { return nvrtc_give(p, 0, size, NULL); }

ENTRY int nvrtcGetCUBIN(const program *p, char *to)
{
  return nvrtc_give(p, 0, NULL, to);
}

ENTRY int nvrtcDestroyProgram(program **p)
{
  if (!p || !*p) return NVRTC_INVALID_PROGRAM;
  free((*p)->source);
  free((*p)->log);
  free((*p)->image);
  free(*p);
  *p = NULL;
  return NVRTC_OK;
}
