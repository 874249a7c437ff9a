/* A program that takes a core, for scripts/bench/load.lua:
     bench-load loop|stream CORE NICE SECONDS
   loop counts, stream copies memory that no cache holds. Core -1 is whichever the system chooses.
   It prints its process id, and ends after so many seconds, or with the program that started
   it. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SIZE = 128 << 20 };

static void load_loop(void)
{
  for (volatile unsigned i = 0;; i++) { }
}

static void load_stream(void)
{
  char *a = malloc(SIZE), *b = malloc(SIZE);
  if (!a || !b) exit(1);
  memset(a, 1, SIZE);
  for (;;) {
    memcpy(b, a, SIZE);
    memcpy(a, b, SIZE);
  }
}

int main(int argc, char **argv)
{
  if (argc != 5) return fprintf(stderr, "usage: bench-load loop|stream CORE NICE SECONDS\n"), 2;
  const int core = atoi(argv[2]);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (core >= 0) CPU_SET((unsigned)core, &set);
  if (core >= 0 && sched_setaffinity(0, sizeof set, &set)) return perror("bench-load: core"), 1;
  if (setpriority(PRIO_PROCESS, 0, atoi(argv[3]))) return perror("bench-load: nice"), 1;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm((unsigned)atoi(argv[4]));
  printf("%d\n", (int)getpid());
  fflush(stdout);
  if (strcmp(argv[1], "stream")) load_loop();
  else load_stream();
  return 0;
}
