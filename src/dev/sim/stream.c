/* Streams and events of the simulated device. */
#include "dev/sim/sim.h"
#include "system/system.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Sometimes sleeps, so that whoever does not wait for the stream comes too early. */
static void sim_stream_dawdle(jf_sim_stream *s)
{
  enum { ONE_IN = 4 };
  jf_philox bits = jf_philox_at(s->pace.seed, s->number, s->n_done++);
  if (s->pace.delay && bits.w[0] % ONE_IN == 0) usleep(bits.w[1] % s->pace.delay + 1);
}

/* Keeps the first failure and its message. The caller holds mu. */
static void sim_stream_fail(jf_sim_stream *s, jfl_status status)
{
  if (s->failed) return;
  s->failed = status;
  s->error = jf_error_copy();
}

/* Whether the stream skips the item. The caller holds mu. */
static int sim_stream_leaves_out(const jf_sim_stream *s, const jf_sim_item *i)
{
  return s->failed && i->sort != JF_SIM_MARK;
}

/* The next item; NULL when the stream ends. The caller holds mu. */
static jf_sim_item *sim_stream_next(jf_sim_stream *s)
{
  while (!s->head && !s->stop) pthread_cond_wait(&s->changed, &s->mu);
  jf_sim_item *i = s->head;
  if (!i) return NULL;
  s->head = i->next;
  if (!s->head) s->tail = NULL;
  s->busy = 1;
  return i;
}

static void *sim_stream_work(void *arg)
{
  jf_sim_stream *s = arg;
  jf_thread_begins("stream");
  pthread_mutex_lock(&s->mu);
  for (jf_sim_item *i; (i = sim_stream_next(s));) {
    int skip = sim_stream_leaves_out(s, i);
    pthread_mutex_unlock(&s->mu);
    if (!skip) sim_stream_dawdle(s);
    jfl_status st = skip ? JFL_OK : i->run(s, i);
    jf_free(i);
    pthread_mutex_lock(&s->mu);
    if (st) sim_stream_fail(s, st);
    s->busy = 0;
    if (!s->head) pthread_cond_broadcast(&s->changed);
  }
  pthread_mutex_unlock(&s->mu);
  jf_thread_ends("stream");
  return NULL;
}

/* The caller holds mu. */
static jfl_status sim_stream_start(jf_sim_stream *s)
{
  int e = jf_thread_start(&s->thread, sim_stream_work, s);
  if (e) return jf_fail(JFL_ENOMEM, "%s: cannot start its thread: %s", s->name, strerror(e));
  s->has_thread = 1;
  return JFL_OK;
}

void jf_sim_stream_init(jf_sim_stream *s, const char *name, jf_sim_pace pace, uint64_t number)
{
  *s = (jf_sim_stream){ .name = name, .pace = pace, .number = number, .forks = jf_forks() };
  pthread_mutex_init(&s->mu, NULL);
  pthread_cond_init(&s->changed, NULL);
}

/* Whether the process has forked since the stream began: then the child has no such thread, and mu
   is in an unknown state. */
static int sim_stream_is_lost(const jf_sim_stream *s) { return s->forks != jf_forks(); }

void jf_sim_stream_end(jf_sim_stream *s)
{
  if (sim_stream_is_lost(s)) return;
  pthread_mutex_lock(&s->mu);
  s->stop = 1;
  pthread_cond_broadcast(&s->changed);
  int join = s->has_thread;
  pthread_mutex_unlock(&s->mu);
  if (join) pthread_join(s->thread, NULL);
  jf_free(s->error);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->mu);
}

static jfl_status sim_stream_lost(const jf_sim_stream *s)
{
  return jf_fail(JFL_ESTATE, "%s: this process forked from one that uses the device, which is not "
                 "here", s->name);
}

static void sim_stream_append(jf_sim_item **head, jf_sim_item **tail, jf_sim_item *i)
{
  i->next = NULL;
  if (*tail) (*tail)->next = i;
  else *head = i;
  *tail = i;
}

jfl_status jf_sim_put(jf_sim_stream *s, jf_sim_item *i)
{
  if (sim_stream_is_lost(s)) {
    jf_free(i);
    return sim_stream_lost(s);
  }
  pthread_mutex_lock(&s->mu);
  jfl_status st = s->has_thread ? JFL_OK : sim_stream_start(s);
  if (!st) {
    if (s->captured) sim_stream_append(&s->captured->head, &s->captured->tail, i);
    else sim_stream_append(&s->head, &s->tail, i);
    pthread_cond_broadcast(&s->changed);
  } else {
    jf_free(i);
  }
  pthread_mutex_unlock(&s->mu);
  return st;
}

jfl_status jf_sim_wait(jf_sim_stream *s)
{
  if (sim_stream_is_lost(s)) return sim_stream_lost(s);
  pthread_mutex_lock(&s->mu);
  while (s->head || s->busy) pthread_cond_wait(&s->changed, &s->mu);
  jfl_status st = s->failed;
  if (st) jf_error_restore(st, s->error);
  jf_free(s->error);
  s->error = NULL;
  s->failed = JFL_OK;
  pthread_mutex_unlock(&s->mu);
  return st;
}

/* ---- work that is repeated ---- */

typedef struct sim_replay { jf_sim_item item; jf_sim_work *work; } sim_replay;

jfl_status jf_sim_capture(jf_sim_stream *s)
{
  jf_sim_work *w = jf_new(sizeof *w);
  if (!w) return jf_fail(JFL_ENOMEM, "out of memory");
  pthread_mutex_lock(&s->mu);
  s->captured = w;
  pthread_mutex_unlock(&s->mu);
  return JFL_OK;
}

jf_sim_work *jf_sim_captured(jf_sim_stream *s)
{
  pthread_mutex_lock(&s->mu);
  jf_sim_work *w = s->captured;
  s->captured = NULL;
  pthread_mutex_unlock(&s->mu);
  return w;
}

void jf_sim_work_free(jf_sim_work *w)
{
  for (jf_sim_item *i = w->head, *next; i; i = next) {
    next = i->next;
    jf_free(i);
  }
  jf_free(w);
}

static jfl_status sim_stream_do_work(jf_sim_stream *s, jf_sim_item *item)
{
  jfl_status st = JFL_OK;
  for (jf_sim_item *i = ((sim_replay *)item)->work->head; i && !st; i = i->next) {
    pthread_mutex_lock(&s->mu);
    int skip = sim_stream_leaves_out(s, i);
    pthread_mutex_unlock(&s->mu);
    if (!skip) sim_stream_dawdle(s);
    if (!skip) st = i->run(s, i);
  }
  return st;
}

jfl_status jf_sim_replay(jf_sim_stream *s, jf_sim_work *w)
{
  sim_replay *r = jf_new_raw(sizeof *r);
  if (!r) return jf_fail(JFL_ENOMEM, "out of memory");
  *r = (sim_replay){ { NULL, sim_stream_do_work, JF_SIM_MARK }, w };
  return jf_sim_put(s, &r->item);
}

/* ---- events ---- */

void jf_sim_event_init(jf_sim_event *e)
{
  *e = (jf_sim_event){0};
  pthread_mutex_init(&e->mu, NULL);
  pthread_cond_init(&e->there, NULL);
}

void jf_sim_event_end(jf_sim_event *e)
{
  pthread_cond_destroy(&e->there);
  pthread_mutex_destroy(&e->mu);
}

/* turn: for which recording of the event the stream waits. */
typedef struct sim_turn { jf_sim_item item; jf_sim_event *event; uint64_t turn; } sim_turn;

static jfl_status sim_stream_reach(jf_sim_stream *s, jf_sim_item *i)
{
  const sim_turn *t = (const sim_turn *)i;
  pthread_mutex_lock(&s->mu);
  const int failed = s->failed != JFL_OK;
  pthread_mutex_unlock(&s->mu);
  pthread_mutex_lock(&t->event->mu);
  t->event->reached = t->turn;
  t->event->failed = failed;
  pthread_cond_broadcast(&t->event->there);
  pthread_mutex_unlock(&t->event->mu);
  return JFL_OK;
}

static jfl_status sim_stream_stand(jf_sim_stream *s, jf_sim_item *i)
{
  const sim_turn *t = (const sim_turn *)i;
  (void)s;
  pthread_mutex_lock(&t->event->mu);
  while (t->event->reached < t->turn) pthread_cond_wait(&t->event->there, &t->event->mu);
  pthread_mutex_unlock(&t->event->mu);
  return JFL_OK;
}

static jfl_status sim_stream_put_turn(jf_sim_stream *s, sim_turn what)
{
  sim_turn *t = jf_new_raw(sizeof *t);
  if (!t) return jf_fail(JFL_ENOMEM, "out of memory");
  *t = what;
  return jf_sim_put(s, &t->item);
}

jfl_status jf_sim_record(jf_sim_stream *s, jf_sim_event *e)
{
  pthread_mutex_lock(&e->mu);
  uint64_t turn = ++e->asked;
  pthread_mutex_unlock(&e->mu);
  const jf_sim_item reach = { NULL, sim_stream_reach, JF_SIM_MARK };
  jfl_status st = sim_stream_put_turn(s, (sim_turn){ reach, e, turn });
  if (!st) return JFL_OK;
  pthread_mutex_lock(&e->mu);
  e->asked--;
  pthread_mutex_unlock(&e->mu);
  return st;
}

jfl_status jf_sim_await(jf_sim_stream *s, jf_sim_event *e)
{
  pthread_mutex_lock(&e->mu);
  uint64_t turn = e->asked;
  pthread_mutex_unlock(&e->mu);
  const jf_sim_item stand = { NULL, sim_stream_stand, JF_SIM_MARK };
  return sim_stream_put_turn(s, (sim_turn){ stand, e, turn });
}

jfl_status jf_sim_reach(jf_sim_stream *s, jf_sim_event *e)
{
  pthread_mutex_lock(&e->mu);
  while (e->reached < e->asked) pthread_cond_wait(&e->there, &e->mu);
  const int failed = e->failed;
  pthread_mutex_unlock(&e->mu);
  if (!failed) return JFL_OK;
  pthread_mutex_lock(&s->mu);
  const jfl_status st = s->failed ? jf_error_restore(s->failed, s->error) : JFL_OK;
  pthread_mutex_unlock(&s->mu);
  return st ? st : jf_fail(JFL_EDEVICE, "%s: work before the event failed", s->name);
}
