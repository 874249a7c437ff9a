/* What carries messages between ranks: sockets of our own, or MPI. */
#ifndef JF_TRANSPORT_H
#define JF_TRANSPORT_H

#include "world/mpi.h"

typedef struct jf_transport {
  jfl_status (*open)(void);    /* by all ranks together; NULL: nothing to do */
  /* Sends and receives messages of other ranks than this one, and returns when all is done or the
     world has trouble. */
  jfl_status (*exchange)(const jf_mail *send, int n_send, const jf_mail *receive, int n_receive);
} jf_transport;

extern const jf_transport jf_transport_by_socket, jf_transport_by_mpi;
/* The table that jf_transport_by_mpi uses. */
void jf_transport_use_mpi(const jf_mpi *m);

#endif
