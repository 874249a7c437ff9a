/* What comes from other processes where ranks meet and work: the first byte says what part of
   the world reads the rest. Nobody comes in by it, and a world that was there goes on or has an end
   that it can name. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "world/meet.h"

static const jf_wait at_once = { .until = 1e-9, .wake = -1 }, at_end = { .wake = -1 };
static const jf_key key = { 1, 2, 3 };

/* A connection on which the other side has said this, and says no more; it is given too. */
static int connection(const unsigned char *data, size_t n, int *other)
{
  int fd[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd)) abort();
  if (n && send(fd[1], data, n, MSG_NOSIGNAL) != (ssize_t)n) abort();
  shutdown(fd[1], SHUT_WR);
  *other = fd[1];
  return fd[0];
}

/* A call by one that does not know the key. */
static void called(const unsigned char *data, size_t n)
{
  static jf_door door = { .listener = -1, .most = JF_CALLERS };
  jf_caller in = { .since = jf_now() };
  int other;
  in.fd = connection(data, n, &other);
  memcpy(in.challenge.magic, "jflworld", 8);
  memcpy(door.key, key, sizeof key);
  door.caller[door.n++] = in;
  if (!jf_door_hear(&door, &at_once, &in)) fuzz_wrong("somebody came in");
  while (door.n) close(door.caller[--door.n].fd);
  close(other);
}

static void answered(const unsigned char *data, size_t n)
{
  jf_answer a;
  int other, fd = connection(data, n, &other);
  if (!jf_door_call(fd, key, (jf_call){ .from = 1 }, &at_end, &a)) fuzz_wrong("it is believed");
  close(fd);
  close(other);
}

/* A world of two, in which the other one says this on one of its connections. */
static void be_ranks(int rank)
{
  static char host[2][JF_WORLD_NAME] = { "here", "there" }, room[2 * JF_WORLD_MESSAGE];
  static jf_peer peer[2];
  jf_world *w = &jf_the_world;
  uint64_t n;
  if (!w->host) w->trouble_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (read(w->trouble_fd, &n, sizeof n) < 0) { /* there was no trouble */ }
  w->rank = rank;
  w->size = 2;
  w->forks = jf_forks();
  w->host = host;
  w->peer = peer;
  w->room = room;
  w->number = 0;
  memset(peer, 0, sizeof peer);
  peer[0].word = peer[0].life = peer[1].word = peer[1].life = -1;
  atomic_store(&w->trouble, NULL);
}

static void ended(void)
{
  const char *why = jf_world_trouble();
  if (why && !*why) fuzz_wrong("the world has ended for no reason");
}

static void agrees(int rank, const unsigned char *data, size_t n)
{
  char mine[8] = "12345678", all[2 * sizeof mine];
  int other;
  be_ranks(rank);
  jf_peer *p = &jf_the_world.peer[!rank];
  p->word = connection(data, n, &other);
  for (int i = 0; i < 3; i++) {
    const jfl_status s = jf_world_agree(mine, sizeof mine, all);
    if (!s && memcmp(all + (rank ? 8 : 0), mine, 8) && rank == 0) fuzz_wrong("it is another's");
    if (s && !jf_world_trouble() && s != JFL_ESTATE) fuzz_wrong("status %d, no trouble", (int)s);
  }
  ended();
  close(p->word);
  close(other);
}

static void watches(const unsigned char *data, size_t n)
{
  int other;
  be_ranks(0);
  jf_peer *p = &jf_the_world.peer[1];
  p->life = connection(data, n, &other);
  if (jf_watch_read(p, 1)) fuzz_wrong("it has not ended");
  ended();
  close(p->life);
  close(other);
}

void fuzz_world(const unsigned char *data, size_t n)
{
  if (!n) return;
  const unsigned what = data[0] % 5u;
  if (what == 0) called(data + 1, n - 1);
  else if (what == 1) answered(data + 1, n - 1);
  else if (what == 2) watches(data + 1, n - 1);
  else agrees(what == 3, data + 1, n - 1);
  jf_the_world.size = 1;
  jf_the_world.rank = 0;
  atomic_store(&jf_the_world.trouble, NULL);
}
