/* The emulated NCCL: a GPU of each of some processes of one machine, which send each other data
   through sockets. Calls of a group are work of a stream, and sums are made in the order of ranks.
   A rank that waits for one which has ended waits until its communicator is aborted, as the real
   library may (NCCL API reference).

   JFL_EMULATED_NCCL_VERSION is the version that it says it is; JFL_EMULATED_NCCL_REFUSES=1 lets
   communicators fail as they do where two ranks have one GPU; JFL_EMULATED_NCCL_SIGNAL=1:3:9 sends
   rank 1 the signal 9 in its third group. */
#define _GNU_SOURCE
#include "emulated.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, CUDA_ERROR = 1, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5,
       IN_PROGRESS = 7 };
enum { MOST_RANKS = 16, MOST_CALLS = 256, MAGIC = 0xcafebeef, OLDEST = 21400 };

typedef struct unique_id { char name[128]; } unique_id;
typedef struct settings { size_t size; unsigned magic, version; int blocking; } settings;
typedef struct communicator {
  atomic_int refs;                     /* of the owner, of work that is queued, of the thread */
  int n, rank, device;
  unique_id id;
  pthread_t thread;                    /* connects */
  int fd[MOST_RANKS], listener, wake;
  atomic_int state, aborted;
  atomic_int slow;                     /* how often it still says that a call is in progress */
} communicator;

#define NEEDS(condition, error) do { if (!(condition)) return (error); } while (0)

EMULATED_ENTRY const char *ncclGetErrorString(int e)
{
  return e == OK ? "no error" : e == CUDA_ERROR ? "unhandled cuda error"
       : e == SYSTEM_ERROR ? "unhandled system error" : e == INVALID_ARGUMENT ? "invalid argument"
       : e == INVALID_USAGE ? "invalid usage" : "operation in progress";
}

EMULATED_ENTRY int ncclGetVersion(int *out)
{
  const char *version = getenv("JFL_EMULATED_NCCL_VERSION");
  *out = version ? atoi(version) : 22700;
  return OK;
}

EMULATED_ENTRY int ncclGetUniqueId(unique_id *out)
{
  static atomic_int count;
  memset(out, 0, sizeof *out);
  snprintf(out->name, sizeof out->name, "jfl-nccl-%d-%d-%lx", getpid(), atomic_fetch_add(&count, 1),
           (unsigned long)time(NULL));
  return OK;
}

/* ---- communicators ---- */

static void comm_drop(communicator *c)
{
  if (atomic_fetch_sub(&c->refs, 1) != 1) return;
  for (int i = 0; i < c->n; i++)
    if (c->fd[i] >= 0) close(c->fd[i]);
  close(c->listener);
  close(c->wake);
  free(c);
}

/* Waits for a descriptor; 0: the communicator was aborted. */
static int comm_wait(communicator *c, int fd, short events, int ms)
{
  struct pollfd p[2] = { { c->wake, POLLIN, 0 }, { fd, events, 0 } };
  if (!atomic_load(&c->aborted)) poll(p, fd < 0 ? 1 : 2, ms);
  return !atomic_load(&c->aborted);
}

static socklen_t comm_address(const communicator *c, int rank, struct sockaddr_un *a)
{
  *a = (struct sockaddr_un){ .sun_family = AF_UNIX };
  const int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "%.80s-%d", c->id.name, rank);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Connects to a lower rank, which may not be there yet. */
static int comm_call(communicator *c, int rank)
{
  struct sockaddr_un a;
  const socklen_t n = comm_address(c, rank, &a);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  while (connect(fd, (struct sockaddr *)&a, n))
    if (!comm_wait(c, -1, 0, 2)) return close(fd), 0;
  c->fd[rank] = fd;
  return send(fd, &c->rank, sizeof c->rank, MSG_NOSIGNAL) == sizeof c->rank;
}

static int comm_answer(communicator *c)
{
  int rank = -1;
  if (!comm_wait(c, c->listener, POLLIN, -1)) return 0;
  const int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) return 1;
  if (recv(fd, &rank, sizeof rank, MSG_WAITALL) != sizeof rank || rank <= c->rank || rank >= c->n)
    return close(fd), 1;
  c->fd[rank] = fd;
  return 1;
}

static int comm_connect(communicator *c)
{
  for (int r = 0; r < c->rank; r++)
    if (!comm_call(c, r)) return 0;
  for (int r = c->rank + 1; r < c->n; r++)
    while (c->fd[r] < 0)
      if (!comm_answer(c)) return 0;
  return 1;
}

static void *comm_main(void *arg)
{
  communicator *c = arg;
  atomic_store(&c->state, comm_connect(c) ? OK : SYSTEM_ERROR);
  comm_drop(c);
  return NULL;
}

static int comm_listen(communicator *c)
{
  struct sockaddr_un a;
  const socklen_t n = comm_address(c, c->rank, &a);
  c->wake = eventfd(0, EFD_CLOEXEC);
  c->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return c->wake >= 0 && !bind(c->listener, (struct sockaddr *)&a, n) && !listen(c->listener, c->n);
}

EMULATED_ENTRY int ncclCommInitRankConfig(communicator **out, int n, unique_id id, int rank,
                                          const settings *s)
{
  NEEDS(out && rank >= 0 && rank < n && n <= MOST_RANKS && emulated_here(), INVALID_ARGUMENT);
  NEEDS(s && s->magic == MAGIC && s->version >= OLDEST && !s->blocking, INVALID_ARGUMENT);
  NEEDS(!getenv("JFL_EMULATED_NCCL_REFUSES"), INVALID_USAGE);
  communicator *c = calloc(1, sizeof *c);
  NEEDS(c, SYSTEM_ERROR);
  *c = (communicator){ .refs = 2, .n = n, .rank = rank, .device = emulated_here()->device,
                       .id = id, .state = IN_PROGRESS, .slow = 2 };
  for (int i = 0; i < n; i++) c->fd[i] = -1;
  if (!comm_listen(c) || pthread_create(&c->thread, NULL, comm_main, c))
    return free(c), SYSTEM_ERROR;
  pthread_detach(c->thread);
  *out = c;
  return IN_PROGRESS;
}

EMULATED_ENTRY int ncclCommGetAsyncError(communicator *c, int *out)
{
  NEEDS(c && out, INVALID_ARGUMENT);
  *out = atomic_load(&c->state);
  if (*out == OK && atomic_load(&c->slow) > 0 && atomic_fetch_sub(&c->slow, 1) > 1)
    *out = IN_PROGRESS;
  return OK;
}

EMULATED_ENTRY int ncclCommAbort(communicator *c)
{
  const uint64_t one = 1;
  NEEDS(c, INVALID_ARGUMENT);
  atomic_store(&c->aborted, 1);
  if (write(c->wake, &one, sizeof one) < 0) return SYSTEM_ERROR;
  comm_drop(c);
  return OK;
}

EMULATED_ENTRY int ncclCommFinalize(communicator *c)
{
  NEEDS(c, INVALID_ARGUMENT);
  atomic_store(&c->slow, 2);
  return IN_PROGRESS;
}

EMULATED_ENTRY int ncclCommDestroy(communicator *c)
{
  NEEDS(c && atomic_load(&c->refs) == 1, INVALID_USAGE);
  comm_drop(c);
  return OK;
}

/* ---- moving bytes ---- */

typedef struct mail { int rank, is_sent; char *data; size_t size, at; } mail;

/* Moves what can be moved now; gives whether something is left. A rank that ended leaves all of
   it. */
static int mail_move(communicator *c, mail *m)
{
  while (m->at < m->size) {
    const ssize_t n = m->is_sent
        ? send(c->fd[m->rank], m->data + m->at, m->size - m->at, MSG_DONTWAIT | MSG_NOSIGNAL)
        : recv(c->fd[m->rank], m->data + m->at, m->size - m->at, MSG_DONTWAIT);
    if (n > 0) m->at += (size_t)n;
    else if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 1;
    else return usleep(1000), 1;
  }
  return 0;
}

/* Moves all messages, those of one rank in their order; 0: the communicator was aborted. */
static int mail_all(communicator *c, mail *m, int n)
{
  for (;;) {
    struct pollfd p[MOST_CALLS + 1] = { { c->wake, POLLIN, 0 } };
    int seen[2][MOST_RANKS] = { { 0 } }, left = 0;
    for (int i = 0; i < n; i++) {
      if (seen[m[i].is_sent][m[i].rank] || !mail_move(c, &m[i])) continue;
      seen[m[i].is_sent][m[i].rank] = 1;
      p[++left] = (struct pollfd){ c->fd[m[i].rank], m[i].is_sent ? POLLOUT : POLLIN, 0 };
    }
    if (!left) return 1;
    poll(p, (nfds_t)(left + 1), -1);
    if (atomic_load(&c->aborted)) return 0;
  }
}

static int mail_one(communicator *c, int rank, int is_sent, void *data, size_t size)
{
  mail m = { rank, is_sent, data, size, 0 };
  return mail_all(c, &m, 1);
}

/* ---- sums ---- */

enum { I8 = 0, U8 = 1, I32 = 2, I64 = 4, F16 = 6, F32 = 7, F64 = 8, BF16 = 9 };

static size_t type_size(int type)
{
  switch (type) {
  case I8: case U8: return 1;
  case F16: case BF16: return 2;
  case I32: case F32: return 4;
  case I64: case F64: return 8;
  default: return 0;
  }
}

static float from_bf16(uint16_t v)
{
  const uint32_t u = (uint32_t)v << 16;
  float f;
  return memcpy(&f, &u, sizeof f), f;
}

static uint16_t to_bf16(float f)
{
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return (uint16_t)(f != f ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#define ADD(T) for (size_t i = 0; i < n; i++) ((T *)to)[i] = (T)(((T *)to)[i] + ((const T *)x)[i])
static void add(int type, void *to, const void *x, size_t n)
{
  switch (type) {
  case I8: case U8: ADD(uint8_t); break;
  case I32: ADD(uint32_t); break;
  case I64: ADD(uint64_t); break;
  case F16: ADD(_Float16); break;
  case F32: ADD(float); break;
  case F64: ADD(double); break;
  default:
    for (size_t i = 0; i < n; i++)
      ((uint16_t *)to)[i] = to_bf16(from_bf16(((uint16_t *)to)[i]) +
                                    from_bf16(((const uint16_t *)x)[i]));
  }
}

/* ---- calls ---- */

typedef enum call_sort { ALL_REDUCE, REDUCE, REDUCE_SCATTER, SEND, RECEIVE } call_sort;
typedef struct call {
  call_sort sort;
  const void *from;
  void *to;
  size_t n;
  int type, rank;                      /* rank: the root, or the other one */
  communicator *comm;
  emulated_stream *stream;
} call;
typedef struct call_group { communicator *comm; int n; call call[]; } call_group;

/* Sums in the order of ranks, at one of them. */
static int run_reduce(communicator *c, const void *from, void *to, size_t n, int type, int root)
{
  const size_t size = n * type_size(type);
  if (c->rank != root) return mail_one(c, root, 1, (void *)from, size);
  char *sum = malloc(size + 1), *part = malloc(size + 1);
  int well = 1;
  for (int r = 0; r < c->n && well; r++) {
    const void *x = r == root ? from : part;
    if (r != root) well = mail_one(c, r, 0, part, size);
    if (!well) break;
    if (r) add(type, sum, x, n);
    else memcpy(sum, x, size);
  }
  if (well) memcpy(to, sum, size);
  free(sum);
  free(part);
  return well;
}

static int run_all_reduce(communicator *c, const call *a)
{
  const size_t size = a->n * type_size(a->type);
  if (!run_reduce(c, a->from, a->to, a->n, a->type, 0)) return 0;
  if (c->rank) return mail_one(c, 0, 0, a->to, size);
  for (int r = 1; r < c->n; r++)
    if (!mail_one(c, r, 1, a->to, size)) return 0;
  return 1;
}

static int run_reduce_scatter(communicator *c, const call *a)
{
  const size_t size = a->n * type_size(a->type);
  for (int r = 0; r < c->n; r++)
    if (!run_reduce(c, (const char *)a->from + (size_t)r * size, a->to, a->n, a->type, r)) return 0;
  return 1;
}

/* All messages from call i on that follow each other; gives the first call behind them. */
static int run_messages(const call_group *g, int i, int *well)
{
  mail m[MOST_CALLS];
  int n = 0;
  for (; i < g->n && g->call[i].sort >= SEND; i++) {
    const call *a = &g->call[i];
    m[n++] = (mail){ a->rank, a->sort == SEND, a->sort == SEND ? (char *)a->from : a->to,
                     a->n * type_size(a->type), 0 };
  }
  *well = mail_all(g->comm, m, n);
  return i;
}

/* Counts the groups of the process, in one of which it may get a signal. */
static void run_signal(const communicator *c)
{
  static atomic_int count;
  int rank, at, number;
  const char *text = getenv("JFL_EMULATED_NCCL_SIGNAL");
  if (!text || sscanf(text, "%d:%d:%d", &rank, &at, &number) < 3) return;
  if (c->rank == rank && atomic_fetch_add(&count, 1) + 1 == at) raise(number);
}

static void run_group(void *arg)
{
  const call_group *g = arg;
  communicator *c = g->comm;
  run_signal(c);
  int well = !atomic_load(&c->aborted);
  for (int i = 0; i < g->n && well;) {
    const call *a = &g->call[i];
    if (a->sort >= SEND) {
      i = run_messages(g, i, &well);
      continue;
    }
    well = a->sort == ALL_REDUCE ? run_all_reduce(c, a)
         : a->sort == REDUCE ? run_reduce(c, a->from, a->to, a->n, a->type, a->rank)
         : run_reduce_scatter(c, a);
    i++;
  }
  comm_drop(c);
}

static _Thread_local struct { int depth, n; call call[MOST_CALLS]; } group;

EMULATED_ENTRY int ncclGroupStart(void)
{
  group.depth++;
  return OK;
}

/* A group is of one communicator here, as jfl makes them. */
EMULATED_ENTRY int ncclGroupEnd(void)
{
  const int n = group.n;
  NEEDS(group.depth == 1, INVALID_USAGE);
  group.depth = group.n = 0;
  NEEDS(n, OK);
  communicator *c = group.call[0].comm;
  for (int i = 1; i < n; i++) NEEDS(group.call[i].comm == c, INVALID_USAGE);
  NEEDS(atomic_load(&c->state) == OK && !atomic_load(&c->aborted), INVALID_USAGE);
  NEEDS(!emulated_injected(), CUDA_ERROR);
  const size_t size = sizeof(call_group) + (size_t)n * sizeof(call);
  call_group *g = malloc(size);
  NEEDS(g, SYSTEM_ERROR);
  *g = (call_group){ c, n };
  memcpy(g->call, group.call, (size_t)n * sizeof(call));
  atomic_fetch_add(&c->refs, 1);
  const int error = emulated_work(group.call[0].stream, run_group, g, size);
  free(g);
  if (error) return comm_drop(c), CUDA_ERROR;
  atomic_store(&c->slow, 2);
  return IN_PROGRESS;
}

/* Every second call says that it is in progress, as any may on a communicator that does not
   block. */
static int call_add(call a, size_t from, size_t to)
{
  const size_t one = type_size(a.type);
  NEEDS(group.depth && group.n < MOST_CALLS && a.comm && one, INVALID_USAGE);
  NEEDS(a.rank >= 0 && a.rank < a.comm->n, INVALID_ARGUMENT);
  NEEDS(!from || emulated_reaches(a.stream, a.from, from * one), INVALID_ARGUMENT);
  NEEDS(!to || emulated_reaches(a.stream, a.to, to * one), INVALID_ARGUMENT);
  group.call[group.n++] = a;
  return group.n % 2 ? IN_PROGRESS : OK;
}

EMULATED_ENTRY int ncclAllReduce(const void *from, void *to, size_t n, int type, int op,
                                 communicator *c, emulated_stream *s)
{
  NEEDS(op == 0, INVALID_ARGUMENT);
  return call_add((call){ ALL_REDUCE, from, to, n, type, 0, c, s }, n, n);
}

EMULATED_ENTRY int ncclReduce(const void *from, void *to, size_t n, int type, int op, int root,
                              communicator *c, emulated_stream *s)
{
  NEEDS(op == 0 && c, INVALID_ARGUMENT);
  return call_add((call){ REDUCE, from, to, n, type, root, c, s }, n, c->rank == root ? n : 0);
}

EMULATED_ENTRY int ncclReduceScatter(const void *from, void *to, size_t n, int type, int op,
                                     communicator *c, emulated_stream *s)
{
  NEEDS(op == 0 && c, INVALID_ARGUMENT);
  return call_add((call){ REDUCE_SCATTER, from, to, n, type, 0, c, s }, n * (size_t)c->n, n);
}

EMULATED_ENTRY int ncclSend(const void *from, size_t n, int type, int rank, communicator *c,
                            emulated_stream *s)
{
  return call_add((call){ SEND, from, NULL, n, type, rank, c, s }, n, 0);
}

EMULATED_ENTRY int ncclRecv(void *to, size_t n, int type, int rank, communicator *c,
                            emulated_stream *s)
{
  return call_add((call){ RECEIVE, NULL, to, n, type, rank, c, s }, 0, n);
}
