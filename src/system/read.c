/* Reading that any system does alike. */
#include "system/system.h"

int64_t jf_read_all(int file, void *to, size_t n)
{
  size_t have = 0;
  for (int64_t got = 1; got && have < n; have += (size_t)got)
    if ((got = jf_read(file, (char *)to + have, n - have)) < 0) return -1;
  return (int64_t)have;
}
