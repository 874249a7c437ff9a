/* Pages. */
#include "system/system.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* The system refuses a block that does not begin at a page, whose size is that of the kernel: 4 kB,
   on 64-bit ARM also 16 or 64. */
void jf_pages_large(char *base, size_t size)
{
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t first = ((uintptr_t)base + page - 1) & ~(page - 1);
  const uintptr_t last = ((uintptr_t)base + size) & ~(page - 1);
  madvise(base + (first - (uintptr_t)base), last - first, MADV_HUGEPAGE);
}

void *jf_pages_reserve(size_t size)
{
  void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

void jf_pages_give_back(void *p, size_t size) { munmap(p, size); }

uint64_t jf_memory_limit(void)
{
  const uint64_t has = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t least = has;
  struct rlimit l;
  if (!getrlimit(RLIMIT_AS, &l) && l.rlim_cur < least) least = l.rlim_cur;
  if (!getrlimit(RLIMIT_DATA, &l) && l.rlim_cur < least) least = l.rlim_cur;
  return least < has ? least : 0;
}
