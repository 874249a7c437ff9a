/* Conditions, forks, cores. */
#include "base/base.h"
#include "system/system.h"

#include <sched.h>
#include <time.h>

static void condition_sleep(jf_condition *c, pthread_mutex_t *mu, const struct timespec *most)
{
  const unsigned turn = atomic_load(&c->turn);
  c->asleep++;
  pthread_mutex_unlock(mu);
  jf_sleep_on(&c->turn, turn, most);
  pthread_mutex_lock(mu);
  c->asleep--;
}

void jf_condition_wait(jf_condition *c, pthread_mutex_t *mu) { condition_sleep(c, mu, NULL); }

int jf_condition_wait_until(jf_condition *c, pthread_mutex_t *mu, double until)
{
  const double left = until - jf_now();
  if (left <= 0) return 1;
  const struct timespec most = { (time_t)left, (long)((left - (double)(time_t)left) * 1e9) };
  condition_sleep(c, mu, &most);
  return jf_now() >= until;
}

void jf_condition_tell(jf_condition *c)
{
  atomic_fetch_add(&c->turn, 1);
  if (c->asleep) jf_wake_all(&c->turn);
}

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
