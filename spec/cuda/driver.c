/* The entry points of the emulated driver, and what it refuses. */
#define _GNU_SOURCE
#include "emulated.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image.h"

static int initialized, n_device = 2, multiprocessors = 4, version = 13000, arch = 90;
static int has_pools = 1, is_hollow;
static emulated_context contexts[MOST_DEVICES];
static int lost[MOST_DEVICES];
static _Thread_local emulated_context *stack[16];
static _Thread_local int depth;

/* ---- failures ---- */

/* JFL_EMULATED_FAIL is "NUMBER:ERROR": which call fails, counted from 1 over all that may, and with
   what; or "FUNCTION:ERROR" for the first call of that function. JFL_EMULATED_CALLS names a file
   to which is written at the end: the number of calls, that of each function, how often a graph was
   launched `ahead` of the end of other work, how many copies from the host were done `beside` the
   work of another stream, and how many blocks and handles were `left`. */
static int calls, fail_at, fail_with, named_failed;
static char fail_in[64] = "-";
enum { MOST_NAMES = 128 };
static struct { const char *name; int calls; } named[MOST_NAMES];
static pthread_mutex_t named_mu = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void driver_read_settings(void)
{
  const char *fail = getenv("JFL_EMULATED_FAIL"), *n = getenv("JFL_EMULATED_DEVICES");
  if (fail && sscanf(fail, "%d:%d", &fail_at, &fail_with) < 2)
    sscanf(fail, "%63[^:]:%d", fail_in, &fail_with);
  const char *parts = getenv("JFL_EMULATED_MULTIPROCESSORS");
  if (n) n_device = atoi(n) < MOST_DEVICES ? atoi(n) : MOST_DEVICES;
  if (parts) multiprocessors = atoi(parts);
  const char *pools = getenv("JFL_EMULATED_POOLS");
  if (pools) has_pools = atoi(pools);
  if (getenv("JFL_EMULATED_VERSION")) version = atoi(getenv("JFL_EMULATED_VERSION"));
  if (getenv("JFL_EMULATED_ARCH")) arch = atoi(getenv("JFL_EMULATED_ARCH"));
  const char *compile = getenv("JFL_EMULATED_COMPILE");
  is_hollow = compile && !strcmp(compile, "0");
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  if (visible && !*visible) n_device = 0;
}

__attribute__((destructor)) static void driver_write_calls(void)
{
  const char *path = getenv("JFL_EMULATED_CALLS");
  FILE *f = path ? fopen(path, "w") : NULL;
  if (f) fprintf(f, "%d\n", calls);
  for (int i = 0; f && i < MOST_NAMES && named[i].name; i++)
    fprintf(f, "%s %d\n", named[i].name, named[i].calls);
  if (f) fprintf(f, "left %d\n", emulated_blocks_left() + emulated_handles_left());
  if (f) fclose(f);
}

int emulated_version(void) { return version; }
int emulated_is_hollow(void) { return is_hollow; }
int emulated_lost(int device) { return __atomic_load_n(&lost[device], __ATOMIC_SEQ_CST); }
void emulated_lose(int device, int error)
{
  __atomic_store_n(&lost[device], error, __ATOMIC_SEQ_CST);
}

void emulated_count(const char *name)
{
  int i = 0;
  pthread_mutex_lock(&named_mu);
  while (i < MOST_NAMES - 1 && named[i].name && named[i].name != name) i++;
  named[i].name = name;
  named[i].calls++;
  pthread_mutex_unlock(&named_mu);
}

/* Whether the documentation says that nothing works on the device after this error. */
static int driver_ends(int e)
{
  return e == 214 || e == 220 || e == 226 || e == 700 || e == 702 || e == 709 || e == 710 ||
         (e >= 714 && e <= 719) || e == 721 || e == 810 || e == 999;
}

/* Whether this call fails as was asked. An error that ends a context ends it. */
static int driver_injected(const char *name)
{
  const int number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  const int is_named = !strcmp(name, fail_in) &&
                       !__atomic_exchange_n(&named_failed, 1, __ATOMIC_SEQ_CST);
  if (number != fail_at && !is_named) return CU_OK;
  if (driver_ends(fail_with) && depth) emulated_lose(stack[depth - 1]->device, fail_with);
  return fail_with;
}

int emulated_injected(void) { return driver_injected(""); }

emulated_context *emulated_current(void) { return depth ? stack[depth - 1] : NULL; }
emulated_context *emulated_here(void) { return emulated_current(); }

/* What every call that works on a context begins with. */
#define NEEDS_CONTEXT(c)                                                   \
  emulated_context *c = emulated_current();                                \
  do {                                                                     \
    if (!initialized) return CU_NOT_INITIALIZED;                           \
    if (!c || !c->refs) return CU_INVALID_CONTEXT;                         \
    emulated_count(__func__);                                                \
    const int injected_ = driver_injected(__func__);                               \
    if (injected_) return injected_;                                       \
    if (emulated_lost(c->device)) return emulated_lost(c->device);         \
  } while (0)
#define NEEDS(condition, error) do { if (!(condition)) return (error); } while (0)
#define NEEDS_STREAM(c, s)                                                              \
  do {                                                                                  \
    NEEDS((s) && emulated_stream_is(s), CU_INVALID_HANDLE);                             \
    NEEDS(emulated_stream_device(s) == (c)->device, CU_INVALID_HANDLE);                 \
  } while (0)

typedef struct error_text { int number; const char *name, *text; } error_text;
static const error_text errors[] = {
  { CU_OK, "CUDA_SUCCESS", "no error" },
  { CU_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
  { CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
  { CU_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
  { CU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
  { CU_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
  { CU_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
  { CU_OTHER_IMAGE, "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "no kernel image is available for execution on the device" },
  { CU_NEWER_PTX, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    "the provided PTX was compiled with an unsupported toolchain." },
  { CU_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
  { CU_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
  { CU_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
  { CU_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
  { CU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" },
  { CU_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address" },
  { CU_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
  { CU_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    "too many resources requested for launch" },
  { CU_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
    "dependency created on uncaptured work in another stream" },
  { CU_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT",
    "operation not permitted on an event last recorded in a capturing stream" },
  { CU_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
    "operation not permitted when stream is capturing" },
};

static const error_text *driver_error(int e)
{
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].number == e) return &errors[i];
  return NULL;
}

EMULATED_ENTRY int cuGetErrorString(int e, const char **out)
{
  const error_text *t = driver_error(e);
  *out = t ? t->text : NULL;
  return t ? CU_OK : CU_INVALID_VALUE;
}

EMULATED_ENTRY int cuGetErrorName(int e, const char **out)
{
  const error_text *t = driver_error(e);
  *out = t ? t->name : NULL;
  return t ? CU_OK : CU_INVALID_VALUE;
}

/* ---- devices and contexts ---- */

EMULATED_ENTRY int cuInit(unsigned flags)
{
  const char *error = getenv("JFL_EMULATED_INIT");
  NEEDS(flags == 0, CU_INVALID_VALUE);
  if (error) return atoi(error);
  if (n_device == 0) return CU_NO_DEVICE;
  initialized = 1;
  return CU_OK;
}

EMULATED_ENTRY int cuDriverGetVersion(int *out)
{
  *out = version;
  return CU_OK;
}

EMULATED_ENTRY int cuDeviceGetCount(int *out)
{
  NEEDS(initialized, CU_NOT_INITIALIZED);
  *out = n_device;
  return CU_OK;
}

EMULATED_ENTRY int cuDeviceGet(int *out, int ordinal)
{
  NEEDS(initialized, CU_NOT_INITIALIZED);
  NEEDS(ordinal >= 0 && ordinal < n_device, CU_INVALID_DEVICE);
  *out = ordinal;
  return CU_OK;
}

EMULATED_ENTRY int cuDeviceGetName(char *to, int size, int device)
{
  NEEDS(device >= 0 && device < n_device, CU_INVALID_DEVICE);
  snprintf(to, (size_t)size, "Emulated GPU");
  return CU_OK;
}

EMULATED_ENTRY int cuDeviceTotalMem_v2(size_t *out, int device)
{
  size_t unused;
  NEEDS(device >= 0 && device < n_device, CU_INVALID_DEVICE);
  emulated_memory_info(device, &unused, out);
  return CU_OK;
}

EMULATED_ENTRY int cuDeviceGetAttribute(int *out, int attribute, int device)
{
  enum { MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76, MOST_SHARED_OPTIN = 97, POOLS = 115 };
  NEEDS(device >= 0 && device < n_device, CU_INVALID_DEVICE);
  switch (attribute) {
  case MULTIPROCESSORS: *out = multiprocessors; return CU_OK;
  case MAJOR: *out = arch / 10; return CU_OK;
  case MINOR: *out = arch % 10; return CU_OK;
  case MOST_SHARED_OPTIN: *out = MOST_SHARED; return CU_OK;
  case POOLS: *out = has_pools; return CU_OK;
  default: return CU_INVALID_VALUE;
  }
}

EMULATED_ENTRY int cuDevicePrimaryCtxRetain(emulated_context **out, int device)
{
  NEEDS(initialized, CU_NOT_INITIALIZED);
  NEEDS(device >= 0 && device < n_device, CU_INVALID_DEVICE);
  contexts[device].device = device;
  contexts[device].refs++;
  *out = &contexts[device];
  return CU_OK;
}

EMULATED_ENTRY int cuDevicePrimaryCtxRelease_v2(int device)
{
  NEEDS(device >= 0 && device < n_device && contexts[device].refs, CU_INVALID_CONTEXT);
  contexts[device].refs--;
  return CU_OK;
}

EMULATED_ENTRY int cuCtxPushCurrent_v2(emulated_context *c)
{
  NEEDS(c && c->refs && depth < 16, CU_INVALID_CONTEXT);
  emulated_count(__func__);
  stack[depth++] = c;
  return CU_OK;
}

EMULATED_ENTRY int cuCtxPopCurrent_v2(emulated_context **out)
{
  NEEDS(depth, CU_INVALID_CONTEXT);
  emulated_count(__func__);
  depth--;
  if (out) *out = stack[depth];
  return CU_OK;
}

EMULATED_ENTRY int cuDeviceCanAccessPeer(int *out, int a, int b)
{
  *out = a != b && a < n_device && b < n_device;
  return CU_OK;
}

EMULATED_ENTRY int cuCtxEnablePeerAccess(emulated_context *peer, unsigned flags)
{
  NEEDS_CONTEXT(c);
  static int enabled[MOST_DEVICES][MOST_DEVICES];
  NEEDS(peer && peer != c && flags == 0, CU_INVALID_VALUE);
  NEEDS(!__atomic_exchange_n(&enabled[c->device][peer->device], 1, __ATOMIC_SEQ_CST),
        CU_PEER_ALREADY_ENABLED);
  return CU_OK;
}

/* ---- memory ---- */

EMULATED_ENTRY int cuMemGetInfo_v2(size_t *unused, size_t *all)
{
  NEEDS_CONTEXT(c);
  emulated_memory_info(c->device, unused, all);
  return CU_OK;
}

EMULATED_ENTRY int cuMemAlloc_v2(emulated_address *out, size_t size)
{
  NEEDS_CONTEXT(c);
  return emulated_take(c->device, size, out);
}

EMULATED_ENTRY int cuMemFree_v2(emulated_address at)
{
  NEEDS_CONTEXT(c);
  return emulated_drop(c->device, at);
}

/* The pool is in order with all streams, as the caller must have waited for the block's users. */
EMULATED_ENTRY int cuMemAllocAsync(emulated_address *out, size_t size, emulated_stream *s)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(has_pools, CU_NOT_SUPPORTED);
  return emulated_take(c->device, size, out);
}

EMULATED_ENTRY int cuMemFreeAsync(emulated_address at, emulated_stream *s)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(has_pools, CU_NOT_SUPPORTED);
  const int error = emulated_stream_wait(s);
  return error ? error : emulated_drop(c->device, at);
}

EMULATED_ENTRY int cuDeviceGetDefaultMemPool(void **out, int device)
{
  NEEDS(device >= 0 && device < n_device, CU_INVALID_DEVICE);
  NEEDS(has_pools, CU_NOT_SUPPORTED);
  *out = &contexts[device];
  return CU_OK;
}

EMULATED_ENTRY int cuMemPoolSetAttribute(void *pool, int attribute, void *value)
{
  NEEDS(pool && value && attribute >= 1 && attribute <= 8, CU_INVALID_VALUE);
  return CU_OK;
}

/* It keeps nothing for later. */
EMULATED_ENTRY int cuMemPoolTrimTo(void *pool, size_t keep)
{
  NEEDS(pool && keep == 0, CU_INVALID_VALUE);
  emulated_count(__func__);
  return CU_OK;
}

EMULATED_ENTRY int cuMemPoolSetAccess(void *pool, const int *access, size_t n)
{
  NEEDS(pool && access && n == 1 && access[0] == 1 && access[2] == 3, CU_INVALID_VALUE);
  NEEDS(access[1] >= 0 && access[1] < n_device, CU_INVALID_DEVICE);
  return CU_OK;
}

EMULATED_ENTRY int cuMemHostAlloc(void **out, size_t size, unsigned flags)
{
  NEEDS_CONTEXT(c);
  NEEDS(flags <= 7, CU_INVALID_VALUE);
  return emulated_pin(size, out);
}

EMULATED_ENTRY int cuMemFreeHost(void *p)
{
  NEEDS_CONTEXT(c);
  return emulated_unpin(p);
}

static int driver_queue(emulated_stream *s, emulated_item what)
{
  emulated_item *i = malloc(sizeof *i);
  if (!i) return CU_OUT_OF_MEMORY;
  *i = what;
  return emulated_queue(s, i);
}

EMULATED_ENTRY int cuMemcpyHtoDAsync_v2(emulated_address to, const void *from, size_t size,
                                        emulated_stream *s)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(from && emulated_holds(c->device, to, size), CU_INVALID_VALUE);
  emulated_item i = { .sort = ITEM_COPY, .to = (void *)to, .from = from, .size = size };
  if (!emulated_is_pinned(from, size)) {
    NEEDS(!emulated_stream_captures(s), CU_CAPTURE_UNSUPPORTED);
    i.snapshot = malloc(size);
    NEEDS(i.snapshot, CU_OUT_OF_MEMORY);
    memcpy(i.snapshot, from, size);
  }
  return driver_queue(s, i);
}

/* Into memory that is not pinned the driver copies at once. */
EMULATED_ENTRY int cuMemcpyDtoHAsync_v2(void *to, emulated_address from, size_t size,
                                        emulated_stream *s)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(to && emulated_holds(c->device, from, size), CU_INVALID_VALUE);
  const int pinned = emulated_is_pinned(to, size);
  NEEDS(pinned || !emulated_stream_captures(s), CU_CAPTURE_UNSUPPORTED);
  if (is_hollow) memset(to, 0, size);              /* nothing was computed, and nothing is wrong */
  const int error = driver_queue(s, (emulated_item){ .sort = ITEM_COPY, .to = to,
                                                     .from = (const void *)from, .size = size });
  return error || pinned ? error : emulated_stream_wait(s);
}

EMULATED_ENTRY int cuMemcpyDtoDAsync_v2(emulated_address to, emulated_address from, size_t size,
                                        emulated_stream *s)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(emulated_holds(c->device, from, size), CU_INVALID_VALUE);
  NEEDS(emulated_holds(c->device, to, size), CU_INVALID_VALUE);
  return driver_queue(s, (emulated_item){ .sort = ITEM_COPY, .to = (void *)to,
                                          .from = (const void *)from, .size = size });
}

EMULATED_ENTRY int cuMemcpyPeerAsync(emulated_address to, emulated_context *there,
                                     emulated_address from, emulated_context *here, size_t size,
                                     emulated_stream *s)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(there && here && emulated_holds(here->device, from, size), CU_INVALID_VALUE);
  NEEDS(emulated_holds(there->device, to, size), CU_INVALID_VALUE);
  return driver_queue(s, (emulated_item){ .sort = ITEM_COPY, .to = (void *)to,
                                          .from = (const void *)from, .size = size });
}

EMULATED_ENTRY int cuMemsetD8Async(emulated_address to, unsigned char byte, size_t size,
                                   emulated_stream *s)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(emulated_holds(c->device, to, size), CU_INVALID_VALUE);
  return driver_queue(s, (emulated_item){ .sort = ITEM_FILL, .to = (void *)to, .byte = byte,
                                          .size = size });
}

/* ---- streams and events ---- */

EMULATED_ENTRY int cuStreamCreate(emulated_stream **out, unsigned flags)
{
  NEEDS_CONTEXT(c);
  NEEDS(out && flags <= 1, CU_INVALID_VALUE);
  return emulated_stream_new(c->device, out);
}

EMULATED_ENTRY int cuStreamDestroy_v2(emulated_stream *s)
{
  NEEDS(s && emulated_stream_is(s), CU_INVALID_HANDLE);
  return emulated_stream_end(s);
}

EMULATED_ENTRY int cuStreamSynchronize(emulated_stream *s)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(!emulated_stream_captures(s), CU_CAPTURE_UNSUPPORTED);
  return emulated_stream_wait(s);
}

EMULATED_ENTRY int cuStreamQuery(emulated_stream *s)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(!emulated_stream_captures(s), CU_CAPTURE_UNSUPPORTED);
  return emulated_stream_works(s) ? CU_NOT_READY : CU_OK;
}

EMULATED_ENTRY int cuEventCreate(emulated_event **out, unsigned flags)
{
  NEEDS_CONTEXT(c);
  NEEDS(out && flags <= 7, CU_INVALID_VALUE);
  return emulated_event_new(out);
}

EMULATED_ENTRY int cuEventDestroy_v2(emulated_event *e)
{
  NEEDS(e && emulated_event_is(e), CU_INVALID_HANDLE);
  return emulated_event_end(e);
}

EMULATED_ENTRY int cuEventRecord(emulated_event *e, emulated_stream *s)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(e && emulated_event_is(e), CU_INVALID_HANDLE);
  return emulated_event_record(e, s);
}

EMULATED_ENTRY int cuEventSynchronize(emulated_event *e)
{
  NEEDS_CONTEXT(c);
  NEEDS(e && emulated_event_is(e), CU_INVALID_HANDLE);
  const int error = emulated_event_wait(e);
  return error ? error : emulated_lost(c->device);
}

EMULATED_ENTRY int cuEventQuery(emulated_event *e)
{
  NEEDS_CONTEXT(c);
  NEEDS(e && emulated_event_is(e), CU_INVALID_HANDLE);
  return emulated_event_query(e);
}

EMULATED_ENTRY int cuEventElapsedTime(float *ms, emulated_event *from, emulated_event *to)
{
  NEEDS_CONTEXT(c);
  NEEDS(from && emulated_event_is(from) && to && emulated_event_is(to), CU_INVALID_HANDLE);
  NEEDS(ms, CU_INVALID_VALUE);
  return emulated_event_between(from, to, ms);
}

EMULATED_ENTRY int cuStreamWaitEvent(emulated_stream *s, emulated_event *e, unsigned flags)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(e && emulated_event_is(e), CU_INVALID_HANDLE);
  NEEDS(flags <= 1, CU_INVALID_VALUE);
  return emulated_event_await(s, e);
}

/* ---- modules ---- */

typedef struct module {
  void *library;
  image_head head;
  emulated_function function[IMAGE_MOST];
  size_t most_other_shared;            /* of functions that are no kernels */
} module;

/* Opens the shared object behind the head. It must be in a file for that, under a name of its own,
   as dlopen gives a name that it knows the library that it has. */
static void *module_open(const char *image)
{
  const image_head *h = (const image_head *)image;
  const unsigned char *elf = (const unsigned char *)(h + 1);
  uint64_t headers;
  uint16_t size, n;
  memcpy(&headers, elf + 40, sizeof headers);       /* the section headers are an object's end */
  memcpy(&size, elf + 58, sizeof size);
  memcpy(&n, elf + 60, sizeof n);
  const size_t bytes = headers + (size_t)size * n;
  char path[] = "/tmp/jfl_module_XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return NULL;
  void *library = NULL;
  if (write(fd, elf, bytes) == (ssize_t)bytes) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fprintf(stderr, "emulated GPU: %s\n", dlerror());
  close(fd);
  unlink(path);
  return library;
}

/* The variables of a module: what is not in the file of its writable part. All of them but the
   pointer to the world are shared memory. */
static void module_find_shared(emulated_function *f)
{
  Dl_info info;
  Elf64_Phdr p;
  if (!dladdr(f->world, &info)) return;
  const char *base = info.dli_fbase;
  const Elf64_Ehdr *h = info.dli_fbase;
  for (int i = 0; i < h->e_phnum; i++) {
    memcpy(&p, base + h->e_phoff + (size_t)i * h->e_phentsize, sizeof p);
    if (p.p_type != PT_LOAD || !(p.p_flags & PF_W)) continue;
    f->shared = (char *)info.dli_fbase + p.p_vaddr + p.p_filesz;
    f->shared_size = p.p_memsz - p.p_filesz;
  }
}

/* Adds a variable to the static shared memory of the kernels that have it. The name of one within a
   function begins with that of the function, as C++ writes names: _ZZ4turnE1s. What another
   function has is counted for all kernels, its largest variable alone. */
static void module_add_shared(module *m, const char *name, size_t size)
{
  char prefix[IMAGE_NAME + 16];
  if (strncmp(name, "_ZZ", 3)) return;
  for (int i = 0; i < m->head.n; i++) {
    const int n = snprintf(prefix, sizeof prefix, "_ZZ%zuE", strlen(m->head.name[i]));
    snprintf(prefix + n - 1, sizeof prefix - (size_t)n + 1, "%sE", m->head.name[i]);
    if (!strncmp(name, prefix, strlen(prefix))) {
      m->function[i].own_shared += size;
      return;
    }
  }
  if (size > m->most_other_shared) m->most_other_shared = size;
}

/* Goes through the variables of a shared object's table of symbols. */
static void module_count_shared(module *m, const char *elf)
{
  Elf64_Ehdr h;
  Elf64_Shdr table, names;
  Elf64_Sym s;
  memcpy(&h, elf, sizeof h);
  for (int i = 0; i < h.e_shnum; i++) {
    memcpy(&table, elf + h.e_shoff + (size_t)i * sizeof table, sizeof table);
    if (table.sh_type != SHT_SYMTAB) continue;
    memcpy(&names, elf + h.e_shoff + table.sh_link * sizeof names, sizeof names);
    for (size_t at = 0; at < table.sh_size; at += sizeof s) {
      memcpy(&s, elf + table.sh_offset + at, sizeof s);
      if (ELF64_ST_TYPE(s.st_info) == STT_OBJECT)
        module_add_shared(m, elf + names.sh_offset + s.st_name, s.st_size);
    }
  }
  for (int i = 0; i < m->head.n; i++) m->function[i].own_shared += m->most_other_shared;
}

static int module_find(module *m, int i)
{
  emulated_function *f = &m->function[i];
  char symbol[160];
  int (*sizes)(size_t *);
  unsigned (*bounds)(void);
  snprintf(f->name, sizeof f->name, "%s", m->head.name[i]);
  snprintf(symbol, sizeof symbol, "emulated_call_%s", f->name);
  *(void **)&f->call = dlsym(m->library, symbol);
  snprintf(symbol, sizeof symbol, "emulated_sizes_%s", f->name);
  *(void **)&sizes = dlsym(m->library, symbol);
  f->world = dlsym(m->library, "emulated");
  snprintf(symbol, sizeof symbol, "emulated_bounds_%s", f->name);
  *(void **)&bounds = dlsym(m->library, symbol);
  f->most_shared = USUAL_SHARED;
  if (!f->call || !sizes || !f->world || !bounds) return 0;
  f->most_threads = bounds() ? bounds() : 1024;
  f->n_parameter = sizes(f->size);
  if (f->n_parameter < 0) *m->head.name[i] = 0;        /* the preprocessor has left it out */
  module_find_shared(f);
  return 1;
}

EMULATED_ENTRY int cuModuleLoadData(module **out, const void *image)
{
  NEEDS_CONTEXT(c);
  NEEDS(out && image, CU_INVALID_VALUE);
  const image_head *h = image;
  NEEDS(h->magic == IMAGE_MAGIC, CU_INVALID_IMAGE);
  NEEDS(h->version / 1000 <= version / 1000, h->is_ptx ? CU_NEWER_PTX : CU_INVALID_IMAGE);
  /* Machine code runs on devices of its generation that are not older; PTX on all that are not. */
  NEEDS(h->arch <= arch && (h->is_ptx || h->arch / 10 == arch / 10), CU_OTHER_IMAGE);
  module *m = calloc(1, sizeof *m);
  NEEDS(m, CU_OUT_OF_MEMORY);
  m->head = *h;
  m->library = h->hollow ? NULL : module_open(image);
  int ok = h->hollow || m->library != NULL;
  for (int i = 0; ok && i < h->n; i++) ok = module_find(m, i);
  if (m->library) module_count_shared(m, (const char *)(h + 1));
  if (!ok) return free(m), CU_INVALID_IMAGE;
  *out = m;
  return CU_OK;
}

EMULATED_ENTRY int cuModuleUnload(module *m)
{
  NEEDS(m && (m->library || m->head.hollow), CU_INVALID_HANDLE);
  if (m->library) dlclose(m->library);
  free(m);
  return CU_OK;
}

EMULATED_ENTRY int cuModuleGetFunction(emulated_function **out, module *m, const char *name)
{
  NEEDS_CONTEXT(c);
  NEEDS(out && m && name, CU_INVALID_VALUE);
  for (int i = 0; i < m->head.n; i++)
    if (!strcmp(m->head.name[i], name)) return *out = &m->function[i], CU_OK;
  NEEDS(m->head.hollow && m->head.n < IMAGE_MOST, CU_NOT_FOUND);
  emulated_function *f = &m->function[m->head.n];
  snprintf(m->head.name[m->head.n++], IMAGE_NAME, "%s", name);
  f->most_shared = USUAL_SHARED;
  *out = f;
  return CU_OK;
}

EMULATED_ENTRY int cuFuncSetAttribute(emulated_function *f, int attribute, int value)
{
  enum { DYNAMIC_SHARED = 8 };
  NEEDS_CONTEXT(c);
  NEEDS(f && attribute == DYNAMIC_SHARED && value >= 0, CU_INVALID_VALUE);
  NEEDS(f->own_shared + (size_t)value <= MOST_SHARED, CU_INVALID_VALUE);
  f->most_shared = f->own_shared + (size_t)value;
  return CU_OK;
}

EMULATED_ENTRY int cuLaunchKernel(const emulated_function *f, unsigned gx, unsigned gy, unsigned gz,
                                  unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                  emulated_stream *s, void **parameter, void **extra)
{
  NEEDS_CONTEXT(c);
  NEEDS(f && (f->call || is_hollow), CU_INVALID_HANDLE);
  NEEDS_STREAM(c, s);
  NEEDS(gx && gy && gz && bx && by && bz && !extra, CU_INVALID_VALUE);
  NEEDS(gx <= 0x7fffffffu && gy <= 65535 && gz <= 65535, CU_INVALID_VALUE);
  NEEDS(bx <= 1024 && by <= 1024 && bz <= 64 && bx * by * bz <= 1024, CU_INVALID_VALUE);
  NEEDS(is_hollow || bx * by * bz <= f->most_threads, CU_LAUNCH_OUT_OF_RESOURCES);
  NEEDS(f->own_shared + shared <= f->most_shared, CU_INVALID_VALUE);
  emulated_launched();
  if (is_hollow) return CU_OK;
  size_t bytes = 0;
  for (int i = 0; i < f->n_parameter; i++) bytes += (f->size[i] + 15) / 16 * 16;
  NEEDS(bytes <= 4096, CU_INVALID_VALUE);
  emulated_launch *l = calloc(1, sizeof *l + bytes);
  NEEDS(l, CU_OUT_OF_MEMORY);
  *l = (emulated_launch){ .function = f, .grid = { gx, gy, gz }, .block = { bx, by, bz },
                          .shared = shared };
  for (size_t i = 0, at = 0; i < (size_t)f->n_parameter; at += (f->size[i++] + 15) / 16 * 16)
    memcpy(l->parameter[i] = l->bytes + at, parameter[i], f->size[i]);
  return driver_queue(s, (emulated_item){ .sort = ITEM_LAUNCH, .launch = l });
}

/* ---- graphs ---- */

EMULATED_ENTRY int cuStreamBeginCapture_v2(emulated_stream *s, int mode)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(mode >= 0 && mode <= 2, CU_INVALID_VALUE);
  return emulated_capture(s);
}

EMULATED_ENTRY int cuStreamEndCapture(emulated_stream *s, emulated_graph **out)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  return emulated_captured(s, out);
}

EMULATED_ENTRY int cuGraphInstantiateWithFlags(emulated_graph **out, emulated_graph *g,
                                               unsigned long long flags)
{
  NEEDS_CONTEXT(c);
  NEEDS(emulated_graph_is(g) && flags == 0, CU_INVALID_VALUE);
  return emulated_graph_copy(g, out);
}

EMULATED_ENTRY int cuGraphLaunch(emulated_graph *g, emulated_stream *s)
{
  NEEDS_CONTEXT(c);
  NEEDS_STREAM(c, s);
  NEEDS(emulated_graph_is(g), CU_INVALID_VALUE);
  if (emulated_stream_works(s)) emulated_count("ahead");
  return emulated_graph_queue(g, s);
}

EMULATED_ENTRY int cuGraphExecDestroy(emulated_graph *g)
{
  NEEDS(emulated_graph_is(g), CU_INVALID_VALUE);
  return emulated_graph_end(g);
}

EMULATED_ENTRY int cuGraphDestroy(emulated_graph *g)
{
  NEEDS(emulated_graph_is(g), CU_INVALID_VALUE);
  return emulated_graph_end(g);
}

/* ---- for the other libraries ---- */

int emulated_work(emulated_stream *s, void (*fn)(void *arg), const void *arg, size_t size)
{
  NEEDS(s && emulated_stream_is(s), CU_INVALID_HANDLE);
  const int error = emulated_lost(emulated_stream_device(s));
  NEEDS(!error, error);
  void *copy = malloc(size);
  NEEDS(copy, CU_OUT_OF_MEMORY);
  memcpy(copy, arg, size);
  return driver_queue(s, (emulated_item){ .sort = ITEM_HOST, .fn = fn, .snapshot = copy,
                                          .size = size });
}

int emulated_reaches(emulated_stream *s, const void *at, size_t size)
{
  return emulated_stream_is(s) &&
         emulated_holds(emulated_stream_device(s), (emulated_address)(uintptr_t)at, size);
}
