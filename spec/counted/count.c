/* Counts what a program does, so that a spec can compare work where times would differ by chance.
   The sources linked with it are compiled to report every place that is reached, and the linker
   leads calls of the C library's functions that copy or take memory here, Lua's among them. */
#include "base/base.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local uint64_t places, words;

/* What the calling thread has done so far: places reached, and words of 8 bytes copied, cleared or
   taken anew. */
__attribute__((visibility("default"))) void count_read(uint64_t *to);
void count_read(uint64_t *to)
{
  to[0] = places;
  to[1] = words;
}

/* ---- how often the deadline is asked for ---- */

enum { MEMORY = 1 << 28 };                       /* bytes that such a thread may take */
static _Thread_local uint64_t asked;            /* places when this thread asked last */
static _Atomic uint64_t longest;

static void note_gap(void)
{
  const uint64_t gap = places - asked;
  uint64_t most = longest;
  while (gap > most && !atomic_compare_exchange_weak(&longest, &most, gap)) continue;
  asked = places;
}

static double seconds;
static int most_looks;
static _Atomic int looks;

static double left(void *ctx)
{
  (void)ctx;
  note_gap();
  return atomic_fetch_add(&looks, 1) < most_looks ? seconds : 0;
}

void __real_jf_heed_interrupt(void *L);
void __wrap_jf_heed_interrupt(void *L);
void __wrap_jf_heed_interrupt(void *L)
{
  note_gap();
  __real_jf_heed_interrupt(L);
}

/* From here on the calling thread works for a script that has so many seconds left at each of that
   many looks, and then none. */
__attribute__((visibility("default"))) void count_asks(double left_at_each, int n);
void count_asks(double left_at_each, int n)
{
  jf_budget *b = jf_budget_new(MEMORY);
  if (!b) abort();
  seconds = left_at_each;
  most_looks = n;
  jf_budget_limit(b, left, NULL);
  jf_memory_charge(b);
}

/* The most places that were reached between two asks since this was called last. From here on there
   are so many looks. */
__attribute__((visibility("default"))) double count_longest(int n);
double count_longest(int n)
{
  note_gap();
  looks = 0;
  most_looks = n;
  return (double)atomic_exchange(&longest, 0);
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) { places++; }

#define COUNTED(name, result, args, size, ...) \
  result __real_##name args;                   \
  result __wrap_##name args;                   \
  result __wrap_##name args                    \
  {                                            \
    words += (size) / 8;                       \
    return __real_##name(__VA_ARGS__);         \
  }
COUNTED(memcpy, void *, (void *to, const void *from, size_t n), n, to, from, n)
COUNTED(memmove, void *, (void *to, const void *from, size_t n), n, to, from, n)
COUNTED(memset, void *, (void *to, int c, size_t n), n, to, c, n)
COUNTED(calloc, void *, (size_t n, size_t size), n * size, n, size)
COUNTED(realloc, void *, (void *p, size_t n), n, p, n)
