/* Kinds of devices whose memory is the host's and whose work is done late, by a stream of
   dev/stream.h: the fields of their records that they have in common. */
#ifndef JF_HOST_H
#define JF_HOST_H

#include "dev/dev.h"

void *jf_host_alloc(jf_device *d, size_t size);
void jf_host_free(jf_device *d, void *p);
void jf_host_stream_free(jf_device *d, void *stream);
jfl_status jf_host_put(jf_device *d, void *stream, void *to, const void *from, size_t size);
jfl_status jf_host_move(jf_device *d, void *stream, void *to, jf_device *source, const void *from,
                        size_t size);
jfl_status jf_host_launch(jf_device *d, void *stream, jf_kernel run, const jf_kargs *k);
jfl_status jf_host_wait(jf_device *d, void *stream);
jfl_status jf_host_event_new(jf_device *d, void **out);
void jf_host_event_free(jf_device *d, void *event);
jfl_status jf_host_record(jf_device *d, void *stream, void *event);
jfl_status jf_host_await(jf_device *d, void *stream, void *event);
jfl_status jf_host_reach(jf_device *d, void *stream, void *event);

#define JF_HOST                                                                              \
  .host_memory = 1, .plain = 1, .alloc = jf_host_alloc, .free = jf_host_free,                \
  .stream_free = jf_host_stream_free, .put = jf_host_put, .get = jf_host_put,                \
  .move = jf_host_move, .launch = jf_host_launch, .wait = jf_host_wait,                      \
  .event_new = jf_host_event_new, .event_free = jf_host_event_free,                          \
  .record = jf_host_record, .await = jf_host_await, .reach = jf_host_reach

#endif
