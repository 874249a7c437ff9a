/* What jfl needs of MPI, as a table of functions. This file is compiled once by the compiler of
   each MPI that is installed, to a library of its own. Errors come back as MPI's codes: nothing
   here ends the process. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "world/mpi.h"

/* A communicator of our own: a program in which jfl is embedded may use MPI, too. */
static MPI_Comm all = MPI_COMM_NULL;
static int is_ours;            /* MPI was begun here, so it is ended here */
static MPI_Request *request;   /* of the messages on their way */
static int n_request, cap_request;

/* MPICH's mpirun sends SIGUSR1 to all ranks when one has ended, which would end those, too, unless
   the program has a use for the signal. */
static void shim_survive(void)
{
#ifdef MPICH_VERSION
  struct sigaction now;
  if (!sigaction(SIGUSR1, NULL, &now) && now.sa_handler == SIG_DFL) signal(SIGUSR1, SIG_IGN);
#endif
}

static int shim_init(void)
{
  int begun = 0, level = MPI_THREAD_SERIALIZED;
  int code = MPI_Initialized(&begun);
  if (!code && begun) code = MPI_Query_thread(&level);
  else if (!code) code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
  if (code) return code;
  is_ours = !begun;
  shim_survive();
  if (level < MPI_THREAD_SERIALIZED) return MPI_ERR_OTHER;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if ((code = MPI_Comm_dup(MPI_COMM_WORLD, &all))) return code;
  return MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
}

static int shim_rank(void)
{
  int rank = 0;
  MPI_Comm_rank(all, &rank);
  return rank;
}

static int shim_size(void)
{
  int size = 1;
  MPI_Comm_size(all, &size);
  return size;
}

static int shim_gather(const void *mine, int n, void *out)
{
  return MPI_Allgather(mine, n, MPI_BYTE, out, n, MPI_BYTE, all);
}

static void shim_end(void)
{
  free(request);
  request = NULL;
  cap_request = 0;
  if (all != MPI_COMM_NULL) MPI_Comm_free(&all);
  if (is_ours) MPI_Finalize();
}

/* The most bytes of one of MPI's messages, which counts them in an int. */
enum { SHIM_MOST = 1 << 30 };

static int shim_room(int n)
{
  if (n <= cap_request) return 0;
  MPI_Request *more = realloc(request, (size_t)n * sizeof *more);
  if (!more) return MPI_ERR_NO_MEM;
  request = more;
  cap_request = n;
  return 0;
}

static int shim_pieces(const jf_mail *mail, int n)
{
  int pieces = 0;
  for (int i = 0; i < n; i++) pieces += (int)((mail[i].size + SHIM_MOST - 1) / SHIM_MOST);
  return pieces;
}

static int shim_put(const jf_mail *mail, int is_sent)
{
  int code = 0;
  for (size_t at = 0; at < mail->size && !code; at += SHIM_MOST) {
    const size_t left = mail->size - at;
    const int size = left < SHIM_MOST ? (int)left : SHIM_MOST;
    char *data = (char *)mail->data + at;
    MPI_Request *r = &request[n_request++];
    *r = MPI_REQUEST_NULL;
    code = is_sent ? MPI_Isend(data, size, MPI_BYTE, mail->rank, 0, all, r)
                   : MPI_Irecv(data, size, MPI_BYTE, mail->rank, 0, all, r);
  }
  return code;
}

static int shim_start(const jf_mail *send, int n_send, const jf_mail *receive, int n_receive)
{
  int code = shim_room(shim_pieces(send, n_send) + shim_pieces(receive, n_receive));
  n_request = 0;
  for (int i = 0; i < n_receive && !code; i++) code = shim_put(&receive[i], 0);
  for (int i = 0; i < n_send && !code; i++) code = shim_put(&send[i], 1);
  return code;
}

static int shim_test(int *done)
{
  *done = 1;
  return n_request ? MPI_Testall(n_request, request, done, MPI_STATUSES_IGNORE) : MPI_SUCCESS;
}

static void shim_text(int code, char *out, size_t size)
{
  char text[MPI_MAX_ERROR_STRING] = "unknown";
  int n;
  MPI_Error_string(code, text, &n);
  snprintf(out, size, "%s", text);
}

extern const jf_mpi jf_mpi_table __attribute__((visibility("default")));
const jf_mpi jf_mpi_table = {
  .init = shim_init, .rank = shim_rank, .size = shim_size, .gather = shim_gather, .end = shim_end,
  .start = shim_start, .test = shim_test, .text = shim_text,
};
