/* Ranks: processes that this test forks meet, agree, and learn that one of them has ended. */
#include <sched.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "world/meet.h"

/* ---- running ranks ---- */

typedef int (*rank_body)(int rank, int size);

static int listener, port;

static void be_rank(int rank, int size)
{
  char text[64];
  snprintf(text, sizeof text, "127.0.0.1:%d", port);
  setenv("JFL_MASTER", text, 1);
  snprintf(text, sizeof text, "%d", rank);
  setenv("JFL_RANK", text, 1);
  snprintf(text, sizeof text, "%d", size);
  setenv("JFL_RANKS", text, 1);
  snprintf(text, sizeof text, "%d", listener);
  setenv("JFL_LISTEN", text, 1);
  setenv("JFL_JOIN_SECONDS", "300", 1);
  setenv("JFL_PATIENCE", "300", 1);    /* one that only does not answer is given up after minutes */
}

static pid_t start(int rank, int size, rank_body body)
{
  fflush(stdout);
  const pid_t p = fork();
  if (p) return p;
  be_rank(rank, size);
  alarm(300);
  exit(body(rank, size));      /* which waits for the others, where all goes well */
}

static void open_door(void)
{
  port = 0;
  if (jf_socket_listen("127.0.0.1", &port, &listener)) abort();
}

static int end_of(pid_t p)
{
  int status;
  waitpid(p, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs a body on so many ranks; gives how many did not end by 0. */
static int run_ranks(int size, rank_body body)
{
  pid_t p[16];
  int bad = 0;
  open_door();
  for (int i = 0; i < size; i++) p[i] = start(i, size, body);
  close(listener);
  for (int i = 0; i < size; i++) bad += end_of(p[i]) != 0;
  return bad;
}

static int untrue(int rank, const char *what)
{
  return fprintf(stderr, "rank %d: not true: %s (%s)\n", rank, what, jfl_errmsg()), 1;
}
#define TRY(ok) do { if (!(ok)) return untrue(rank, #ok); } while (0)

/* ---- agreement ---- */

static int gather(int rank, int size)
{
  int all[16], mine = 100 + rank;
  TRY(!jf_world_join());
  TRY(jf_world_rank() == rank && jf_world_size() == size && jf_world_neighbours() == size);
  for (int n = 0; n < 200; n++) {
    mine = n % 3 ? 100 + rank : n;
    TRY(!jf_world_agree(&mine, sizeof mine, all));
    for (int i = 0; i < size; i++) TRY(all[i] == (n % 3 ? 100 + i : n));
  }
  TRY((size == 1 || *jf_world_host(size - 1)) && !*jf_world_host(size) && !jf_world_trouble());
  return 0;
}

static int keeps_to_a_core(int rank, int size)
{
  cpu_set_t all, one;
  int core = 0;
  (void)size;
  TRY(!sched_getaffinity(0, sizeof all, &all));
  while (!CPU_ISSET(core, &all)) core++;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (rank) TRY(!sched_setaffinity(0, sizeof one, &one));
  TRY(!jf_world_join());
  const int shared = CPU_COUNT(&all) == 1;
  TRY(jf_world_neighbours() == (shared ? 3 : rank ? 2 : 1));
  return 0;
}

static void ranks_that_were_given_other_cores_share_none(void)
{
  CHECK(run_ranks(3, keeps_to_a_core) == 0);
}

static void every_rank_gets_what_each_gave(void)
{
  CHECK(run_ranks(1, gather) == 0);
  CHECK(run_ranks(2, gather) == 0);
  CHECK(run_ranks(5, gather) == 0);
}

static int same_seed(int rank, int size)
{
  uint64_t mine, all[16];
  TRY(!jf_world_join());
  mine = jf_world_seed();
  TRY(!jf_world_agree(&mine, sizeof mine, all));
  for (int i = 0; i < size; i++) TRY(all[i] == mine);
  return 0;
}

static void rank_0_draws_the_seed(void) { CHECK(run_ranks(3, same_seed) == 0); }

static int unlike(int rank, int size)
{
  char text[300] = { 0 }, all[16 * 300];
  (void)size;
  TRY(!jf_world_join());
  const jfl_status s = jf_world_agree(text, rank == 1 ? 20 : 300, all);
  TRY(s == JFL_ESTATE && strstr(jfl_errmsg(), "rank 1 ("));
  TRY(!jf_world_agree(text, 300, all) && !jf_world_trouble());
  return 0;
}

static void who_gives_another_number_of_bytes_is_named(void) { CHECK(run_ranks(3, unlike) == 0); }

static int timed(int rank, int size)
{
  char mine[96] = { 0 }, all[16 * 96];
  enum { N = 2000 };
  (void)size;
  TRY(!jf_world_join());
  const double begin = jf_now();
  for (int i = 0; i < N; i++) TRY(!jf_world_agree(mine, sizeof mine, all));
  if (!rank && getenv("JFL_TIMES")) printf("agree: %.1f us\n", 1e6 * (jf_now() - begin) / N);
  fflush(stdout);
  return 0;
}

static void many_agreements_take_little_time(void) { CHECK(run_ranks(2, timed) == 0); }

/* ---- the end of a rank ---- */

/* Agrees until the world ends; gives 0 if that names this other rank, by this word. */
static int go_on(int rank, int other, const char *how)
{
  int all[16];
  char want[200];
  while (!jf_world_agree(&rank, sizeof rank, all)) usleep(1000);
  snprintf(want, sizeof want, "rank %d (%s) %s", other, jf_world_host(other), how);
  TRY(jf_world_trouble() && !strcmp(jf_world_trouble(), want) && !strcmp(jfl_errmsg(), want));
  TRY(jf_world_agree(&rank, sizeof rank, all) == JFL_EIO && !strcmp(jfl_errmsg(), want));
  return 0;
}

/* Returns when all ranks have joined: one that ends before that keeps others from joining. */
static jfl_status await_all(int rank)
{
  int all[16];
  return jf_world_agree(&rank, sizeof rank, all);
}

static int killed(int rank, int size)
{
  (void)size;
  TRY(!jf_world_join());
  if (rank != 2) return go_on(rank, 2, "has ended");
  TRY(!await_all(rank));
  usleep(30000);
  return raise(SIGKILL);
}

/* Only those that hear of nobody but the one that stops lose their patience, so it does not matter
   how slow they are: all others hear of rank 0 alone, and it of all. */
/* Has the watch give up soon, now that all have met: one that is slow to join is not lost. */
static void lose_patience(void) { jf_the_world.patience = 2; }

static int first_stops(int rank, int size)
{
  (void)size;
  TRY(!jf_world_join());
  TRY(!await_all(rank));
  if (!rank) return raise(SIGSTOP);
  lose_patience();
  return go_on(rank, 0, "does not answer");
}

static int last_stops(int rank, int size)
{
  TRY(!jf_world_join());
  TRY(!await_all(rank));
  if (rank) return raise(SIGSTOP);
  lose_patience();
  return go_on(rank, size - 1, "does not answer");
}

static int leaves(int rank, int size)
{
  (void)size;
  TRY(!jf_world_join());
  TRY(rank != 2 || !await_all(rank));
  if (rank == 2) jfl_world_leave("train.lua:3: no such file");
  return go_on(rank, 2, "has ended: train.lua:3: no such file");
}

/* Runs ranks of which that one does not come to its end by itself. */
static int run_without(int one, int size, rank_body body)
{
  pid_t p[4];
  int bad = 0;
  open_door();
  for (int i = 0; i < size; i++) p[i] = start(i, size, body);
  close(listener);
  for (int i = 0; i < size; i++)
    if (i != one) bad += end_of(p[i]) != 0;
  kill(p[one], SIGKILL);
  waitpid(p[one], NULL, 0);
  return bad;
}

static void a_killed_rank_is_named_by_all_others(void) { CHECK(run_without(2, 4, killed) == 0); }

static void a_stopped_rank_is_named_by_all_others(void)
{
  CHECK(run_without(0, 4, first_stops) == 0);
  CHECK(run_without(1, 2, last_stops) == 0);
}

static void a_rank_that_leaves_says_why(void) { CHECK(run_ranks(4, leaves) == 0); }

static int leaves_silently(int rank, int size)
{
  (void)size;
  TRY(!jf_world_join());
  TRY(rank != 2 || !await_all(rank));
  if (rank == 2) jfl_world_leave("");
  return go_on(rank, 2, "has ended");
}

static void a_rank_that_leaves_may_say_nothing(void) { CHECK(run_ranks(4, leaves_silently) == 0); }

/* A thread that names ranks as the watch does, for as long as it is to. */
static atomic_int names_ranks;

static void *name_ranks(void *none)
{
  while (atomic_load(&names_ranks)) (void)jf_world_host(jf_world_rank());
  return none;
}

static int is_left_alone(int rank, int size)
{
  pthread_t other;
  (void)size;
  TRY(!jf_world_join());
  if (!rank) return go_on(rank, 1, "has ended");
  atomic_store(&names_ranks, 1);
  TRY(!pthread_create(&other, NULL, name_ranks, NULL));
  jf_world_end("rank %d (%s) has ended", rank, jf_world_host(rank));
  jf_world_be_alone();
  atomic_store(&names_ranks, 0);
  pthread_join(other, NULL);
  TRY(!jf_world_rank() && jf_world_size() == 1);
  return 0;
}

/* ThreadSanitizer says whether the other thread reads what this one changes. */
static void who_is_left_alone_may_be_named_meanwhile(void)
{
  CHECK(run_ranks(2, is_left_alone) == 0);
}

static int first_ends(int rank, int size)
{
  (void)size;
  TRY(!jf_world_join());
  if (!rank) return await_all(rank) != JFL_OK;
  while (!await_all(rank)) {}
  TRY(!strncmp(jfl_errmsg(), "rank 0 (", 8) && strstr(jfl_errmsg(), "has ended"));
  return 0;
}

static void the_end_of_rank_0_is_noticed(void) { CHECK(run_ranks(3, first_ends) == 0); }

static int asked(void *ctx) { return --*(int *)ctx < 0; }

static int interrupted(int rank, int size)
{
  int all[16], more = 3;
  (void)size;
  TRY(!jf_world_join());
  const jfl_status here = await_all(rank);       /* rank 1 may hear of the end meanwhile */
  TRY(rank || !here);
  while (rank && !jf_world_trouble()) usleep(1000);
  const jfl_status s = rank ? jf_world_agree(&rank, sizeof rank, all)
                            : jf_world_agree_unless(&rank, sizeof rank, all, asked, &more);
  TRY(s == JFL_EIO && strstr(jfl_errmsg(), "rank 0 (") && strstr(jfl_errmsg(), "interrupted"));
  return 0;
}

static void who_stops_waiting_ends_the_world(void) { CHECK(run_ranks(2, interrupted) == 0); }

static int forks(int rank, int size)
{
  int all[16];
  (void)size;
  TRY(!jf_world_join());
  const pid_t p = fork();
  if (!p) _exit(!(jf_world_trouble() && jf_world_agree(&rank, sizeof rank, all) == JFL_EIO));
  TRY(end_of(p) == 0);
  TRY(!jf_world_agree(&rank, sizeof rank, all) && !jf_world_trouble());
  return 0;
}

static void a_forked_child_is_no_rank(void) { CHECK(run_ranks(2, forks) == 0); }

/* Its child lives on, with all that it had open. */
static int held[2];

static int ends_but_for_a_child(int rank, int size)
{
  int all[16];
  char byte;
  (void)size;
  TRY(!jf_world_join());
  if (rank && !fork()) {
    close(held[1]);
    _exit(read(held[0], &byte, 1) != 0);
  }
  if (rank) _exit(0);
  TRY(jf_world_agree(&rank, sizeof rank, all) == JFL_EIO);
  TRY(strstr(jfl_errmsg(), "rank 1 (") && strstr(jfl_errmsg(), "has ended"));
  _exit(0);
}

static void a_forked_child_does_not_hide_the_end_of_its_rank(void)
{
  CHECK(!pipe(held));
  CHECK(run_ranks(2, ends_but_for_a_child) == 0);
  close(held[0]);
  close(held[1]);
}

/* ---- meeting ---- */

static int stranger(int rank, int size)
{
  (void)size;
  setenv("JFL_SECRET", "another", 1);
  setenv("JFL_JOIN_SECONDS", "0.5", 1);
  TRY(jf_world_join() == JFL_EIO && !strstr(jfl_errmsg(), "one"));
  TRY(strstr(jfl_errmsg(), "what answers there has another JFL_SECRET") ||
      strstr(jfl_errmsg(), "no answer in time"));
  return 0;
}

static void who_does_not_know_the_secret_is_nobody(void)
{
  open_door();
  setenv("JFL_SECRET", "one", 1);
  const pid_t first = start(0, 2, gather), other = start(1, 2, stranger);
  CHECK(end_of(other) == 0);
  const pid_t second = start(1, 2, gather);
  unsetenv("JFL_SECRET");
  close(listener);
  CHECK(end_of(first) == 0 && end_of(second) == 0);
}

static int refused(int rank, int size)
{
  (void)size;
  TRY(jf_world_join() == JFL_EIO && strstr(jfl_errmsg(), "it counts another number of ranks"));
  TRY(jf_world_join() == JFL_EIO);     /* and so it stays */
  return 0;
}

static void ranks_that_count_differently_hear_of_it(void)
{
  open_door();
  const pid_t first = start(0, 2, refused), other = start(1, 3, refused);
  close(listener);
  CHECK(end_of(first) == 0 && end_of(other) == 0);
}

static int waits(int rank, int size)
{
  (void)size;
  setenv("JFL_JOIN_SECONDS", "0.3", 1);
  TRY(jf_world_join() == JFL_EIO);
  TRY(strstr(jfl_errmsg(), rank ? "rank 0 cannot be reached at 127.0.0.1" : "ranks 1, 2 of 3"));
  return 0;
}

static void who_waits_in_vain_names_who_did_not_come(void)
{
  open_door();
  const pid_t first = start(0, 3, waits);
  CHECK(end_of(first) == 0);
  close(listener);
  const pid_t other = start(1, 3, waits);
  CHECK(end_of(other) == 0);
}

/* Whether somebody has called at the door. */
static int is_called(void)
{
  static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };
  enum { ESTABLISHED = 1 };
  char line[512];
  unsigned at, state;
  int found = 0;
  for (int i = 0; i < 2; i++) {
    FILE *f = fopen(tables[i], "r");
    while (f && fgets(line, sizeof line, f)) {
      const char *const columns = " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x";
      found |= sscanf(line, columns, &at, &state) == 2 && (int)at == port && state == ESTABLISHED;
    }
    if (f) fclose(f);
  }
  return found;
}

/* A call that waited at the door before rank 0 came there counts no more once its rank has gone. */
static void a_try_that_was_given_up_is_forgotten(void)
{
  open_door();
  const pid_t early = start(1, 2, gather);
  while (!is_called()) usleep(10000);
  kill(early, SIGKILL);
  CHECK(end_of(early) == 128 + SIGKILL);
  const pid_t first = start(0, 2, gather), second = start(1, 2, gather);
  close(listener);
  CHECK(end_of(first) == 0 && end_of(second) == 0);
}

enum { ENDED_OTHERWISE = 2 };

static int doubled(int rank, int size)
{
  (void)size;
  if (rank) close(listener);
  TRY(jf_world_join() == JFL_EIO);
  if (rank && !strstr(jfl_errmsg(), "refuses rank 1: two processes have its number"))
    return ENDED_OTHERWISE;
  TRY(strstr(jfl_errmsg(), "rank 1: two processes have its number"));
  return 0;
}

/* Rank 0 fails, and one of the two is told why. The other one hears that rank 0 has ended, if it
   had met it, or would try on for minutes. */
static void two_processes_of_one_number_do_not_meet(void)
{
  open_door();
  const pid_t first = start(0, 3, doubled);
  pid_t other[] = { start(1, 3, doubled), start(1, 3, doubled) };
  int refused = 0, status;
  close(listener);
  CHECK(end_of(first) == 0);
  for (int n = 0; n < 2 && !refused; n++) {
    const pid_t ended = waitpid(-1, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 1);
    refused = status == 0;
    for (int i = 0; i < 2; i++)
      if (other[i] == ended) other[i] = 0;
  }
  CHECK(refused);
  for (int i = 0; i < 2; i++) {
    if (!other[i]) continue;
    kill(other[i], SIGKILL);
    waitpid(other[i], NULL, 0);
  }
}

static int wrong(int rank, int size)
{
  (void)size, (void)rank;
  setenv("JFL_RANKS", "two", 1);
  TRY(jf_world_join() == JFL_EINVAL && strstr(jfl_errmsg(), "JFL_RANKS must be a number"));
  return 0;
}

static void a_wrong_variable_is_named(void) { CHECK(run_ranks(1, wrong) == 0); }

/* Garbage, silence and half a greeting do not keep ranks from meeting. */
static void strangers_do_not_disturb(void)
{
  int fd[3];
  const jf_wait w = { .wake = -1 };
  open_door();
  for (int i = 0; i < 3; i++) CHECK(!jf_socket_connect("127.0.0.1", port, &w, &fd[i]));
  char junk[200];
  memset(junk, 'x', sizeof junk);
  CHECK(!jf_socket_send(fd[0], junk, sizeof junk, &w));
  CHECK(!jf_socket_send(fd[1], "jflworld", 8, &w));
  close(fd[2]);
  const pid_t first = start(0, 2, gather), second = start(1, 2, gather);
  close(listener);
  CHECK(end_of(first) == 0 && end_of(second) == 0);
  close(fd[0]);
  close(fd[1]);
}

/* Who listens at [::] alone leaves 0.0.0.0 free, where half of the callers would not come. */
static void a_port_that_another_has_on_ipv6_is_taken(void)
{
  const int one = 1, six = socket(AF_INET6, SOCK_STREAM, 0);
  struct sockaddr_in6 at = { .sin6_family = AF_INET6 };
  socklen_t size = sizeof at;
  int fd;
  setsockopt(six, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
  if (bind(six, (struct sockaddr *)&at, size) || listen(six, 1)) {
    printf("left out: no IPv6 here\n");
    close(six);
    return;
  }
  getsockname(six, (struct sockaddr *)&at, &size);
  int taken = ntohs(at.sin6_port);
  CHECK(jf_socket_listen(NULL, &taken, &fd) == JFL_ESTATE);
  close(six);
  CHECK(jf_socket_listen(NULL, &taken, &fd) == JFL_OK);
  close(fd);
}

static void a_host_knows_its_own_addresses(void)
{
  char none[300] = { 0 };
  memset(none, 'a', sizeof none - 1);          /* longer than a name may be */
  CHECK(jf_socket_is_mine("127.0.0.1") && jf_socket_is_mine("localhost"));
  CHECK(!jf_socket_is_mine("192.0.2.77") && !jf_socket_is_mine(none));
}

static void the_first_host_of_slurms_list_is_read(void)
{
  static const struct { const char *list, *first; int is_alone; } cases[] = {
    { "node7", "node7", 1 }, { "a,b", "a", 0 }, { "n[03-05,9],x", "n03", 0 },
    { "gpu-[12,14]", "gpu-12", 0 }, { "gpu-[12]", "gpu-12", 1 }, { "r[1]n[1-2]", "r1", 0 },
    { "n[1],m", "n1", 0 }, { "n[1]m", "n1", 0 }, { "n[", "n", 0 },
    { "", "", 1 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char out[JF_HOST];
    const int is_alone = jf_slurm_first(cases[i].list, out);
    CHECK_MSG(!strcmp(out, cases[i].first) && is_alone == cases[i].is_alone, "%s gives %s, %d",
              cases[i].list, out, is_alone);
  }
}

int main(void)
{
  RUN(every_rank_gets_what_each_gave);
  RUN(ranks_that_were_given_other_cores_share_none);
  RUN(rank_0_draws_the_seed);
  RUN(who_gives_another_number_of_bytes_is_named);
  RUN(many_agreements_take_little_time);
  RUN(a_killed_rank_is_named_by_all_others);
  RUN(a_stopped_rank_is_named_by_all_others);
  RUN(a_rank_that_leaves_says_why);
  RUN(a_rank_that_leaves_may_say_nothing);
  RUN(who_is_left_alone_may_be_named_meanwhile);
  RUN(the_end_of_rank_0_is_noticed);
  RUN(who_stops_waiting_ends_the_world);
  RUN(a_forked_child_is_no_rank);
  RUN(a_forked_child_does_not_hide_the_end_of_its_rank);
  RUN(who_does_not_know_the_secret_is_nobody);
  RUN(ranks_that_count_differently_hear_of_it);
  RUN(who_waits_in_vain_names_who_did_not_come);
  RUN(a_try_that_was_given_up_is_forgotten);
  RUN(two_processes_of_one_number_do_not_meet);
  RUN(a_wrong_variable_is_named);
  RUN(strangers_do_not_disturb);
  RUN(a_port_that_another_has_on_ipv6_is_taken);
  RUN(a_host_knows_its_own_addresses);
  RUN(the_first_host_of_slurms_list_is_read);
  return test_done();
}
