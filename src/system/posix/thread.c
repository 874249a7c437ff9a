/* Threads and cores, by pthreads and what Linux adds to them. */
#include "system/system.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int jf_thread_start(pthread_t *out, void *(*run)(void *arg), void *arg)
{
  pthread_attr_t attr;
  sigset_t all, old;
  int e = pthread_attr_init(&attr);
  if (e) return e;
  pthread_attr_setstacksize(&attr, (size_t)2 << 20);
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  const unsigned mode = jf_float_usual();
  e = pthread_create(out, &attr, run, arg);
  jf_float_restore(mode);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&attr);
  return e;
}

/* ---- stacks ---- */

typedef struct bounds { uintptr_t low, high; } bounds;

/* glibc asks /proc for the first thread's, which may be out of reach: it grows up to the system's
   limit. */
static int thread_is_roomy(void)
{
  struct rlimit l;
  return syscall(SYS_gettid) == getpid() && !getrlimit(RLIMIT_STACK, &l) && l.rlim_cur >= 4 << 20;
}

static bounds thread_stack(void)
{
  bounds b = { 0, 0 };
  pthread_attr_t attr;
  void *low;
  size_t size;
  if (pthread_getattr_np(pthread_self(), &attr))
    return thread_is_roomy() ? (bounds){ 1, UINTPTR_MAX } : b;
  if (!pthread_attr_getstack(&attr, &low, &size)) {
    b.low = (uintptr_t)low;
    b.high = b.low + size;
  }
  pthread_attr_destroy(&attr);
  return b;
}

size_t jf_stack_left(void)
{
  static _Thread_local bounds mine;
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  if (!mine.high) mine = thread_stack();
  return here >= mine.low && here < mine.high ? here - mine.low : 0;
}

int jf_thread_has_ended(pthread_t thread) { return !pthread_tryjoin_np(thread, NULL); }

double jf_thread_seconds(pthread_t thread)
{
  clockid_t clock;
  struct timespec t;
  if (pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &t)) return -1;
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void jf_thread_lower(void)
{
  static _Thread_local int done;
  const struct sched_param none = { 0 };
  if (done) return;
  done = 1;
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
  sched_setscheduler(0, SCHED_IDLE, &none);
}

/* ---- forks ---- */

void jf_at_fork(void (*child)(void)) { pthread_atfork(NULL, NULL, child); }

/* Guarded by mu, which whoever forks holds first. */
static struct { pthread_mutex_t mu; jf_fork_lock *last; } fork_locks = {
  .mu = PTHREAD_MUTEX_INITIALIZER
};

static void fork_locks_take(void)
{
  pthread_mutex_lock(&fork_locks.mu);
  for (jf_fork_lock *l = fork_locks.last; l; l = l->before) pthread_mutex_lock(l->mu);
}

static void fork_locks_give(void)
{
  for (jf_fork_lock *l = fork_locks.last; l; l = l->before) pthread_mutex_unlock(l->mu);
  pthread_mutex_unlock(&fork_locks.mu);
}

static void fork_locks_watch(void)
{
  pthread_atfork(fork_locks_take, fork_locks_give, fork_locks_give);
}

void jf_fork_lock_add(jf_fork_lock *l, pthread_mutex_t *mu)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, fork_locks_watch);
  pthread_mutex_lock(&fork_locks.mu);
  *l = (jf_fork_lock){ .mu = mu, .before = fork_locks.last };
  if (l->before) l->before->after = l;
  fork_locks.last = l;
  pthread_mutex_unlock(&fork_locks.mu);
}

void jf_fork_lock_remove(jf_fork_lock *l)
{
  pthread_mutex_lock(&fork_locks.mu);
  if (l->before) l->before->after = l->after;
  if (l->after) l->after->before = l->before;
  else fork_locks.last = l->before;
  pthread_mutex_unlock(&fork_locks.mu);
}

void jf_sleep_on(const void *at, unsigned seen, const struct timespec *most)
{
  syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, seen, most, NULL, 0);
}

void jf_wake_all(const void *at)
{
  syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- cores ---- */

_Static_assert(sizeof(cpu_set_t) == sizeof(jf_cores), "a set of cores is as the system has it");

int jf_cores_mine(jf_cores *out)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set)) return 0;
  memcpy(out, &set, sizeof set);
  return CPU_COUNT(&set);
}

int jf_cores_count(void)
{
  jf_cores mine;
  const int n = jf_cores_mine(&mine);
  return n > 0 ? n : 1;
}

int jf_core_here(void) { return sched_getcpu(); }

void jf_cores_only(jf_cores *c, int core)
{
  *c = (jf_cores){ { 0 } };
  if (core >= 0 && core < JF_MOST_CORES) c->word[core / 64] = (uint64_t)1 << core % 64;
}

int jf_cores_without(jf_cores *c, int core)
{
  int n = 0;
  if (core >= 0 && core < JF_MOST_CORES) c->word[core / 64] &= ~((uint64_t)1 << core % 64);
  for (int i = 0; i < JF_MOST_CORES / 64; i++) n += __builtin_popcountll(c->word[i]);
  return n;
}

void jf_thread_keep_to(pthread_t thread, const jf_cores *c)
{
  pthread_setaffinity_np(thread, sizeof *c, (const cpu_set_t *)c);
}
