/* Counts what a program does, so that a spec can compare work where times would differ by chance.
   The sources linked with it are compiled to report every place that is reached, and the linker
   leads calls of the C library's functions that copy or take memory here, Lua's among them. */
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
