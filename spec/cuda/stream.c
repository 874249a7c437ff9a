/* Streams of the emulated GPU: each has a thread, which does late and in order what was queued. */
#include "emulated.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* All streams, events and graphs there are, so that a handle that is none is refused. */
enum { MOST_HANDLES = 4096 };
static const void *handles[MOST_HANDLES];
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;        /* guards all that is here */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int64_t launches;
static emulated_stream *streams[MOST_STREAMS];
static emulated_clock host;            /* what the host has waited for */

static int stream_know(const void *h)
{
  for (int i = 0; i < MOST_HANDLES; i++)
    if (!handles[i]) return handles[i] = h, 1;
  return 0;
}

static int stream_knows(const void *h)
{
  for (int i = 0; h && i < MOST_HANDLES; i++)
    if (handles[i] == h) return 1;
  return 0;
}

static void stream_forget(const void *h)
{
  for (int i = 0; i < MOST_HANDLES; i++)
    if (handles[i] == h) handles[i] = NULL;
}

int emulated_handles_left(void)
{
  int n = 0;
  pthread_mutex_lock(&mu);
  for (int i = 0; i < MOST_HANDLES; i++) n += handles[i] != NULL;
  pthread_mutex_unlock(&mu);
  return n;
}

typedef struct list { emulated_item *head, *tail; } list;

struct emulated_stream {
  int device, busy, stop, has_window;  /* has_window: it has opened the memory */
  int number, stands;                  /* among `streams`; waits for an event */
  emulated_clock clock;
  pthread_t thread;
  list queue;
  emulated_graph *captured;            /* what is captured now, or NULL */
  unsigned seed;
};
/* Work that is queued or captured may reach an event which its owner has given back. */
struct emulated_event {
  uint64_t asked, reached;
  struct timespec when;
  emulated_clock clock;
  int items, is_given_back;
  emulated_graph *captured;            /* what it was last recorded into; NULL: it was done */
};
struct emulated_graph { list items; };

static void list_add(list *l, emulated_item *i)
{
  i->next = NULL;
  if (l->tail) l->tail->next = i;
  else l->head = i;
  l->tail = i;
}

/* Counts an item more or less that refers to the event; the caller holds mu. */
static void event_refer(emulated_event *e, int more)
{
  e->items += more;
  if (e->is_given_back && e->items == 0) free(e);
}

static void item_refer(const emulated_item *i, int more)
{
  if (!i->event) return;
  pthread_mutex_lock(&mu);
  event_refer(i->event, more);
  pthread_mutex_unlock(&mu);
}

static void item_free(emulated_item *i)
{
  item_refer(i, -1);
  free(i->launch);
  free(i->snapshot);
  free(i);
}

/* ---- doing the work ---- */

/* A stream's clock is the processor's time of its thread: so what takes longer is measured as
   longer, also on a busy machine. */

/* Sometimes waits, so that whoever does not wait for the stream comes too early. */
static void stream_dawdle(emulated_stream *s)
{
  static int delay = -1;
  if (delay < 0) delay = getenv("JFL_EMULATED_DELAY") ? atoi(getenv("JFL_EMULATED_DELAY")) : 40;
  s->seed = s->seed * 1664525u + 1013904223u;
  if (delay && s->seed >> 30 == 0) usleep((s->seed >> 8) % (unsigned)delay + 1);
}

/* Whether a copy comes from the host while another stream of the device works. */
static int stream_is_beside(const emulated_stream *s, const emulated_item *i)
{
  int works = 0;
  if (emulated_block_around((emulated_address)(uintptr_t)i->from) ||
      !emulated_block_around((emulated_address)(uintptr_t)i->to)) return 0;
  pthread_mutex_lock(&mu);
  for (int n = 0; n < MOST_STREAMS; n++) {
    const emulated_stream *t = streams[n];
    if (!t || t == s || t->device != s->device || t->stands) continue;
    works |= t->busy || (t->queue.head && t->queue.head->sort != ITEM_AWAIT);
  }
  pthread_mutex_unlock(&mu);
  return works;
}

/* The window that it opens is closed when there is nothing more to do. */
static int stream_work(emulated_stream *s, emulated_item *i)
{
  int error = CU_OK;
  if (emulated_is_hollow()) return CU_OK;
  if (i->sort == ITEM_COPY && stream_is_beside(s, i)) emulated_count("beside");
  if (!s->has_window) emulated_memory_open();
  s->has_window = 1;
  if (i->sort == ITEM_LAUNCH) error = emulated_run(i->launch);
  if (i->sort == ITEM_COPY) memmove(i->to, i->snapshot ? i->snapshot : i->from, i->size);
  if (i->sort == ITEM_FILL) memset(i->to, i->byte, i->size);
  if (i->sort == ITEM_HOST) i->fn(i->snapshot);
  return error;
}

static void stream_do(emulated_stream *s, emulated_item *i)
{
  if (i->sort == ITEM_RECORD) {
    pthread_mutex_lock(&mu);
    i->event->reached = i->turn;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &i->event->when);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mu);
  } else if (i->sort == ITEM_AWAIT) {
    pthread_mutex_lock(&mu);
    s->stands = 1;
    while (i->event->reached < i->turn) pthread_cond_wait(&changed, &mu);
    s->stands = 0;
    pthread_mutex_unlock(&mu);
  } else if (!emulated_lost(s->device)) {
    stream_dawdle(s);
    const int error = stream_work(s, i);
    if (error) emulated_lose(s->device, error);
  }
}

static void *stream_main(void *arg)
{
  emulated_stream *s = arg;
  pthread_mutex_lock(&mu);
  for (;;) {
    while (!s->queue.head && !s->stop) pthread_cond_wait(&changed, &mu);
    emulated_item *i = s->queue.head;
    if (!i) break;
    s->queue.head = i->next;
    if (!s->queue.head) s->queue.tail = NULL;
    s->busy = 1;
    pthread_mutex_unlock(&mu);
    stream_do(s, i);
    item_free(i);
    pthread_mutex_lock(&mu);
    if (s->has_window && (!s->queue.head || s->queue.head->sort == ITEM_AWAIT)) {
      emulated_memory_close();
      s->has_window = 0;
    }
    s->busy = 0;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mu);
  return NULL;
}

/* ---- streams ---- */

/* Gives the stream a number that no other has. Whoever had it has ended, which the host knows. */
static int stream_number(emulated_stream *s)
{
  for (s->number = 0; s->number < MOST_STREAMS && streams[s->number]; s->number++) {}
  if (s->number == MOST_STREAMS) return 0;
  streams[s->number] = s;
  s->clock = host;
  return 1;
}

int emulated_stream_new(int device, emulated_stream **out)
{
  emulated_stream *s = calloc(1, sizeof *s);
  if (!s) return CU_OUT_OF_MEMORY;
  s->device = device;
  s->seed = (unsigned)(uintptr_t)s;
  pthread_mutex_lock(&mu);
  int ok = stream_number(s) && stream_know(s);
  if (ok && pthread_create(&s->thread, NULL, stream_main, s)) {
    stream_forget(s);
    streams[s->number] = NULL;
    ok = 0;
  }
  pthread_mutex_unlock(&mu);
  if (!ok) return free(s), CU_OUT_OF_MEMORY;
  *out = s;
  return CU_OK;
}

int emulated_stream_is(const emulated_stream *s)
{
  pthread_mutex_lock(&mu);
  const int is = stream_knows(s);
  pthread_mutex_unlock(&mu);
  return is;
}

int emulated_stream_device(const emulated_stream *s) { return s->device; }
int emulated_stream_captures(const emulated_stream *s) { return s->captured != NULL; }

int emulated_stream_works(const emulated_stream *s)
{
  pthread_mutex_lock(&mu);
  const int works = s->queue.head || s->busy;
  pthread_mutex_unlock(&mu);
  return works;
}

int emulated_stream_end(emulated_stream *s)
{
  pthread_mutex_lock(&mu);
  stream_forget(s);
  s->stop = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mu);
  pthread_join(s->thread, NULL);
  pthread_mutex_lock(&mu);
  emulated_clock_join(&host, &s->clock);
  streams[s->number] = NULL;
  pthread_mutex_unlock(&mu);
  free(s);
  return CU_OK;
}

void emulated_launched(void) { __atomic_add_fetch(&launches, 1, __ATOMIC_SEQ_CST); }
int64_t emulated_launches(void) { return __atomic_load_n(&launches, __ATOMIC_SEQ_CST); }

/* Counts the item, which is done behind all that the stream and the host have waited for. */
static void stream_order(emulated_stream *s, emulated_item *i)
{
  emulated_clock_join(&s->clock, &host);
  s->clock.at[s->number]++;
  if (i->sort == ITEM_RECORD) i->event->clock = s->clock;
  if (i->sort == ITEM_AWAIT) emulated_clock_join(&s->clock, &i->event->clock);
  if (!emulated_order_is_asked()) return;
  const int error = emulated_order_item(s->number, &s->clock, i);
  if (error) emulated_lose(s->device, error);
}

int emulated_queue(emulated_stream *s, emulated_item *i)
{
  if (i->sort == ITEM_FILL || i->sort == ITEM_HOST) emulated_launched();
  pthread_mutex_lock(&mu);
  if (!s->captured) stream_order(s, i);
  list_add(s->captured ? &s->captured->items : &s->queue, i);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mu);
  return CU_OK;
}

int emulated_stream_wait(emulated_stream *s)
{
  pthread_mutex_lock(&mu);
  while (s->queue.head || s->busy) pthread_cond_wait(&changed, &mu);
  emulated_clock_join(&host, &s->clock);
  pthread_mutex_unlock(&mu);
  return emulated_lost(s->device);
}

/* ---- events ---- */

int emulated_event_new(emulated_event **out)
{
  emulated_event *e = calloc(1, sizeof *e);
  if (!e) return CU_OUT_OF_MEMORY;
  pthread_mutex_lock(&mu);
  const int ok = stream_know(e);
  pthread_mutex_unlock(&mu);
  if (!ok) return free(e), CU_OUT_OF_MEMORY;
  *out = e;
  return CU_OK;
}

int emulated_event_is(const emulated_event *e) { return emulated_stream_is((const void *)e); }

int emulated_event_end(emulated_event *e)
{
  pthread_mutex_lock(&mu);
  stream_forget(e);
  e->is_given_back = 1;
  event_refer(e, 0);
  pthread_mutex_unlock(&mu);
  return CU_OK;
}

static int event_queue(emulated_stream *s, emulated_event *e, emulated_sort sort, uint64_t turn)
{
  emulated_item *i = calloc(1, sizeof *i);
  if (!i) return CU_OUT_OF_MEMORY;
  *i = (emulated_item){ .sort = sort, .event = e, .turn = turn };
  item_refer(i, 1);
  return emulated_queue(s, i);
}

int emulated_event_record(emulated_event *e, emulated_stream *s)
{
  pthread_mutex_lock(&mu);
  const uint64_t turn = ++e->asked;
  e->captured = s->captured;
  pthread_mutex_unlock(&mu);
  return event_queue(s, e, ITEM_RECORD, turn);
}

int emulated_event_await(emulated_stream *s, emulated_event *e)
{
  pthread_mutex_lock(&mu);
  const uint64_t turn = e->asked;
  const int crosses = e->captured != s->captured;
  pthread_mutex_unlock(&mu);
  return crosses ? CU_CAPTURE_ISOLATION : event_queue(s, e, ITEM_AWAIT, turn);
}

int emulated_event_wait(emulated_event *e)
{
  pthread_mutex_lock(&mu);
  const uint64_t turn = e->asked;
  const int is_captured = e->captured != NULL;
  while (!is_captured && e->reached < turn) pthread_cond_wait(&changed, &mu);
  if (!is_captured) emulated_clock_join(&host, &e->clock);
  pthread_mutex_unlock(&mu);
  return is_captured ? CU_CAPTURED_EVENT : CU_OK;
}

int emulated_event_between(emulated_event *from, emulated_event *to, float *ms)
{
  pthread_mutex_lock(&mu);
  const int recorded = from->asked && to->asked;
  const int ready = from->reached == from->asked && to->reached == to->asked;
  *ms = (float)(to->when.tv_sec - from->when.tv_sec) * 1e3f +
        (float)(to->when.tv_nsec - from->when.tv_nsec) * 1e-6f;
  pthread_mutex_unlock(&mu);
  return !recorded ? CU_INVALID_HANDLE : ready ? CU_OK : CU_NOT_READY;
}

int emulated_event_query(emulated_event *e)
{
  pthread_mutex_lock(&mu);
  const int error = e->captured ? CU_CAPTURED_EVENT : e->reached == e->asked ? CU_OK : CU_NOT_READY;
  if (!error) emulated_clock_join(&host, &e->clock);
  pthread_mutex_unlock(&mu);
  return error;
}

/* ---- graphs ---- */

static int graph_new(emulated_graph **out)
{
  emulated_graph *g = calloc(1, sizeof *g);
  if (!g) return CU_OUT_OF_MEMORY;
  pthread_mutex_lock(&mu);
  const int ok = stream_know(g);
  pthread_mutex_unlock(&mu);
  if (!ok) return free(g), CU_OUT_OF_MEMORY;
  *out = g;
  return CU_OK;
}

int emulated_graph_is(const emulated_graph *g) { return emulated_stream_is((const void *)g); }

int emulated_capture(emulated_stream *s)
{
  emulated_graph *g;
  if (s->captured) return CU_INVALID_VALUE;
  const int error = graph_new(&g);
  if (!error) s->captured = g;
  return error;
}

int emulated_captured(emulated_stream *s, emulated_graph **out)
{
  if (!s->captured) return CU_INVALID_VALUE;
  *out = s->captured;
  s->captured = NULL;
  return CU_OK;
}

int emulated_graph_end(emulated_graph *g)
{
  pthread_mutex_lock(&mu);
  stream_forget(g);
  pthread_mutex_unlock(&mu);
  for (emulated_item *i = g->items.head, *next; i; i = next) {
    next = i->next;
    item_free(i);
  }
  free(g);
  return CU_OK;
}

static void *copy_of(const void *p, size_t size)
{
  void *copy = p ? malloc(size) : NULL;
  if (copy) memcpy(copy, p, size);
  return copy;
}

/* The bytes of a launch with those of its parameters, which are behind it. */
static size_t launch_bytes(const emulated_launch *l)
{
  size_t n = sizeof *l;
  for (int i = 0; i < l->function->n_parameter; i++) n += (l->function->size[i] + 15) / 16 * 16;
  return n;
}

static emulated_item *item_copy(const emulated_item *i)
{
  emulated_item *copy = copy_of(i, sizeof *i);
  item_refer(copy, 1);
  copy->snapshot = copy_of(i->snapshot, i->size);
  if (!i->launch) return copy;
  copy->launch = copy_of(i->launch, launch_bytes(i->launch));
  for (int p = 0; p < i->launch->function->n_parameter; p++)
    copy->launch->parameter[p] =
        copy->launch->bytes + ((char *)i->launch->parameter[p] - i->launch->bytes);
  return copy;
}

int emulated_graph_copy(const emulated_graph *g, emulated_graph **out)
{
  const int error = graph_new(out);
  for (const emulated_item *i = g->items.head; i && !error; i = i->next)
    list_add(&(*out)->items, item_copy(i));
  return error;
}

int emulated_graph_queue(emulated_graph *g, emulated_stream *s)
{
  for (const emulated_item *i = g->items.head; i; i = i->next) emulated_queue(s, item_copy(i));
  return CU_OK;
}
