/* NVIDIA GPUs as devices, for src/dev/cuda and kernels/cuda. */
#ifndef JF_DEV_CUDA_H
#define JF_DEV_CUDA_H

#include <pthread.h>

#include "dev/cuda/driver.h"
#include "dev/dev.h"

/* Defines a row of the GPU's kernels. The build collects these lines, so they start in column 0. */
#define JFL_CUDA(id, ...)                   \
  extern const jf_kernel_row jf_cuda_##id;  \
  const jf_kernel_row jf_cuda_##id = { .name = #id, __VA_ARGS__ };

/* ---- devices (device.c), entering them (context.c) ---- */

typedef struct jf_cuda_image jf_cuda_image;
struct jf_cuda_blas;

/* A block of pinned memory. */
typedef struct jf_cuda_pinned {
  struct jf_cuda_pinned *next;
  char *at;
  size_t size;
} jf_cuda_pinned;

/* The state of a device. */
typedef struct jf_cuda {
  const jf_cuda_driver *api;
  char name[24];                       /* "gpu:0" */
  int ordinal;                         /* the driver's */
  int arch;                            /* 90 for compute capability 9.0 */
  int multiprocessors;
  jf_cu_pool *pool;                    /* of memory; NULL: the device has none */
  jf_cu_context *context;
  jf_cu_stream *own;                   /* for memory that is taken and given back */
  unsigned forks;                      /* jf_forks() when it was opened */
  atomic_int lost;                     /* the error that ended the context; 0: none */
  uint64_t peers;                      /* bit i: its copies from device i are made ready */
  pthread_mutex_t pinned_mu;           /* guards what jf_cuda_pin gave */
  jf_cuda_pinned *pinned;
  pthread_cond_t made;                 /* one of its images is loaded, or failed */
  pthread_mutex_t mu;                  /* guards what follows */
  jf_cuda_image *images;               /* image.h */
  struct jf_cuda_blas *blas;           /* NULL until a product needs it (blas.h) */
  struct jf_dnn *dnn;                  /* cuDNN here (dnn.h); NULL: not asked for yet */
} jf_cuda;

/* Makes the device's context the calling thread's until jf_cuda_leave. Fails, and then must not be
   left, where the device is lost or the process was forked from one that uses it. */
jfl_status jf_cuda_enter(jf_cuda *c);
void jf_cuda_leave(jf_cuda *c);
/* Does the same to give back what is there, so a lost device is no hindrance; 0: a forked process
   leaves that to the one that it forked from. */
int jf_cuda_enter_to_end(jf_cuda *c);
/* Fails unless e is 0; `doing` says what was tried: "copying to it". */
jfl_status jf_cuda_check(jf_cuda *c, jf_cu e, const char *doing);

/* ---- memory (memory.c); the caller has entered ---- */

/* Takes memory, which holds what it held before. What was given back, and the driver keeps for
   later, is given up where there is no other. */
jf_cu jf_cuda_take(jf_cuda *c, size_t size, jf_cu_address *out);
/* Gives it back once what c->own was told before is done. */
void jf_cuda_drop(jf_cuda *c, jf_cu_address at);
/* Leaves to others what was given back and is kept for later. */
void jf_cuda_trim(jf_cuda *c);

/* ---- waiting where other ranks take part (nccl.c) ---- */

/* Whether what a GPU does may wait for other ranks: then whoever waits for it asks again and again
   whether it is done, and calls jf_cuda_watch in between, which fails once the world has trouble,
   and ends what such GPUs wait for. `round` counts these calls. */
int jf_cuda_may_hang(void);
jfl_status jf_cuda_watch(int round);

/* ---- streams (stream.c) ---- */

typedef struct jf_cuda_stream jf_cuda_stream;
/* The device on whose stream k runs, and the driver's stream. */
jf_cuda *jf_cuda_of(const jf_kargs *k);
jf_cu_stream *jf_cuda_queue(const jf_kargs *k);
jf_cu_stream *jf_cuda_stream_of(void *stream);

jfl_status jf_cuda_stream_new(jf_device *d, void **out);
void jf_cuda_stream_free(jf_device *d, void *stream);
jfl_status jf_cuda_put(jf_device *d, void *stream, void *to, const void *from, size_t size);
jfl_status jf_cuda_get(jf_device *d, void *stream, void *to, const void *from, size_t size);
jfl_status jf_cuda_move(jf_device *d, void *stream, void *to, jf_device *source, const void *from,
                        size_t size);
jfl_status jf_cuda_wait(jf_device *d, void *stream);
jfl_status jf_cuda_capture(jf_device *d, void *stream);
jfl_status jf_cuda_captured(jf_device *d, void *stream, void **out);
jfl_status jf_cuda_replay(jf_device *d, void *stream, void *work);
void jf_cuda_work_free(jf_device *d, void *work);
void *jf_cuda_pin(jf_device *d, size_t size);
void jf_cuda_unpin(jf_device *d, void *p);
jfl_status jf_cuda_event_new(jf_device *d, void **out);
void jf_cuda_event_free(jf_device *d, void *event);
jfl_status jf_cuda_record(jf_device *d, void *stream, void *event);
jfl_status jf_cuda_await(jf_device *d, void *stream, void *event);
jfl_status jf_cuda_reach(jf_device *d, void *stream, void *event);

/* ---- kernels (image.c, ready.c, compile.c) ---- */

/* What a source sees under a name: a type of C++, or where `type` is NULL a number. */
typedef struct jf_cuda_name { const char *name, *type; int64_t number; } jf_cuda_name;
#define JF_AS_TYPE(name, type) { name, type, 0 }
#define JF_AS_DTYPE(name, dtype) { name, jf_cuda_stored(dtype), 0 }
#define JF_AS_NUMBER(name, number) { name, NULL, number }
/* `what` is what messages call it. The text begins with the names, of which the first NULL is the
   end, and with `define`, unless that is NULL. */
enum { JF_CUDA_NAMES = 16 };
typedef struct jf_cuda_source {
  const char *what;
  const char *text;
  const char *define;
  jf_cuda_name names[JF_CUDA_NAMES];
} jf_cuda_source;

/* A kernel of a source, which can be launched once a call that waits for it is ready. It stays as
   long as the device. */
typedef struct jf_cuda_kernel jf_cuda_kernel;
/* Finds the kernel `name` of a source for the call that is prepared. Each of the device's sources
   is compiled and loaded once: if it is not yet, k->waits for it. */
jfl_status jf_cuda_find(jf_kargs *k, const jf_cuda_source *s, const char *name,
                        jf_cuda_kernel **out);
/* Compiles and loads what calls wait for: `ready` of the kind. */
jfl_status jf_cuda_ready(jf_kargs *const *k, int n, int threads, int *failed);
void jf_cuda_images_free(jf_cuda *c);
/* The text before every source: types and helpers (kernels/cuda/prelude.cuh). */
extern const char jf_cuda_prelude[];
/* Compiles a source without names, the prelude before it, for an architecture; *image is freed by
   jf_free. There are jf_cuda_compile_ways ways, at least one, of which the first serves unless the
   driver refuses its image: the installed compilers in turn, each one with what an earlier call
   left on disk, and anew. For a device that is newer than the compiler, what comes is PTX, which
   the driver compiles. */
int jf_cuda_compile_ways(void);
jfl_status jf_cuda_compile(int arch, const jf_cuda_source *s, int way, void **image,
                           size_t *size);

/* A launch of `blocks` blocks of `threads` threads; the kernel has one parameter, at `args`. */
typedef struct jf_cuda_grid { int64_t blocks; int threads; size_t shared; } jf_cuda_grid;
jfl_status jf_cuda_launch(const jf_kargs *k, const jf_cuda_kernel *f, jf_cuda_grid grid,
                          void *args);
/* A grid of so many blocks, or where these are more than `waves` for each multiprocessor of as many
   as that, which go on to further ones. */
jf_cuda_grid jf_cuda_grid_within(const jf_kargs *k, int64_t blocks, int threads, int waves);
/* A grid of one thread for each of n, or fewer threads that go on to further ones. */
jf_cuda_grid jf_cuda_grid_of(const jf_kargs *k, int64_t n);

/* ---- types (types.c) ---- */

/* The C++ types of a dtype's elements: as they are stored, computed, and computed where integers
   wrap. least and most are the ends of an integer type. */
typedef struct jf_cuda_ctype {
  const char *stored, *computed, *wrapping, *least, *most;
} jf_cuda_ctype;
extern const jf_cuda_ctype jf_cuda_ctypes[JFL_N_DTYPE];
const char *jf_cuda_stored(jfl_dtype t);
const char *jf_cuda_computed(jfl_dtype t);

/* ---- calls (call.c) ---- */

/* What the parameter of every kernel begins with; prelude.cuh has the same struct. data: inputs,
   then outputs, then scratch. fault: the first field of the run's record, which says the rest of
   what random bits depend on. */
enum { JF_CUDA_POINTERS = 8 };
typedef struct jf_cuda_head {
  void *data[JF_CUDA_POINTERS];
  jf_fault *fault;
  int64_t step;
  uint64_t key;                        /* of random bits; and which element is the call's first */
  int64_t first;
} jf_cuda_head;
/* The head of a call, without data. */
jf_cuda_head jf_cuda_head_of(const jf_kargs *k);

/* Prepares a launch of a kernel, behind those that were prepared before: its parameter is a copy of
   the `size` bytes at args, which begin with a jf_cuda_head. Sets k->state, which jf_free frees; a
   failure leaves nothing there. k has no more tensors than the head has room for. */
jfl_status jf_cuda_add(jf_kargs *k, jf_cuda_kernel *kernel, jf_cuda_grid grid, const void *args,
                       size_t size);
/* Does so for the kernel `name` of a source, JFL_ENOSYS if k has more tensors; and with one thread
   for each of n, which may be 0: then nothing is launched. */
jfl_status jf_cuda_prepare(jf_kargs *k, const jf_cuda_source *s, const char *name,
                           jf_cuda_grid grid, const void *args, size_t size);
jfl_status jf_cuda_each(jf_kargs *k, const jf_cuda_source *s, const char *name, int64_t n,
                        const void *args, size_t size);
/* Runs what was prepared on k's tensors; nothing, if k->state is NULL. */
jfl_status jf_cuda_run(const jf_kargs *k);
/* Copies a table to the device, where it stays until jf_cuda_release: the launches prepared later
   see its address behind that of scratch. */
jfl_status jf_cuda_keep(jf_kargs *k, const void *table, size_t size);
void jf_cuda_release(void *state);
/* Takes memory of the device and copies to it at once. */
jfl_status jf_cuda_upload(jf_device *d, const void *from, size_t size, void **out);
/* Queue the clearing of bytes, and a copy on the device, of which nothing is done where `to` is
   `from`. */
jfl_status jf_cuda_clear(const jf_kargs *k, void *to, size_t size);
jfl_status jf_cuda_copy(const jf_kargs *k, void *to, const void *from, size_t size);
/* The type in which elements of so many bytes are moved: an integer, or of 16 bytes a vector. */
const char *jf_cuda_moved(size_t size);
/* The fields of a row that is prepared by jf_cuda_prepare alone. */
#define JF_CUDA_LAUNCHED(op_, accepts_, prepare_)                                     \
  .op = op_, .accepts = accepts_, .prepare = prepare_, .run = jf_cuda_run,            \
  .release = jf_free

/* The rows of kernels/cuda, ended by NULL (rows.c). */
const jf_kernel_row *const *jf_cuda_rows(void);
extern const jf_fused_limits jf_cuda_fused_limits;

#endif
