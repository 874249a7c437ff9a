/* Streams of a GPU: copies by way of pinned memory, events, and work that is repeated. */
#include "dev/cuda/image.h"

#include <assert.h>
#include <string.h>

/* Copies of up to STAGE bytes go through pinned memory, so that the caller goes on at once; larger
   ones the driver makes itself. */
enum { STAGE = 1 << 22, ALIGNMENT = 64 };

/* A copy to the host whose bytes are in pinned memory until someone waits for the stream. */
typedef struct stream_arrival {
  struct stream_arrival *next;
  void *to;
  const void *from;
  size_t size;
} stream_arrival;

struct jf_cuda_stream {
  jf_cuda *cuda;
  jf_cu_stream *stream;
  char *stage;                         /* STAGE pinned bytes; NULL until they are needed */
  size_t staged;                       /* how many are in use until the next wait */
  stream_arrival *arrivals;
};

jf_cuda *jf_cuda_of(const jf_kargs *k) { return ((jf_cuda_stream *)k->stream)->cuda; }
jf_cu_stream *jf_cuda_queue(const jf_kargs *k) { return ((jf_cuda_stream *)k->stream)->stream; }

jf_cu_stream *jf_cuda_stream_of(void *stream) { return ((jf_cuda_stream *)stream)->stream; }

static jfl_status stream_check(jf_cuda_stream *s, jf_cu e, const char *doing)
{
  return jf_cuda_check(s->cuda, e, doing);
}

/* What runs between entering the device and leaving it. */
#define STREAM_INSIDE(c, call)         \
  do {                                 \
    JF_TRY(jf_cuda_enter(c));          \
    const jfl_status s_ = (call);      \
    jf_cuda_leave(c);                  \
    return s_;                         \
  } while (0)

/* Waits for all of a stream. What it does for other ranks may never end by itself. */
static jf_cu stream_finish(jf_cuda_stream *s, jfl_status *parted)
{
  const jf_cuda_driver *api = s->cuda->api;
  for (int round = 0; jf_cuda_may_hang() && api->stream_query(s->stream) == JF_CU_NOT_READY;
       round++) {
    const jfl_status st = jf_cuda_watch(round);
    if (st) *parted = st;
  }
  return api->stream_wait(s->stream);
}

/* The driver itself waits for a stream that is given memory which is not pinned. */
static jfl_status stream_clear(jf_cuda_stream *s)
{
  jfl_status parted = JFL_OK;
  if (jf_cuda_may_hang()) stream_finish(s, &parted);
  return parted;
}

static jfl_status stream_make(jf_cuda *c, void **out)
{
  jf_cuda_stream *s = jf_new(sizeof *s);
  if (!s) return jf_fail(JFL_ENOMEM, "out of memory");
  s->cuda = c;
  jfl_status e = stream_check(s, c->api->stream_new(&s->stream, JF_CU_NON_BLOCKING),
                              "making a stream");
  if (e) jf_free(s);
  else *out = s;
  return e;
}

jfl_status jf_cuda_stream_new(jf_device *d, void **out)
{
  jf_cuda *c = d->state;
  STREAM_INSIDE(c, stream_make(c, out));
}

static void stream_forget_arrivals(jf_cuda_stream *s)
{
  for (stream_arrival *a = s->arrivals, *next; a; a = next) {
    next = a->next;
    jf_free(a);
  }
  s->arrivals = NULL;
}

void jf_cuda_stream_free(jf_device *d, void *stream)
{
  jf_cuda_stream *s = stream;
  (void)d;
  if (jf_cuda_enter_to_end(s->cuda)) {
    stream_finish(s, &(jfl_status){ JFL_OK });
    s->cuda->api->stream_free(s->stream);
    if (s->stage) s->cuda->api->host_free(s->stage);
    jf_cuda_leave(s->cuda);
  }
  stream_forget_arrivals(s);
  jf_free(s);
}

/* ---- copies ---- */

/* Whether host memory lies in a block that jf_cuda_pin gave: then its copies need no other. */
static int stream_is_pinned(jf_cuda *c, const void *at)
{
  pthread_mutex_lock(&c->pinned_mu);
  const jf_cuda_pinned *b = c->pinned;
  while (b && ((const char *)at < b->at || (const char *)at >= b->at + b->size)) b = b->next;
  pthread_mutex_unlock(&c->pinned_mu);
  return b != NULL;
}

/* Pinned bytes that stay until the next wait; NULL: there are no more, or none at all. */
static char *stream_stage(jf_cuda_stream *s, size_t size)
{
  const size_t whole = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (size > STAGE || s->staged + whole > STAGE) return NULL;
  if (!s->stage && s->cuda->api->host_alloc((void **)&s->stage, STAGE, 0)) return NULL;
  s->staged += whole;
  return s->stage + s->staged - whole;
}

static jfl_status stream_put(jf_cuda_stream *s, void *to, const void *from, size_t size)
{
  const int is_pinned = stream_is_pinned(s->cuda, from);
  char *stage = is_pinned ? NULL : stream_stage(s, size);
  if (stage) memcpy(stage, from, size);
  else if (!is_pinned) JF_TRY(stream_clear(s));
  return stream_check(s, s->cuda->api->put((jf_cu_address)(uintptr_t)to, stage ? stage : from, size,
                                           s->stream), "copying to it");
}

jfl_status jf_cuda_put(jf_device *d, void *stream, void *to, const void *from, size_t size)
{
  jf_cuda *c = d->state;
  if (size == 0) return JFL_OK;
  STREAM_INSIDE(c, stream_put(stream, to, from, size));
}

/* Copies to memory that is pinned, or not. */
static jfl_status stream_get_at_once(jf_cuda_stream *s, void *to, const void *from, size_t size)
{
  return stream_check(s, s->cuda->api->get(to, (jf_cu_address)(uintptr_t)from, size, s->stream),
                      "copying from it");
}

static jfl_status stream_get(jf_cuda_stream *s, void *to, const void *from, size_t size)
{
  if (stream_is_pinned(s->cuda, to)) return stream_get_at_once(s, to, from, size);
  stream_arrival *a = jf_new_raw(sizeof *a);
  char *stage = a ? stream_stage(s, size) : NULL;
  const jfl_status parted = stage ? JFL_OK : stream_clear(s);
  if (parted) return jf_free(a), parted;
  const jf_cu e = s->cuda->api->get(stage ? stage : to, (jf_cu_address)(uintptr_t)from, size,
                                    s->stream);
  if (stage && !e) {
    *a = (stream_arrival){ s->arrivals, to, stage, size };
    s->arrivals = a;
  } else {
    jf_free(a);
  }
  return stream_check(s, e, "copying from it");
}

jfl_status jf_cuda_get(jf_device *d, void *stream, void *to, const void *from, size_t size)
{
  jf_cuda *c = d->state;
  if (size == 0) return JFL_OK;
  STREAM_INSIDE(c, stream_get(stream, to, from, size));
}

static jfl_status stream_wait(jf_cuda_stream *s)
{
  jfl_status parted = JFL_OK;
  const jf_cu done = stream_finish(s, &parted);
  const jfl_status e = parted ? parted : stream_check(s, done, "running a kernel");
  /* If the wait itself failed, memory must not be freed under the work that goes on. */
  if (e && !s->cuda->lost) s->cuda->api->stream_wait(s->stream);
  for (const stream_arrival *a = s->arrivals; a && !e; a = a->next) memcpy(a->to, a->from, a->size);
  stream_forget_arrivals(s);
  s->staged = 0;
  return e;
}

jfl_status jf_cuda_wait(jf_device *d, void *stream)
{
  jf_cuda *c = d->state;
  STREAM_INSIDE(c, stream_wait(stream));
}

/* ---- work that is repeated; what it copies is in pinned memory ---- */

jfl_status jf_cuda_capture(jf_device *d, void *stream)
{
  jf_cuda *c = d->state;
  jf_cuda_stream *s = stream;
  STREAM_INSIDE(c, stream_check(s, c->api->capture(s->stream, JF_CU_RELAXED), "capturing work"));
}

static jfl_status stream_end_capture(jf_cuda_stream *s, void **out)
{
  jf_cu_graph *graph = NULL;
  jf_cu_replay *replay = NULL;
  JF_TRY(stream_check(s, s->cuda->api->captured(s->stream, &graph), "capturing work"));
  const jf_cu e = s->cuda->api->graph_ready(&replay, graph, 0);
  s->cuda->api->graph_free(graph);
  *out = replay;
  return stream_check(s, e, "capturing work");
}

jfl_status jf_cuda_captured(jf_device *d, void *stream, void **out)
{
  jf_cuda *c = d->state;
  *out = NULL;
  STREAM_INSIDE(c, stream_end_capture(stream, out));
}

jfl_status jf_cuda_replay(jf_device *d, void *stream, void *work)
{
  jf_cuda *c = d->state;
  jf_cuda_stream *s = stream;
  STREAM_INSIDE(c, stream_check(s, c->api->graph_launch(work, s->stream), "launching kernels"));
}

void jf_cuda_work_free(jf_device *d, void *work)
{
  jf_cuda *c = d->state;
  if (!work || !jf_cuda_enter_to_end(c)) return;
  c->api->replay_free(work);
  jf_cuda_leave(c);
}

/* ---- pinned memory ---- */

static jfl_status stream_pin(jf_cuda *c, size_t size, jf_cuda_pinned *b)
{
  void *at = NULL;
  JF_TRY(jf_cuda_check(c, c->api->host_alloc(&at, size, 0), "taking pinned memory"));
  pthread_mutex_lock(&c->pinned_mu);
  *b = (jf_cuda_pinned){ c->pinned, at, size };
  c->pinned = b;
  pthread_mutex_unlock(&c->pinned_mu);
  return JFL_OK;
}

void *jf_cuda_pin(jf_device *d, size_t size)
{
  jf_cuda *c = d->state;
  jf_cuda_pinned *b = jf_new_raw(sizeof *b);
  if (!b || jf_cuda_enter(c)) return jf_free(b), NULL;
  const jfl_status s = stream_pin(c, size ? size : 1, b);
  jf_cuda_leave(c);
  return s ? jf_free(b), NULL : b->at;
}

static void stream_forget_pinned(jf_cuda *c, const void *p)
{
  pthread_mutex_lock(&c->pinned_mu);
  jf_cuda_pinned **at = &c->pinned, *b;
  while ((b = *at) && b->at != p) at = &b->next;
  if (b) *at = b->next;
  pthread_mutex_unlock(&c->pinned_mu);
  jf_free(b);
}

void jf_cuda_unpin(jf_device *d, void *p)
{
  jf_cuda *c = d->state;
  if (!p || !jf_cuda_enter_to_end(c)) return;
  stream_forget_pinned(c, p);
  c->api->host_free(p);
  jf_cuda_leave(c);
}

/* ---- events ---- */

jfl_status jf_cuda_event_new(jf_device *d, void **out)
{
  jf_cuda *c = d->state;
  STREAM_INSIDE(c, jf_cuda_check(c, c->api->event_new((jf_cu_event **)out, JF_CU_NO_TIMING),
                                 "making an event"));
}

void jf_cuda_event_free(jf_device *d, void *event)
{
  jf_cuda *c = d->state;
  if (!event || !jf_cuda_enter_to_end(c)) return;
  c->api->event_free(event);
  jf_cuda_leave(c);
}

jfl_status jf_cuda_record(jf_device *d, void *stream, void *event)
{
  jf_cuda *c = d->state;
  jf_cuda_stream *s = stream;
  STREAM_INSIDE(c, stream_check(s, c->api->event_record(event, s->stream), "recording an event"));
}

jfl_status jf_cuda_await(jf_device *d, void *stream, void *event)
{
  jf_cuda *c = d->state;
  jf_cuda_stream *s = stream;
  STREAM_INSIDE(c, stream_check(s, c->api->stream_await(s->stream, event, 0),
                                "waiting for an event"));
}

/* What was copied to host memory by way of staged memory is there only once all of the stream was
   waited for. */
static jfl_status stream_reach(jf_cuda_stream *s, jf_cu_event *event)
{
  const jf_cuda_driver *api = s->cuda->api;
  jfl_status parted = JFL_OK;
  if (s->arrivals) return stream_wait(s);
  for (int round = 0; jf_cuda_may_hang() && api->event_query(event) == JF_CU_NOT_READY; round++) {
    const jfl_status st = jf_cuda_watch(round);
    if (st) parted = st;
  }
  if (parted) return parted;
  return stream_check(s, s->cuda->api->event_wait(event), "running a kernel");
}

jfl_status jf_cuda_reach(jf_device *d, void *stream, void *event)
{
  jf_cuda *c = d->state;
  STREAM_INSIDE(c, stream_reach(stream, event));
}

/* ---- launches ---- */

jfl_status jf_cuda_launch(const jf_kargs *k, const jf_cuda_kernel *f, jf_cuda_grid grid,
                          void *args)
{
  jf_cuda_stream *s = k->stream;
  jf_cuda *c = s->cuda;
  void *parameter[] = { args };
  assert(f->function);
  JF_TRY(jf_cuda_enter(c));
  const jf_cu e = c->api->launch(f->function, (unsigned)grid.blocks, 1, 1, (unsigned)grid.threads,
                                 1, 1, (unsigned)grid.shared, s->stream, parameter, NULL);
  const jfl_status st = jf_cuda_check(c, e, "launching a kernel");
  jf_cuda_leave(c);
  return st;
}

jf_cuda_grid jf_cuda_grid_within(const jf_kargs *k, int64_t blocks, int threads, int waves)
{
  const int64_t most = (int64_t)((const jf_cuda *)k->device->state)->multiprocessors * waves;
  return (jf_cuda_grid){ blocks < 1 ? 1 : blocks < most ? blocks : most, threads, 0 };
}

jf_cuda_grid jf_cuda_grid_of(const jf_kargs *k, int64_t n)
{
  enum { THREADS = 256, WAVES = 32 };
  return jf_cuda_grid_within(k, (n + THREADS - 1) / THREADS, THREADS, WAVES);
}
