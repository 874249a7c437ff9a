/* Sorting of as much as a file or a script chooses. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { RUN = 1 << 12 };        /* elements that are sorted without a look at the time */

typedef int (*sort_order)(const void *a, const void *b);

/* Merges two runs that lie beside each other, of a and b elements, to where `out` points. */
static jfl_status sort_merge(const char *from, size_t a, size_t b, size_t each, sort_order order,
                             char *out)
{
  const char *x = from, *y = from + a * each, *const x_end = y, *const y_end = y + b * each;
  for (size_t i = 0; x < x_end && y < y_end; i++, out += each) {
    JF_TRY(jf_time_at((int64_t)i));
    const char **next = order(x, y) <= 0 ? &x : &y;
    memcpy(out, *next, each);
    *next += each;
  }
  memcpy(out, x, (size_t)(x_end - x));
  memcpy(out + (x_end - x), y, (size_t)(y_end - y));
  return JFL_OK;
}

/* Merges runs of `run` elements in pairs, from one place to another. */
static jfl_status sort_round(const char *from, size_t n, size_t run, size_t each, sort_order order,
                             char *to)
{
  for (size_t at = 0; at < n; at += 2 * run) {
    const size_t a = n - at < run ? n - at : run;
    const size_t b = n - at - a < run ? n - at - a : run;
    JF_TRY(sort_merge(from + at * each, a, b, each, order, to + at * each));
  }
  return JFL_OK;
}

jfl_status jf_sort_in_time(void *v, size_t n, size_t each, sort_order order)
{
  char *from = v, *to = NULL;
  jfl_status s = JFL_OK;
  for (size_t at = 0; at < n; at += RUN) {
    JF_TRY(jf_time_for(0));
    qsort(from + at * each, n - at < RUN ? n - at : RUN, each, order);
  }
  if (n <= RUN) return JFL_OK;
  char *const room = to = jf_new_raw(n * each);
  if (!room) return jf_fail(JFL_ENOMEM, "out of memory");
  for (size_t run = RUN; !s && run < n; run *= 2) {
    s = sort_round(from, n, run, each, order, to);
    char *const was = from;
    from = to;
    to = was;
  }
  if (!s && from != v) memcpy(v, from, n * each);
  jf_free(room);
  return s;
}
