/* Forks, cores, clocks. */
#include "base/base.h"
#include "system/system.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static atomic_uint forks;

static void count_fork(void) { atomic_fetch_add(&forks, 1); }

static void watch_forks(void) { jf_at_fork(count_fork); }

unsigned jf_forks(void)
{
  pthread_once(&fork_once, watch_forks);
  return atomic_load_explicit(&forks, memory_order_relaxed);
}

int jf_cpu_count(void) { return jf_cores_count(); }

void jf_give_way(int round)
{
  enum { YIELDS = 64, SHORT = 10000, LONG = 100000 };  /* rounds; ns */
  const struct timespec t = { .tv_nsec = round < 4 * YIELDS ? SHORT : LONG };
  if (round < YIELDS) sched_yield();
  else nanosleep(&t, NULL);
}
