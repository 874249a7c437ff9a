/* Parallel loops, and the threads that help to run them.

   A crew is a set of helpers for one caller at a time; they are started when a loop first wants
   them and sleep between loops. The caller of a loop works too, and it waits only for helpers that
   have begun to work: one that the system wakes late, or whose core another program has, finds the
   loop closed and costs nothing. So a loop takes little more than its caller alone would need,
   whatever its helpers do.

   A helper may also lose its core in the middle of an element. Its processor time then stands
   still. The caller notices that, lets it have the caller's own core, sleeps until it is done, and
   then leaves that helper alone for a multiple of the time this took. */
#include "base/base.h"
#include "system/system.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* CREWS: callers that may have helpers at the same time. IDLE_SPIN: seconds for which a helper
   looks for the next loop before it sleeps, which bridges the gaps between the steps of a plan.
   LATE: seconds after which the caller looks whether the helpers it waits for are running;
   PATIENCE: those after which it sleeps although they are. REST: how many times the time that a
   caller waited in vain a helper is left alone afterwards. */
enum { MOST_LANES = 256, CREWS = 16, OPEN = 1 << 30 };
static const double IDLE_SPIN = 100e-6, LATE = 20e-6, PATIENCE = 300e-6, REST = 16;

typedef struct helper {
  _Alignas(64) atomic_uint turn;   /* changes when there is a loop to help with; it is slept on */
  atomic_int asleep, works, ends;
  struct crew *crew;
  int worker, low;
  double rests;                    /* it is not called before; of whoever has the crew */
  pthread_t thread;
} helper;

/* Each worker begins with a share of its own, the same one in every loop of that size, so that a
   step finds in the thread's cache what the step before left there. A worker that is done takes
   elements from the shares of others. */
typedef struct share { _Alignas(64) atomic_int next; int end; } share;

typedef struct crew {
  atomic_int taken;                /* a caller has it; who took it owns what is not atomic */
  _Alignas(64) atomic_uint state;  /* OPEN, plus the helpers in the loop; it is slept on */
  atomic_int caller_asleep;
  int n_helper;
  int home;                        /* the core that the helpers were last told to keep off; or -1 */
  int low;                         /* its helpers run at the lowest priority */
  jf_worker_fn fn;
  void *ctx;
  const jf_budget *budget;         /* whose time ends the loop, or NULL */
  atomic_int ended;                /* elements were left out */
  int n_worker;
  share share[MOST_LANES];
  helper helper[MOST_LANES - 1];
} crew;

static crew crews[CREWS];
static pthread_once_t crew_once = PTHREAD_ONCE_INIT;
static _Thread_local crew *inside;         /* that of the element that it runs, or NULL */
static _Thread_local int most_threads, low;    /* as jf_loops_set says */
static _Thread_local int ended;            /* elements were left out, as they are from then on */

static void crew_pause(void)
{
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* ---- the work of a loop ---- */

static void crew_take(crew *c, share *s, int worker)
{
  if (atomic_load_explicit(&s->next, memory_order_relaxed) >= s->end) return;
  for (int i; (i = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed)) < s->end;) {
    if (!c->budget || jf_budget_left(c->budget) > 0) c->fn(c->ctx, i, worker);
    else atomic_store_explicit(&c->ended, 1, memory_order_relaxed);
  }
}

static void crew_work(crew *c, int worker)
{
  inside = c;
  for (int i = 0; i < c->n_worker; i++) crew_take(c, &c->share[(worker + i) % c->n_worker], worker);
  inside = NULL;
}

/* ---- helpers ---- */

/* Waits until *turn is no longer `seen`. */
static unsigned helper_wait(helper *h, unsigned seen)
{
  unsigned turn;
  double until = jf_now() + IDLE_SPIN;
  for (int i = 1; (turn = atomic_load(&h->turn)) == seen; i++) {
    crew_pause();
    if (i % 16 || jf_now() < until) continue;
    atomic_store(&h->asleep, 1);
    if (atomic_load(&h->turn) == seen) jf_sleep_on(&h->turn, seen, NULL);
    atomic_store(&h->asleep, 0);
  }
  return turn;
}

/* Enters the loop if it is open. A caller may have closed one and opened another meanwhile: that is
   as good. */
static int helper_joins(crew *c)
{
  unsigned state = atomic_load(&c->state);
  while (state & OPEN)
    if (atomic_compare_exchange_weak(&c->state, &state, state + 1)) return 1;
  return 0;
}

static void helper_leaves(crew *c)
{
  if (atomic_fetch_sub(&c->state, 1) == 1 && atomic_load(&c->caller_asleep)) jf_wake_all(&c->state);
}

static void *helper_run(void *arg)
{
  helper *h = arg;
  crew *c = h->crew;
  jf_thread_begins("helper");
  if (h->low) jf_thread_lower();
  for (unsigned seen = 0; seen = helper_wait(h, seen), !atomic_load(&h->ends);) {
    if (!helper_joins(c)) continue;
    atomic_store(&h->works, 1);
    if (h->worker < c->n_worker) crew_work(c, h->worker);
    atomic_store(&h->works, 0);
    helper_leaves(c);
  }
  jf_thread_ends("helper");
  return NULL;
}

static void helper_call(helper *h)
{
  atomic_fetch_add(&h->turn, 1);
  if (atomic_load(&h->asleep)) jf_wake_all(&h->turn);
}

/* A forked child has no helpers. */
static void crews_forget(void)
{
  for (int i = 0; i < CREWS; i++) {
    atomic_store(&crews[i].taken, 0);
    atomic_store(&crews[i].state, 0);
    crews[i].n_helper = 0;
  }
}

static void crew_watch_forks(void) { jf_at_fork(crews_forget); }

/* Starts helpers until there are n, as far as the system lets it. */
static void crew_grow(crew *c, int n)
{
  if (c->n_helper >= n) return;
  if (!c->n_helper) c->low = low;
  pthread_once(&crew_once, crew_watch_forks);
  while (c->n_helper < n) {
    helper *h = &c->helper[c->n_helper];
    atomic_store(&h->turn, 0);
    atomic_store(&h->asleep, 0);
    atomic_store(&h->works, 0);
    atomic_store(&h->ends, 0);
    h->crew = c;
    h->worker = c->n_helper + 1;
    h->low = c->low;
    h->rests = 0;
    if (jf_thread_start(&h->thread, helper_run, h)) break;
    c->n_helper++;
  }
  c->home = -1;
}

static void crew_end(crew *c)
{
  for (int i = 0; i < c->n_helper; i++) {
    atomic_store(&c->helper[i].ends, 1);
    helper_call(&c->helper[i]);
  }
  for (int i = 0; i < c->n_helper; i++) pthread_join(c->helper[i].thread, NULL);
  c->n_helper = 0;
}

/* ---- cores ---- */

/* The system tends to put a helper on the core of the thread that wakes it, and then the two take
   turns on one core while another one is idle. So helpers are forbidden the core on which their
   caller is running. The caller itself belongs to the host and is not tied down; when it has moved
   to another core, the helpers are told anew. */
static void crew_settle(crew *c)
{
  jf_cores others;
  const int cpu = jf_core_here();
  if (cpu < 0 || cpu == c->home || !jf_cores_mine(&others)) return;
  const int n = jf_cores_without(&others, cpu);
  for (int i = 0; i < c->n_helper && n; i++) jf_thread_keep_to(c->helper[i].thread, &others);
  c->home = cpu;
}

/* ---- waiting for helpers ---- */

/* Whether the helpers left the loop within LATE seconds. */
static int crew_spin(crew *c)
{
  double until = jf_now() + LATE;
  for (int i = 1; atomic_load(&c->state); i++) {
    crew_pause();
    if (i % 16 == 0 && jf_now() > until) return atomic_load(&c->state) == 0;
  }
  return 1;
}

/* Lets helpers that are at work but do not run have the caller's core, and gives whether there was
   one. seconds[i] is the processor time that helper i had taken LATE ago. */
static int crew_rescue(crew *c, const double *seconds)
{
  jf_cores here;
  const int cpu = jf_core_here();
  int rescued = 0;
  jf_cores_only(&here, cpu);
  for (int i = 0; i < c->n_worker - 1 && cpu >= 0; i++) {
    helper *h = &c->helper[i];
    if (!atomic_load(&h->works) || jf_thread_seconds(h->thread) - seconds[i] > LATE / 2) continue;
    jf_thread_keep_to(h->thread, &here);
    c->home = -1;
    h->rests = INFINITY;
    rescued = 1;
  }
  return rescued;
}

/* Sleeps until the helpers left the loop, but not for long: one of them may lose its core again. */
static void crew_sleep(crew *c)
{
  static const struct timespec some = { 0, 500000 };
  atomic_store(&c->caller_asleep, 1);
  unsigned state = atomic_load(&c->state);
  if (state) jf_sleep_on(&c->state, state, &some);
  atomic_store(&c->caller_asleep, 0);
}

/* Sends the helpers that were rescued to rest, `begin` being when the caller began to wait. */
static void crew_rest(crew *c, double begin)
{
  const double now = jf_now();
  for (int i = 0; i < c->n_worker - 1; i++)
    if (c->helper[i].rests == INFINITY) c->helper[i].rests = now + REST * (now - begin);
}

static void crew_wait(crew *c)
{
  double seconds[MOST_LANES], begin = jf_now();
  int rescued = 0;
  while (!crew_spin(c)) {
    for (int i = 0; i < c->n_worker - 1; i++)
      if (atomic_load(&c->helper[i].works)) seconds[i] = jf_thread_seconds(c->helper[i].thread);
      else seconds[i] = -INFINITY;
    if (crew_spin(c)) break;
    const int now = crew_rescue(c, seconds);
    rescued |= now;
    if (now || jf_now() - begin > PATIENCE) crew_sleep(c);
  }
  if (rescued) crew_rest(c, begin);
}

/* ---- loops ---- */

static crew *crew_get(void)
{
  for (int i = 0; i < CREWS; i++)
    if (!atomic_exchange(&crews[i].taken, 1)) return &crews[i];
  return NULL;
}

static void crew_run(crew *c, int n)
{
  for (int i = 0; i < c->n_worker; i++) {
    atomic_store_explicit(&c->share[i].next, (int)((int64_t)n * i / c->n_worker),
                          memory_order_relaxed);
    c->share[i].end = (int)((int64_t)n * (i + 1) / c->n_worker);
  }
  const double now = jf_now();
  atomic_store(&c->state, OPEN);
  for (int i = 0; i < c->n_worker - 1; i++)
    if (c->helper[i].rests <= now) helper_call(&c->helper[i]);
  crew_work(c, 0);
  if (atomic_fetch_and(&c->state, ~(unsigned)OPEN) != OPEN) crew_wait(c);
}

void jf_loops_set(int most, int want_low)
{
  most_threads = most;
  low = want_low != 0;
}

void jf_loops_get(int *most, int *want_low)
{
  *most = most_threads;
  *want_low = low;
}

void jf_parallel_workers(int threads, int n, jf_worker_fn fn, void *ctx)
{
  if (ended) return;
  if (threads > n) threads = n;
  if (threads > MOST_LANES) threads = MOST_LANES;
  if (most_threads && threads > most_threads) threads = most_threads;
  crew *c = threads > 1 && !inside ? crew_get() : NULL;
  if (!c) {
    for (int i = 0; i < n && !jf_loop_ends(); i++) fn(ctx, i, 0);
    return;
  }
  c->fn = fn;
  c->ctx = ctx;
  c->budget = jf_memory_budget();
  atomic_store(&c->ended, 0);
  /* A helper cannot be given back a priority that was taken from it: others take its place. */
  if (c->n_helper && c->low != low) crew_end(c);
  crew_grow(c, threads - 1);
  if (threads > c->n_helper + 1) threads = c->n_helper + 1;
  c->n_worker = threads;
  crew_settle(c);
  crew_run(c, n);
  ended |= atomic_load(&c->ended);
  atomic_store(&c->taken, 0);
}

/* An element of a crew's loop has the time of the loop's caller. */
int jf_loop_ends(void)
{
  if (inside) {
    if (!atomic_load_explicit(&inside->ended, memory_order_relaxed) &&
        jf_budget_left(inside->budget) > 0) return 0;
    atomic_store_explicit(&inside->ended, 1, memory_order_relaxed);
    return 1;
  }
  if (!ended && jf_budget_left(jf_memory_budget()) > 0) return 0;
  return ended = 1;
}

jfl_status jf_loops_whole(jfl_status s)
{
  if (!ended) return s;
  ended = 0;
  return jf_time_is_over();
}

typedef struct plain_loop { void (*fn)(void *ctx, int i); void *ctx; } plain_loop;

static void crew_plain(void *ctx, int i, int worker)
{
  const plain_loop *l = ctx;
  (void)worker;
  l->fn(l->ctx, i);
}

void jf_parallel(int threads, int n, void (*fn)(void *ctx, int i), void *ctx)
{
  jf_parallel_workers(threads, n, crew_plain, &(plain_loop){ fn, ctx });
}
