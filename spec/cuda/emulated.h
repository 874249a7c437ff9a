/* An emulated GPU for tests: libraries with the entry points of NVIDIA's driver, NVRTC, cuDNN and
   NCCL that jfl uses. Kernels are compiled by g++ and run on the CPU, the threads of a block as
   fibres.

     nvrtc.c    compiles the source of kernels, under the header runtime.h, to a shared object
     driver.c   devices, contexts, modules; what is refused, as the real driver refuses it
     memory.c   device memory, which the host cannot touch while no work is done, and pinned memory
     stream.c   streams with a thread each, events, captured graphs
     fibre.c    the threads of a block: barriers and shuffles
     race.c     finds threads of a block that touch shared memory without a barrier between
     order.c    finds copies that nothing puts in order with what other streams do
     cublaslt.c matrix products
     cudnn.c    the descriptors of cuDNN; graph.c runs what they describe
     nccl.c     sums and messages between GPUs of several processes

   Types and numbers are those of the driver's interface (CUDA driver API reference). */
#ifndef EMULATED_H
#define EMULATED_H

#include <stddef.h>
#include <stdint.h>

#define EMULATED_ENTRY __attribute__((visibility("default")))

enum {
  CU_OK = 0, CU_INVALID_VALUE = 1, CU_OUT_OF_MEMORY = 2, CU_NOT_INITIALIZED = 3, CU_NO_DEVICE = 100,
  CU_INVALID_DEVICE = 101, CU_INVALID_IMAGE = 200, CU_INVALID_CONTEXT = 201,
  CU_OTHER_IMAGE = 209, CU_NEWER_PTX = 222,
  CU_INVALID_HANDLE = 400, CU_NOT_FOUND = 500, CU_NOT_READY = 600, CU_ILLEGAL_ADDRESS = 700,
  CU_LAUNCH_OUT_OF_RESOURCES = 701, CU_PEER_ALREADY_ENABLED = 704, CU_LAUNCH_FAILED = 719,
  CU_NOT_SUPPORTED = 801, CU_CAPTURE_UNSUPPORTED = 900, CU_CAPTURE_UNMATCHED = 903,
  CU_MISALIGNED_ADDRESS = 716, CU_CAPTURE_ISOLATION = 905, CU_CAPTURED_EVENT = 907
};

typedef uint64_t emulated_address;

/* ---- devices and contexts (driver.c) ---- */

enum { MOST_DEVICES = 8 };

typedef struct emulated_context { int device, refs; } emulated_context;
/* The calling thread's context, or NULL. */
EMULATED_ENTRY emulated_context *emulated_current(void);
/* The newest CUDA that the driver serves: 13000. */
EMULATED_ENTRY int emulated_version(void);
/* Whether nothing is compiled (JFL_EMULATED_COMPILE=0): then nothing is computed or copied either,
   and memory is addresses alone, as much as is asked for. So plans of any size can be made. */
int emulated_is_hollow(void);
/* A failure that ends a context: every later call on that device gives it. 0: none so far. */
int emulated_lost(int device);
void emulated_lose(int device, int error);

/* ---- memory (memory.c) ---- */

int emulated_take(int device, size_t size, emulated_address *out);
int emulated_drop(int device, emulated_address at);
/* Whether bytes at..at+size-1 lie in one block of that device, or of any for device -1, which is
   not freed. */
int emulated_holds(int device, emulated_address at, size_t size);
void emulated_memory_info(int device, size_t *unused, size_t *all);
/* Host memory that copies read and write late. */
int emulated_pin(size_t size, void **out);
int emulated_unpin(void *p);
int emulated_is_pinned(const void *p, size_t size);
int emulated_blocks_left(void);        /* blocks of device and of pinned memory */
/* Where the block around an address begins; 0: there is none. */
emulated_address emulated_block_around(emulated_address at);
/* Device memory can be touched between these two, which nest over all threads. */
void emulated_memory_open(void);
void emulated_memory_close(void);

/* ---- modules and launches (driver.c, fibre.c) ---- */

/* What a compiled kernel sees of its surroundings; runtime.h has the same struct. */
typedef struct emulated_index { unsigned x, y, z; } emulated_index;
typedef struct emulated_world {
  emulated_index thread, block, block_size, grid;
  /* A barrier in that line of the source; gives whether any thread has put a number. */
  int (*sync)(int line, int put);
  /* Waits for the lanes of the mask, and gives what lane `from` has put. */
  uint64_t (*shuffle)(unsigned mask, uint64_t value, int from);
  /* The lanes of the mask whose value is not 0. */
  unsigned (*ballot)(unsigned mask, int value);
  void *shared;                        /* the dynamic shared memory of the block */
  void (*yield)(void);                 /* lets other threads go on first */
  void (*trap)(int error, int line);   /* ends the thread, and with it the launch */
  void (*touch)(const void *at, int size, int how);   /* an access, where races are looked for */
} emulated_world;
enum { TOUCH_READ, TOUCH_WRITE, TOUCH_ATOMIC };

enum { MOST_PARAMETERS = 16, MOST_SHARED = 227 * 1024, USUAL_SHARED = 48 * 1024 };
typedef struct emulated_function {
  char name[128];
  void (*call)(void **parameter);      /* runs one thread */
  int n_parameter;
  size_t size[MOST_PARAMETERS];
  size_t most_shared;
  unsigned most_threads;               /* of a block, by its __launch_bounds__ */
  emulated_world **world;              /* the module's pointer */
  void *shared;                        /* the module's variables, which are static shared memory */
  size_t shared_size;
  size_t own_shared;                   /* of it, at least what this kernel has */
} emulated_function;

typedef struct emulated_launch {
  const emulated_function *function;
  emulated_index grid, block;
  size_t shared;
  void *parameter[MOST_PARAMETERS];    /* into bytes */
  _Alignas(16) char bytes[];
} emulated_launch;
/* Runs all blocks; gives 0 or an error of the driver. */
int emulated_run(const emulated_launch *l);
/* Reports what is wrong with the launch that runs now; the first of it is printed. */
void emulated_blame(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- races in shared memory (race.c) ---- */

/* Where a thread of a block is: what it does is in order with what others did before the last
   barrier, and with lanes of its warp before they met. */
typedef struct emulated_place { unsigned epoch, meeting; int thread; } emulated_place;
/* The two pieces of memory that the threads of a block share. */
typedef struct emulated_piece { const char *at; size_t size; } emulated_piece;
void emulated_race_touch(const emulated_piece *piece, emulated_place who, const char *at, int size,
                         int how);

/* ---- for the other libraries, which are linked with the driver (driver.c) ---- */

/* Counts something that the file of JFL_EMULATED_CALLS tells of. */
void emulated_count(const char *name);

typedef struct emulated_stream emulated_stream;
/* Counts a call that JFL_EMULATED_FAIL may let fail; gives the driver's error if this one fails. */
EMULATED_ENTRY int emulated_injected(void);
/* Queues a call of fn with a copy of `size` bytes at arg. It may touch device memory, and is
   captured and repeated as a launch is. */
EMULATED_ENTRY int emulated_work(emulated_stream *s, void (*fn)(void *arg), const void *arg,
                                 size_t size);
/* The calling thread's context, or NULL. */
EMULATED_ENTRY emulated_context *emulated_here(void);
/* Whether these bytes lie in one block of memory of the stream's device. */
EMULATED_ENTRY int emulated_reaches(emulated_stream *s, const void *at, size_t size);

/* ---- streams, events, graphs (stream.c) ---- */

typedef struct emulated_event emulated_event;
typedef struct emulated_graph emulated_graph;

typedef enum emulated_sort { ITEM_LAUNCH, ITEM_COPY, ITEM_FILL, ITEM_RECORD, ITEM_AWAIT,
  ITEM_HOST } emulated_sort;
typedef struct emulated_item {
  struct emulated_item *next;
  emulated_sort sort;
  emulated_launch *launch;             /* owned */
  void *to;
  const void *from;                    /* of a copy */
  void *snapshot;                      /* owned: what `from` held when it was queued, or NULL */
  size_t size;
  unsigned char byte;                  /* of a fill */
  emulated_event *event;
  uint64_t turn;                       /* which recording of the event */
  void (*fn)(void *arg);               /* of another library's work, on the snapshot */
} emulated_item;

/* How far all streams are, by their numbers: so many of their items. */
enum { MOST_STREAMS = 256 };
typedef struct emulated_clock { uint64_t at[MOST_STREAMS]; } emulated_clock;
void emulated_clock_join(emulated_clock *c, const emulated_clock *other);
int emulated_order_is_asked(void);
/* Notes what an item uses that is queued now, when the stream is behind those of the clock; gives
   an error of the driver where something of another stream is not in order with it. */
int emulated_order_item(int stream, const emulated_clock *now, const emulated_item *i);
/* A block is given back. */
void emulated_order_forget(emulated_address at);

int emulated_stream_new(int device, emulated_stream **out);
int emulated_stream_end(emulated_stream *s);
int emulated_stream_is(const emulated_stream *s);            /* whether there is such a stream */
int emulated_stream_device(const emulated_stream *s);
int emulated_stream_captures(const emulated_stream *s);
int emulated_stream_works(const emulated_stream *s);         /* whether it has something to do */
int emulated_handles_left(void);       /* streams, events and graphs */
/* How many kernels, fills and calls of libraries were queued by now; counts one more. */
EMULATED_ENTRY int64_t emulated_launches(void);
void emulated_launched(void);
/* Takes the item over. */
int emulated_queue(emulated_stream *s, emulated_item *i);
int emulated_stream_wait(emulated_stream *s);
int emulated_event_new(emulated_event **out);
int emulated_event_end(emulated_event *e);
int emulated_event_is(const emulated_event *e);
int emulated_event_record(emulated_event *e, emulated_stream *s);
int emulated_event_await(emulated_stream *s, emulated_event *e);
/* These two give CU_CAPTURED_EVENT for an event that was last recorded into a graph. */
int emulated_event_wait(emulated_event *e);
int emulated_event_query(emulated_event *e);
/* Milliseconds between two events of one stream that have happened; CU_NOT_READY: one has not. */
int emulated_event_between(emulated_event *from, emulated_event *to, float *ms);
int emulated_capture(emulated_stream *s);
int emulated_captured(emulated_stream *s, emulated_graph **out);
int emulated_graph_end(emulated_graph *g);
int emulated_graph_is(const emulated_graph *g);
int emulated_graph_copy(const emulated_graph *g, emulated_graph **out);
int emulated_graph_queue(emulated_graph *g, emulated_stream *s);

#endif
