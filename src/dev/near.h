/* Kinds of devices whose memory is the host's and whose work is done late, by a stream of
   dev/stream.h: the fields of their records that they have in common. */
#ifndef JF_NEAR_H
#define JF_NEAR_H

#include "dev/dev.h"

void *jf_near_alloc(jf_device *d, size_t size);
void jf_near_free(jf_device *d, void *p);
void jf_near_stream_free(jf_device *d, void *stream);
jfl_status jf_near_put(jf_device *d, void *stream, void *to, const void *from, size_t size);
jfl_status jf_near_move(jf_device *d, void *stream, void *to, jf_device *source, const void *from,
                        size_t size);
jfl_status jf_near_launch(jf_device *d, void *stream, jf_kernel run, const jf_kargs *k);
jfl_status jf_near_wait(jf_device *d, void *stream);
jfl_status jf_near_event_new(jf_device *d, void **out);
void jf_near_event_free(jf_device *d, void *event);
jfl_status jf_near_record(jf_device *d, void *stream, void *event);
jfl_status jf_near_await(jf_device *d, void *stream, void *event);
jfl_status jf_near_reach(jf_device *d, void *stream, void *event);

#define JF_NEAR                                                                              \
  .near = 1, .plain = 1, .alloc = jf_near_alloc, .free = jf_near_free,                       \
  .stream_free = jf_near_stream_free, .put = jf_near_put, .get = jf_near_put,                \
  .move = jf_near_move, .launch = jf_near_launch, .wait = jf_near_wait,                      \
  .event_new = jf_near_event_new, .event_free = jf_near_event_free,                          \
  .record = jf_near_record, .await = jf_near_await, .reach = jf_near_reach

#endif
