/* How ranks meet: all others connect to rank 0, twice, and say who they are. */
#include "world/meet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { VERSION = 1, WORD = 0, LIFE = 1 };
static const char MAGIC[8] = "jflworld";

/* What a rank says first on each connection, and what rank 0 answers. Both are of fixed size, and
   nothing in them is used before it is checked. */
typedef struct meet_hello {
  char magic[8];
  int32_t version, rank, size, channel;
  uint64_t secret;
} meet_hello;
typedef struct meet_answer {
  char magic[8];
  int32_t is_welcome;
  char why[124];
} meet_answer;

static void meet_close(int *fd)
{
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* ---- rank 0 ---- */

/* How long a connection may take to say who it is. */
static const double manners = 2;

static int *meet_channel(jf_peer *p, int channel) { return channel == WORD ? &p->word : &p->life; }

/* Whether there is no connection, or one that its rank has given up, which is forgotten. A rank
   tries again and again where rank 0 has a socket that listens long before it comes here; then all
   its tries are found, the oldest first. */
static int meet_is_free(int *fd)
{
  char c;
  if (*fd < 0) return 1;
  const ssize_t n = recv(*fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))) return 0;
  meet_close(fd);
  return 1;
}

/* Why a connection is refused, or NULL; *fatal: it is no stranger's, so the ranks cannot meet. */
static const char *meet_objection(const jf_meeting *m, const meet_hello *h, jf_peer *peer,
                                  int *fatal)
{
  *fatal = 0;
  if (memcmp(h->magic, MAGIC, sizeof MAGIC)) return "this is no rank";
  if (h->secret != m->secret && h->size == m->size)
    return "it has another JFL_SECRET, or is of another run";
  *fatal = h->secret == m->secret || h->size != m->size;
  if (h->version != VERSION) return "it is of another version of jfl";
  if (h->size != m->size) return "it counts another number of ranks";
  if (h->rank < 1 || h->rank >= m->size || h->channel < WORD || h->channel > LIFE)
    return "its number is not that of a rank";
  if (!meet_is_free(meet_channel(&peer[h->rank], h->channel)))
    return "two processes have its number";
  return NULL;
}

static jfl_status meet_greet(const jf_meeting *m, int fd, jf_peer *peer)
{
  meet_hello h;
  meet_answer a = { .is_welcome = 1 };
  const jf_wait w = { .until = jf_now() + manners, .wake = -1 };
  int fatal = 0;
  memcpy(a.magic, MAGIC, sizeof MAGIC);
  if (jf_socket_receive(fd, &h, sizeof h, &w)) return close(fd), JFL_OK;
  const char *why = meet_objection(m, &h, peer, &fatal);
  if (why) {
    a.is_welcome = 0;
    snprintf(a.why, sizeof a.why, "%s", why);
  }
  const jfl_status sent = jf_socket_send(fd, &a, sizeof a, &w);
  if (why || sent) {
    close(fd);
    return fatal ? jf_fail(JFL_EIO, "rank %d: %s", (int)h.rank, why) : JFL_OK;
  }
  *meet_channel(&peer[h.rank], h.channel) = fd;
  return JFL_OK;
}

/* Whether a rank has come, on both connections. */
static int meet_came(const jf_peer *p) { return p->word >= 0 && p->life >= 0; }

static int meet_all_came(const jf_meeting *m, const jf_peer *peer)
{
  int i = 1;
  while (i < m->size && meet_came(&peer[i])) i++;
  return i == m->size;
}

/* Names the ranks that are not there: "rank 1, 3 and 5 more". */
static jfl_status meet_lacks(const jf_meeting *m, const jf_peer *peer)
{
  jf_text t = { 0 };
  int n = 0;
  for (int i = 1; i < m->size; i++) {
    if (meet_came(&peer[i])) continue;
    if (++n <= 8) jf_text_add(&t, "%s%d", n > 1 ? ", " : "", i);
  }
  if (n > 8) jf_text_add(&t, " and %d more", n - 8);
  const jfl_status s = jf_fail(JFL_EIO, "rank%s %s of %d did not come to rank 0 at port %d in time",
                               n > 1 ? "s" : "", t.failed ? "?" : t.s, m->size, m->port);
  jf_free(t.s);
  return s;
}

static jfl_status meet_all(const jf_meeting *m, jf_peer *peer)
{
  const jf_wait w = { .until = m->until, .wake = -1 };
  while (!meet_all_came(m, peer)) {
    int fd;
    const jfl_status s = jf_socket_accept(m->listener, &w, &fd);
    if (s == JFL_ESTATE) return meet_lacks(m, peer);
    JF_TRY(s);
    if (fd >= 0) JF_TRY(meet_greet(m, fd, peer));
  }
  return JFL_OK;
}

static jfl_status meet_as_first(jf_meeting *m, jf_peer *peer)
{
  if (m->listener < 0) {
    JF_TRY(jf_socket_listen(&m->port, &m->listener));
  } else {
    fcntl(m->listener, F_SETFD, FD_CLOEXEC);
    fcntl(m->listener, F_SETFL, O_NONBLOCK);
  }
  const jfl_status s = meet_all(m, peer);
  meet_close(&m->listener);
  return s;
}

/* ---- the other ranks ---- */

/* Says who this is; *final where rank 0 refuses it. Where rank 0 has one address alone, what takes
   the call there is rank 0, however late it comes. */
static jfl_status meet_say(const jf_meeting *m, int fd, int channel, int *final)
{
  meet_answer a;
  const jf_wait w = { .until = m->n_address > 1 ? jf_now() + 2 * manners : m->until, .wake = -1 };
  meet_hello h = { .version = VERSION, .rank = m->rank, .size = m->size, .channel = channel,
                   .secret = m->secret };
  memcpy(h.magic, MAGIC, sizeof MAGIC);
  JF_TRY(jf_socket_send(fd, &h, sizeof h, &w));
  JF_TRY(jf_socket_receive(fd, &a, sizeof a, &w));
  if (memcmp(a.magic, MAGIC, sizeof MAGIC)) return jf_fail(JFL_EIO, "it is no rank");
  a.why[sizeof a.why - 1] = '\0';
  *final = !a.is_welcome;
  return a.is_welcome ? JFL_OK : jf_fail(JFL_EIO, "rank 0 refuses rank %d: %s", m->rank, a.why);
}

static jfl_status meet_at(const jf_meeting *m, int i, int channel, int *fd, int *final)
{
  const double soon = jf_now() + manners;
  const jf_wait w = { .until = soon < m->until ? soon : m->until, .wake = -1 };
  JF_TRY(jf_socket_connect(m->address[i], m->port, &w, fd));
  const jfl_status s = meet_say(m, *fd, channel, final);
  if (s) meet_close(fd);
  return s;
}

/* Tries the addresses in turn until one answers, first the one that answered last. */
static jfl_status meet_first(const jf_meeting *m, int channel, int *at, int *fd)
{
  int final = 0;
  for (;; *at = (*at + 1) % m->n_address) {
    const jfl_status s = meet_at(m, *at, channel, fd, &final);
    if (!s || final) return s;
    if (jf_now() >= m->until)
      return jf_blame(s, "rank 0 cannot be reached at %s, port %d: ", m->address[*at], m->port);
    nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000 * 1000 }, NULL);
  }
}

jfl_status jf_meeting_hold(jf_meeting *m, jf_peer *peer)
{
  int at = 0;
  if (!m->rank) return meet_as_first(m, peer);
  JF_TRY(meet_first(m, WORD, &at, &peer[0].word));
  return meet_first(m, LIFE, &at, &peer[0].life);
}
