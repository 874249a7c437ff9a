/* Tensors on their way between the ranks of the world, from host memory to host memory. What
   several ranks do together, each of them calls, all in the same order; any two ranks meet what
   they do together in the same order. One thread at a time may be in these functions. They return
   when their part is done, and fail once the world has trouble, with its text (world/world.h);
   after that they always fail. */
#ifndef JF_WORLD_COLLECTIVE_H
#define JF_WORLD_COLLECTIVE_H

#include "base/base.h"

/* Some ranks, in ascending order. */
typedef struct jf_ranks { int n; const int64_t *rank; } jf_ranks;
/* A message to a rank or from one, of `size` bytes at `data`, which is only read if it is sent. */
typedef struct jf_mail { int rank; void *data; size_t size; } jf_mail;

/* How elements are added: to[i] += more[i] for n of them, of `size` bytes each. */
typedef struct jf_addition {
  size_t size;
  void (*add)(void *to, const void *more, int64_t n);
} jf_addition;

struct jf_mpi;
/* Prepares this rank for sending data, by MPI, or by sockets if that is NULL, until the process
   ends: all ranks call it together. */
jfl_status jf_world_open_data(const struct jf_mpi *mpi);

/* Makes n elements at `data` the sums over the ranks of a team, which has this one. All ranks get
   the same bits, and every time: the order of additions depends on team and n alone. */
jfl_status jf_world_all_reduce(const jf_ranks *team, void *data, int64_t n, const jf_addition *t);
/* Sums n = count[0] + count[1] + ... elements at `in`, which it overwrites, and gives the i-th rank
   of the team count[i] of them: the first one the first elements, and so on. */
jfl_status jf_world_reduce_scatter(const jf_ranks *team, void *in, void *out, const int64_t *count,
                                   const jf_addition *t);
/* Sends and receives messages, all at once. A call is matched by one call of each rank with which
   it exchanges something; what two ranks have for each other must agree in order and size. */
jfl_status jf_world_exchange(const jf_mail *send, int n_send, const jf_mail *receive,
                             int n_receive);

#endif
