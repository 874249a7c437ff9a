/* Worlds among strangers, who call where ranks meet and where they get data: whatever those say or
   do not say, the ranks meet and work; and what they cannot bring about, a rank that knows the
   secret can. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "calls.h"
#include "ranks.h"
#include "test.h"
#include "world/collective.h"
#include "world/world.h"

static const char secret[] = "a word of these ranks";

static int master(void) { return atoi(strchr(getenv("JFL_MASTER"), ':') + 1); }

/* Each rank gets what each other has, by agreement and by a message. */
static int work(int rank, int size)
{
  int all[RANKS_MOST], got[RANKS_MOST], mine = 100 + rank;
  jf_mail out[RANKS_MOST], in[RANKS_MOST];
  int n = 0;
  RANK_NEEDS(!jf_world_agree(&mine, sizeof mine, all));
  for (int i = 0; i < size; i++) {
    RANK_NEEDS(all[i] == 100 + i);
    if (i == rank) continue;
    out[n] = (jf_mail){ i, &mine, sizeof mine };
    in[n++] = (jf_mail){ i, &got[i], sizeof *got };
  }
  RANK_NEEDS(!jf_world_exchange(out, n, in, n));
  for (int i = 0; i < size; i++) RANK_NEEDS(i == rank || got[i] == 100 + i);
  return 0;
}

/* ---- where ranks listen ---- */

static int is_on_this_host_alone(int rank, int size)
{
  int is_wide;
  RANK_NEEDS(!jf_world_join());
  RANK_NEEDS(calls_listener(&is_wide) && !is_wide);
  return work(rank, size);
}

/* And rank 0 where it opens the door itself, at an address of this test's own. */
static int meets_at(int rank, int size)
{
  const int n = (int)getppid();
  char text[64];
  snprintf(text, sizeof text, "127.%d.%d.%d:%d", 1 + n / 62500 % 250, 1 + n / 250 % 250,
           1 + n % 250, master());
  setenv("JFL_MASTER", text, 1);
  if (!rank) close(atoi(getenv("JFL_LISTEN")));
  unsetenv("JFL_LISTEN");
  return is_on_this_host_alone(rank, size);
}

static void where_no_host_is_named_nobody_else_can_call(void)
{
  CHECK(ranks_run(2, is_on_this_host_alone) == 0);
  CHECK(ranks_run(2, meets_at) == 0);
  CHECK(ranks_run(3, meets_at) == 0);
}

static int lacks_secret(int rank, int size)
{
  unsetenv("JFL_SECRET");
  setenv("JFL_MASTER", "192.0.2.1:9", 1);
  RANK_NEEDS(jf_world_join() == JFL_EINVAL && size == 1 + rank * 0 + 1);
  RANK_NEEDS(strstr(jfl_errmsg(), "set JFL_SECRET on all of them to the same long random word"));
  return 0;
}

static void ranks_on_several_hosts_need_a_secret(void) { CHECK(ranks_run(2, lacks_secret) == 0); }

/* ---- silence ---- */

enum { MANY = JF_CALLERS + 100 };

static int held[MANY];

static int hold(int port)
{
  for (int i = 0; i < MANY; i++)
    if ((held[i] = calls_connect(port)) < 0) return 0;
  return 1;
}

/* More callers than there is room for say nothing for ever, at the meeting and to each rank. */
static int meets_among_the_silent(int rank, int size)
{
  int is_wide, all[RANKS_MOST];
  RANK_NEEDS(rank || hold(master()));
  RANK_NEEDS(!jf_world_join());
  RANK_NEEDS(hold(calls_listener(&is_wide)));
  RANK_NEEDS(!jf_world_agree(&rank, sizeof rank, all));
  return work(rank, size);
}

static void who_says_nothing_holds_nobody_up(void)
{
  CHECK(ranks_run(2, meets_among_the_silent) == 0);
  CHECK(ranks_run(3, meets_among_the_silent) == 0);
}

/* With fewer descriptors than strangers, whose own are above that limit. */
static int meets_with_few_files(int rank, int size)
{
  const struct rlimit few = { 24, 24 };
  for (int i = 0; !rank && i < 40; i++) {
    const int fd = calls_connect(master());
    RANK_NEEDS(fd >= 0 && fcntl(fd, F_DUPFD, 100) >= 100);
    close(fd);
  }
  RANK_NEEDS(!setrlimit(RLIMIT_NOFILE, &few));
  RANK_NEEDS(!jf_world_join());
  return work(rank, size);
}

static void few_descriptors_are_enough(void) { CHECK(ranks_run(2, meets_with_few_files) == 0); }

/* ---- noise ---- */

static uint64_t random_state;

/* Xorshift (Marsaglia, "Xorshift RNGs", 2003). */
static unsigned below(unsigned n)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)(random_state >> 11) % n;
}

/* What the first version said: another secret and another number of ranks. */
static void say_as_of_old(int fd)
{
  const struct { char magic[8]; int32_t version, rank, size, channel; uint64_t secret; } hello =
    { "jflworl", 1, 1, 77, 0, 5 };
  char text[sizeof hello];
  memcpy(text, &hello, sizeof hello);
  text[7] = 'd';
  calls_send(fd, text, sizeof text);
}

/* A call that is right but for the secret, or for some bytes, or its end. */
static void say_almost(int fd)
{
  jf_challenge c = { .version = JF_DOOR_VERSION };
  jf_key key;
  jf_call call = calls_new((int)below(4), (int)below(4), (int)below(4));
  calls_key("another word", key);
  if (below(2)) calls_receive(fd, &c, sizeof c);
  calls_sign(key, &c, &call);
  for (unsigned i = below(4); i--;)
    ((unsigned char *)&call)[below(sizeof call)] = (unsigned char)below(256);
  calls_send(fd, &call, below(3) ? sizeof call : below(sizeof call));
}

static void say_much(int fd)
{
  static char junk[1 << 20];
  for (size_t i = 0; i < sizeof junk; i++) junk[i] = (char)below(256);
  const size_t n = below(8) ? below(300) : sizeof junk;
  if (below(2)) memcpy(junk, "jflworld", 8);
  for (ssize_t at = 0, some; at < (ssize_t)n; at += some)
    if ((some = send(fd, junk + at, n - (size_t)at, MSG_NOSIGNAL | MSG_DONTWAIT)) <= 0) return;
}

/* Closes so that the other side's connection breaks. */
static void break_off(int fd)
{
  const struct linger at_once = { 1, 0 };
  if (below(2)) setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(fd);
}

typedef struct crowd { pid_t pid; volatile int *calls; } crowd;

/* A process that calls a port over and over, keeps some calls open, and says a byte there now and
   then. */
static crowd crowd_start(int port, int seed)
{
  enum { OPEN = 40 };
  int fd[OPEN], n = 0;
  crowd c = { 0, mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0) };
  if (c.calls == MAP_FAILED || (c.pid = fork()) < 0) abort();
  if (c.pid) return c;
  random_state = (uint64_t)seed * 0x9e3779b97f4a7c15u + 1;
  for (;;) {
    if (n == OPEN) break_off(fd[n = (int)below(OPEN)]), fd[n] = fd[OPEN - 1], n = OPEN - 1;
    if ((fd[n] = calls_connect(port)) < 0) _exit(0);   /* nobody listens any more */
    const struct timeval soon = { 0, 2000 };
    setsockopt(fd[n], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    switch (below(5)) {
    case 0: break;
    case 1: say_as_of_old(fd[n]); break;
    case 2: say_much(fd[n]); break;
    default: say_almost(fd[n]);
    }
    n++;
    calls_send(fd[below((unsigned)n)], "j", 1);
    ++*c.calls;
  }
}

static void crowd_await(const crowd *c, int calls)
{
  while (*c->calls < calls && !waitpid(c->pid, NULL, WNOHANG)) usleep(1000);
}

static void crowd_end(crowd *c)
{
  kill(c->pid, SIGKILL);
  waitpid(c->pid, NULL, 0);
  munmap((void *)c->calls, sizeof(int));
}

static int meets_in_a_crowd(int rank, int size)
{
  int is_wide, all[RANKS_MOST];
  crowd at_door = { 0, NULL };
  if (!rank) at_door = crowd_start(master(), size);
  if (!rank) crowd_await(&at_door, 300);
  RANK_NEEDS(!jf_world_join());
  crowd at_rank = crowd_start(calls_listener(&is_wide), 10 * size + rank);
  crowd_await(&at_rank, 300);
  RANK_NEEDS(!jf_world_agree(&rank, sizeof rank, all));
  for (int i = 0; i < 50; i++)
    if (work(rank, size)) return 1;
  crowd_end(&at_rank);
  if (!rank) crowd_end(&at_door);
  return 0;
}

static void whatever_strangers_say_the_ranks_work(void)
{
  CHECK(ranks_run(2, meets_in_a_crowd) == 0);
  CHECK(ranks_run(3, meets_in_a_crowd) == 0);
}

/* ---- who knows the secret ---- */

/* Says a call by hand; gives the connection, and what was answered. */
static int call_rank_0(jf_call call, jf_answer *a)
{
  jf_challenge c;
  jf_key key;
  calls_key(secret, key);
  const int fd = calls_connect(master());
  if (fd < 0 || calls_receive(fd, &c, sizeof c) != sizeof c) abort();
  calls_sign(key, &c, &call);
  if (!calls_send(fd, &call, sizeof call)) abort();
  if (calls_receive(fd, a, sizeof *a) != sizeof *a) abort();
  return fd;
}

static volatile int *was_gone;

/* Rank 1 meets rank 0, says something, and is gone; then it comes again, and the last one only
   then. */
static int comes_again(int rank, int size)
{
  while (rank == size - 1 && !*was_gone) usleep(1000);
  if (rank == 1) {
    jf_answer a;
    int fd[2];
    for (int channel = 0; channel < 2; channel++) {
      fd[channel] = call_rank_0(calls_new(channel, 1, size), &a);
      RANK_NEEDS(a.is_welcome && calls_send(fd[channel], "gone soon", 9));
    }
    for (int channel = 0; channel < 2; channel++) break_off(fd[channel]);
    *was_gone = 1;
  }
  RANK_NEEDS(!jf_world_join());
  return work(rank, size);
}

static void a_rank_that_was_gone_may_come_again(void)
{
  was_gone = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(was_gone != MAP_FAILED && ranks_run(3, comes_again) == 0);
  munmap((void *)was_gone, sizeof(int));
}

/* Rank 0 says what is wrong to the one that is, and to its own user. */
static const char *wrong_is;
static jf_call (*wrong)(int size);

static int meets_a_wrong_one(int rank, int size)
{
  jf_answer a;
  if (!rank) {
    RANK_NEEDS(jf_world_join() == JFL_EIO && strstr(jfl_errmsg(), wrong_is));
    return 0;
  }
  close(call_rank_0(wrong(size), &a));
  a.why[sizeof a.why - 1] = '\0';
  RANK_NEEDS(!a.is_welcome && strstr(a.why, wrong_is));
  return 0;
}

static jf_call newer(int size)
{
  jf_call c = calls_new(JF_WORD, 1, size);
  c.version++;
  memset(c.program, '7', sizeof c.program);
  return c;
}
static jf_call other_program(int size)
{
  jf_call c = calls_new(JF_WORD, 1, size);
  snprintf(c.program, sizeof c.program, "0.9.9");
  return c;
}
static jf_call other_size(int size) { return calls_new(JF_WORD, 1, size + 1); }
static jf_call other_rank(int size) { return calls_new(JF_WORD, size, size); }
static jf_call negative_rank(int size) { return calls_new(JF_WORD, -1, size); }
static jf_call other_channel(int size) { return calls_new(JF_DATA, 1, size); }

static void a_rank_that_does_not_fit_hears_why(void)
{
  static const struct { jf_call (*say)(int size); const char *why; } cases[] = {
    { newer, "it is of version 7777777777777777777 of jfl, rank 0 of " JFL_VERSION },
    { other_program, "it is of version 0.9.9 of jfl, rank 0 of " JFL_VERSION },
    { other_size, "it counts another number of ranks: 3, rank 0 counts 2" },
    { other_rank, "its number is not that of a rank" },
    { negative_rank, "its number is not that of a rank" },
    { other_channel, "its number is not that of a rank" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wrong = cases[i].say;
    wrong_is = cases[i].why;
    CHECK_MSG(ranks_run(2, meets_a_wrong_one) == 0, "%s", wrong_is);
  }
}

/* Somebody answers in the place of rank 0, and welcomes everyone, until rank 0 comes. */
static int meets_an_impostor(int rank, int size)
{
  const int listener = atoi(getenv("JFL_LISTEN"));
  if (!rank) {
    fcntl(listener, F_SETFL, 0);
    for (int i = 0; i < 3; i++) {
      jf_challenge c = { .version = JF_DOOR_VERSION };
      jf_call call;
      jf_answer a = { .is_welcome = 1 };
      memcpy(c.magic, "jflworld", 8);
      memcpy(a.magic, "jflworld", 8);
      const int fd = accept(listener, NULL, NULL);
      RANK_NEEDS(fd >= 0 && calls_send(fd, &c, sizeof c));
      RANK_NEEDS(calls_receive(fd, &call, sizeof call) == sizeof call);
      RANK_NEEDS(!memmem(&call, sizeof call, secret, 8));
      memcpy(a.proof, call.proof, sizeof a.proof);
      if (i) calls_send(fd, &a, i == 1 ? sizeof a : 17);
      close(fd);
    }
  }
  RANK_NEEDS(!jf_world_join());
  return work(rank, size);
}

static void who_answers_for_rank_0_must_know_the_secret(void)
{
  CHECK(ranks_run(2, meets_an_impostor) == 0);
}

/* Rank 0 welcomes the first connection of rank 1 and ends; another one comes in its place. */
static int meets_two(int rank, int size)
{
  const int listener = atoi(getenv("JFL_LISTEN"));
  if (!rank) {
    jf_challenge c = { .version = JF_DOOR_VERSION };
    jf_call call;
    jf_answer a = { .is_welcome = 1 };
    jf_key key;
    calls_key(secret, key);
    memcpy(c.magic, "jflworld", 8);
    fcntl(listener, F_SETFL, 0);
    const int fd = accept(listener, NULL, NULL);
    RANK_NEEDS(fd >= 0 && calls_send(fd, &c, sizeof c));
    RANK_NEEDS(calls_receive(fd, &call, sizeof call) == sizeof call && call.channel == JF_WORD);
    calls_sign_answer(key, &c, &call, "jfl answer", &a);
    RANK_NEEDS(calls_send(fd, &a, sizeof a));
    close(fd);
  }
  RANK_NEEDS(!jf_world_join());
  return work(rank, size);
}

static void both_connections_are_with_one_rank_0(void) { CHECK(ranks_run(2, meets_two) == 0); }

/* ---- two worlds ---- */

/* A rank of another world at the port of one that waits: it does not come to be. */
static int finds_no_world(int rank)
{
  setenv("JFL_SECRET", "a word of others", 1);
  if (rank == 2) close(atoi(getenv("JFL_LISTEN")));
  unsetenv("JFL_LISTEN");
  setenv("JFL_JOIN_SECONDS", "0.5", 1);
  RANK_NEEDS(jf_world_join() == (rank == 3 ? JFL_EIO : JFL_ESTATE));
  RANK_NEEDS(rank == 3 || (strstr(jfl_errmsg(), "cannot listen at port") &&
                           strstr(jfl_errmsg(), "other ranks may be meeting there")));
  return 0;
}

static int ended[2];                   /* a pipe: a byte for each rank of the other world */

/* Ranks 0 and 1 are a world, and 2 and 3 would be another one at the same port. Rank 0 waits there
   for rank 1, which comes when the others have ended. */
static int shares_a_port(int rank, int size)
{
  char text[16];
  (void)size;
  snprintf(text, sizeof text, "%d", rank % 2);
  setenv("JFL_RANK", text, 1);
  setenv("JFL_RANKS", "2", 1);
  if (rank >= 2) {
    const int r = finds_no_world(rank);
    RANK_NEEDS(write(ended[1], "", 1) == 1);
    return r;
  }
  for (int i = 0; rank && i < 2; i++) RANK_NEEDS(read(ended[0], text, 1) == 1);
  RANK_NEEDS(!jf_world_join());
  return work(rank, 2);
}

static void two_worlds_at_one_port_do_not_mix(void)
{
  CHECK(!pipe(ended));
  CHECK(ranks_run(4, shares_a_port) == 0);
  close(ended[0]);
  close(ended[1]);
}

int main(void)
{
  setenv("JFL_SECRET", secret, 1);
  setenv("JFL_JOIN_SECONDS", "300", 1);
  RUN(where_no_host_is_named_nobody_else_can_call);
  RUN(ranks_on_several_hosts_need_a_secret);
  RUN(who_says_nothing_holds_nobody_up);
  RUN(few_descriptors_are_enough);
  RUN(whatever_strangers_say_the_ranks_work);
  RUN(a_rank_that_was_gone_may_come_again);
  RUN(a_rank_that_does_not_fit_hears_why);
  RUN(who_answers_for_rank_0_must_know_the_secret);
  RUN(both_connections_are_with_one_rank_0);
  RUN(two_worlds_at_one_port_do_not_mix);
  return test_done();
}
