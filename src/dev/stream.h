/* Streams: threads with a queue of work, for kinds of devices that work late in memory of the host.

   One thread at a time gives a stream items, the producer. The first stream that a producer gives
   items to is held back: its thread sleeps on, and the producer does its items itself as soon as it
   has to wait for something. So a run on one such device takes no other thread, and one on several
   devices takes one thread for each. */
#ifndef JF_STREAM_H
#define JF_STREAM_H

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jf_stream jf_stream;
typedef struct jf_event jf_event;

/* What a stream leaves out after a failure: work, but no marks. */
typedef enum jf_stream_sort { JF_STREAM_MARK, JF_STREAM_WORK } jf_stream_sort;
typedef jfl_status (*jf_stream_fn)(void *item);

/* `name` lives as long as the stream. JF_PROMPT: it is never held back. */
enum { JF_PROMPT = 1 };
jfl_status jf_stream_new(const char *name, int flags, jf_stream **out);
/* Waits until all items are done and ends the thread. */
void jf_stream_free(jf_stream *s);
/* Gives room for an item of `size` bytes, aligned to 16, once there is some; NULL: memory is out.
   The caller fills it and puts it, before it does anything else with the stream. */
void *jf_stream_room(jf_stream *s, size_t size);
void jf_stream_put(jf_stream *s, jf_stream_sort sort, jf_stream_fn run);
/* Gives the stream a copy of an item. */
jfl_status jf_stream_add(jf_stream *s, jf_stream_sort sort, jf_stream_fn run, const void *item,
                         size_t size);
/* Waits until all items are done; returns the first failure since the last wait and forgets it. */
jfl_status jf_stream_wait(jf_stream *s);

jf_event *jf_event_new(void);              /* NULL: memory is out */
void jf_event_free(jf_event *e);
/* The event happens when the stream comes to it. */
jfl_status jf_stream_record(jf_stream *s, jf_event *e);
/* Items that s gets from now on wait for the last record of e, by whatever stream; if there was
   none, for nothing. */
jfl_status jf_stream_await(jf_stream *s, jf_event *e);
/* Waits until the last record of e, by s, has happened; fails where that was after a failure of s,
   as that did. */
jfl_status jf_stream_reach(jf_stream *s, jf_event *e);

#ifdef __cplusplus
}
#endif
#endif
