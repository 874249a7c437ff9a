/* The simulated device: what its memory, streams and table share. The host faults if it touches the
   device's memory, and the device does its work late, on threads of its own. So tests find code
   that only works on a CPU because memory is shared or calls are done when they return. */
#ifndef JF_SIM_H
#define JF_SIM_H

#include <pthread.h>

#include "dev/dev.h"
#include "dev/stream.h"

/* ---- memory (memory.c) ---- */

/* A block of a device's memory. Its address is in pages that nobody may touch; its contents are in
   host memory, which only the device's threads look up. */
typedef struct jf_sim_block {
  char *address, *contents;
  size_t size;
  uint64_t freed;              /* number of the freeing, from 1 on; 0: still in use */
} jf_sim_block;

/* The blocks of one device, sorted by address. Guarded by mu. */
typedef struct jf_sim_memory {
  pthread_mutex_t mu;
  const char *name;            /* the device's name, "sim:0" */
  jf_sim_block *block; int n, cap;
  int n_freed; size_t freed_size;      /* freed blocks that are kept, and their bytes */
  uint64_t clock;              /* how many blocks were freed so far */
} jf_sim_memory;

void jf_sim_memory_init(jf_sim_memory *m, const char *name);
void jf_sim_memory_end(jf_sim_memory *m);
/* Gives zeroed memory; NULL if there is none left. */
void *jf_sim_take(jf_sim_memory *m, size_t size);
/* Frees a block: fills it with POISON and keeps it for a while, so that later uses of it are
   detected. */
void jf_sim_drop(jf_sim_memory *m, void *p);
/* Gives the host address of the `size` bytes at device address p, for the device's threads. Fails
   if they are not within one block that is in use. */
jfl_status jf_sim_find(jf_sim_memory *m, const void *p, size_t size, void **out);

/* ---- streams (stream.c) ---- */

/* What environment variables say about the streams of a device. */
typedef struct jf_sim_pace {
  unsigned delay;              /* JFL_SIM_DELAY: the longest delay in microseconds; 0: none */
  uint64_t seed;               /* JFL_SIM_SEED: chooses the delays */
} jf_sim_pace;

/* What an item begins with. */
typedef struct jf_sim_item jf_sim_item;
typedef jfl_status (*jf_sim_fn)(jf_sim_item *i);
struct jf_sim_item { jf_sim_item *next; struct jf_sim_stream *stream; jf_sim_fn run; };

/* Items that are kept, to be done each time that they are replayed. */
typedef struct jf_sim_work { jf_sim_item *head, *tail; } jf_sim_work;

/* A stream that does its items in order, sometimes after a short delay. */
typedef struct jf_sim_stream {
  jf_stream *stream;
  jf_sim_work *captured;       /* keeps the items given now; NULL: they are done */
  const char *name;            /* the device's name */
  jf_sim_pace pace;
  uint64_t number, n_done;     /* its number, for its delays; items that are done */
  unsigned forks;              /* the fork generation in which it was made */
} jf_sim_stream;

jfl_status jf_sim_stream_new(const char *name, jf_sim_pace pace, uint64_t number,
                             jf_sim_stream **out);
/* Waits until all items are done. */
void jf_sim_stream_free(jf_sim_stream *s);
/* Fails in a process that forked since the stream was made. */
jfl_status jf_sim_check(const jf_sim_stream *s);
/* Gives room for an item of `size` bytes, which the caller fills, but for its beginning, and puts
   before it does anything else with the stream. */
jfl_status jf_sim_room(jf_sim_stream *s, size_t size, void **out);
void jf_sim_put(jf_sim_stream *s, jf_sim_item *i, jf_sim_fn run);
/* From here on s keeps what it is given, until the end, which gives that work. */
jfl_status jf_sim_capture(jf_sim_stream *s);
jf_sim_work *jf_sim_captured(jf_sim_stream *s);
jfl_status jf_sim_replay(jf_sim_stream *s, jf_sim_work *w);
void jf_sim_work_free(jf_sim_work *w);

#endif
