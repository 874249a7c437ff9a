/* Regular expressions. */
#include "system/system.h"

#include <regex.h>

int jf_matches(const char *expression, const char *text, char *wrong, size_t size)
{
  regex_t r;
  const int failed = regcomp(&r, expression, REG_EXTENDED | REG_NOSUB);
  if (failed) return regerror(failed, &r, wrong, size), -1;
  const int found = !regexec(&r, text, 0, NULL, 0);
  regfree(&r);
  return found;
}
