/* Streams: a ring of items, and who does them.

   Items lie in a ring of UNITs, each behind a head that says how long it is. The producer moves
   `head`, whoever does items moves `tail`; only one thread at a time does, which has taken `owner`:
   the stream's own, or one that waits for the stream. A thread that waits looks for a while whether
   what it waits for has happened and then sleeps on the number that will change. */
#include "dev/stream.h"
#include "system/system.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* An item that takes more than LARGEST has memory of its own. SPIN: seconds for which a thread
   looks before it sleeps, which bridges the gaps between the steps of a run. */
enum { UNIT = 64, UNITS = 4096, LARGEST = UNIT * UNITS / 8 };
static const double SPIN = 60e-6;

typedef struct stream_head {
  _Alignas(16) jf_stream_fn run;            /* NULL: nothing to do, up to the ring's end */
  void *apart;                 /* the item, where it has memory of its own; or NULL */
  unsigned units;              /* of head and item */
  jf_stream_sort sort;
} stream_head;

/* A number that threads wait for: it only rises, modulo 2^32. It is the upper half of the word, and
   the lower one counts the threads that sleep on it: whoever moves the number learns in the same
   access whom to wake, because a thread that then sees the number may free the mark. */
typedef struct stream_mark { _Atomic uint64_t word; } stream_mark;

struct jf_stream {
  const char *name;
  int prompt;
  unsigned forks;              /* the fork generation that the thread belongs to */
  char *ring;
  /* The producer's: whether there is a thread; whether it has the lowest priority; the item that is
     being filled, and where `head` will be. */
  pthread_t thread;
  int has_thread, is_low;
  stream_head *filled;
  unsigned next;
  _Alignas(64) stream_mark head;   /* the units that were put, */
  _Alignas(64) stream_mark tail;   /* and those that are done */
  _Alignas(64) atomic_int owner;
  atomic_int stop;
  /* The owner's: the first failure since the last wait, with its message. */
  jfl_status failed;
  jf_error *error;
};

struct jf_event {
  unsigned asked;              /* how often it was recorded; the producer's */
  unsigned forks;
  stream_mark reached;         /* and how often its stream came to it, */
  atomic_int failed;           /* which last was after a failure */
};

static atomic_int n_streams;               /* that are not prompt */
static _Thread_local jf_stream *held;      /* the one that this thread holds back; or NULL */

/* ---- waiting for numbers ---- */

static int stream_is_past(unsigned at, unsigned turn) { return (int)(at - turn) >= 0; }

static void stream_pause(int i)
{
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
  if (i % 8 == 0) sched_yield();
}

static unsigned stream_mark_at(const stream_mark *m)
{
  return (unsigned)(atomic_load(&m->word) >> 32);
}

static unsigned stream_mark_sleepers(uint64_t word) { return (unsigned)word; }

/* The half of the word that has the number, for those who sleep until it changes. */
static const void *stream_mark_number(const stream_mark *m)
{
  return (const char *)&m->word + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 4 : 0);
}

/* Reads nothing of the mark, which may be gone. */
static void stream_mark_wake(const stream_mark *m) { jf_wake_all(stream_mark_number(m)); }

/* Sets the number and wakes nobody; gives how many threads sleep. */
static unsigned stream_mark_move(stream_mark *m, unsigned at)
{
  uint64_t word = atomic_load(&m->word);
  while (!atomic_compare_exchange_weak(&m->word, &word,
                                       (uint64_t)at << 32 | stream_mark_sleepers(word))) {}
  return stream_mark_sleepers(word);
}

static void stream_mark_set(stream_mark *m, unsigned at)
{
  if (stream_mark_move(m, at)) stream_mark_wake(m);
}

/* Waits until the number is at `turn` or past it, or until *stop. */
static void stream_mark_wait(stream_mark *m, unsigned turn, const atomic_int *stop)
{
  const double until = jf_now() + SPIN;
  for (int i = 1;; i++) {
    const unsigned at = stream_mark_at(m);
    if (stream_is_past(at, turn) || (stop && atomic_load(stop))) return;
    stream_pause(i);
    if (i % 8 || jf_now() < until) continue;
    atomic_fetch_add(&m->word, 1);
    if (stream_mark_at(m) == at && !(stop && atomic_load(stop)))
      jf_sleep_on(stream_mark_number(m), at, NULL);
    atomic_fetch_sub(&m->word, 1);
  }
}

/* ---- doing items ---- */

static void stream_fail(jf_stream *s, jfl_status status)
{
  if (s->failed) return;
  s->failed = status;
  s->error = jf_error_copy();
}

static stream_head *stream_at(const jf_stream *s, unsigned unit)
{
  return (stream_head *)(void *)(s->ring + (size_t)(unit % UNITS) * UNIT);
}

/* Does the next item; the caller is the owner. Whoever sleeps until items are done is woken when
   all are. */
static void stream_do(jf_stream *s, unsigned tail)
{
  stream_head *h = stream_at(s, tail);
  if (h->run && !(s->failed && h->sort == JF_STREAM_WORK)) {
    jfl_status st = h->run(h->apart ? h->apart : h + 1);
    if (st) stream_fail(s, st);
  }
  jf_free(h->apart);
  const unsigned now = tail + h->units;
  if (now == stream_mark_at(&s->head)) stream_mark_set(&s->tail, now);
  else stream_mark_move(&s->tail, now);
}

static int stream_has_items(const jf_stream *s)
{
  return stream_mark_at(&s->tail) != stream_mark_at(&s->head);
}

/* Does the items that there are, unless another thread does; gives whether none is left. Whoever
   begins does all of them: a thread that found the stream taken sleeps until they are done. */
static int stream_help(jf_stream *s)
{
  while (stream_has_items(s)) {
    if (atomic_exchange(&s->owner, 1)) return 0;
    while (stream_has_items(s)) stream_do(s, stream_mark_at(&s->tail));
    atomic_store(&s->owner, 0);
  }
  return 1;
}

/* The thread of a stream takes over what is there, and where another thread does it, comes back
   when there is more. */
static void *stream_work(void *arg)
{
  jf_stream *s = arg;
  jf_thread_begins("stream");
  if (s->is_low) jf_thread_lower();
  while (!atomic_load(&s->stop)) {
    const unsigned head = stream_mark_at(&s->head);
    if (stream_help(s)) stream_mark_wait(&s->head, head + 1, &s->stop);
    else stream_mark_wait(&s->tail, head, &s->stop);
  }
  jf_thread_ends("stream");
  return NULL;
}

/* ---- threads ---- */

/* Wakes the thread if it sleeps. The system tends to put it on the core of the thread that wakes
   it, and then the two take turns there while another core is idle. Where every stream can have a
   core, the thread is forbidden that of the producer, who does the items of the stream that it
   holds, for the moment in which the system chooses; afterwards it may be moved wherever there is
   room. */
static void stream_wake(const jf_stream *s)
{
  jf_cores all = { { 0 } }, others;
  const int cpu = jf_core_here();
  if (!stream_mark_sleepers(atomic_load(&s->head.word))) return;
  int apart = !s->prompt && cpu >= 0 && jf_cores_mine(&all) >= atomic_load(&n_streams);
  others = all;
  apart = apart && jf_cores_without(&others, cpu);
  if (apart) jf_thread_keep_to(s->thread, &others);
  stream_mark_wake(&s->head);
  if (apart) jf_thread_keep_to(s->thread, &all);
}

/* The thread may have looked at `stop` just before, and sleep just after, so it is woken until it
   has ended. */
static void stream_end(jf_stream *s)
{
  const struct timespec moment = { .tv_nsec = 50000 };
  atomic_store(&s->stop, 1);
  while (s->has_thread) {
    stream_mark_wake(&s->head);
    stream_mark_wake(&s->tail);
    s->has_thread = !jf_thread_has_ended(s->thread);
    if (s->has_thread) nanosleep(&moment, NULL);
  }
  atomic_store(&s->stop, 0);
}

/* In a forked child the thread is gone, and so is what it had to do. */
static void stream_forget_parent(jf_stream *s)
{
  if (s->forks == jf_forks()) return;
  s->forks = jf_forks();
  s->has_thread = 0;
  atomic_store(&s->owner, 0);
  const uint64_t asked = (uint64_t)stream_mark_at(&s->head) << 32;
  atomic_store(&s->head.word, asked);
  atomic_store(&s->tail.word, asked);
  s->failed = JFL_OK;
  s->error = NULL;
  held = NULL;
}

/* ---- items ---- */

/* Does what the stream has that this thread holds back. */
static void stream_help_held(void)
{
  if (held) stream_help(held);
}

/* Waits until a number of units is done. */
static void stream_wait_for(jf_stream *s, unsigned units)
{
  if (held != s) stream_help_held();
  if (!stream_help(s)) stream_mark_wait(&s->tail, units, NULL);
}

/* A thread cannot be given back a priority that was taken from it: another takes its place. */
static void stream_set_priority(jf_stream *s)
{
  int most, low;
  jf_loops_get(&most, &low);
  if (low == s->is_low) return;
  if (s->has_thread) {
    stream_wait_for(s, stream_mark_at(&s->head));
    stream_end(s);
  }
  s->is_low = low;
}

/* Waits until the ring has so many units behind each other; gives where. */
static unsigned stream_find_room(jf_stream *s, unsigned units)
{
  unsigned at = stream_mark_at(&s->head);
  const unsigned left = UNITS - at % UNITS, all = units > left ? left + units : units;
  if (at + all - stream_mark_at(&s->tail) > UNITS) stream_wait_for(s, at + all - UNITS);
  if (units <= left) return at;
  *stream_at(s, at) = (stream_head){ .units = left };
  stream_mark_move(&s->head, at + left);
  return at + left;
}

void *jf_stream_room(jf_stream *s, size_t size)
{
  stream_forget_parent(s);
  stream_set_priority(s);
  void *apart = size > LARGEST ? jf_new_raw(size) : NULL;
  if (size > LARGEST && !apart) return NULL;
  const size_t bytes = sizeof *s->filled + (apart ? 0 : size);
  const unsigned units = (unsigned)((bytes + UNIT - 1) / UNIT), at = stream_find_room(s, units);
  s->filled = stream_at(s, at);
  *s->filled = (stream_head){ .apart = apart, .units = units };
  s->next = at + units;
  return apart ? apart : (void *)(s->filled + 1);
}

void jf_stream_put(jf_stream *s, jf_stream_sort sort, jf_stream_fn run)
{
  s->filled->run = run;
  s->filled->sort = sort;
  if (!held && !s->prompt) held = s;
  if (held == s) {
    stream_mark_move(&s->head, s->next);
    return;
  }
  /* A stream without a thread is done by those who wait for it. */
  if (!s->has_thread) s->has_thread = !jf_thread_start(&s->thread, stream_work, s);
  stream_mark_move(&s->head, s->next);
  if (s->has_thread) stream_wake(s);
}

jfl_status jf_stream_add(jf_stream *s, jf_stream_sort sort, jf_stream_fn run, const void *item,
                         size_t size)
{
  void *room = jf_stream_room(s, size);
  if (!room) return jf_fail(JFL_ENOMEM, "out of memory");
  memcpy(room, item, size);
  jf_stream_put(s, sort, run);
  return JFL_OK;
}

jfl_status jf_stream_wait(jf_stream *s)
{
  stream_forget_parent(s);
  stream_wait_for(s, stream_mark_at(&s->head));
  if (held == s) held = NULL;
  const jfl_status st = s->failed;
  if (st) jf_error_restore(st, s->error);
  jf_free(s->error);
  s->error = NULL;
  s->failed = JFL_OK;
  return st;
}

jfl_status jf_stream_new(const char *name, int flags, jf_stream **out)
{
  jf_stream *s = jf_new(sizeof *s);
  if (!s || !(s->ring = jf_new_raw((size_t)UNIT * UNITS))) {
    jf_free(s);
    return jf_fail(JFL_ENOMEM, "out of memory");
  }
  s->name = name;
  s->prompt = flags & JF_PROMPT;
  s->forks = jf_forks();
  if (!s->prompt) atomic_fetch_add(&n_streams, 1);
  return *out = s, JFL_OK;
}

void jf_stream_free(jf_stream *s)
{
  if (!s) return;
  jf_stream_wait(s);
  stream_end(s);
  if (!s->prompt) atomic_fetch_sub(&n_streams, 1);
  jf_free(s->ring);
  jf_free(s);
}

/* ---- events ---- */

jf_event *jf_event_new(void)
{
  jf_event *e = jf_new(sizeof *e);
  if (e) e->forks = jf_forks();
  return e;
}

void jf_event_free(jf_event *e) { jf_free(e); }

typedef struct stream_turn { jf_stream *stream; jf_event *event; unsigned turn; } stream_turn;

static jfl_status stream_come(void *item)
{
  const stream_turn *t = item;
  atomic_store(&t->event->failed, t->stream->failed != JFL_OK);
  stream_mark_set(&t->event->reached, t->turn);
  return JFL_OK;
}

static jfl_status stream_stand(void *item)
{
  const stream_turn *t = item;
  stream_mark_wait(&t->event->reached, t->turn, NULL);
  return JFL_OK;
}

/* What a parent of this process had asked for does not happen here. */
static void stream_event_forget_parent(jf_event *e)
{
  if (e->forks == jf_forks()) return;
  e->forks = jf_forks();
  atomic_store(&e->reached.word, (uint64_t)e->asked << 32);
}

jfl_status jf_stream_record(jf_stream *s, jf_event *e)
{
  stream_event_forget_parent(e);
  const stream_turn t = { s, e, e->asked + 1 };
  JF_TRY(jf_stream_add(s, JF_STREAM_MARK, stream_come, &t, sizeof t));
  e->asked++;
  return JFL_OK;
}

jfl_status jf_stream_await(jf_stream *s, jf_event *e)
{
  stream_event_forget_parent(e);
  const stream_turn t = { s, e, e->asked };
  if (stream_is_past(stream_mark_at(&e->reached), t.turn)) return JFL_OK;
  return jf_stream_add(s, JF_STREAM_MARK, stream_stand, &t, sizeof t);
}

jfl_status jf_stream_reach(jf_stream *s, jf_event *e)
{
  stream_event_forget_parent(e);
  if (!stream_is_past(stream_mark_at(&e->reached), e->asked)) {
    stream_help_held();
    stream_help(s);
    stream_mark_wait(&e->reached, e->asked, NULL);
  }
  if (!atomic_load(&e->failed)) return JFL_OK;
  if (s->failed) return jf_error_restore(s->failed, s->error);
  return jf_fail(JFL_EDEVICE, "%s: work before the event failed", s->name);
}
