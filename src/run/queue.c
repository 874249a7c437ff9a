/* The queue of asynchronous runs, and the worker that takes them in order. */
#include "run/run.h"
#include "system/system.h"
#include "world/world.h"

#include <string.h>

/* ---- the worker ---- */

/* Whether there is something to do; waits for it. Under mu. */
static int queue_await(jfl_session *s)
{
  while (!s->sent && (s->stop || !s->head || s->running)) {
    if (s->stop) return 0;
    jf_condition_wait(&s->changed, &s->mu);
  }
  return 1;
}

/* Runs or sends the first of the queue. Under mu, which it leaves meanwhile. */
static void queue_begin(jfl_session *s, int sends)
{
  jfl_request *r = s->head;
  s->head = s->head->next;
  if (!s->head) s->tail = NULL;
  s->n_queued--;
  s->running = 1;
  s->current = r;
  pthread_mutex_unlock(&s->mu);
  if (s->settings.background) jf_thread_lower();
  if (sends) jf_send(s, r, r->in);
  else jf_request_run(r, r->in);
  pthread_mutex_lock(&s->mu);
  if (sends) return;
  if (!r->status && r->task && r->task->finish) {
    s->current = NULL;
    jf_behind_add(s, r);
    jf_session_yield(s);
  } else {
    jf_session_finish(s, r);
    jfl_request_unref(r);
  }
}

static void *queue_work(void *arg)
{
  jfl_session *s = arg;
  jf_thread_begins("worker");
  jf_memory_charge(s->budget);
  pthread_mutex_lock(&s->mu);
  while (queue_await(s)) {
    const int sends = s->head && jf_send_begin(s, s->head);
    if (sends || !s->sent) queue_begin(s, sends);
    else jf_send_land(s);
  }
  pthread_mutex_unlock(&s->mu);
  jf_memory_charge(NULL);
  jf_thread_ends("worker");
  return NULL;
}

/* Under mu. */
static jfl_status start_worker(jfl_session *s)
{
  int e = jf_thread_start(&s->worker, queue_work, s);
  if (e) return jf_fail(JFL_ENOMEM, "cannot start the worker thread: %s", strerror(e));
  s->has_worker = 1;
  return JFL_OK;
}

void jf_queue_end_worker(jfl_session *s)
{
  jf_session_lock(s);
  int join = s->has_worker;
  __atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);      /* a run looks without the mutex */
  s->has_worker = 0;
  jf_condition_tell(&s->changed);
  jf_session_unlock(s);
  if (join) pthread_join(s->worker, NULL);
  s->stop = 0;
}

void jf_queue_stop(jfl_session *s)
{
  jf_session_lock(s);
  jf_session_drop(s, "the session was closed before this run started");
  jf_session_unlock(s);
  jf_queue_end_worker(s);
  jf_behind_stop(s);
  jf_signal_free(s->fd);
  jf_fork_lock_remove(&s->at_fork);
  pthread_mutex_destroy(&s->mu);
}

static jfl_status enqueue(jfl_session *s, jfl_request *r)
{
  if (!s->has_worker) JF_TRY(start_worker(s));
  jfl_request_ref(r);
  ++*r->in_flight;
  if (s->tail) s->tail->next = r;
  else s->head = r;
  s->tail = r;
  s->n_queued++;
  jf_condition_tell(&s->changed);
  return JFL_OK;
}

/* The session's own thread alone adds to those. */
static jfl_status check_room(jfl_session *s, const int *in_flight, const char *many)
{
  const int most = s->settings.max_inflight;
  jf_session_lock(s);
  const int full = *in_flight >= most;
  jf_session_unlock(s);
  return full ? jf_fail(JFL_EFULL, "%d %s are in flight already", most, many) : JFL_OK;
}

static jfl_status check_job(const jfl_job *j)
{
  return jf_fail_in(check_room(j->session, &j->in_flight, "calls"), JFL_ERROR_JOB, j->name);
}

/* Queues a new request, with copies of inputs unless `in` is NULL. */
static jfl_status queue_add(jfl_request *r, jfl_array *const *in, jfl_request **out)
{
  jfl_session *s = r->session;
  jfl_status st = in ? jf_request_keep(r, in) : JFL_OK;
  jf_session_lock(s);
  if (!st) st = enqueue(s, r);
  jf_session_unlock(s);
  if (!st) return *out = r, JFL_OK;
  if (r->job) jf_fail_in(st, JFL_ERROR_JOB, r->job->name);
  jfl_request_unref(r);
  return st;
}

/* Ranks that have parted run nothing together, and who calls hears of it at once: not in the
   results of a call, which may be looked at much later. */
static jfl_status check_world(const jfl_plan *p)
{
  if (!p->is_shared || !jf_world_trouble()) return JFL_OK;
  return jf_fail_in(jf_world_fail(), JFL_ERROR_JOB, p->job->name);
}

int jfl_plan_is_small(const jfl_plan *p)
{
  if (!JF_IS(PLAN, p)) return 0;
  const jf_settings *set = &p->job->session->settings;
  return !set->background && p->work < set->inline_limit;
}

/* Takes the token for a plan that runs in less time than waking the worker takes, unless other runs
   are queued or running. */
static int begin_at_once(jfl_session *s, const jfl_plan *p)
{
  if (!jfl_plan_is_small(p)) return 0;
  jf_session_lock(s);
  int mine = !s->running && !s->head;
  if (mine) s->running = 1;
  jf_session_unlock(s);
  return mine;
}

static void end_at_once(jfl_session *s)
{
  jf_session_lock(s);
  jf_session_announce(s);
  jf_session_unlock(s);
}

jfl_status jfl_run_small(jfl_plan *p, jfl_array *const *in, jfl_array **out, int *ran)
{
  JF_NEED(PLAN, p);
  JF_NEED_EACH(ARRAY, in, p->graph->n_input);
  if (p->graph->n_output) JF_NEED_POINTER(out);
  JF_NEED_POINTER(ran);
  jfl_session *s = p->job->session;
  *ran = 0;
  JF_TRY(check_world(p));
  JF_TRY(jf_plan_check_inputs(p, in));
  if (!begin_at_once(s, p)) return JFL_OK;
  jfl_status st = jf_plan_outputs_new(p, out);
  if (!st) *ran = 1;
  if (!st && (st = jf_execute(p, in, out))) jf_arrays_drop(out, p->graph->n_output);
  end_at_once(s);
  return st;
}

static jfl_status submit_at_once(jfl_session *s, jfl_plan *p, jfl_array *const *in,
                                 jfl_request **out)
{
  jfl_status st = jf_request_new(p, in, out);
  if (!st) jf_request_run(*out, in);
  if (!st) atomic_store(&(*out)->done, 1);
  end_at_once(s);
  return st;
}

/* Takes what the caller needs to send a run by itself: then its inputs need no copy but that in the
   staging buffer, and no thread wakes up before the device has work. */
static int queue_may_send(jfl_session *s, jfl_request *r)
{
  jf_session_lock(s);
  const int mine = !s->head && (s->has_worker || !start_worker(s)) && jf_send_begin(s, r);
  if (mine) ++*r->in_flight;
  jf_session_unlock(s);
  return mine;
}

jfl_status jfl_submit(jfl_plan *p, jfl_array *const *in, jfl_request **out)
{
  JF_NEED(PLAN, p);
  JF_NEED_EACH(ARRAY, in, p->graph->n_input);
  JF_NEED_POINTER(out);
  jfl_session *s = p->job->session;
  jfl_request *r;
  JF_TRY(check_world(p));
  if (begin_at_once(s, p)) return submit_at_once(s, p, in, out);
  JF_TRY(check_job(p->job));
  JF_TRY(jf_request_new(p, in, &r));
  if (queue_may_send(s, r)) {
    jf_send(s, jfl_request_ref(r), in);
    return *out = r, JFL_OK;
  }
  return queue_add(r, in, out);
}

jfl_status jf_task_submit(jfl_session *s, const jf_task *task, void *state, int *in_flight,
                          jfl_request **out)
{
  jfl_request *r;
  JF_TRY(jf_request_new_task(s, task, state, &r));
  r->in_flight = in_flight;
  r->is_low = s->settings.background != 0;
  const jfl_status full = check_room(s, in_flight, task->many);
  if (!full) return queue_add(r, NULL, out);
  jfl_request_unref(r);
  return full;
}

jfl_status jfl_submit_behind(jfl_request *compiling, jfl_array *const *in, jfl_request **out)
{
  JF_NEED(REQUEST, compiling);
  if (!compiling->job || !compiling->task)
    return jf_need_told(__func__, jf_fail_argument(JFL_EINVAL, "compiling", "must be a request of "
                                                   "jfl_compile_submit"));
  const jf_compiling *c = compiling->state;
  JF_NEED_EACH(ARRAY, in, c->n_in);
  JF_NEED_POINTER(out);
  if (jfl_request_plan(compiling)) return jfl_submit(c->plan, in, out);
  jfl_request *r;
  JF_TRY(check_job(c->job));
  JF_TRY(jf_request_new_behind(compiling, in, &r));
  return queue_add(r, in, out);
}

jfl_status jf_compile_submit(jfl_session *s, const jf_task *task, jf_compiling *state,
                             jfl_request **out)
{
  jfl_request *r;
  jfl_job *job = state->job;
  JF_TRY(jf_request_new_task(s, task, state, &r));
  r->job = job;
  r->in_flight = &s->n_compiles;
  return queue_add(r, NULL, out);
}

int jf_removal_submit(jfl_session *s, const jf_task *task, jfl_plan *p)
{
  jfl_request *r;
  jf_session_lock(s);
  const int waits = s->running || s->head;
  jf_session_unlock(s);
  if (!waits || jf_request_new_task(s, task, p, &r)) return 0;
  r->in_flight = &s->n_compiles;
  if (queue_add(r, NULL, &r)) return 0;
  jfl_request_unref(r);
  return 1;
}

void jf_compiles_wait(jfl_session *s)
{
  jf_session_lock(s);
  while (s->n_compiles) jf_condition_wait(&s->changed, &s->mu);
  jf_session_unlock(s);
}

/* Takes r out of the queue; gives whether it was there. Under mu. */
static int unqueue(jfl_session *s, const jfl_request *r)
{
  jfl_request *before = NULL, *at = s->head;
  for (; at && at != r; at = at->next) before = at;
  if (!at) return 0;
  if (before) before->next = r->next;
  else s->head = r->next;
  if (s->tail == r) s->tail = before;
  s->n_queued--;
  return 1;
}

jfl_status jfl_request_cancel(jfl_request *r, int *cancelled)
{
  JF_NEED(REQUEST, r);
  JF_NEED_POINTER(cancelled);
  *cancelled = 0;
  if (atomic_load(&r->done)) return JFL_OK;      /* its plan may be gone */
  jfl_session *s = r->session;
  jf_session_lock(s);
  if (unqueue(s, r)) {
    jf_session_fail(r, "the call was cancelled before it began");
    *cancelled = 1;
    s->finished++;
    jf_session_make_readable(s);
    if (s->has_worker) jf_condition_tell(&s->changed);
  }
  jf_session_unlock(s);
  return JFL_OK;
}

jfl_status jfl_session_wait(jfl_session *s, const jfl_request *r, double seconds)
{
  JF_NEED(SESSION, s);
  if (r) JF_NEED(REQUEST, r);
  if (seconds != seconds)
    return jf_need_told(__func__, jf_fail_argument(JFL_EINVAL, "seconds", "must be a number, got "
                                                   "nan"));
  const double until = jf_now() + (seconds < 1e9 ? seconds > 0 ? seconds : 0 : 1e9);
  jf_session_lock(s);
  uint64_t before = s->finished;
  int late = 0;
  while (!late && (s->head || s->running || (r && s->behind)) &&
         (r ? !atomic_load(&r->done) : s->finished == before)) {
    if (seconds < 0) jf_condition_wait(&s->changed, &s->mu);
    else late = jf_condition_wait_until(&s->changed, &s->mu, until);
  }
  jf_session_unlock(s);
  return JFL_OK;
}

/* Only the session's own thread, which asks, starts the worker: without one nothing is pending. */
int jfl_session_pending(jfl_session *s)
{
  if (!JF_IS(SESSION, s) || !s->has_worker) return 0;
  jf_session_lock(s);
  int n = s->n_queued + (s->n_sent ? s->n_sent : s->running);
  jf_session_unlock(s);
  return n;
}

jfl_status jfl_session_fd(jfl_session *s, int *out)
{
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(out);
  jf_session_lock(s);
  if (s->fd < 0) s->fd = jf_signal_new();
  const int fd = s->fd;
  jf_session_unlock(s);
  return fd >= 0 ? (*out = fd, JFL_OK) : jf_fail(JFL_EIO, "cannot make what to wait for");
}

jfl_status jfl_session_due(jfl_session *s, int due)
{
  JF_NEED(SESSION, s);
  jf_session_lock(s);
  if (due) jf_session_make_readable(s);
  else jf_signal_clear(s->fd);
  jf_session_unlock(s);
  return JFL_OK;
}
