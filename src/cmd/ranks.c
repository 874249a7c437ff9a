/* jfl --ranks n script.lua: starts n processes of this program, which find each other by what it
   puts in their environment; passes on what they print and the signals it gets; and ends all when
   one has failed, or starts them again. */
#include "cmd/cmd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/system.h"
#include "world/launcher.h"

/* A descriptor from which lines come, each of which is printed with the rank before it. Pipes take
   PIPE_BUF bytes as a whole: a line, its head and a line break are no more. */
enum { HEAD = 32 };
typedef struct ranks_pipe { int fd, to; size_t n; char line[PIPE_BUF - HEAD]; } ranks_pipe;

/* The error that ends a rank. */
enum { MOST_REPORT = 1 << 14 };      /* what is longer is cut */
typedef struct ranks_report { int is_told; char *text; } ranks_report;

typedef struct ranks_child {
  pid_t pid;                   /* 0: it was not started, or has ended */
  int is_over, status;         /* it has just ended, and how */
  ranks_pipe out, err;
  ranks_report report;
} ranks_child;

typedef struct ranks_run {
  int n, attempt;
  ranks_child *child;
  struct pollfd *wait;         /* for signals, reports, and both pipes of each child */
  int alive, signals;          /* signals: the descriptor of those that this process gets */
  int cannot;                  /* not all could be started */
  int status;                  /* of the first that failed, as shells say it; 0: none */
  int told;                    /* the signal that asked to end, or 0 */
  double until;                /* when the others are ended; 0: not yet */
  int report[2];               /* a socket for the errors that end ranks; each has its other end */
  double tell;                 /* when reports are printed, if all have not ended before; or 0 */
  int failed;                  /* which failed first, if that is to be told after its report; -1 */
  int ending;                  /* the last signal that they got */
  sigset_t before;
} ranks_run;

/* ---- what they print ---- */

static void ranks_kill(ranks_run *r, int number)
{
  for (int i = 0; i < r->n; i++)
    if (r->child[i].pid && !r->child[i].is_over) kill(r->child[i].pid, number);
}

/* What the terminal sends, the ranks get from it, too. */
static void ranks_signal(ranks_run *r)
{
  struct signalfd_siginfo s;
  if (read(r->signals, &s, sizeof s) != (ssize_t)sizeof s) return;
  if (s.ssi_signo == SIGCHLD) return;
  r->told = (int)s.ssi_signo;
  if (s.ssi_code != SI_KERNEL) ranks_kill(r, (int)s.ssi_signo);
}

/* Waits until somebody reads what is printed, who may be slow; once this process was asked to end
   it waits no more. Gives whether it can be printed. */
static int ranks_may_print(ranks_run *r, int to)
{
  struct pollfd p[] = { { .fd = to, .events = POLLOUT }, { .fd = r->signals, .events = POLLIN } };
  while (poll(p, 2, r->told ? 0 : -1) >= 0 && !p[0].revents) {
    if (r->told) return 0;
    if (p[1].revents) ranks_signal(r);
  }
  return 1;
}

/* Prints head and line in one write, so that nothing that others print comes between them. */
static void ranks_print(ranks_run *r, ranks_pipe *p, int rank, size_t n)
{
  char head[HEAD];
  const int size = snprintf(head, sizeof head, "[rank %d] ", rank);
  const struct iovec v[] = { { head, (size_t)size }, { p->line, n }, { "\n", 1 } };
  const int parts = p->line[n - 1] == '\n' ? 2 : 3;
  if (ranks_may_print(r, p->to) && writev(p->to, v, parts) < 0) { /* nobody reads */ }
  p->n -= n;
  memmove(p->line, p->line + n, p->n);
}

static void ranks_close(ranks_run *r, ranks_pipe *p, int rank)
{
  if (p->fd < 0) return;
  if (p->n) ranks_print(r, p, rank, p->n);
  close(p->fd);
  p->fd = -1;
}

/* Reads what there is, at most `most` bytes, and prints the lines that are complete, or too long.
   Gives how many bytes it read. */
static size_t ranks_read(ranks_run *r, ranks_pipe *p, int rank, size_t most)
{
  const size_t room = sizeof p->line - p->n;
  const ssize_t n = p->fd < 0 ? 0 : read(p->fd, p->line + p->n, most < room ? most : room);
  if (n < 0 && errno == EINTR) return 0;
  if (n <= 0) return ranks_close(r, p, rank), 0;
  p->n += (size_t)n;
  for (const char *end; (end = memchr(p->line, '\n', p->n));)
    ranks_print(r, p, rank, (size_t)(end - p->line) + 1);
  if (p->n == sizeof p->line) ranks_print(r, p, rank, p->n);
  return (size_t)n;
}

/* ---- the errors that end them ---- */

/* Reads the reports that there are, each with its rank before it. Ranks that fail together say the
   same, in an order by chance: so they are kept until all have ended, or for a while. */
static void ranks_hear(ranks_run *r)
{
  char more[MOST_REPORT + 1], *text;
  ssize_t n;
  while ((n = recv(r->report[0], more, MOST_REPORT, MSG_DONTWAIT)) > 0) {
    more[n] = '\0';
    const long rank = strtol(more, &text, 10);
    if (rank < 0 || rank >= r->n || *text++ != '\n' || r->child[rank].report.text) continue;
    r->child[rank].report.text = strdup(text);
    if (r->tell == 0) r->tell = jf_now() + jf_launched_patience() / 6;
  }
  if (n || r->report[0] < 0) return;   /* else no rank has its end any more */
  close(r->report[0]);
  r->report[0] = -1;
}

/* Whether two reports say the same: but for addresses, which differ among processes. */
static int ranks_alike(const char *a, const char *b)
{
  static const char hex[] = "0123456789abcdef";
  while (*a && *a == *b) {
    const int is_address = !strncmp(a, "0x", 2) && !strncmp(b, "0x", 2);
    a += is_address ? 2 + strspn(a + 2, hex) : 1;
    b += is_address ? 2 + strspn(b + 2, hex) : 1;
  }
  return *a == *b;
}

/* "[rank 1] ", "[ranks 0-2, 5] ": those in `is_one`; nothing where it is rank 0 alone. */
static void ranks_head(FILE *f, const char *is_one, int n)
{
  int count = 0;
  const char *between = "";
  for (int i = 0; i < n; i++) count += is_one[i];
  if (count == 1 && is_one[0]) return;
  fputs(count == 1 ? "[rank " : "[ranks ", f);
  for (int i = 0, last; i < n; i = last + 1) {
    last = i;
    if (!is_one[i]) continue;
    while (last + 1 < n && is_one[last + 1]) last++;
    fprintf(f, last > i ? "%s%d-%d" : "%s%d", between, i, last);
    between = ", ";
  }
  fputs("] ", f);
}

static void ranks_print_report(ranks_run *r, const char *text, const char *is_one)
{
  char *all = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&all, &size);
  if (!f) return;
  while (*text) {
    const int n = (int)strcspn(text, "\n");
    ranks_head(f, is_one, r->n);
    fprintf(f, "%.*s\n", n, text);
    text += n + (text[n] == '\n');
  }
  fclose(f);
  for (size_t at = 0; all && at < size && ranks_may_print(r, STDERR_FILENO);) {
    const ssize_t n = write(STDERR_FILENO, all + at, size - at);
    if (n < 0 && errno != EINTR) break;
    at += n > 0 ? (size_t)n : 0;
  }
  free(all);
}

/* Prints the reports that are there, equal ones once, and then which rank failed first. */
static void ranks_tell(ranks_run *r)
{
  char *is_one = calloc((size_t)r->n, 1);
  for (int i = 0; is_one && i < r->n; i++) {
    const char *text = r->child[i].report.text;
    if (!text || r->child[i].report.is_told) continue;
    memset(is_one, 0, (size_t)r->n);
    for (int k = i; k < r->n; k++) {
      ranks_report *p = &r->child[k].report;
      if (!p->text || p->is_told || !ranks_alike(text, p->text)) continue;
      is_one[k] = (char)(p->is_told = 1);
    }
    ranks_print_report(r, text, is_one);
  }
  free(is_one);
  if (r->failed >= 0)
    fprintf(stderr, "jfl: rank %d has failed, with status %d\n", r->failed, r->status);
  r->failed = -1;
  r->tell = 0;
}

/* ---- starting them ---- */

/* A socket that listens on this host alone, which rank 0 inherits. */
static int ranks_listen(int *port)
{
  struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t size = sizeof a;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&a, size) || listen(fd, SOMAXCONN) ||
      getsockname(fd, (struct sockaddr *)&a, &size))
    return fd >= 0 ? close(fd), -1 : -1;
  *port = ntohs(a.sin_port);
  return fd;
}

static void ranks_set(const char *name, long value)
{
  char text[32];
  snprintf(text, sizeof text, "%ld", value);
  jf_launched_tell(name, text);
}

static int ranks_prints_all(void)
{
  const char *print = getenv("JFL_PRINT");
  return print && !strcmp(print, "all");
}

/* All but rank 0 read nothing, and what they print goes to pipes, which begin behind the standard
   descriptors. */
static int ranks_connect(const int *pipes)
{
  if (ranks_prints_all() && dup2(pipes[1], STDOUT_FILENO) < 0) return -1;
  if (dup2(pipes[3], STDERR_FILENO) < 0) return -1;
  for (int i = 0; i < 4; i++) close(pipes[i]);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  return null < 0 ? -1 : dup2(null, STDIN_FILENO);
}

/* In the child. */
static void ranks_become(const ranks_run *r, int rank, int listener, char **argv, const int *pipes)
{
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  ranks_set("JFL_RANK", rank);
  if (!rank) ranks_set("JFL_LISTEN", listener);
  const int is_heard = !fcntl(r->report[1], F_SETFD, 0);
  if (is_heard && (rank ? ranks_connect(pipes) >= 0 : !fcntl(listener, F_SETFD, 0))) {
    sigprocmask(SIG_SETMASK, &r->before, NULL);
    execv("/proc/self/exe", argv);
  }
  perror("jfl: cannot start a rank");
  _exit(EXIT_FAILURE);
}

static void ranks_close_all(const int *fd, int n)
{
  const int why = errno;
  for (int i = 0; i < n; i++)
    if (fd[i] >= 0) close(fd[i]);
  errno = why;
}

static int ranks_start_one(ranks_run *r, int rank, int listener, char **argv)
{
  ranks_child *c = &r->child[rank];
  int pipes[4] = { -1, -1, -1, -1 };
  const int ready = !rank || (!pipe2(pipes, O_CLOEXEC) && !pipe2(pipes + 2, O_CLOEXEC));
  const pid_t pid = ready ? fork() : -1;
  if (pid < 0) return ranks_close_all(pipes, 4), -1;
  if (!pid) ranks_become(r, rank, listener, argv, pipes);
  ranks_close_all((const int[]){ pipes[1], pipes[3] }, 2);
  c->pid = pid;
  c->out.fd = pipes[0];
  c->err.fd = pipes[2];
  r->alive++;
  return 0;
}

/* One that was not started has neither a process nor a descriptor. */
static void ranks_clear(ranks_run *r)
{
  for (int i = 0; i < r->n; i++) {
    free(r->child[i].report.text);
    r->child[i] = (ranks_child){ .out = { .fd = -1, .to = STDOUT_FILENO },
                                 .err = { .fd = -1, .to = STDERR_FILENO } };
  }
}

static int ranks_start(ranks_run *r, char **argv)
{
  unsigned char secret[16];
  char text[64];
  int port = 0, bad = 0;
  if (jf_secret(secret, sizeof secret)) return -1;
  const int listener = ranks_listen(&port);
  if (listener < 0) return -1;
  for (size_t i = 0; i < sizeof secret; i++) snprintf(text + 2 * i, 3, "%02x", secret[i]);
  jf_launched_tell("JFL_SECRET", text);
  snprintf(text, sizeof text, "127.0.0.1:%d", port);
  jf_launched_tell("JFL_MASTER", text);
  ranks_set("JFL_RANKS", r->n);
  ranks_set("JFL_RESTARTS", r->attempt);
  ranks_set("JFL_LAUNCHER", (long)getpid());
  bad = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, r->report);
  ranks_set("JFL_REPORT", r->report[1]);
  for (int i = 0; i < r->n && !bad; i++) bad = ranks_start_one(r, i, listener, argv);
  ranks_close_all((const int[]){ listener, r->report[1] }, 2);
  return bad;
}

/* ---- their end ---- */

/* Notes how one ended; the others get some time to end by themselves after the first failure. */
static void ranks_ended(ranks_run *r, int rank, int status)
{
  const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  r->child[rank].pid = r->child[rank].is_over = 0;
  r->alive--;
  ranks_hear(r);
  if (!status || r->status) return;
  r->status = number ? 128 + number : WEXITSTATUS(status);
  r->until = jf_now() + jf_launched_patience();
  if (r->told) return;
  if (number) fprintf(stderr, "jfl: rank %d was ended by signal %d (%s)\n", rank, number,
                      strsignal(number));
  else r->failed = rank;
  if (!number && r->tell == 0) ranks_tell(r);      /* it said nothing that is to be waited with */
}

/* Notes which have ended; gives whether one of them failed, but not by a signal. */
static int ranks_collect(ranks_run *r)
{
  int failed = 0;
  for (int i = 0; i < r->n; i++) {
    ranks_child *c = &r->child[i];
    if (c->pid && !c->is_over) c->is_over = waitpid(c->pid, &c->status, WNOHANG) == c->pid;
    failed |= c->is_over && WIFEXITED(c->status) && c->status;
  }
  return failed;
}

/* Whether a process is ending: the system has begun to clear it away. */
static int ranks_is_ending(pid_t pid)
{
  enum { EXITING = 4 };                /* PF_EXITING of the kernel, the same in all versions */
  char path[64], text[512], *after;
  unsigned flags = 0;
  snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  FILE *f = fopen(path, "r");
  const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  text[n] = '\0';
  after = strrchr(text, ')');          /* behind the name, which may hold anything */
  if (!after || sscanf(after, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1) return 0;
  return (flags & EXITING) != 0;
}

static int ranks_some_are_ending(const ranks_run *r)
{
  for (int i = 0; i < r->n; i++)
    if (r->child[i].pid && !r->child[i].is_over && ranks_is_ending(r->child[i].pid)) return 1;
  return 0;
}

/* Of those that end at about the same time, one that a signal ended was the first to fail. Others
   may have learned of it from its connections, which are closed while the system still clears away
   the rest: so what fails first is told once nothing is being cleared away. */
static void ranks_reap(ranks_run *r)
{
  if (ranks_collect(r) && !r->status && ranks_some_are_ending(r)) return;
  for (int signals = 1; signals >= 0; signals--)
    for (int i = 0; i < r->n; i++)
      if (r->child[i].is_over && WIFSIGNALED(r->child[i].status) == signals)
        ranks_ended(r, i, r->child[i].status);
}

static void ranks_press(ranks_run *r)
{
  if (r->until == 0 || jf_now() < r->until) return;
  r->ending = r->ending ? SIGKILL : SIGTERM;
  r->until = jf_now() + jf_launched_patience();
  ranks_kill(r, r->ending);
  ranks_kill(r, SIGCONT);      /* one that is stopped ends, too */
}

/* Waits for all of them; gives 0, or the status of the first that failed. */
static int ranks_watch(ranks_run *r)
{
  struct pollfd *p = r->wait;
  while (r->alive) {
    p[0] = (struct pollfd){ .fd = r->signals, .events = POLLIN };
    p[1] = (struct pollfd){ .fd = r->report[0], .events = POLLIN };
    for (int i = 0; i < r->n; i++) {
      p[2 + 2 * i] = (struct pollfd){ .fd = r->child[i].out.fd, .events = POLLIN };
      p[3 + 2 * i] = (struct pollfd){ .fd = r->child[i].err.fd, .events = POLLIN };
    }
    poll(p, (nfds_t)(2 * r->n + 2), 500);
    if (p[0].revents) ranks_signal(r);
    if (p[1].revents) ranks_hear(r);
    for (int i = 0; i < r->n; i++) {
      if (p[2 + 2 * i].revents) ranks_read(r, &r->child[i].out, i, PIPE_BUF);
      if (p[3 + 2 * i].revents) ranks_read(r, &r->child[i].err, i, PIPE_BUF);
    }
    ranks_reap(r);
    ranks_press(r);
    if (r->tell != 0 && jf_now() >= r->tell) ranks_tell(r);
  }
  return r->status;
}

/* What they printed last; processes that they started may hold the pipes open, and print more,
   which nobody waits for. */
static void ranks_drain(ranks_run *r)
{
  for (int i = 0; i < r->n; i++) {
    ranks_pipe *const both[] = { &r->child[i].out, &r->child[i].err };
    for (int k = 0; k < 2; k++) {
      int left = 0;
      if (both[k]->fd >= 0 && ioctl(both[k]->fd, FIONREAD, &left)) left = 0;
      for (size_t n; left > 0; left -= (int)n)
        if (!(n = ranks_read(r, both[k], i, (size_t)left))) break;
      ranks_close(r, both[k], i);
    }
  }
  ranks_hear(r);
  ranks_close_all(r->report, 1);
  ranks_tell(r);
}

static int ranks_once(ranks_run *r, char **argv)
{
  r->status = r->ending = r->alive = 0;
  r->until = r->tell = 0;
  r->failed = r->report[0] = r->report[1] = -1;
  ranks_clear(r);
  if (ranks_start(r, argv)) {
    fprintf(stderr, "jfl: cannot start %d ranks: %s\n", r->n, strerror(errno));
    r->cannot = 1;
    r->status = EXIT_FAILURE;
    r->until = jf_now();
  }
  ranks_watch(r);
  ranks_drain(r);
  return r->status;
}

int jf_run_ranks(int n, int restarts, char **argv)
{
  sigset_t caught;
  ranks_run r = { .n = n, .child = calloc((size_t)n, sizeof *r.child),
                  .wait = calloc((size_t)n + 1, 2 * sizeof *r.wait) };
  sigemptyset(&caught);
  sigaddset(&caught, SIGCHLD);
  sigaddset(&caught, SIGINT);
  sigaddset(&caught, SIGTERM);
  sigaddset(&caught, SIGHUP);
  sigprocmask(SIG_BLOCK, &caught, &r.before);
  r.signals = signalfd(-1, &caught, SFD_CLOEXEC);
  if (!r.child || !r.wait || r.signals < 0)
    return perror("jfl: cannot start ranks"), EXIT_FAILURE;
  while (ranks_once(&r, argv) && !r.told && !r.cannot && r.attempt < restarts)
    fprintf(stderr, "jfl: all ranks are started again (%d of %d)\n", ++r.attempt, restarts);
  close(r.signals);
  ranks_clear(&r);             /* frees what they said */
  free(r.child);
  free(r.wait);
  return r.status;
}

/* ---- in a rank ---- */

void jf_quieten(void)
{
  const int null = ranks_prints_all() ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0) return;
  fflush(stdout);
  dup2(null, STDOUT_FILENO);
  close(null);
}

void jf_report_open(void)
{
  const int fd = jf_launched_report();
  if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

int jf_report(const char *message)
{
  int size;
  char text[MOST_REPORT];
  const int fd = jf_launched_report();
  if (fd < 0) return 0;
  const int n = snprintf(text, sizeof text, "%d\njfl: %s", jf_launched_rank(&size), message);
  const size_t length = n < (int)sizeof text ? (size_t)n : sizeof text - 1;
  return send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}
