/* The one pool of threads: libgomp's, which oneDNN uses too. It is opened when a kernel first wants
   more than one thread, so that programs which never do pay nothing for it. Kernels call its public
   entry point for a parallel region instead of relying on the compiler's pragma: that way gcc and
   clang builds share the same pool. */
#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

static struct {
  void (*parallel)(void (*fn)(void *), void *data, unsigned threads, unsigned flags);
  void (*set_num_threads)(int);
  int (*thread_num)(void);
  int (*pause)(int kind);
} gomp;
static pthread_once_t once = PTHREAD_ONCE_INIT, fork_once = PTHREAD_ONCE_INIT;
static atomic_uint forks;
static atomic_int used, lost;     /* used: a loop ran on more than its caller's thread */

static void count_fork(void)
{
  atomic_fetch_add(&forks, 1);
  if (atomic_load(&used)) atomic_store(&lost, 1);
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, count_fork); }

unsigned jf_forks(void)
{
  pthread_once(&fork_once, watch_forks);
  return atomic_load_explicit(&forks, memory_order_relaxed);
}

int jf_pool_lost(void) { return atomic_load_explicit(&lost, memory_order_relaxed); }

/* By default an idle thread of libgomp spins for many milliseconds before it sleeps: that starves
   other programs, and this one where cores are shared. This many turns take some 0.1 ms, which
   bridges the gaps between the steps of a plan. */
#define SPINS "3000"

static void open_gomp(void)
{
  static const char *const env[] = { "GOMP_SPINCOUNT", SPINS, NULL };
  void *so = jf_library_open("libgomp.so.1", getenv("OMP_WAIT_POLICY") ? NULL : env);
  int ok = jf_library_find(so, "omp_set_num_threads", &gomp.set_num_threads) &&
           jf_library_find(so, "omp_get_thread_num", &gomp.thread_num);
  jf_library_find(so, "GOMP_parallel", &gomp.parallel);
  jf_library_find(so, "omp_pause_resource_all", &gomp.pause);
  if (!ok) gomp.parallel = NULL;
}

void jf_pool_open(void) { pthread_once(&once, open_gomp); }

/* ThreadSanitizer does not know libgomp's barriers. These calls tell it that the caller's work
   before a parallel region happens before the work in it, and that before the caller's work after
   it. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *at);
void __tsan_release(void *at);
static void threads_acquire(void *at) { __tsan_acquire(at); }
static void threads_release(void *at) { __tsan_release(at); }
#else
static void threads_acquire(void *at) { (void)at; }
static void threads_release(void *at) { (void)at; }
#endif

typedef struct region { void (*fn)(void *data); void *data; } region;

static void enter(void *data)
{
  region *r = data;
  threads_acquire(data);
  r->fn(r->data);
  threads_release(data);
}

/* Calls fn(data) on so many threads. */
static void on_threads(unsigned threads, void (*fn)(void *data), void *data)
{
  region r = { fn, data };
  threads_release(&r);
  gomp.parallel(enter, &r, threads, 0);
  threads_acquire(&r);
}

/* The system tends to put a thread of the pool on the core of the thread that wakes it, and then
   the two take turns on one core while another one is idle. So the pool's threads are forbidden the
   core on which the thread that opens a loop is running. That thread itself belongs to the host and
   is not tied down; when it has moved to another core, the pool is tied down anew. On two cores
   shared with other programs a step of the bench's MLP took 0.45 ms at best and 0.5 ms in the
   middle; without this 1.0 and 4 ms. */
typedef struct apart { pthread_t master; cpu_set_t others; } apart;
/* The core that the calling thread's pool was last forbidden, and the number of its threads
   then. */
static _Thread_local int home = -1, kept;

static void keep_off(void *data)
{
  const apart *a = data;
  if (!pthread_equal(pthread_self(), a->master)) sched_setaffinity(0, sizeof a->others, &a->others);
}

void jf_pool_settle(int threads)
{
  int cpu = threads > 1 && gomp.parallel ? sched_getcpu() : -1;
  if (cpu < 0 || (cpu == home && threads <= kept)) return;
  apart a = { .master = pthread_self() };
  if (sched_getaffinity(0, sizeof a.others, &a.others)) return;
  CPU_CLR(cpu, &a.others);
  if (CPU_COUNT(&a.others)) on_threads((unsigned)threads, keep_off, &a);
  home = cpu;
  kept = threads;
}

/* One parallel loop. Each thread begins with a share of its own, the same one in every loop of that
   size, so that a step finds in the thread's cache what the step before left there. A thread that
   is done takes elements from the shares of others. */
enum { MOST_SHARES = 64 };
typedef struct share { _Alignas(64) atomic_int next; int end; } share;
typedef struct threads_loop {
  void (*fn)(void *ctx, int i);
  void *ctx;
  int n_share;
  share share[MOST_SHARES];
} threads_loop;

static void threads_take(threads_loop *l, share *s)
{
  if (atomic_load_explicit(&s->next, memory_order_relaxed) >= s->end) return;
  for (int i; (i = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed)) < s->end;)
    l->fn(l->ctx, i);
}

static void threads_work(void *data)
{
  threads_loop *l = data;
  int own = gomp.thread_num() % l->n_share;
  for (int i = 0; i < l->n_share; i++) threads_take(l, &l->share[(own + i) % l->n_share]);
}

static void run_shares(int threads, int n, void (*fn)(void *ctx, int i), void *ctx)
{
  threads_loop l;
  l.fn = fn;
  l.ctx = ctx;
  l.n_share = threads < MOST_SHARES ? threads : MOST_SHARES;
  for (int i = 0; i < l.n_share; i++) {
    atomic_init(&l.share[i].next, (int)((int64_t)n * i / l.n_share));
    l.share[i].end = (int)((int64_t)n * (i + 1) / l.n_share);
  }
  on_threads((unsigned)threads, threads_work, &l);
}

void jf_parallel(int threads, int n, void (*fn)(void *ctx, int i), void *ctx)
{
  if (threads > n) threads = n;
  if (threads > 1) jf_pool_open();
  if (threads > 1 && gomp.parallel) {
    atomic_store_explicit(&used, 1, memory_order_relaxed);
    jf_pool_settle(threads);
    run_shares(threads, n, fn, ctx);
  } else {
    for (int i = 0; i < n; i++) fn(ctx, i);
  }
}

void jf_omp_threads(int n)
{
  static _Thread_local int now;
  jf_pool_open();
  if (n == now) return;
  if (n > 1) atomic_store_explicit(&used, 1, memory_order_relaxed);
  if (gomp.parallel) gomp.set_num_threads(n);
  now = n;
}

void jf_pool_leave(void)
{
  enum { SOFT = 1 };
  if (gomp.pause) gomp.pause(SOFT);
  home = -1;
  kept = 0;
}

int jf_cpu_count(void)
{
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

double jf_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
