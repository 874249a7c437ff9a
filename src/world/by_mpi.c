/* Messages by MPI. */
#include "world/transport.h"
#include "world/world.h"

static const jf_mpi *by_mpi;

void jf_transport_use_mpi(const jf_mpi *m) { by_mpi = m; }

static jfl_status by_mpi_check(int code, const char *doing)
{
  char text[256];
  if (!code) return JFL_OK;
  by_mpi->text(code, text, sizeof text);
  return jf_world_broke(doing, text);
}

static jfl_status by_mpi_exchange(const jf_mail *send, int n_send, const jf_mail *receive,
                                  int n_receive)
{
  int done = 0;
  JF_TRY(by_mpi_check(by_mpi->start(send, n_send, receive, n_receive), "starting messages by MPI"));
  for (int round = 0;; round++) {
    JF_TRY(by_mpi_check(by_mpi->test(&done), "a message by MPI"));
    if (done) return JFL_OK;
    if (jf_world_trouble()) return jf_world_fail();
    jf_give_way(round);
  }
}

const jf_transport jf_transport_by_mpi = { .exchange = by_mpi_exchange };
