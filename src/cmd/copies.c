/* Copying between standard descriptors and a child's pipes. The child cannot change what this
   process was given: cut a log, write over a file that is its input, lock, move where the next one
   reads, or by /proc write into a pipe from which others read. */
#ifdef __linux__

#include "cmd/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/clock.h"

/* ---- the pipes ---- */

static void copies_close(int *fd)
{
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static int copies_same(const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static jf_peek copies_peek(const struct stat *st)
{
  return S_ISREG(st->st_mode) ? JF_PEEK_FILE : S_ISFIFO(st->st_mode) ? JF_PEEK_PIPE
       : S_ISSOCK(st->st_mode) ? JF_PEEK_SOCKET : JF_PEEK_NONE;
}

/* One that is not open is a file of no kind, from which nothing can be read. */
static int copies_open_one(jf_copies *c, int number, const struct stat *st)
{
  int both[2];
  if (pipe2(both, O_CLOEXEC)) return -1;
  if (!number) {
    c->its[0] = both[0];
    c->unread = fcntl(both[0], F_DUPFD_CLOEXEC, 0);
    c->input = both[1];
    c->peek = copies_peek(st);
    return c->unread < 0 ? -1 : fcntl(both[1], F_SETFL, O_NONBLOCK);
  }
  c->its[number] = both[1];
  c->output[number].from = both[0];
  c->output[number].is_socket = S_ISSOCK(st->st_mode);
  return fcntl(both[0], F_SETFL, O_NONBLOCK);
}

/* Output and errors that go to one place share a pipe, which keeps their order. */
int jf_copies_open(jf_copies *c)
{
  struct stat st[3] = { 0 };
  *c = (jf_copies){ .its = { -1, -1, -1 }, .input = -1, .unread = -1,
                    .output = { { .from = -1 }, { .from = -1 }, { .from = -1 } } };
  for (int i = 0; i < 3; i++) {
    if (isatty(i)) continue;
    if (fstat(i, &st[i])) st[i].st_mode = 0;
    if (i == 2 && c->its[1] >= 0 && copies_same(&st[1], &st[2])) c->its[2] = c->its[1];
    else if (copies_open_one(c, i, &st[i])) return -1;
  }
  return 0;
}

int jf_copies_take(const jf_copies *c)
{
  for (int i = 0; i < 3; i++)
    if (c->its[i] >= 0 && dup2(c->its[i], i) < 0) return -1;
  return 0;
}

void jf_copies_keep(jf_copies *c)
{
  if (c->its[2] == c->its[1]) c->its[2] = -1;
  for (int i = 0; i < 3; i++) copies_close(&c->its[i]);
}

/* ---- input ---- */

static size_t copies_waiting(int fd)
{
  int n;
  return fd < 0 || ioctl(fd, FIONREAD, &n) || n < 0 ? 0 : (size_t)n;
}

/* Takes n bytes from the input that the child has read, if nobody else has taken them. */
static void copies_consume(const jf_copies *c, size_t n)
{
  char room[PIPE_BUF];
  struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
  if (c->peek == JF_PEEK_FILE) lseek(STDIN_FILENO, (off_t)n, SEEK_CUR);
  if (c->peek != JF_PEEK_PIPE && c->peek != JF_PEEK_SOCKET) return;
  for (ssize_t some; n > 0 && poll(&p, 1, 0) > 0; n -= (size_t)some)
    if ((some = read(STDIN_FILENO, room, n < sizeof room ? n : sizeof room)) <= 0) return;
}

/* Reads some bytes that are behind those in the child's pipe, without taking them where that is
   possible. Only a file can be read further while the child has not read what it was given. */
static ssize_t copies_look(const jf_copies *c, char *to, size_t n)
{
  if (c->peek == JF_PEEK_FILE)
    return pread(STDIN_FILENO, to, n, lseek(STDIN_FILENO, 0, SEEK_CUR) + (off_t)c->ahead);
  if (c->peek == JF_PEEK_SOCKET) return recv(STDIN_FILENO, to, n, MSG_PEEK | MSG_DONTWAIT);
  return read(STDIN_FILENO, to, n);
}

/* Gives the child more input; gives whether there was some, or the end of it. */
static int copies_feed(jf_copies *c)
{
  char some[PIPE_BUF];
  ssize_t n;
  if (c->input < 0 || (c->ahead && c->peek != JF_PEEK_FILE)) return 0;
  if (c->peek == JF_PEEK_PIPE) {
    n = tee(STDIN_FILENO, c->input, 1 << 16, SPLICE_F_NONBLOCK);
  } else {
    struct pollfd room = { .fd = c->input, .events = POLLOUT };
    if (poll(&room, 1, 0) < 1) return 0;
    n = copies_look(c, some, sizeof some);
    if (n > 0) n = write(c->input, some, (size_t)n);
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (n > 0) c->ahead += (size_t)n;
  else copies_close(&c->input);
  return 1;
}

/* What the child has read is taken from the input, and it is given more. */
static int copies_input(jf_copies *c)
{
  const size_t left = copies_waiting(c->unread);
  struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
  const int moved = left < c->ahead;
  if (moved) {
    copies_consume(c, c->ahead - left);
    c->ahead = left;
  }
  return c->input >= 0 && poll(&p, 1, 0) > 0 ? copies_feed(c) | moved : moved;
}

/* ---- output ---- */

/* Writes what a reader has room for. What cannot be written is lost, and read all the same; but
   where nobody reads any more, the child hears that. */
static void copies_write(struct jf_output *o, int to)
{
  const char *data = o->data + o->at;
  const size_t left = o->n - o->at;
  const ssize_t some = o->is_socket ? send(to, data, left, MSG_NOSIGNAL | MSG_DONTWAIT)
                                    : write(to, data, left);
  if (some >= 0) o->at += (size_t)some;
  else if (errno != EINTR && errno != EAGAIN) o->error = errno;
  if (o->error) o->at = o->n;
  if (o->error == EPIPE) copies_close(&o->from);
}

/* Copies some bytes where a reader is ready; gives whether there were some. A pipe that is ready
   has room for all of them. */
static int copies_output(jf_copies *c, int number)
{
  struct jf_output *o = &c->output[number];
  struct pollfd ready = { .fd = number, .events = POLLOUT };
  if (o->from < 0 || (!o->error && poll(&ready, 1, 0) < 1)) return 0;
  if (o->at == o->n) {
    const ssize_t n = read(o->from, o->data, sizeof o->data);
    if (n < 0) return 0;
    if (n == 0) return copies_close(&o->from), 0;
    o->n = (size_t)n;
    o->at = 0;
  }
  return copies_write(o, number), 1;
}

/* ---- both ---- */

/* Waits until the child says something, or there is input for one that has read all of it. When it
   reads, nothing tells. */
static void copies_wait(const jf_copies *c, int milliseconds)
{
  const int may_feed = c->input >= 0 && !c->ahead;
  struct pollfd p[3] = { { .fd = may_feed ? STDIN_FILENO : -1, .events = POLLIN } };
  for (int i = 1; i < 3; i++) {
    const struct jf_output *o = &c->output[i];
    struct pollfd ready = { .fd = i, .events = POLLOUT };
    const int is_slow = o->from >= 0 && !o->error && poll(&ready, 1, 0) < 1;
    p[i] = (struct pollfd){ .fd = is_slow ? i : o->from,
                            .events = is_slow ? POLLOUT : POLLIN };
  }
  poll(p, 3, c->ahead && milliseconds > 1 ? 1 : milliseconds);
}

void jf_copies_pass(jf_copies *c, int milliseconds)
{
  const double until = jf_now() + 1e-3 * milliseconds;
  for (int left = milliseconds; left > 0; left = (int)(1e3 * (until - jf_now()))) {
    const int moved = copies_input(c) | copies_output(c, 1) | copies_output(c, 2);
    if (!moved) copies_wait(c, left);
  }
}

int jf_copies_are_left(const jf_copies *c)
{
  for (int i = 1; i < 3; i++) {
    const struct jf_output *o = &c->output[i];
    if (o->from >= 0 && (o->at < o->n || copies_waiting(o->from))) return 1;
  }
  return 0;
}

int jf_copies_end(jf_copies *c)
{
  int lost = 0;
  const size_t left = copies_waiting(c->unread);
  if (left < c->ahead) copies_consume(c, c->ahead - left);
  for (int i = 1; i < 3; i++) {
    const int e = c->output[i].error;
    if (e == 0 || e == EPIPE || e == EBADF) continue;
    fprintf(stderr, "jfl: %s of the script was lost: %s\n", i == 1 ? "output" : "errors",
            strerror(e));
    lost = 1;
  }
  copies_close(&c->input);
  copies_close(&c->unread);
  for (int i = 1; i < 3; i++) copies_close(&c->output[i].from);
  return lost;
}

#endif
