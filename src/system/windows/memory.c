/* Pages. */
#include "system/system.h"

#include <windows.h>

/* Large pages are for programs with a right of their own. */
void jf_pages_large(char *base, size_t size) { (void)base, (void)size; }

void *jf_pages_reserve(size_t size)
{
  return VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_NOACCESS);
}

void jf_pages_give_back(void *p, size_t size)
{
  (void)size;
  VirtualFree(p, 0, MEM_RELEASE);
}

uint64_t jf_memory_limit(void) { return 0; }

void jf_reserve_for(void *so) { (void)so; }
int jf_reserve_fill(void) { return 1; }
