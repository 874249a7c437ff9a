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

void jf_library_lacks(const char *name, const char *why)
{
  char text[TEXT_SIZE];
  int i = 0;
  const int named = why && !strncmp(why, name, strlen(name));
  if (named) snprintf(text, sizeof text, "%s", why);
  else snprintf(text, sizeof text, "%s: %s", name, why ? why : "it cannot be opened");
  pthread_mutex_lock(&missing.mu);
  while (i < missing.n && strcmp(missing.text[i], text)) i++;
  if (i == missing.n && i < MOST) memcpy(missing.text[missing.n++], text, sizeof text);
  pthread_mutex_unlock(&missing.mu);
}

const char *jf_library_missing(int i)
{
  pthread_mutex_lock(&missing.mu);
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

/* ---- memory that runs out within a library of C++ ---- */

/* Each block is so large that the system takes it back at once when it is freed, and that the C
   library can get more for small ones from what is free then. */
enum { SPARES = 4, SPARE = 2 << 20 };
typedef void (*spare_handler)(void);
static struct {
  _Atomic(void *) block[SPARES];
  spare_handler (*set)(spare_handler);     /* std::set_new_handler */
  spare_handler before;                    /* the host's own */
} spare;

/* operator new calls this where memory runs out, on any thread, and then tries again. Without a
   handler it fails, which ends the process. */
static void spare_spend(void)
{
  for (int i = 0; i < SPARES; i++) {
    void *p = atomic_exchange(&spare.block[i], NULL);
    if (!p) continue;
    free(p);
    return;
  }
  if (spare.before) spare.before();
  else spare.set(NULL);
}

void jf_library_spare_for(void *so)
{
  if (!spare.set) jf_library_find(so, "_ZSt15set_new_handlerPFvvE", &spare.set);
}

int jf_library_spare(void)
{
  int whole = 1;
  if (!spare.set) return 1;
  for (int i = 0; i < SPARES; i++) {
    if (atomic_load_explicit(&spare.block[i], memory_order_relaxed)) continue;
    void *none = NULL, *p = malloc(SPARE);
    if (!p) return 0;
    if (!atomic_compare_exchange_strong(&spare.block[i], &none, p)) free(p);
    whole = 0;
  }
  if (whole) return 1;
  const spare_handler before = spare.set(spare_spend);
  if (before != spare_spend) spare.before = before;
  return 1;
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

void *jf_library_try(const char *name) { return jf_so_open(name); }

void jf_library_close(void *so) { jf_so_close(so); }

int jf_library_find(void *so, const char *name, void *fn)
{
  void *f = so ? jf_so_find(so, name) : NULL;
  *(void **)fn = f;          /* POSIX: a function pointer has the size of void * */
  return f != NULL;
}
