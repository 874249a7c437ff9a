/* What tasks leave to do when their turn is over, such as the writing of files: it is done in
   order, on a thread of its own, while runs go on. */
#include "run/run.h"
#include "system/system.h"

/* The rest of a task, without the lock. What it needed is freed here, where nobody waits. */
static void behind_finish(jfl_request *r)
{
  if (r->is_low) jf_thread_lower();
  jf_request_set(r, r->task->finish(r));
  r->task->free(r->state);
  r->state = NULL;
}

/* The oldest one is over. It leaves the list only now, as a forked child has to find it. Under
   mu. */
static void behind_end(jfl_session *s)
{
  jfl_request *r = s->behind;
  s->behind = r->next;
  --*r->in_flight;
  atomic_store(&r->done, 1);
  s->finished++;
  jf_session_make_readable(s);
  jf_condition_tell(&s->changed);
  jfl_request_unref(r);
}

static void *behind_work(void *arg)
{
  jfl_session *s = arg;
  jf_thread_begins("writer");
  jf_memory_charge(s->budget);
  pthread_mutex_lock(&s->mu);
  for (;;) {
    while (!s->behind && !s->writer_stop) jf_condition_wait(&s->changed, &s->mu);
    if (!s->behind) break;
    jfl_request *r = s->behind;
    pthread_mutex_unlock(&s->mu);
    behind_finish(r);
    pthread_mutex_lock(&s->mu);
    behind_end(s);
  }
  pthread_mutex_unlock(&s->mu);
  jf_memory_charge(NULL);
  jf_thread_ends("writer");
  return NULL;
}

void jf_behind_add(jfl_session *s, jfl_request *r)
{
  jfl_request **last = &s->behind;
  while (*last) last = &(*last)->next;
  *last = r;
  r->next = NULL;
  if (s->has_writer) return;
  s->has_writer = !jf_thread_start(&s->writer, behind_work, s);
  if (s->has_writer) return;
  pthread_mutex_unlock(&s->mu);       /* without a thread for it the worker does it */
  behind_finish(r);
  pthread_mutex_lock(&s->mu);
  behind_end(s);
}

void jf_behind_wait(jfl_session *s)
{
  jf_session_lock(s);
  while (s->head || s->running || s->behind) jf_condition_wait(&s->changed, &s->mu);
  jf_session_unlock(s);
}

void jf_behind_stop(jfl_session *s)
{
  jf_session_lock(s);
  const int join = s->has_writer;
  s->writer_stop = 1;
  s->has_writer = 0;
  jf_condition_tell(&s->changed);
  jf_session_unlock(s);
  if (join) pthread_join(s->writer, NULL);
}
