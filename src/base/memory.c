/* The host's allocator, arenas, and arrays that grow. */
#include "base/base.h"
#include "system/system.h"

#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set before anything else runs. */
static jfl_allocator host;

void jf_memory_from(const jfl_allocator *a) { host = a ? *a : (jfl_allocator){0}; }
int jf_memory_is_given(void) { return host.alloc != NULL; }

/* ---- budgets ---- */

/* keepers: whoever made it, threads, and each block. reach: NULL, or that of its threads; left:
   likewise. */
struct jf_budget {
  uint64_t most;
  _Atomic uint64_t used, keepers;
  jf_reach *reach;
  double (*left)(void *ctx);
  void *ctx;
};

static _Thread_local jf_budget *charged;

jf_budget *jf_budget_new(uint64_t most)
{
  jf_budget *b = malloc(sizeof *b);
  if (!b) return NULL;
  *b = (jf_budget){ .most = most };
  atomic_init(&b->used, 0);
  atomic_init(&b->keepers, 1);
  return b;
}

/* Counts one more that has b; jf_budget_drop gives it back. */
static jf_budget *budget_keep(jf_budget *b)
{
  if (b) atomic_fetch_add(&b->keepers, 1);
  return b;
}

void jf_budget_drop(jf_budget *b)
{
  if (!b || atomic_fetch_sub(&b->keepers, 1) > 1) return;
  jf_reach_drop(b->reach);
  free(b);
}

int jf_budget_take(jf_budget *b, size_t n)
{
  if (!b) return 1;
  const uint64_t before = atomic_fetch_add(&b->used, n);
  if (!b->most || (before <= b->most && n <= b->most - before)) return 1;
  atomic_fetch_sub(&b->used, n);
  return 0;
}

void jf_budget_give(jf_budget *b, size_t n)
{
  if (b) atomic_fetch_sub(&b->used, n);
}

uint64_t jf_budget_used(const jf_budget *b) { return b ? atomic_load(&b->used) : 0; }
uint64_t jf_budget_most(const jf_budget *b) { return b ? b->most : 0; }

void jf_budget_confine(jf_budget *b, jf_reach *reach) { b->reach = jf_reach_keep(reach); }

void jf_budget_limit(jf_budget *b, double (*left)(void *ctx), void *ctx)
{
  b->left = left;
  b->ctx = ctx;
}

double jf_budget_left(const jf_budget *b)
{
  return b && b->left ? b->left(b->ctx) : INFINITY;
}

jf_budget *jf_memory_charge(jf_budget *b)
{
  jf_budget *before = charged;
  charged = b;
  jf_reach_set(b ? b->reach : NULL);
  return before;
}

jf_budget *jf_memory_budget(void) { return charged; }

/* ---- blocks ---- */

/* Stands right before each block that jf_new hands out. It goes back to where it came from, though
   the host may have changed its allocator. */
typedef struct header {
  void *base;
  size_t size;
  jf_budget *budget;             /* in which it counts, or NULL */
  void (*free)(void *ud, void *p, size_t size);
  void *ud;
} header;
enum { ALIGN = 64 };

/* A block that large is worth large pages, where the system has them. */
enum { LARGE = 4 << 20 };

static void *base_memory_take(size_t n, int zero)
{
  if (n > SIZE_MAX - ALIGN - sizeof(header)) return NULL;
  size_t size = n + ALIGN + sizeof(header);
  if (!jf_budget_take(charged, size)) return NULL;
  char *base = host.alloc ? host.alloc(host.ud, size) : zero ? calloc(1, size) : malloc(size);
  if (!base) return jf_budget_give(charged, size), NULL;
  if (size >= LARGE && !host.alloc) jf_pages_large(base, size);
  uintptr_t at = ((uintptr_t)base + sizeof(header) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1);
  void *p = base + (at - (uintptr_t)base);
  ((header *)p)[-1] = (header){ base, size, budget_keep(charged), host.free, host.ud };
  return host.alloc && zero ? memset(p, 0, n) : p;
}

void *jf_new(size_t n) { return base_memory_take(n, 1); }
void *jf_new_raw(size_t n) { return base_memory_take(n, 0); }

void jf_free(void *p)
{
  if (!p) return;
  header h = ((header *)p)[-1];
  if (h.free) h.free(h.ud, h.base, h.size);
  else free(h.base);
  jf_budget_give(h.budget, h.size);
  jf_budget_drop(h.budget);
}

void jfl_text_free(char *text) { jf_free(text); }

/* Blocks grow from one page so that small graphs stay small. */
struct jf_block { struct jf_block *next; size_t used, size; };
enum { UNIT = 16, FIRST_BLOCK = 4096, MAX_BLOCK = 1 << 20 };

/* Whoever takes much memory for a graph works long: bytes after which the deadline is asked for. */
enum { ASK = 1 << 14 };

static size_t round_up(size_t n) { return (n + UNIT - 1) & ~(size_t)(UNIT - 1); }

/* AddressSanitizer stops at what an arena has not given, and at a gap behind all that it gave. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { GAP = UNIT };
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)0)
enum { GAP = 0 };
#endif

static char *payload(struct jf_block *b) { return (char *)b + round_up(sizeof *b); }

static struct jf_block *add_block(jf_arena *a, size_t n)
{
  size_t size = a->head ? 2 * a->head->size : FIRST_BLOCK;
  if (size > MAX_BLOCK) size = MAX_BLOCK;
  if (size < n) size = n;
  struct jf_block *b = n < PTRDIFF_MAX ? jf_new(round_up(sizeof *b) + size) : NULL;
  if (!b) longjmp(*a->unwind, 1);
  b->size = size;
  b->next = a->head;
  ASAN_POISON_MEMORY_REGION(payload(b), size);
  return a->head = b;
}

void jf_arena_ask(jf_arena *a)
{
  if (!a->unwind || jf_budget_left(charged) > 0) return;
  a->late = 1;
  longjmp(*a->unwind, 1);
}

void *jf_alloc(jf_arena *a, size_t n)
{
  const size_t size = round_up(n ? n : 1) + GAP;
  struct jf_block *b = a->head;
  if (!b || b->size - b->used < size) b = add_block(a, size);
  if (b->used / ASK != (b->used + size) / ASK) jf_arena_ask(a);
  void *p = payload(b) + b->used;
  ASAN_UNPOISON_MEMORY_REGION(p, n);
  b->used += size;
  return p;
}

jf_arena_mark jf_arena_now(const jf_arena *a)
{
  return (jf_arena_mark){ a->head, a->head ? a->head->used : 0 };
}

void jf_arena_back(jf_arena *a, jf_arena_mark mark)
{
  struct jf_block *b = a->head;
  const size_t from = b == mark.head ? mark.used : 0;
  if (!b) return;
  ASAN_UNPOISON_MEMORY_REGION(payload(b) + from, b->used - from);
  memset(payload(b) + from, 0, b->used - from);
  ASAN_POISON_MEMORY_REGION(payload(b) + from, b->used - from);
  b->used = from;
}

void jf_arena_free(jf_arena *a)
{
  for (struct jf_block *b = a->head, *next; b; b = next) {
    next = b->next;
    ASAN_UNPOISON_MEMORY_REGION(payload(b), b->size);
    jf_free(b);
  }
  a->head = NULL;
}

char *jf_strdup(jf_arena *a, const char *s)
{
  size_t n = strlen(s) + 1;
  return memcpy(jf_alloc(a, n), s, n);
}

char *jf_sprintf(jf_arena *a, const char *fmt, ...)
{
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *s = jf_alloc(a, (size_t)n + 1);
  vsnprintf(s, (size_t)n + 1, fmt, again);
  va_end(again);
  return s;
}

static int wider_than(int cap) { return cap ? 2 * cap : 16; }

void *jf_grow(jf_arena *a, void *v, int n, int *cap, size_t elem)
{
  if (n < *cap) return v;
  void *w = jf_alloc(a, (size_t)wider_than(*cap) * elem);
  if (n) memcpy(w, v, (size_t)n * elem);
  *cap = wider_than(*cap);
  return w;
}

int jf_make_room(void *v, int n, int *cap, size_t elem)
{
  void *old, *wide = jf_new_raw((size_t)wider_than(*cap) * elem);
  if (!wide) return 0;
  memcpy(&old, v, sizeof old);             /* v points to a pointer of any type */
  if (n) memcpy(wide, old, (size_t)n * elem);
  memcpy(v, &wide, sizeof wide);
  jf_free(old);
  *cap = wider_than(*cap);
  return 1;
}
