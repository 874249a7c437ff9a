/* Files as memory. Reading what a file no longer has, or what cannot be read, is the signal SIGBUS,
   which would end the process: here it becomes a page of zeros, and the file counts as broken. */
#include "system/system.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* They are never freed but used again, so that the handler of a signal can go through all. */
struct jf_mapping {
  atomic_int taken, keepers, broken;
  _Atomic uintptr_t begin;
  atomic_size_t size;          /* 0: no memory */
  int file;                    /* a descriptor of its own */
  jf_info was;                 /* what was known of the file in the beginning */
  struct jf_mapping *next;
};
static struct jf_mapping *_Atomic maps;

/* ---- signals ---- */

static struct sigaction map_before;
static uintptr_t map_page;

/* Puts a page of zeros to an address that a file was to have; whether it was one. */
static int map_mend(uintptr_t at)
{
  for (jf_mapping *m = atomic_load(&maps); m; m = m->next) {
    const size_t size = atomic_load(&m->size);
    const uintptr_t begin = atomic_load(&m->begin);
    if (at < begin || at - begin >= (size + map_page - 1) / map_page * map_page) continue;
    atomic_store(&m->broken, 1);
    void *page = (char *)begin + (at - begin) / map_page * map_page;
    return mmap(page, map_page, PROT_READ | PROT_WRITE,
                MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
  }
  return 0;
}

/* Other addresses are for the handler that was there before. Without one the signal comes again,
   and ends the process. */
static void map_fault(int number, siginfo_t *info, void *context)
{
  const int e = errno;
  if (info->si_code > 0 && map_mend((uintptr_t)info->si_addr)) {
    errno = e;
  } else if (map_before.sa_flags & SA_SIGINFO) {
    map_before.sa_sigaction(number, info, context);
  } else if (map_before.sa_handler == SIG_IGN && info->si_code <= 0) {
    return;                    /* another process sent it */
  } else if (map_before.sa_handler == SIG_DFL || map_before.sa_handler == SIG_IGN) {
    signal(number, SIG_DFL);
    raise(number);
  } else {
    map_before.sa_handler(number);
  }
}

/* Also where the host has set a handler since, which is the one before from then on. */
static void map_install(void)
{
  static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;
  struct sigaction now, fault = { .sa_sigaction = map_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
  pthread_mutex_lock(&installing);
  map_page = (uintptr_t)sysconf(_SC_PAGESIZE);
  sigemptyset(&fault.sa_mask);
  if (!sigaction(SIGBUS, NULL, &now) && now.sa_sigaction != map_fault)
    sigaction(SIGBUS, &fault, &map_before);
  pthread_mutex_unlock(&installing);
}

int jf_mapping_begin(void)
{
  sigset_t fault, before;
  sigemptyset(&fault);
  sigaddset(&fault, SIGBUS);
  return !pthread_sigmask(SIG_UNBLOCK, &fault, &before) && sigismember(&before, SIGBUS) == 1;
}

void jf_mapping_end(int was_blocked)
{
  sigset_t fault;
  if (!was_blocked) return;
  sigemptyset(&fault);
  sigaddset(&fault, SIGBUS);
  pthread_sigmask(SIG_BLOCK, &fault, NULL);
}

/* ---- maps ---- */

/* One that nobody has; NULL: memory ran out. */
static jf_mapping *map_take(void)
{
  for (jf_mapping *m = atomic_load(&maps); m; m = m->next) {
    int nobody = 0;
    if (atomic_compare_exchange_strong(&m->taken, &nobody, 1)) return m;
  }
  jf_mapping *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  atomic_store(&m->taken, 1);
  m->next = atomic_load(&maps);
  while (!atomic_compare_exchange_weak(&maps, &m->next, m)) continue;
  return m;
}

static int map_open(jf_mapping *m, int file, size_t n)
{
  m->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (m->file < 0) return -1;
  void *p = jf_info_of(m->file, &m->was) ? MAP_FAILED
          : mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, m->file, 0);
  if (p == MAP_FAILED) return close(m->file), -1;
  atomic_store(&m->keepers, 1);
  atomic_store(&m->broken, 0);
  atomic_store(&m->begin, (uintptr_t)p);
  atomic_store(&m->size, n);
  return 0;
}

jf_mapping *jf_mapping_new(int file, size_t n)
{
  jf_mapping *m = n ? map_take() : NULL;
  if (!m) return NULL;
  map_install();
  if (!map_open(m, file, n)) return m;
  atomic_store(&m->taken, 0);
  return NULL;
}

jf_mapping *jf_mapping_keep(jf_mapping *m)
{
  atomic_fetch_add(&m->keepers, 1);
  return m;
}

void jf_mapping_drop(jf_mapping *m)
{
  if (!m || atomic_fetch_sub(&m->keepers, 1) > 1) return;
  const size_t size = atomic_exchange(&m->size, 0);
  munmap((void *)atomic_load(&m->begin), size);
  close(m->file);
  atomic_store(&m->taken, 0);
}

char *jf_mapping_data(const jf_mapping *m) { return (char *)atomic_load(&m->begin); }

int jf_mapping_is_whole(jf_mapping *m)
{
  jf_info now;
  if (jf_info_of(m->file, &now) || now.size != m->was.size || now.changed != m->was.changed)
    atomic_store(&m->broken, 1);
  return !atomic_load(&m->broken);
}

void jf_mapping_rest(const jf_mapping *m, const void *from, size_t n)
{
  const uintptr_t begin = atomic_load(&m->begin);
  const uintptr_t first = ((uintptr_t)from - begin + map_page - 1) / map_page * map_page;
  const uintptr_t last = ((uintptr_t)from - begin + n) / map_page * map_page;
  if (first < last) madvise((char *)begin + first, last - first, MADV_DONTNEED);
}
