/* Messages by TCP. Two ranks connect when they first have something to say to each other: the lower
   one calls, the higher one waits for it. Who waits for a call takes that of any rank, so that
   ranks never wait for each other in a circle: the highest of them is not waiting for an answer.
   Both prove first that they are ranks of this world (world/door.h).

   On one host, where the system lets a process read the memory of another, only the addresses of
   large messages are sent: the receiver copies them from there, and says when it has. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "system/system.h"
#include "world/meet.h"
#include "world/transport.h"

/* What a rank tells the others: how to reach it, and a share of a number. Who finds the sum of all
   shares in its memory can read that. */
typedef struct by_socket_card {
  uint64_t share;
  uint64_t sum_at;             /* the address of the sum in its memory */
  int pid;
  int port, n_address;
  char address[JF_ADDRESSES][JF_ADDRESS];
} by_socket_card;

static struct {
  int n;
  jf_door *door;
  uint64_t sum;
  by_socket_card *card;        /* by rank */
  int *fd;                     /* by rank; -1: not connected */
  char *is_near;               /* by rank: both can read the other's memory */
  /* Of the messages on their way: how many bytes are done, what is sent in place of them, and the
     addresses of those that are copied from memory. */
  size_t *at;
  jf_mail *wire;
  uint64_t *address;
  int cap;
  int *seen_out, *seen_in;     /* by rank: the last pass in which an earlier message to it, or from
                                  it, was on its way */
  struct pollfd *wait;
  int pass;
} net;

static int by_socket_allocate(int n)
{
  net.card = jf_new((size_t)n * sizeof *net.card);
  net.fd = jf_new((size_t)n * sizeof *net.fd);
  net.seen_out = jf_new((size_t)n * sizeof *net.seen_out);
  net.seen_in = jf_new((size_t)n * sizeof *net.seen_in);
  net.wait = jf_new((size_t)(n + 1) * sizeof *net.wait);
  net.is_near = jf_new((size_t)n);
  if (!net.card || !net.fd || !net.seen_out || !net.seen_in || !net.wait || !net.is_near) return 0;
  for (int i = 0; i < n; i++) net.fd[i] = -1;
  net.n = n;
  return 1;
}

/* Where the ranks met on the loopback interface they stay there. */
static jfl_status by_socket_listen(by_socket_card *mine)
{
  const char *near = *jf_the_world.near ? jf_the_world.near : NULL;
  int listener;
  if (near) snprintf(mine->address[0], JF_ADDRESS, "%s", near);
  mine->n_address = near ? 1 : jf_socket_addresses(mine->address);
  JF_TRY(jf_socket_listen(near, &mine->port, &listener));
  net.door = jf_door_new(listener, jf_the_world.key);
  return net.door ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
}

/* A forked child is no rank. */
static void by_socket_forget(void)
{
  for (int i = 0; i < net.n; i++) jf_socket_drop(&net.fd[i]);
  jf_door_shut(net.door);
}

static jfl_status by_socket_open(void)
{
  by_socket_card mine = { .share = jf_entropy(), .pid = getpid(),
                          .sum_at = (uint64_t)(uintptr_t)&net.sum };
  _Static_assert(sizeof mine <= JF_WORLD_MESSAGE, "a card goes in one message");
  if (!by_socket_allocate(jf_world_size())) return jf_fail(JFL_ENOMEM, "out of memory");
  JF_TRY(by_socket_listen(&mine));
  jf_at_fork(by_socket_forget);
  JF_TRY(jf_world_agree(&mine, sizeof mine, net.card));
  for (int i = 0; i < net.n; i++) {
    by_socket_card *c = &net.card[i];
    net.sum += c->share;
    if (c->n_address > JF_ADDRESSES) c->n_address = JF_ADDRESSES;
    for (int k = 0; k < JF_ADDRESSES; k++) c->address[k][JF_ADDRESS - 1] = '\0';
  }
  return JFL_OK;
}

/* ---- the memory of ranks on this host ---- */

static int by_socket_read(int rank, uint64_t address, void *to, size_t size)
{
  for (size_t at = 0; at < size;) {
    const struct iovec here = { (char *)to + at, size - at };
    const struct iovec there = { (void *)(uintptr_t)(address + at), size - at };
    const ssize_t n = process_vm_readv(net.card[rank].pid, &here, 1, &there, 1, 0);
    if (n <= 0) return 0;
    at += (size_t)n;
  }
  return 1;
}

/* Whether the memory of a rank can be read. JFL_PEEK=0 says that it shall not. */
static int by_socket_can_read(int rank)
{
  const char *asked = getenv("JFL_PEEK");
  uint64_t sum = 0;
  if (asked && !strcmp(asked, "0")) return 0;
  if (strcmp(jf_world_host(rank), jf_world_host(jf_world_rank()))) return 0;
  return by_socket_read(rank, net.card[rank].sum_at, &sum, sizeof sum) && sum == net.sum;
}

/* ---- connecting ---- */

/* Seconds that one address is tried. */
static const double by_socket_try_for = 3;

static jf_wait by_socket_patience(double seconds)
{
  return (jf_wait){ .until = jf_now() + seconds, .wake = jf_world_trouble_fd() };
}

/* For a rank that may still be at something else. */
static jf_wait by_socket_long_patience(void) { return (jf_wait){ .wake = jf_world_trouble_fd() }; }

/* The one that answers may be at something else for long; who has another address of this rank is
   no rank, and is noticed at once if it speaks. It has the last word: one that lost the connection
   waits for another call. */
static jfl_status by_socket_greet(int fd, int rank)
{
  const jf_wait w = by_socket_long_patience();
  const jf_call call = { .channel = JF_DATA, .from = jf_world_rank(), .to = rank, .size = net.n };
  jf_answer a;
  JF_TRY(jf_door_call(fd, jf_the_world.key, call, &w, &a));
  if (!a.is_welcome) return jf_fail(JFL_EIO, "rank %d refuses: %s", rank, a.why);
  net.is_near[rank] = a.is_near && by_socket_can_read(rank);
  JF_TRY(jf_socket_send(fd, &net.is_near[rank], 1, &w));
  char taken;
  return jf_socket_receive(fd, &taken, 1, &w);
}

static jfl_status by_socket_call_once(int rank)
{
  const by_socket_card *card = &net.card[rank];
  jfl_status s = jf_fail(JFL_EIO, "it has no address");
  for (int i = 0; i < card->n_address && s && !jf_world_trouble(); i++) {
    int fd;
    const jf_wait w = by_socket_patience(by_socket_try_for);
    if ((s = jf_socket_connect(card->address[i], card->port, &w, &fd))) continue;
    if ((s = by_socket_greet(fd, rank))) close(fd);
    else net.fd[rank] = fd;
  }
  return s;
}

/* Calls again where a connection broke or was not made, as where a crowd of strangers calls one
   that is at something else. */
static jfl_status by_socket_call(int rank)
{
  const double least = 60, patience = jf_world_patience();
  const double until = jf_now() + (patience > least ? patience : least);
  for (;;) {
    const jfl_status s = by_socket_call_once(rank);
    if (!s || jf_world_trouble() || jf_now() > until) return s;
    nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000 * 1000 }, NULL);
  }
}

/* Why a caller that knows the secret has nothing to say here, or NULL. */
static const char *by_socket_objection(const jf_call *c)
{
  if (c->channel != JF_DATA || c->to != jf_world_rank() || c->from < 0 || c->from >= c->to)
    return "it is another rank that is called";
  if (net.fd[c->from] >= 0 && !jf_socket_is_over(net.fd[c->from])) return "it has called before";
  return NULL;
}

/* Takes one call, of whatever rank. */
static jfl_status by_socket_answer(const jf_wait *w)
{
  jf_caller c;
  JF_TRY(jf_door_hear(net.door, w, &c));
  const char *why = by_socket_objection(&c.call);
  const int from = c.call.from;
  const jf_answer a = { .is_near = !why && by_socket_can_read(from) };
  const jf_wait soon = by_socket_patience(jf_world_patience());
  if (!jf_door_answer(net.door, &c, a, why)) return JFL_OK;
  const char taken = 1;
  if (jf_socket_receive(c.fd, &net.is_near[from], 1, &soon) ||
      jf_socket_send(c.fd, &taken, 1, &soon))
    return close(c.fd), JFL_OK;
  jf_socket_drop(&net.fd[from]);
  net.fd[from] = c.fd;
  return JFL_OK;
}

static jfl_status by_socket_connect(int rank)
{
  jfl_status s = JFL_OK;
  const jf_wait w = by_socket_long_patience();
  atomic_store(&jf_the_world.awaited, rank);
  if (jf_world_rank() < rank) s = by_socket_call(rank);
  while (net.fd[rank] < 0 && !s) s = by_socket_answer(&w);
  if (!s) return JFL_OK;
  if (jf_world_trouble()) return jf_world_fail();
  jf_world_end("rank %d (%s) and rank %d (%s) cannot connect to each other", jf_world_rank(),
               jf_world_host(jf_world_rank()), rank, jf_world_host(rank));
  return jf_world_fail();
}

/* ---- messages ---- */

static int by_socket_busy(void)
{
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* Sends or receives what is possible now of a message. */
static jfl_status by_socket_move(const jf_mail *m, int is_sent, size_t *at)
{
  while (*at < m->size) {
    char *data = (char *)m->data + *at;
    const ssize_t n = is_sent ? send(net.fd[m->rank], data, m->size - *at,
                                     MSG_NOSIGNAL | MSG_DONTWAIT)
                              : recv(net.fd[m->rank], data, m->size - *at, MSG_DONTWAIT);
    if (n > 0) *at += (size_t)n, atomic_fetch_add(&jf_the_world.moved, 1);
    else if (n < 0 && by_socket_busy()) return JFL_OK;
    else return jf_world_lost(m->rank);
  }
  return JFL_OK;
}

/* Moves the first message for each rank that is not done; `seen` marks these ranks. Adds what is
   left to *left. */
static jfl_status by_socket_pass(const jf_mail *mail, int n, int is_sent, size_t *at, int *seen,
                                  int *left)
{
  for (int i = 0; i < n; i++) {
    if (at[i] == mail[i].size || seen[mail[i].rank] == net.pass) continue;
    JF_TRY(by_socket_move(&mail[i], is_sent, &at[i]));
    if (at[i] == mail[i].size) continue;
    seen[mail[i].rank] = net.pass;
    if (!(*left)++) atomic_store(&jf_the_world.awaited, mail[i].rank);
  }
  return JFL_OK;
}

/* Waits until something can be sent or received of what is left, or the world has trouble. */
static jfl_status by_socket_wait(void)
{
  int n = 1;
  net.wait[0] = (struct pollfd){ .fd = jf_world_trouble_fd(), .events = POLLIN };
  for (int i = 0; i < net.n; i++) {
    const int out = net.seen_out[i] == net.pass, in = net.seen_in[i] == net.pass;
    if (!out && !in) continue;
    net.wait[n++] = (struct pollfd){ .fd = net.fd[i],
                                     .events = (short)((out ? POLLOUT : 0) | (in ? POLLIN : 0)) };
  }
  if (poll(net.wait, (nfds_t)n, -1) < 0 && errno != EINTR)
    return jf_fail(JFL_EIO, "poll: %s", strerror(errno));
  return jf_world_trouble() ? jf_world_fail() : JFL_OK;
}

static jfl_status by_socket_prepare(const jf_mail *mail, int n)
{
  for (int i = 0; i < n; i++)
    if (net.fd[mail[i].rank] < 0) JF_TRY(by_socket_connect(mail[i].rank));
  return JFL_OK;
}

static jfl_status by_socket_room(int n)
{
  if (n <= net.cap) return JFL_OK;
  jf_free(net.at);
  jf_free(net.wire);
  jf_free(net.address);
  net.cap = 0;
  net.at = jf_new((size_t)n * sizeof *net.at);
  net.wire = jf_new((size_t)n * sizeof *net.wire);
  net.address = jf_new((size_t)n * sizeof *net.address);
  if (!net.at || !net.wire || !net.address) return jf_fail(JFL_ENOMEM, "out of memory");
  net.cap = n;
  return JFL_OK;
}

static jfl_status by_socket_move_all(const jf_mail *send, int n_send, const jf_mail *receive,
                                     int n_receive)
{
  for (int i = 0; i < n_send + n_receive; i++) net.at[i] = 0;
  for (int left = 1; left;) {
    left = 0;
    net.pass++;
    JF_TRY(by_socket_pass(send, n_send, 1, net.at, net.seen_out, &left));
    JF_TRY(by_socket_pass(receive, n_receive, 0, net.at + n_send, net.seen_in, &left));
    if (left) JF_TRY(by_socket_wait());
  }
  return JFL_OK;
}

/* Whether a message is copied from memory: one whose copy takes longer than telling where it is. */
static int by_socket_is_copied(const jf_mail *m)
{
  enum { LEAST = 1 << 15 };
  return net.is_near[m->rank] && m->size >= LEAST;
}

/* What is sent in place of messages: the address of those that are copied. */
static void by_socket_wire(const jf_mail *mail, int n, jf_mail *wire, uint64_t *address)
{
  for (int i = 0; i < n; i++) {
    address[i] = (uint64_t)(uintptr_t)mail[i].data;
    wire[i] = mail[i];
    if (!by_socket_is_copied(&mail[i])) continue;
    wire[i].data = &address[i];
    wire[i].size = sizeof *address;
  }
}

static jfl_status by_socket_copy(const jf_mail *mail, int n, const uint64_t *address)
{
  for (int i = 0; i < n; i++)
    if (by_socket_is_copied(&mail[i]) &&
        !by_socket_read(mail[i].rank, address[i], mail[i].data, mail[i].size))
      return jf_world_lost(mail[i].rank);
  return JFL_OK;
}

/* A word for each message that was copied. */
static int by_socket_words(const jf_mail *mail, int n, jf_mail *wire, uint64_t *word)
{
  int words = 0;
  for (int i = 0; i < n; i++)
    if (by_socket_is_copied(&mail[i])) wire[words++] = (jf_mail){ mail[i].rank, &word[i], 1 };
  return words;
}

static jfl_status by_socket_exchange(const jf_mail *send, int n_send, const jf_mail *receive,
                                     int n_receive)
{
  JF_TRY(by_socket_room(n_send + n_receive));
  JF_TRY(by_socket_prepare(send, n_send));
  JF_TRY(by_socket_prepare(receive, n_receive));
  jf_mail *out = net.wire, *in = net.wire + n_send;
  uint64_t *from = net.address, *at = net.address + n_send;
  by_socket_wire(send, n_send, out, from);
  by_socket_wire(receive, n_receive, in, at);
  JF_TRY(by_socket_move_all(out, n_send, in, n_receive));
  JF_TRY(by_socket_copy(receive, n_receive, at));
  const int n_told = by_socket_words(send, n_send, out, from);
  const int n_tell = by_socket_words(receive, n_receive, in, at);
  return n_told + n_tell ? by_socket_move_all(in, n_tell, out, n_told) : JFL_OK;
}

const jf_transport jf_transport_by_socket = { by_socket_open, by_socket_exchange };
