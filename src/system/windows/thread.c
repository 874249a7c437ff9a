/* Threads and cores. */
#include "system/system.h"

#include <windows.h>

enum { STACK = 2 << 20 };

int jf_thread_start(pthread_t *out, void *(*run)(void *arg), void *arg)
{
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, STACK);
  const unsigned mode = jf_float_usual();
  const int e = pthread_create(out, &attr, run, arg);
  jf_float_restore(mode);
  pthread_attr_destroy(&attr);
  return e;
}

size_t jf_stack_left(void)
{
  ULONG_PTR low, high;
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  GetCurrentThreadStackLimits(&low, &high);
  return here >= low && here < high ? here - low : 0;
}

int jf_thread_has_ended(pthread_t thread) { return !_pthread_tryjoin(thread, NULL); }

/* Windows counts a thread's time in steps of 15 ms. */
double jf_thread_seconds(pthread_t thread)
{
  (void)thread;
  return jf_now();
}

void jf_thread_lower(void) { SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_IDLE); }

void jf_at_fork(void (*child)(void)) { (void)child; }

void jf_fork_lock_add(jf_fork_lock *l, pthread_mutex_t *mu) { l->mu = mu; }

void jf_fork_lock_remove(jf_fork_lock *l) { l->mu = NULL; }

void jf_sleep_on(const void *at, unsigned seen, const struct timespec *most)
{
  DWORD ms = INFINITE;
  if (most) ms = (DWORD)(most->tv_sec * 1000 + (most->tv_nsec + 999999) / 1000000);
  WaitOnAddress((volatile void *)at, &seen, sizeof seen, ms);
}

void jf_wake_all(const void *at) { WakeByAddressAll((void *)at); }

/* ---- cores: Windows keeps threads that wake each other apart by itself ---- */

int jf_cores_mine(jf_cores *out)
{
  *out = (jf_cores){ { 0 } };
  return 0;
}

int jf_cores_count(void)
{
  DWORD_PTR mine, all;
  if (!GetProcessAffinityMask(GetCurrentProcess(), &mine, &all) || !mine) return 1;
  return __builtin_popcountll(mine);
}

int jf_core_here(void) { return -1; }

void jf_cores_only(jf_cores *c, int core)
{
  *c = (jf_cores){ { 0 } };
  (void)core;
}

int jf_cores_without(jf_cores *c, int core)
{
  (void)c, (void)core;
  return 0;
}

void jf_thread_keep_to(pthread_t thread, const jf_cores *c) { (void)thread, (void)c; }
