/* The simulated device: what its memory, streams and table share. The host faults if it touches the
   device's memory, and the device does its work late, on threads of its own. So tests find code
   that only works on a CPU because memory is shared or calls are done when they return. */
#ifndef JF_SIM_H
#define JF_SIM_H

#include <pthread.h>

#include "dev/dev.h"

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

/* ---- streams and events (stream.c) ---- */

/* What environment variables say about the streams of a device. */
typedef struct jf_sim_pace {
  unsigned delay;              /* JFL_SIM_DELAY: the longest delay in microseconds; 0: none */
  uint64_t seed;               /* JFL_SIM_SEED: chooses the delays */
} jf_sim_pace;

/* A point in a stream that others wait for. Guarded by mu. */
typedef struct jf_sim_event {
  pthread_mutex_t mu;
  pthread_cond_t there;
  uint64_t asked, reached;     /* how often it was recorded, and its stream came to it, */
  int failed;                  /* which last was after a failure */
} jf_sim_event;

struct jf_sim_stream;

/* What a stream skips after a failure: work, but no marks. */
typedef enum jf_sim_sort { JF_SIM_MARK, JF_SIM_WORK } jf_sim_sort;

/* A piece of work for a stream. */
typedef struct jf_sim_item {
  struct jf_sim_item *next;
  jfl_status (*run)(struct jf_sim_stream *s, struct jf_sim_item *i);
  jf_sim_sort sort;
} jf_sim_item;

/* A stream: a thread that does its items in order, sometimes after a short delay. */
typedef struct jf_sim_stream {
  pthread_mutex_t mu;
  pthread_cond_t changed;
  pthread_t thread; int has_thread, stop;      /* guarded by mu, as the next ones are */
  jf_sim_item *head, *tail;
  struct jf_sim_work *captured; /* keeps the items given now; NULL: they are done */
  int busy;                    /* whether an item is being done */
  jfl_status failed;           /* the first failure since the host last waited, */
  jf_error *error;             /* and its message, which the stream owns */
  const char *name;            /* the device's name */
  jf_sim_pace pace;
  uint64_t number, n_done;     /* its number, for its delays; items that the thread has done */
  unsigned forks;              /* the fork generation in which it was made */
} jf_sim_stream;

void jf_sim_stream_init(jf_sim_stream *s, const char *name, jf_sim_pace pace, uint64_t number);
/* Waits until all items are done and ends the thread. */
void jf_sim_stream_end(jf_sim_stream *s);
/* Gives the stream an item, a block from jf_new, and takes it over, even on failure. */
jfl_status jf_sim_put(jf_sim_stream *s, jf_sim_item *i);
/* Items that are kept, to be done each time that they are replayed. */
typedef struct jf_sim_work { jf_sim_item *head, *tail; } jf_sim_work;
/* From here on s keeps what it is given, until the end, which gives that work. */
jfl_status jf_sim_capture(jf_sim_stream *s);
jf_sim_work *jf_sim_captured(jf_sim_stream *s);
jfl_status jf_sim_replay(jf_sim_stream *s, jf_sim_work *w);
void jf_sim_work_free(jf_sim_work *w);
/* Waits until all items are done; returns the first failure since the last wait and forgets it. */
jfl_status jf_sim_wait(jf_sim_stream *s);

void jf_sim_event_init(jf_sim_event *e);
void jf_sim_event_end(jf_sim_event *e);
jfl_status jf_sim_record(jf_sim_stream *s, jf_sim_event *e);
/* Items that s gets from now on wait for the last jf_sim_record of e; if there was none, they wait
   for nothing. */
jfl_status jf_sim_await(jf_sim_stream *s, jf_sim_event *e);
/* Waits until the last jf_sim_record of e, by s, has happened; fails where that was after a failure
   of s, as that did. */
jfl_status jf_sim_reach(jf_sim_stream *s, jf_sim_event *e);

#endif
