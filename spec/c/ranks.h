/* Ranks of a world as processes that a test forks. */
#ifndef RANKS_H
#define RANKS_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world/socket.h"

enum { RANKS_MOST = 16, RANKS_SECONDS = 300 };

/* What each rank does once it knows who it is; gives 0 if all was well. */
typedef int (*rank_body)(int rank, int size);

static inline void ranks_put(const char *name, const char *fmt, int value)
{
  char text[64];
  snprintf(text, sizeof text, fmt, value);
  setenv(name, text, 1);
}

/* Runs `size` ranks; gives how many did not end well. */
static inline int ranks_run(int size, rank_body body)
{
  pid_t child[RANKS_MOST];
  int listener, port = 0, bad = 0, status;
  if (jf_socket_listen("127.0.0.1", &port, &listener)) return size;
  fflush(stdout);
  for (int rank = 0; rank < size; rank++) {
    if ((child[rank] = fork())) continue;
    ranks_put("JFL_MASTER", "127.0.0.1:%d", port);
    ranks_put("JFL_LISTEN", "%d", listener);
    ranks_put("JFL_RANKS", "%d", size);
    ranks_put("JFL_RANK", "%d", rank);
    ranks_put("JFL_PATIENCE", "%d", RANKS_SECONDS);
    if (rank) close(listener);
    alarm(RANKS_SECONDS);
    exit(body(rank, size) != 0);
  }
  close(listener);
  for (int rank = 0; rank < size; rank++) {
    waitpid(child[rank], &status, 0);
    bad += status != 0;
  }
  return bad;
}

/* For bodies: returns 1 from them, and says why, unless a condition holds. */
#define RANK_NEEDS(ok)                                                                        \
  do {                                                                                        \
    if (!(ok)) {                                                                              \
      fprintf(stderr, "%s:%d: rank %d: not true: %s (%s)\n", __FILE__, __LINE__, rank, #ok,   \
              jfl_errmsg());                                                                  \
      return 1;                                                                               \
    }                                                                                         \
  } while (0)

#endif
