/* Pages. */
#include "system/system.h"

#include <sys/mman.h>

enum { PAGE = 4096 };

void jf_pages_large(char *base, size_t size)
{
  uintptr_t first = ((uintptr_t)base + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
  uintptr_t last = ((uintptr_t)base + size) & ~(uintptr_t)(PAGE - 1);
  madvise(base + (first - (uintptr_t)base), last - first, MADV_HUGEPAGE);
}

void *jf_pages_reserve(size_t size)
{
  void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

void jf_pages_give_back(void *p, size_t size) { munmap(p, size); }
