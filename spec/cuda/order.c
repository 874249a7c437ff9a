/* Order among streams (JFL_EMULATED_ORDER=1): a copy to memory and another use of it, on different
   streams, one of which may begin before the other has ended, whether or not it does this time.
   What is queued on a stream is in order with what the stream has, with what an event was recorded
   behind that the stream awaits, and with what the host has waited for. Of what a launch uses the
   addresses are known that its parameter begins with: behind them may be what others left there. */
#include "emulated.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last item of a stream that used these bytes so. */
typedef enum way { WAY_WRITES, WAY_READS, WAY_LAUNCH } way;
typedef struct use {
  emulated_address begin, end;
  way way;
  int stream;
  uint64_t turn;
} use;
typedef struct place { emulated_address block; use *uses; int n, cap; } place;

static const char *const way_names[] = { "a copy to", "a copy from", "a launch that uses" };
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;        /* guards what follows */
static place *places;
static int n_place, cap_place;

int emulated_order_is_asked(void)
{
  static int asked = -1;
  if (asked < 0) asked = getenv("JFL_EMULATED_ORDER") && atoi(getenv("JFL_EMULATED_ORDER"));
  return asked;
}

void emulated_clock_join(emulated_clock *c, const emulated_clock *other)
{
  for (int i = 0; i < MOST_STREAMS; i++)
    if (other->at[i] > c->at[i]) c->at[i] = other->at[i];
}

static place *order_place(emulated_address block)
{
  for (int i = 0; i < n_place; i++)
    if (places[i].block == block) return &places[i];
  if (n_place == cap_place) {
    cap_place = cap_place ? 2 * cap_place : 64;
    places = realloc(places, (size_t)cap_place * sizeof *places);
  }
  places[n_place] = (place){ .block = block };
  return &places[n_place++];
}

void emulated_order_forget(emulated_address at)
{
  pthread_mutex_lock(&mu);
  for (int i = 0; i < n_place; i++) {
    if (places[i].block != at) continue;
    free(places[i].uses);
    places[i] = places[--n_place];
  }
  pthread_mutex_unlock(&mu);
}

static void order_add(place *p, use u)
{
  for (int i = 0; i < p->n; i++) {
    use *o = &p->uses[i];
    if (o->begin == u.begin && o->end == u.end && o->way == u.way && o->stream == u.stream) {
      o->turn = u.turn;
      return;
    }
  }
  if (p->n == p->cap) {
    p->cap = p->cap ? 2 * p->cap : 16;
    p->uses = realloc(p->uses, (size_t)p->cap * sizeof *p->uses);
  }
  p->uses[p->n++] = u;
}

/* Notes a use of memory, unless it is the host's; gives what is wrong, or CU_OK. */
static int order_use(const emulated_clock *now, use u)
{
  const emulated_address block = emulated_block_around(u.begin);
  if (!block) return CU_OK;
  place *p = order_place(block);
  for (int i = 0; i < p->n; i++) {
    const use *o = &p->uses[i];
    if ((o->way != WAY_WRITES && u.way != WAY_WRITES) || o->turn <= now->at[o->stream] ||
        o->begin >= u.end || u.begin >= o->end) continue;
    fprintf(stderr, "emulated GPU: nothing puts %s memory in order with %s it on another stream\n",
            way_names[u.way], way_names[o->way]);
    return CU_LAUNCH_FAILED;
  }
  order_add(p, u);
  return CU_OK;
}

enum { MOST_BYTES = 72 };              /* eight addresses, and one more */

/* Uses of all that lies at addresses that are among some bytes. */
static int order_bytes(const emulated_clock *now, int stream, const void *bytes, size_t size)
{
  int error = CU_OK;
  for (size_t i = 0; !error && i + sizeof(emulated_address) <= size; i += sizeof(void *)) {
    use u = { .way = WAY_LAUNCH, .stream = stream, .turn = now->at[stream] };
    memcpy(&u.begin, (const char *)bytes + i, sizeof u.begin);
    u.end = u.begin + 1;
    error = order_use(now, u);
  }
  return error;
}

static int order_launch(const emulated_clock *now, int stream, const emulated_launch *l)
{
  int error = CU_OK;
  for (int i = 0; !error && i < l->function->n_parameter; i++)
    error = order_bytes(now, stream, l->parameter[i],
                        l->function->size[i] < MOST_BYTES ? l->function->size[i] : MOST_BYTES);
  return error;
}

static int order_copy(const emulated_clock *now, int stream, const void *at, size_t size, way way)
{
  const emulated_address begin = (emulated_address)(uintptr_t)at;
  return order_use(now, (use){ begin, begin + size, way, stream, now->at[stream] });
}

int emulated_order_item(int stream, const emulated_clock *now, const emulated_item *i)
{
  int error = CU_OK;
  pthread_mutex_lock(&mu);
  if (i->sort == ITEM_LAUNCH) error = order_launch(now, stream, i->launch);
  if (i->sort == ITEM_HOST) error = order_bytes(now, stream, i->snapshot, i->size);
  if (i->sort == ITEM_COPY) error = order_copy(now, stream, i->from, i->size, WAY_READS);
  if (!error && (i->sort == ITEM_COPY || i->sort == ITEM_FILL))
    error = order_copy(now, stream, i->to, i->size, WAY_WRITES);
  pthread_mutex_unlock(&mu);
  return error;
}
