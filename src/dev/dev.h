/* Devices: what a kind of them can do, their memory, and arrays. */
#ifndef JF_DEV_H
#define JF_DEV_H

#include <stdatomic.h>

#include "dev/kernel.h"

typedef struct jf_device jf_device;

/* One kind of device: all that the rest of the library knows about it. Members that are not said to
   be optional are there. Sizes are in bytes. A pointer into a device's memory is handed to nothing
   but the functions of its kind and its kernels, unless the kind says `host`.

   A kind without `host` works late: put, get, move, launch, record and await only queue work on a
   stream and may return before it is done. Work on one stream is done in the order in which it was
   queued. Host memory that was handed to put or get stays as it is until `wait`. What a launch was
   given in k, k->in and k->out may change once launch returns; k->attr, k->state and k->scratch
   stay until `wait`. After a failure the caller still waits for each stream that it used; then the
   device is ready for other work. */
typedef struct jf_kind {
  const char *name;                    /* "cpu" */
  int host;                            /* its memory is the host's, its kernels answer at once */
  int plain;                           /* the plain kernels of op records may serve */
  int (*count)(void);                  /* how many devices there are now; NULL: one */
  /* What a device needs before it is used, kept in d->state, and its end; NULL: nothing. */
  jfl_status (*open)(jf_device *d);
  void (*close)(jf_device *d);

  /* ---- what plans and passes ask ---- */

  const jf_kernel_row *const *(*rows)(void);   /* ended by NULL; NULL: it has none of its own */
  /* How many channels its convolutions want side by side, 0 or a NULL function: any number. */
  int64_t (*channel_block)(void);
  /* Whether products and convolutions gain by ending in that op; NULL: none does. */
  int (*activates)(const char *act);
  const jf_fused_limits *fused;        /* NULL: it runs no fused programs */
  /* What it does at best with that many threads: float32 additions and multiplications per second
     in registers, bytes per second read and written by a loop over large arrays. Optional. */
  void (*peak)(int threads, double *flop, double *bytes);

  /* ---- memory ---- */

  /* Zeroed and 64-byte aligned, or NULL; size may be 0. */
  void *(*alloc)(jf_device *d, size_t size);
  /* Nothing uses it any more; p may be NULL. */
  void (*free)(jf_device *d, void *p);

  /* ---- streams, copies, launches; NULL for a kind with `host` ---- */

  jfl_status (*stream_new)(jf_device *d, void **out);
  void (*stream_free)(jf_device *d, void *stream);
  /* From host memory, and to it. */
  jfl_status (*put)(jf_device *d, void *stream, void *to, const void *from, size_t size);
  jfl_status (*get)(jf_device *d, void *stream, void *to, const void *from, size_t size);
  /* From another device of the kind, on a stream of d; NULL: such copies go through the host. */
  jfl_status (*move)(jf_device *d, void *stream, void *to, jf_device *source, const void *from,
                     size_t size);
  /* Runs a kernel that sees k->stream and k->fault; NULL: calling it is enough, as it queues its
     work itself. Once a launch failed or filled in k->fault, none after it on the stream changes a
     variable until `wait`. */
  jfl_status (*launch)(jf_device *d, void *stream, jf_kernel run, const jf_kargs *k);
  /* Returns when all work of the stream is done. Gives what went wrong on it since the last time,
     and makes the stream ready for another run. */
  jfl_status (*wait)(jf_device *d, void *stream);

  /* ---- repeating a run's work; all of these or none ---- */

  /* From capture to captured, launches on the stream are kept instead of done. They are done, with
     the arguments that they had, each time that replay queues them. */
  jfl_status (*capture)(jf_device *d, void *stream);
  jfl_status (*captured)(jf_device *d, void *stream, void **out);
  jfl_status (*replay)(jf_device *d, void *stream, void *work);
  void (*work_free)(jf_device *d, void *work);

  /* ---- events; NULL for a kind with `host` ---- */

  jfl_status (*event_new)(jf_device *d, void **out);
  void (*event_free)(jf_device *d, void *event);
  /* The event happens once all that was queued before is done or has failed. */
  jfl_status (*record)(jf_device *d, void *stream, void *event);
  /* Work that is queued later on d's stream begins once an event has happened, which any device of
     the kind recorded before. */
  jfl_status (*await)(jf_device *d, void *stream, void *event);
} jf_kind;

/* An instance of a kind. Immutable once open, but for what the kind keeps in state. */
struct jf_device {
  const jf_kind *kind;
  int index;
  char name[24];                         /* "gpu:1" */
  void *state;                           /* the kind's own */
};

/* Defines a kind. The build collects these lines, so they start in column 0. */
#define JFL_DEVICE(id, ...)                \
  extern const jf_kind jf_kind_##id;       \
  const jf_kind jf_kind_##id = { .name = #id, __VA_ARGS__ };

extern const jf_kind *const jf_kinds[];  /* ended by NULL */
const jf_kind *jf_kind_find(const char *name);          /* NULL: there is none */
int jf_kind_count(const jf_kind *k);
/* The device that text names: "gpu:1", or "gpu" for "gpu:0". One that is not there is an error. */
jfl_status jf_device_parse(const char *text, const jf_kind **kind, int *index);
/* Opens a device; freed by jf_device_free once nothing uses its memory. */
jfl_status jf_device_new(const jf_kind *kind, int index, jf_device **out);
void jf_device_free(jf_device *d);
/* The device whose memory is the host's own; never freed. */
jf_device *jf_host(void);

/* Memory of a device, which arrays may share. */
typedef struct jf_storage {
  atomic_int refs;
  size_t size;
  void *data;
  jf_device *device;           /* outlives it */
} jf_storage;
/* Zeroed. */
jfl_status jf_storage_new(jf_device *d, size_t size, jf_storage **out);
void jf_storage_unref(jf_storage *st);

/* An array is in host memory. */
struct jfl_array {
  atomic_int refs;
  jf_storage *storage;
  void *data;              /* inside storage */
  jfl_dtype dtype;
  jfl_shape shape;
};

/* Like jfl_array_new, with contents left as they are. */
jfl_status jf_array_new_raw(jfl_dtype t, const jfl_shape *s, jfl_array **out);

#endif
