/* The host's allocator, arenas, and arrays that grow. */
#include "base/base.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Set before anything else runs. */
static jfl_allocator host;

void jf_memory_from(const jfl_allocator *a) { host = a ? *a : (jfl_allocator){0}; }

/* Stands right before each block that jf_new hands out. It goes back to where it came from, though
   the host may have changed its allocator. */
typedef struct header {
  void *base;
  size_t size;
  void (*free)(void *ud, void *p, size_t size);
  void *ud;
} header;
enum { ALIGN = 64 };

/* A large block is faster to touch for the first time in large pages, where the system has them. */
enum { LARGE = 4 << 20, PAGE = 4096 };
static void use_large_pages(char *base, size_t size)
{
  uintptr_t first = ((uintptr_t)base + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
  uintptr_t last = ((uintptr_t)base + size) & ~(uintptr_t)(PAGE - 1);
  madvise(base + (first - (uintptr_t)base), last - first, MADV_HUGEPAGE);
}

static void *base_memory_take(size_t n, int zero)
{
  if (n > SIZE_MAX - ALIGN - sizeof(header)) return NULL;
  size_t size = n + ALIGN + sizeof(header);
  char *base = host.alloc ? host.alloc(host.ud, size) : zero ? calloc(1, size) : malloc(size);
  if (!base) return NULL;
  if (size >= LARGE && !host.alloc) use_large_pages(base, size);
  uintptr_t at = ((uintptr_t)base + sizeof(header) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1);
  void *p = base + (at - (uintptr_t)base);
  ((header *)p)[-1] = (header){ base, size, host.free, host.ud };
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
}

void jfl_text_free(char *text) { jf_free(text); }

/* Blocks grow from one page so that small graphs stay small. */
struct jf_block { struct jf_block *next; size_t used, size; };
enum { UNIT = 16, FIRST_BLOCK = 4096, MAX_BLOCK = 1 << 20 };

static size_t round_up(size_t n) { return (n + UNIT - 1) & ~(size_t)(UNIT - 1); }

static struct jf_block *add_block(jf_arena *a, size_t n)
{
  size_t size = a->head ? 2 * a->head->size : FIRST_BLOCK;
  if (size > MAX_BLOCK) size = MAX_BLOCK;
  if (size < n) size = n;
  struct jf_block *b = n < PTRDIFF_MAX ? jf_new(round_up(sizeof *b) + size) : NULL;
  if (!b) longjmp(*a->unwind, 1);
  b->size = size;
  b->next = a->head;
  return a->head = b;
}

void *jf_alloc(jf_arena *a, size_t n)
{
  n = round_up(n ? n : 1);
  struct jf_block *b = a->head;
  if (!b || b->size - b->used < n) b = add_block(a, n);
  void *p = (char *)b + round_up(sizeof *b) + b->used;
  b->used += n;
  return p;
}

void jf_arena_free(jf_arena *a)
{
  for (struct jf_block *b = a->head, *next; b; b = next) {
    next = b->next;
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

void *jf_regrow(void *v, int n, int *cap, size_t elem)
{
  if (n < *cap) return v;
  void *w = jf_new_raw((size_t)wider_than(*cap) * elem);
  if (!w) return NULL;
  if (n) memcpy(w, v, (size_t)n * elem);
  jf_free(v);
  *cap = wider_than(*cap);
  return w;
}
