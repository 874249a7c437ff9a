/* The run token and the lock of a session, also across forks.

   Lock order: session->mu is the only lock. The run token (session->running) is held while a plan
   runs or variables are touched; it is taken and given back under mu, never held across a wait for
   it. */
#include "run/run.h"
#include "system/system.h"

static void init_locks(jfl_session *s)
{
  pthread_mutex_init(&s->mu, NULL);
  s->changed = (jf_condition){ 0 };
  s->forks = jf_forks();
}

void jf_session_init_locks(jfl_session *s)
{
  init_locks(s);
  jf_fork_lock_add(&s->at_fork, &s->mu);
}

/* Fails a request that was taken out of the queue, and drops the queue's reference. Under mu. */
void jf_session_fail(jfl_request *r, const char *why)
{
  if (r->job) r->session->disturbances++;
  jf_request_set(r, jf_fail(JFL_ESTATE, "%s", why));
  --*r->in_flight;
  atomic_store(&r->done, 1);
  jfl_request_unref(r);
}

/* Fails all requests of a list, which nothing will end, and empties it. Under mu. */
static void drop_list(jfl_request **list, const char *why)
{
  for (jfl_request *r = *list, *next; r; r = next) {
    next = r->next;
    jf_session_fail(r, why);
  }
  *list = NULL;
}

/* Under mu. */
void jf_session_drop(jfl_session *s, const char *why)
{
  drop_list(&s->head, why);
  s->tail = NULL;
  s->n_queued = 0;
}

/* In a forked child the worker is gone, with its run. What mu guards is whole, as a fork waits for
   it; who waits at `changed` is not there. */
static void start_afresh(jfl_session *s)
{
  init_locks(s);
  jf_signal_renew(s->fd);
  jf_session_make_readable(s);
  while (s->sent) {
    jfl_request *r = s->sent;
    s->sent = r->next;
    jf_execution_staging(r->execution)->busy = 0;
    r->plan->job->n_sent = 0;
    r->next = s->head;
    s->head = r;
  }
  if (s->current) {
    s->current->next = s->head;
    s->head = s->current;
    s->current = NULL;
  }
  s->has_worker = s->running = s->sending = s->n_sent = 0;
  s->has_writer = 0;
  jf_session_drop(s, "the run was lost: the process forked");
  drop_list(&s->behind, "the save was lost: the process forked");
}

void jf_session_lock(jfl_session *s)
{
  if (s->forks != jf_forks()) start_afresh(s);
  pthread_mutex_lock(&s->mu);
}

void jf_session_unlock(jfl_session *s) { pthread_mutex_unlock(&s->mu); }

void jf_session_acquire(jfl_session *s)
{
  jf_session_lock(s);
  while (s->running || s->head) jf_condition_wait(&s->changed, &s->mu);
  s->running = 1;
  jf_session_unlock(s);
  s->blocked = s->has_mapped && jf_mapping_begin();
}

/* The session's own thread gives the token back; only a worker can be waiting for that. */
void jf_session_release(jfl_session *s)
{
  jf_mapping_end(s->blocked);
  s->blocked = 0;
  jf_session_lock(s);
  s->running = 0;
  if (s->has_worker) jf_condition_tell(&s->changed);
  jf_session_unlock(s);
}

/* Under mu. */
void jf_session_make_readable(jfl_session *s) { jf_signal_set(s->fd); }

/* Under mu. */
void jf_session_yield(jfl_session *s)
{
  s->running = s->n_sent > 0 || s->sending;
  if (s->has_worker) jf_condition_tell(&s->changed);
}

/* Under mu. */
void jf_session_announce(jfl_session *s)
{
  s->finished++;
  jf_session_make_readable(s);
  jf_session_yield(s);
}

void jf_session_finish(jfl_session *s, jfl_request *r)
{
  s->current = NULL;
  --*r->in_flight;
  atomic_store(&r->done, 1);
  jf_session_announce(s);
}
