/* Messages by MPI. */
#include <sched.h>
#include <time.h>

#include "world/transport.h"
#include "world/world.h"

static const jf_mpi *by_mpi;

void jf_transport_use_mpi(const jf_mpi *m) { by_mpi = m; }

/* Gives way for a while, and then for longer and longer: other threads want the cores. */
static void by_mpi_pause(int round)
{
  enum { YIELDS = 64, SHORT = 10000, LONG = 100000 };  /* rounds; ns */
  const struct timespec t = { .tv_nsec = round < 4 * YIELDS ? SHORT : LONG };
  if (round < YIELDS) sched_yield();
  else nanosleep(&t, NULL);
}

/* An error of MPI is the sign of one that the world will tell of, in most cases. */
static jfl_status by_mpi_check(int code, const char *doing)
{
  if (!code) return JFL_OK;
  const double until = jf_now() + 5;
  const struct timespec t = { .tv_nsec = 10000000 };
  while (!jf_world_trouble() && jf_now() < until) nanosleep(&t, NULL);
  if (!jf_world_trouble()) {
    char text[256];
    by_mpi->text(code, text, sizeof text);
    jf_world_end("rank %d (%s): %s failed: %s", jf_world_rank(), jf_world_host(jf_world_rank()),
                 doing, text);
  }
  return jf_world_fail();
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
    by_mpi_pause(round);
  }
}

const jf_transport jf_transport_by_mpi = { .exchange = by_mpi_exchange };
