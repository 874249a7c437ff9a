/* Opening shared libraries at run time. */
#include "base/base.h"

#include "base/library.h"
#include "system/system.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Guarded by mu; a text that is there stays. Nothing is allocated, as memory may be what lacks. */
enum { MOST = 8, TEXT_SIZE = 200 };
static struct { pthread_mutex_t mu; int n; char text[MOST][TEXT_SIZE]; } missing = {
  .mu = PTHREAD_MUTEX_INITIALIZER
};
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;        /* held before the other one */

static void keep_at_forks(void)
{
  static jf_fork_lock lock[2];
  jf_fork_lock_add(&lock[0], &missing.mu);
  jf_fork_lock_add(&lock[1], &loading);
}

static void hold(pthread_mutex_t *mu)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, keep_at_forks);
  pthread_mutex_lock(mu);
}

void jf_library_lacks(const char *name, const char *why)
{
  char text[TEXT_SIZE];
  int i = 0;
  const int named = why && !strncmp(why, name, strlen(name));
  if (named) snprintf(text, sizeof text, "%s", why);
  else snprintf(text, sizeof text, "%s: %s", name, why ? why : "it cannot be opened");
  hold(&missing.mu);
  while (i < missing.n && strcmp(missing.text[i], text)) i++;
  if (i == missing.n && i < MOST) memcpy(missing.text[missing.n++], text, sizeof text);
  pthread_mutex_unlock(&missing.mu);
}

const char *jf_library_missing(int i)
{
  hold(&missing.mu);
  const char *text = i >= 0 && i < missing.n ? missing.text[i] : NULL;
  pthread_mutex_unlock(&missing.mu);
  return text;
}

int jf_library_room(size_t bytes)
{
  void *p = malloc(bytes);
  free(p);
  return p != NULL;
}

/* ---- memory that runs out within a library ---- */

static atomic_int is_guarded;

void jf_library_guard(void *so)
{
  if (so) atomic_store(&is_guarded, 1);
  jf_reserve_for(so);
}

/* The loader makes a thread's variables of a library when the thread first uses them, and ends the
   process where it cannot: what is free in the thread's part of the heap it gets. */
static int has_room_for_variables(void)
{
  enum { VARIABLES = 64 << 10 };
  static _Thread_local int is_known;
  if (!is_known) is_known = jf_library_room(VARIABLES);
  return is_known;
}

int jf_library_spare(void)
{
  if (!atomic_load_explicit(&is_guarded, memory_order_relaxed)) return 1;
  return has_room_for_variables() && jf_reserve_fill();
}

int jf_library_safe(const char *name)
{
  char why[TEXT_SIZE];
  const char *wanted = getenv("JFL_LIBRARIES");
  const uint64_t limit = jf_memory_limit();
  if (!limit || (wanted && !strcmp(wanted, "all"))) return 1;
  snprintf(why, sizeof why, "left out, as it ends the process where memory fails, which is limited "
           "to %.0f MiB; JFL_LIBRARIES=all opens it", (double)limit / (1 << 20));
  jf_library_lacks(name, why);
  return 0;
}

void *jf_library_open(const char *name, const char *const *env, size_t room)
{
  int set[8] = {0};
  const char *wanted = getenv("JFL_LIBRARIES");
  if (wanted && !strcmp(wanted, "none")) {
    jf_library_lacks(name, "left out, as JFL_LIBRARIES is none");
    return NULL;
  }
  if (!jf_library_room(room)) {
    jf_library_lacks(name, "too little memory is free for it");
    return NULL;
  }
  for (int i = 0; i < 8 && env && env[2 * i]; i++)
    set[i] = jf_environment_lend(env[2 * i], env[2 * i + 1]);
  void *so = jf_so_open(name);
  if (!so) jf_library_lacks(name, jf_so_trouble());
  for (int i = 0; i < 8; i++)
    if (set[i]) jf_environment_take(env[2 * i]);
  return so;
}

int jf_library_ready(jf_library_state *state, int (*load)(void))
{
  if (atomic_load_explicit(&state->ready, memory_order_acquire)) return 1;
  hold(&loading);
  const int ready = atomic_load(&state->ready) || load();
  atomic_store(&state->ready, ready);
  pthread_mutex_unlock(&loading);
  return ready;
}

void *jf_library_try(const char *name) { return jf_so_open(name); }

void jf_library_close(void *so) { jf_so_close(so); }

int jf_library_find(void *so, const char *name, void *fn)
{
  void *f = so ? jf_so_find(so, name) : NULL;
  *(void **)fn = f;          /* POSIX: a function pointer has the size of void * */
  return f != NULL;
}
