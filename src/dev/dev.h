/* Devices: what a kind of device can do, its memory, and arrays. */
#ifndef JF_DEV_H
#define JF_DEV_H

#include <stdatomic.h>

#include "base/need.h"
#include "dev/kernel.h"

typedef struct jf_device jf_device;
typedef struct jf_mapping jf_mapping;  /* a file as memory, system/system.h */

/* One kind of device: all that the rest of the library knows about it. Members are required unless
   their comment says otherwise. Sizes are in bytes. Pointers into a device's memory are used by
   nothing but the kind's functions and kernels, unless the kind sets `host`. A kind without `host`
   works asynchronously: put, get, move, launch, record and await only queue work on a stream and
   may return before it is done. The work of one stream is done in the order in which it was queued.
   Host memory given to put or get must not change until `wait`. After launch returns, the caller
   may change k, k->in and k->out, but k->attr, k->state and k->scratch must stay until `wait`.
   After a failure the caller still waits for each stream that it used; then the device can be used
   again. */
typedef struct jf_kind {
  const char *name;                    /* "cpu" */
  int host;                            /* its memory is the host's, kernels end when they return */
  int host_memory;                     /* its memory is the host's, but it works late */
  int plain;                           /* the plain kernels of op records can run on it */
  const struct jf_kind *parts;         /* the kind of devices that the one of this kind is divided
                                          into where a session wants several; NULL: it is not */
  int (*count)(void);                  /* how many such devices there are now; NULL: one */
  const char *(*absence)(void);        /* why count gave 0, "the driver finds none"; NULL: unsaid */
  /* open prepares a device for use and may set d->state; close ends that. NULL: nothing to do. */
  jfl_status (*open)(jf_device *d);
  void (*close)(jf_device *d);

  /* ---- what plans and passes ask ---- */

  const jf_kernel_row *const *(*rows)(void);   /* ended by NULL; NULL: it has none of its own */
  /* Does what the preparing of n calls on devices of the kind, or of another with this function,
     has left to be done for all of them, as k->waits says, on up to so many threads. *failed is the
     first call for which that fails. NULL: nothing is left. */
  jfl_status (*ready)(jf_kargs *const *k, int n, int threads, int *failed);
  /* How many channels its convolutions want in a block; 0 or a NULL function: they want no
     blocks. */
  int64_t (*channel_block)(void);
  /* Whether products and convolutions of that dtype become faster if they end in that op; NULL:
     with none. */
  int (*activates)(const char *act, jfl_dtype t);
  /* Whether steps along gradients that are products are better made together with those of all
     variables than by the products. */
  int updates_together;
  const jf_fused_limits *fused;        /* NULL: it runs no fused programs */
  /* Measures what the device can do with that many threads: float32 additions and multiplications
     per second in registers, and bytes per second read and written by a loop over large arrays.
     Optional. */
  void (*peak)(int threads, double *flop, double *bytes);

  /* ---- memory ---- */

  /* Gives zeroed memory, aligned to 64 bytes, or NULL; size may be 0. */
  void *(*alloc)(jf_device *d, size_t size);
  /* Called when nothing uses the memory any more; p may be NULL. */
  void (*free)(jf_device *d, void *p);
  /* How much memory nobody has taken, and how much there is; fails where the device cannot be used
     any more. Optional. */
  jfl_status (*memory)(jf_device *d, size_t *unused, size_t *all);

  /* ---- streams, copies, launches; NULL for a kind with `host` ---- */

  jfl_status (*stream_new)(jf_device *d, void **out);
  void (*stream_free)(jf_device *d, void *stream);
  /* Copies from host memory to the device, and from the device to host memory. */
  jfl_status (*put)(jf_device *d, void *stream, void *to, const void *from, size_t size);
  jfl_status (*get)(jf_device *d, void *stream, void *to, const void *from, size_t size);
  /* Copies from another device of the kind, on a stream of d. NULL: such copies go through the
     host. */
  jfl_status (*move)(jf_device *d, void *stream, void *to, jf_device *source, const void *from,
                     size_t size);
  /* Runs a kernel, which sees k->stream and k->fault. NULL: the caller calls the kernel, which
     queues its work itself. After a launch failed no later launch on the stream may change a
     variable until `wait`; after a kernel filled in k->fault, none with that k->fault may, until it
     is written again. */
  jfl_status (*launch)(jf_device *d, void *stream, jf_kernel run, const jf_kargs *k);
  /* Returns when all work of the stream is done. Returns the first failure since the last wait, and
     makes the stream ready for another run. */
  jfl_status (*wait)(jf_device *d, void *stream);

  /* ---- repeating a run's work; all of these or none ---- */

  /* Between capture and captured, launches on the stream are kept in *out instead of done. replay
     queues them again, with the arguments that they had; work_free forgets them. */
  jfl_status (*capture)(jf_device *d, void *stream);
  jfl_status (*captured)(jf_device *d, void *stream, void **out);
  jfl_status (*replay)(jf_device *d, void *stream, void *work);
  void (*work_free)(jf_device *d, void *work);
  /* Host memory that put and get may be given between capture and captured, and which replay then
     reads and writes late; NULL where there is none left. Optional. */
  void *(*pin)(jf_device *d, size_t size);
  void (*unpin)(jf_device *d, void *p);
  /* Whether kernels that draw random bits read the run's number in the jf_run_record, so that they
     can be repeated, too. */
  int reads_record;

  /* ---- events; NULL for a kind with `host` ---- */

  jfl_status (*event_new)(jf_device *d, void **out);
  void (*event_free)(jf_device *d, void *event);
  /* The event happens once all work queued before it is done or has failed. */
  jfl_status (*record)(jf_device *d, void *stream, void *event);
  /* Work queued later on d's stream begins only after the event has happened. A device of the kind,
     not necessarily d, must have recorded it before. */
  jfl_status (*await)(jf_device *d, void *stream, void *event);
  /* Returns when the event, which the stream recorded, has happened. Fails as the first thing
     queued before it that did; then the caller waits for the stream. */
  jfl_status (*reach)(jf_device *d, void *stream, void *event);

  /* ---- data for devices of other ranks ---- */

  /* The kind whose devices exchange data with other ranks, in the memory of the one of this kind
     with the same number; NULL: such data goes through the host. */
  const struct jf_kind *link;
  /* Of such a kind, all of these. A number that all ranks of a team must have alike; 0: it cannot
     be used here. */
  int (*ability)(void);
  /* Writes JF_INVITATION bytes that the first rank of a team gives to the others. */
  jfl_status (*invite)(jf_device *d, void *invitation);
  /* Joins n ranks, of which this is one, to the team of that number: all of them call it. */
  jfl_status (*join)(jf_device *d, int team, const int64_t *rank, int n, const void *invitation);
  /* Leaves a team that not all ranks have joined. */
  void (*leave)(jf_device *d, int team);
} jf_kind;
enum { JF_INVITATION = 128 };

/* Whether devices of one kind can copy from those of the other. */
static inline int jf_can_move(const jf_kind *from, const jf_kind *to)
{
  return to->move && (from == to || from->link == to || to->link == from);
}

/* Whether the host and other such kinds can use the kind's memory. */
static inline int jf_has_host_memory(const jf_kind *k) { return k->host || k->host_memory; }

/* An instance of a kind. It is immutable once open, except for what the kind keeps in state. */
struct jf_device {
  const jf_kind *kind;
  int index;
  char name[24];                         /* "gpu:1" */
  void *state;                           /* belongs to the kind */
};

/* Defines a kind. The build collects these lines, so they start in column 0. */
#define JFL_DEVICE(id, ...)                \
  extern const jf_kind jf_kind_##id;       \
  const jf_kind jf_kind_##id = { .name = #id, __VA_ARGS__ };

extern const jf_kind *const jf_kinds[];  /* ended by NULL */
const jf_kind *jf_kind_find(const char *name);          /* NULL: there is none */
int jf_kind_count(const jf_kind *k);
/* Finds the device that text names: "gpu:1", or "gpu" for "gpu:0". Fails if it does not exist. */
jfl_status jf_device_parse(const char *text, const jf_kind **kind, int *index);
/* Opens a device. Call jf_device_free once nothing uses its memory. */
jfl_status jf_device_new(const jf_kind *kind, int index, jf_device **out);
void jf_device_free(jf_device *d);
/* The device whose memory is the host's own; never freed. */
jf_device *jf_host(void);
/* Takes memory of a device for `what`, "temporaries", which a failure names: it says how much was
   asked for, how much there is, and what may help, unless that is NULL. */
jfl_status jf_device_take(jf_device *d, size_t size, const char *what, const char *help,
                          void **out);

/* A block of a device's memory. */
typedef struct jf_storage {
  size_t size;
  void *data;
  jf_device *device;           /* lives longer than the storage */
  jf_mapping *file;                /* the data are a part of this; NULL: memory of the device */
} jf_storage;
/* The memory is zeroed. */
jfl_status jf_storage_new(jf_device *d, size_t size, jf_storage **out);
/* Has it be a part of a mapped file, from there on, on a device whose memory is the host's. */
void jf_storage_map(jf_storage *st, jf_mapping *file, void *data);
/* Gives it other memory of the device, which has its elements already. */
void jf_storage_own(jf_storage *st, void *data);
void jf_storage_free(jf_storage *st);

/* An array: a tensor in host memory. */
struct jfl_array {
  jf_tag tag;
  atomic_int refs;
  jfl_array *owner;        /* of a view: whose the elements are, counted; else NULL */
  void *data;
  jfl_dtype dtype;
  jfl_shape shape;
};

/* Returns n references, whose places become NULL. */
void jf_arrays_drop(jfl_array **a, int n);
/* Does what jfl_array_new does, but does not set the elements. */
jfl_status jf_array_new_raw(jfl_dtype t, const jfl_shape *s, jfl_array **out);

#endif
