/* The simulated device: what its memory, its streams and its table share. A host that touches its
   memory faults, and what it is told to do it does later, on threads of its own: so tests find what
   works on a processor only because memory is shared and calls are done when they return. */
#ifndef JF_SIM_H
#define JF_SIM_H

#include <pthread.h>

#include "dev/dev.h"

/* ---- memory (memory.c) ---- */

/* A block of a device's memory. Its address lies in pages that nobody may touch; its contents are
   in host memory, which only the device's threads look up. */
typedef struct jf_sim_block {
  char *address, *contents;
  size_t size;
  uint64_t freed;              /* when it was freed, counted from 1; 0: it is in use */
} jf_sim_block;

/* One device's blocks, sorted by address; guarded by mu. */
typedef struct jf_sim_memory {
  pthread_mutex_t mu;
  const char *name;            /* of the device: "sim:0" */
  jf_sim_block *block; int n, cap;
  int n_freed; size_t freed_size;      /* blocks that are freed but kept, and their bytes */
  uint64_t clock;              /* blocks freed so far */
} jf_sim_memory;

void jf_sim_memory_init(jf_sim_memory *m, const char *name);
void jf_sim_memory_end(jf_sim_memory *m);
/* Zeroed; NULL when memory is out. */
void *jf_sim_take(jf_sim_memory *m, size_t size);
/* Poisons the block, and keeps it for a while, so that whoever uses it still is found out. */
void jf_sim_drop(jf_sim_memory *m, void *p);
/* Where the `size` bytes at device address p are, for the device's threads; fails for an address
   that is not within one block in use. */
jfl_status jf_sim_find(jf_sim_memory *m, const void *p, size_t size, void **out);

/* ---- streams and events (stream.c) ---- */

/* What environment variables say about the streams of a device. */
typedef struct jf_sim_pace {
  unsigned delay;              /* JFL_SIM_DELAY: the longest delay in microseconds; 0: none */
  uint64_t seed;               /* JFL_SIM_SEED: chooses the delays */
} jf_sim_pace;

/* A point of a stream that others wait for; guarded by mu. */
typedef struct jf_sim_event {
  pthread_mutex_t mu;
  pthread_cond_t there;
  uint64_t asked, reached;     /* how often it was recorded, and how often the stream came to it */
} jf_sim_event;

struct jf_sim_stream;

/* What a stream leaves out: steps once one found something wrong in its data, steps and copies once
   something failed, marks never. */
typedef enum jf_sim_sort { JF_SIM_MARK, JF_SIM_COPY, JF_SIM_STEP } jf_sim_sort;

/* Something for a stream to do. */
typedef struct jf_sim_item {
  struct jf_sim_item *next;
  jfl_status (*run)(struct jf_sim_stream *s, struct jf_sim_item *i);
  jf_sim_sort sort;
} jf_sim_item;

/* A thread that does what it is given, in order, now and then after a short delay. */
typedef struct jf_sim_stream {
  pthread_mutex_t mu;
  pthread_cond_t changed;
  pthread_t thread; int has_thread, stop;      /* guarded by mu, as the next ones are */
  jf_sim_item *head, *tail;
  struct jf_sim_work *kept;    /* what takes the items that are given now; NULL: they are done */
  int busy;                    /* an item is being done */
  int halted;                  /* a step found something wrong since the host last waited */
  jfl_status failed;           /* the first failure since then, */
  jf_error *error;             /* and what it says; owned */
  const char *name;            /* of the device */
  jf_sim_pace pace;
  uint64_t number, n_done;     /* of the stream, for its delays; items done, the thread's */
  unsigned forks;              /* the fork generation it belongs to */
} jf_sim_stream;

void jf_sim_stream_init(jf_sim_stream *s, const char *name, jf_sim_pace pace, uint64_t number);
/* Does what was given and ends the thread. */
void jf_sim_stream_end(jf_sim_stream *s);
/* Gives the stream an item, a block of jf_new that it takes, on failure too. */
jfl_status jf_sim_put(jf_sim_stream *s, jf_sim_item *i);
/* Items that are kept, to be done each time that they are replayed. */
typedef struct jf_sim_work { jf_sim_item *head, *tail; } jf_sim_work;
/* From here on s keeps what it is given, until the end, which gives it. */
jfl_status jf_sim_keep(jf_sim_stream *s);
jf_sim_work *jf_sim_kept(jf_sim_stream *s);
jfl_status jf_sim_replay(jf_sim_stream *s, jf_sim_work *w);
void jf_sim_work_free(jf_sim_work *w);
/* Called by an item of s: no step behind it is done until the host has waited. */
void jf_sim_halt(jf_sim_stream *s);
/* Waits until nothing is left to do; tells the first failure since the last wait and forgets it. */
jfl_status jf_sim_wait(jf_sim_stream *s);

void jf_sim_event_init(jf_sim_event *e);
void jf_sim_event_end(jf_sim_event *e);
jfl_status jf_sim_record(jf_sim_stream *s, jf_sim_event *e);
/* What s is given from here on comes after the last jf_sim_record of e; without one it is free. */
jfl_status jf_sim_await(jf_sim_stream *s, jf_sim_event *e);

#endif
