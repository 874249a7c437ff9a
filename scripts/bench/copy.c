/* Prints the seconds of the fastest of many copies that together read and write BYTES bytes, a
   part on each thread: build/bench-copy THREADS BYTES */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct copy { const char *from; char *to; size_t each; } copy;

static void copy_part(void *ctx, int i)
{
  const copy *c = ctx;
  memcpy(c->to + (size_t)i * c->each, c->from + (size_t)i * c->each, c->each);
}

int main(int argc, char **argv)
{
  const int threads = argc == 3 ? atoi(argv[1]) : 0;
  const double bytes = argc == 3 ? atof(argv[2]) : 0;
  if (threads < 1 || bytes < 2 * threads) {
    fprintf(stderr, "usage: bench-copy THREADS BYTES\n");
    return 2;
  }
  copy c = { .each = (size_t)(bytes / 2) / (size_t)threads };
  const size_t n = c.each * (size_t)threads;
  char *from = jf_new(n), *to = jf_new(n);
  if (!from || !to) return 1;
  memset(from, 1, n);
  memset(to, 2, n);
  c.from = from;
  c.to = to;
  double best = 1e9;
  const double until = jf_now() + 0.2;
  for (int i = 0; i < 5 || jf_now() < until; i++) {
    const double start = jf_now();
    jf_parallel(threads, threads, copy_part, &c);
    const double t = jf_now() - start;
    if (t < best) best = t;
  }
  printf("%.9f\n", best);
  jf_free(from);
  jf_free(to);
  return 0;
}
