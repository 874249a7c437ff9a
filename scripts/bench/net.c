/* How fast ranks sum and send: forks them, or is started by mpirun; each takes one core. Prints for
   sizes from 4 B to 64 MB the time of a sum over all ranks and the bytes of the tensor per second.

   usage: build/bench-net RANKS, or mpirun -n RANKS build/bench-net */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world/collective.h"
#include "world/socket.h"
#include "world/world.h"

enum { MOST = 64 };

static void add(void *to, const void *more, int64_t n)
{
  float *restrict y = to;
  const float *restrict x = more;
  for (int64_t i = 0; i < n; i++) y[i] += x[i];
}

static int later(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int measure(const jf_ranks *team, float *x, int64_t n)
{
  enum { TIMES = 41 };
  static const jf_addition adder = { sizeof(float), add };
  double seconds[TIMES];
  const int times = n > 1 << 20 ? 11 : TIMES;
  for (int i = 0; i < times; i++) {
    char word = 0, all[MOST];
    if (jf_world_agree(&word, 1, all)) return 1;
    const double begin = jf_now();
    if (jf_world_all_reduce(team, x, n, &adder)) return 1;
    seconds[i] = jf_now() - begin;
  }
  qsort(seconds, (size_t)times, sizeof *seconds, later);
  const double median = seconds[times / 2];
  if (!jf_world_rank())
    printf("%10lld B %10.1f us %8.0f MB/s\n", (long long)n * 4, 1e6 * median,
           (double)n * 4e-6 / median);
  return 0;
}

static int bench(void)
{
  static int64_t rank[MOST];
  static const int64_t sizes[] = { 1, 256, 4096, 16384, 65536, 262144, 1 << 20, 1 << 22, 1 << 24 };
  float *x = calloc(1 << 24, sizeof *x);
  if (jf_world_join() || !x || jf_world_size() > MOST) return fprintf(stderr, "%s\n", jfl_errmsg());
  for (int i = 0; i < MOST; i++) rank[i] = i;
  const jf_ranks team = { jf_world_size(), rank };
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (measure(&team, x, sizes[i])) return fprintf(stderr, "%s\n", jfl_errmsg());
  free(x);
  char word = 0, all[MOST];
  jf_world_agree(&word, 1, all);
  return 0;
}

static void be_rank(const char *name, const char *fmt, int value)
{
  char text[64];
  snprintf(text, sizeof text, fmt, value);
  setenv(name, text, 1);
}

int main(int argc, char **argv)
{
  const int n = argc > 1 ? atoi(argv[1]) : 0;
  int listener, port = 0, rank = 0;
  if (!n) return bench();
  if (jf_socket_listen("127.0.0.1", &port, &listener)) return fprintf(stderr, "%s\n", jfl_errmsg());
  be_rank("JFL_MASTER", "127.0.0.1:%d", port);
  be_rank("JFL_LISTEN", "%d", listener);
  be_rank("JFL_RANKS", "%d", n);
  while (rank < n - 1 && fork()) rank++;
  be_rank("JFL_RANK", "%d", rank);
  return bench();
}
