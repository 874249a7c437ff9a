/* Copies of names that are kept. */
#include "run/run.h"

#include <string.h>

char *jf_name_copy(const char *name)
{
  size_t n = strlen(name) + 1;
  char *s = jf_new_raw(n);
  return s ? memcpy(s, name, n) : NULL;
}
