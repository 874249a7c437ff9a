/* Runs that are sent to a device by way of staging buffers, so that the next one can be prepared
   while it works: sending one, and landing it when it has ended. */
#include "run/run.h"

/* The token is free or has been given to other such runs. */
int jf_send_begin(jfl_session *s, jfl_request *r)
{
  if (s->sending || (s->running && !s->n_sent) || !r->plan ||
      !jf_staging_repeats(r->plan)) return 0;
  const jfl_job *j = r->plan->job;
  r->execution = jf_staging_take(r->plan);
  if (!r->execution) return 0;
  r->number = j->run + (uint64_t)j->n_sent;
  s->sending = s->running = 1;
  return 1;
}

void jf_send(jfl_session *s, jfl_request *r, jfl_array *const *in)
{
  jf_request_set(r, jf_execute_send(r->execution, r->number, in));
  pthread_mutex_lock(&s->mu);
  jfl_request **last = &s->sent;
  while (*last) last = &(*last)->next;
  *last = r;
  r->next = NULL;
  if (s->current == r) s->current = NULL;
  r->plan->job->n_sent++;
  s->n_sent++;
  s->sending = 0;
  jf_condition_tell(&s->changed);
  pthread_mutex_unlock(&s->mu);
}

/* After a device failed: waits for it, and sends again what was sent there later. */
static void send_settle(jfl_session *s, const jfl_request *r)
{
  pthread_mutex_lock(&s->mu);
  while (s->sending) jf_condition_wait(&s->changed, &s->mu);
  s->sending = 1;
  pthread_mutex_unlock(&s->mu);
  jf_staging_settle(r->execution);
  for (jfl_request *q = r->next; q; q = q->next)
    if (!q->status && q->plan->staging.place == r->plan->staging.place)
      jf_request_set(q, jf_staging_send(q->execution));
  pthread_mutex_lock(&s->mu);
  s->sending = 0;
  jf_condition_tell(&s->changed);
  pthread_mutex_unlock(&s->mu);
}

/* Waits for the end of a run that was sent, and takes its results. */
static void send_receive(jfl_session *s, jfl_request *r)
{
  const jfl_status failed = r->status ? r->status : jf_staging_reach(r->execution);
  if (!r->status) jf_request_set(r, failed ? failed : jf_staging_found(r->execution));
  if (failed) send_settle(s, r);
  if (r->status) return;
  jf_execution_made(r->execution);
  jf_staging_unload(r->execution, r->out);
}

/* A failed run that others of its job follow keeps its number. */
void jf_send_land(jfl_session *s)
{
  jfl_request *r = s->sent;
  jfl_job *j = r->plan->job;
  pthread_mutex_unlock(&s->mu);
  send_receive(s, r);
  pthread_mutex_lock(&s->mu);
  s->sent = r->next;
  s->n_sent--;
  j->n_sent--;
  jf_execution_staging(r->execution)->busy = 0;
  if (!r->status || j->n_sent) j->run++;
  if (r->status) s->disturbances++;
  jf_session_finish(s, r);
  jfl_request_unref(r);
}
