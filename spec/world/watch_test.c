/* The watch over the ranks, on a clock of its own: how often a rank says that it lives, how soon
   one that does not is noticed, or that all live and none makes headway, and what is read of what
   others say, in whatever pieces.

   Time passes only where the watch waits, in tenths of a second, and between them this test says
   what the other ranks say. So nothing here depends on how busy the machine is. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ranks.h"
#include "test.h"
#include "world/meet.h"

/* ---- the clock ---- */

static const double tick = 0.1;
static double now = 1000, processor;   /* seconds, and those of the processor that were used */
static int is_virtual;
/* What others do at a moment, or NULL. */
static void (*act)(double at);

static void pass_time(double seconds)
{
  for (double left = seconds; left > 1e-6; left -= tick) {
    now += left < tick ? left : tick;
    if (act) act(now);
  }
}

static int ready(struct pollfd *p, nfds_t n)
{
  const struct timespec none = { 0 };
  return (int)syscall(SYS_ppoll, p, n, &none, NULL, 0);
}

/* These take the place of the C library's for all that is linked into this test. */
int poll(struct pollfd *p, nfds_t n, int milliseconds)
{
  if (!is_virtual) {
    const struct timespec t = { milliseconds / 1000, milliseconds % 1000 * 1000000L };
    return (int)syscall(SYS_ppoll, p, n, milliseconds < 0 ? NULL : &t, NULL, 0);
  }
  for (int left = milliseconds; ; left -= (int)(1e3 * tick)) {
    const int came = ready(p, n);
    if (came || left <= 0) return came;
    pass_time(tick);
  }
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
  const int is_known = clock == CLOCK_MONOTONIC || clock == CLOCK_PROCESS_CPUTIME_ID;
  if (!is_virtual || !is_known) return (int)syscall(SYS_clock_gettime, clock, t);
  const double at = clock == CLOCK_MONOTONIC ? now : processor;
  t->tv_sec = (time_t)at;
  t->tv_nsec = (long)(1e9 * (at - (double)t->tv_sec));
  return 0;
}

int nanosleep(const struct timespec *t, struct timespec *rest)
{
  if (!is_virtual) return (int)syscall(SYS_nanosleep, t, rest);
  pass_time((double)t->tv_sec + 1e-9 * (double)t->tv_nsec);
  return 0;
}

/* ---- a world whose other ranks this test plays ---- */

enum { RANKS = 3, MOST_BEATS = 10000 };
static jf_world *const world = &jf_the_world;
static int other[RANKS];               /* the far ends of their connections, or -1 */
static double beat_at[RANKS][MOST_BEATS];        /* when they heard a beat */
static int n_beat[RANKS];
static char told[RANKS][256];          /* what they were told of the world's end */
static double silent[RANKS];           /* from when on they say nothing */

static void make_world(double patience)
{
  static char host[RANKS][JF_WORLD_NAME] = { "here", "one", "two" };
  static jf_peer peer[RANKS];
  world->rank = 0;
  world->size = RANKS;
  world->forks = jf_forks();
  world->host = host;
  world->peer = peer;
  world->patience = patience;
  world->trouble_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  peer[0].life = other[0] = -1;
  for (int i = 1; i < RANKS; i++) {
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd)) abort();
    peer[i].life = fd[0];
    other[i] = fd[1];
    silent[i] = 1e9;
  }
  is_virtual = 1;
}

static void say(int rank, const void *bytes, size_t n)
{
  if (send(other[rank], bytes, n, MSG_NOSIGNAL) != (ssize_t)n) abort();
}

static void say_beat(int rank) { say(rank, "\0\0", 2); }

static size_t frame_of(const char *text, char *out)
{
  const size_t n = strlen(text);
  out[0] = 1;
  out[1] = (char)n;
  memcpy(out + 2, text, n);
  return n + 2;
}

static void hang_up(int rank)
{
  close(other[rank]);
  other[rank] = -1;
}

/* Takes what the watch has sent. */
static void listen_to_watch(int rank, double at)
{
  unsigned char head[2];
  while (other[rank] >= 0 && recv(other[rank], head, 2, 0) == 2) {
    if (head[0] == 0 && head[1] == 0 && n_beat[rank] < MOST_BEATS)
      beat_at[rank][n_beat[rank]++] = at;
    else if (recv(other[rank], told[rank], head[1], 0) != head[1])
      abort();
  }
}

/* Each of the others says that it lives twice a second, until it falls silent. */
static void live(double at)
{
  const long n = (long)((at + tick / 2) / tick);
  for (int i = 1; i < RANKS; i++) {
    listen_to_watch(i, at);
    if (n % 5 == i && at < silent[i] && other[i] >= 0) say_beat(i);
  }
}

/* Watches until there is trouble. */
static const char *watch(void)
{
  struct pollfd p = { .fd = world->trouble_fd, .events = POLLIN };
  if (jf_watch_start(world)) abort();
  while (!jf_world_trouble())
    if (syscall(SYS_ppoll, &p, 1, NULL, NULL, 0) < 0 && errno != EINTR) abort();
  for (int i = 1; i < RANKS; i++) listen_to_watch(i, now);
  return jf_world_trouble();
}

/* Runs a scene in a process of its own, as there is one world in each. */
static int scene(int (*play)(void))
{
  fflush(stdout);
  const pid_t child = fork();
  if (!child) {
    alarm(RANKS_SECONDS);
    _exit(play());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int untrue(int line, const char *what)
{
  return fprintf(stderr, "watch_test.c:%d: not true at %.1f: %s (%s)\n", line, now, what,
                 jf_world_trouble() ? jf_world_trouble() : "no trouble"), 1;
}
#define SCENE_NEEDS(ok) do { if (!(ok)) return untrue(__LINE__, #ok); } while (0)

/* ---- scenes ---- */

static void live_for_a_while(double at)
{
  live(at);
  if (other[2] >= 0 && at > 1999.95) hang_up(2);
}

static int beats(void)
{
  make_world(6);
  act = live_for_a_while;
  SCENE_NEEDS(!strcmp(watch(), "rank 2 (two) has ended"));
  for (int rank = 1; rank < RANKS; rank++) {
    SCENE_NEEDS(n_beat[rank] > 1600 && beat_at[rank][0] < 1001);
    for (int i = 1; i < n_beat[rank]; i++) {
      const double gap = beat_at[rank][i] - beat_at[rank][i - 1];
      SCENE_NEEDS(gap > 0.45 && gap < 0.75);
    }
  }
  SCENE_NEEDS(now < 2000 + tick && !strcmp(told[1], "rank 2 (two) has ended"));
  return 0;
}

static void beats_come_twice_a_second_while_all_live(void) { CHECK(scene(beats) == 0); }

static double patience;

static int silence(void)
{
  make_world(patience);
  silent[2] = 1020;
  act = live;
  SCENE_NEEDS(!strcmp(watch(), "rank 2 (two) does not answer"));
  SCENE_NEEDS(now > 1019.3 + patience && now < 1020.7 + patience);
  SCENE_NEEDS(!strcmp(told[1], "rank 2 (two) does not answer"));
  return 0;
}

static void a_silent_rank_is_given_up_after_the_patience_and_no_later(void)
{
  const double some[] = { 1, 2, 6, 300 };
  for (int i = 0; i < 4; i++) {
    patience = some[i];
    CHECK_MSG(scene(silence) == 0, "patience %g", patience);
  }
}

static void end_soon(double at)
{
  live(at);
  if (other[1] >= 0 && at > 1007.25) hang_up(1);
}

static int end(void)
{
  make_world(300);
  act = end_soon;
  SCENE_NEEDS(!strcmp(watch(), "rank 1 (one) has ended"));
  SCENE_NEEDS(now > 1007.2 && now < 1007.45);
  return 0;
}

static void a_rank_that_ended_is_noticed_at_once(void) { CHECK(scene(end) == 0); }

/* This process does not run for a minute; then rank 1 goes on, and rank 2 does not. */
static void pause_once(double at)
{
  static int paused;
  if (at > 1030 && !paused++) {
    now += 60;
    silent[2] = now;
    return;
  }
  live(at);
}

static int own_pause(void)
{
  make_world(6);
  act = pause_once;
  SCENE_NEEDS(!strcmp(watch(), "rank 2 (two) does not answer"));
  SCENE_NEEDS(now > 1095.9 && now < 1097.5);
  return 0;
}

static void a_pause_of_its_own_excuses_the_others(void) { CHECK(scene(own_pause) == 0); }

/* ---- ranks that live and make no headway ---- */

/* What rank 1 and rank 2 say of themselves, and since when they make no headway. */
static jf_card card[RANKS];
static double still_since[RANKS];

static void live_still(double at)
{
  live(at);
  const long n = (long)((at + tick / 2) / tick);
  for (int i = 1; i < RANKS && n % 5 == 0; i++) {
    unsigned char frame[2 + sizeof card[i]] = { 0, sizeof card[i] };
    if (other[i] < 0) continue;
    card[i].rounds = at > still_since[i] ? (int32_t)((at - still_since[i]) / JF_ROUND) : 0;
    memcpy(frame + 2, &card[i], sizeof card[i]);
    say(i, frame, sizeof frame);
  }
  if (at > 5000 && other[1] >= 0) hang_up(1);     /* long after it should have ended */
}

/* Rank 0 waits for rank 2, in a world whose ranks make no headway from 1100 on. */
static void stand_still(int one, int two)
{
  make_world(6);
  world->stall = 600;
  jf_world_does("make run 5 of job 'train'");
  atomic_store(&world->waits, 1);
  atomic_store(&world->awaited, 2);
  card[1] = (jf_card){ .at = one, .awaited = 2, .what = "make run 5 of job 'train'" };
  card[2] = (jf_card){ .at = two, .awaited = 1, .what = "save checkpoint 'x'" };
  still_since[1] = still_since[2] = 1100;
  act = live_still;
}

static int hangs_in_a_run(void)
{
  stand_still(JF_WAITS, JF_RUNS);
  SCENE_NEEDS(!strcmp(watch(), "rank 2 (two) does nothing for 600 s, where it is to "
                               "save checkpoint 'x'"));
  SCENE_NEEDS(now > 1699 && now < 1702 && !strcmp(told[1], world->text));
  return 0;
}

static int waits_in_a_circle(void)
{
  stand_still(JF_WAITS, JF_WAITS);
  SCENE_NEEDS(!strcmp(watch(), "for 600 s nothing came or went: rank 0 (here) waits for rank 2 to "
                               "make run 5 of job 'train', rank 2 (two) for rank 1 to "
                               "save checkpoint 'x'"));
  SCENE_NEEDS(now > 1699 && now < 1702);
  return 0;
}

static int hangs_elsewhere(void)
{
  stand_still(JF_ELSEWHERE, JF_WAITS);
  world->stalls_elsewhere = 1;
  SCENE_NEEDS(!strcmp(watch(), "rank 1 (one) does nothing for 600 s, while rank 0 (here) waits to "
                               "make run 5 of job 'train'; what it last did with others was to "
                               "make run 5 of job 'train'"));
  SCENE_NEEDS(now > 1699 && now < 1702);
  return 0;
}

/* A server's rank may wait for requests over night. */
static int waits_for_a_user(void)
{
  stand_still(JF_ELSEWHERE, JF_WAITS);
  SCENE_NEEDS(!strcmp(watch(), "rank 1 (one) has ended") && now > 5000);
  return 0;
}

static int computes_for_long(void)
{
  stand_still(JF_WAITS, JF_RUNS);
  world->stalls_elsewhere = 1;
  still_since[2] = 1e9;
  SCENE_NEEDS(!strcmp(watch(), "rank 1 (one) has ended") && now > 5000);
  return 0;
}

/* Nobody waits for anybody. */
static int all_are_elsewhere(void)
{
  stand_still(JF_ELSEWHERE, JF_ELSEWHERE);
  atomic_store(&world->waits, 0);
  world->stalls_elsewhere = 1;
  SCENE_NEEDS(!strcmp(watch(), "rank 1 (one) has ended") && now > 5000);
  return 0;
}

static void a_world_that_makes_no_headway_ends_and_names_who_hangs(void)
{
  CHECK(scene(hangs_in_a_run) == 0);
  CHECK(scene(waits_in_a_circle) == 0);
  CHECK(scene(hangs_elsewhere) == 0);
}

static void a_world_in_which_one_computes_or_may_wait_for_a_user_goes_on(void)
{
  CHECK(scene(waits_for_a_user) == 0);
  CHECK(scene(computes_for_long) == 0);
  CHECK(scene(all_are_elsewhere) == 0);
}

/* Looks once a round for so many rounds, in each of which the process uses a share of a processor;
   gives in how many it has made no headway. */
static int32_t look(jf_stall *s, int rounds, double share)
{
  static int64_t round;
  for (int i = 0; i < rounds; i++) {
    processor += share * JF_ROUND;
    jf_stall_look(world, ++round, s);
  }
  return s->card.rounds;
}

static int headway(void)
{
  jf_stall s = { .cpu = 0 };
  make_world(6);
  SCENE_NEEDS(look(&s, 100, 0.001) == 100 && s.card.at == JF_ELSEWHERE);
  SCENE_NEEDS(look(&s, 100, 0.02) == 0);                       /* it computes */
  jf_world_run_begins();
  SCENE_NEEDS(look(&s, 1, 0) == 0 && s.card.at == JF_RUNS);
  SCENE_NEEDS(look(&s, 50, 0.001) == 50 && look(&s, 50, 0.02) == 0);
  atomic_fetch_add(&world->waits, 1);
  SCENE_NEEDS(look(&s, 1, 0) == 0 && s.card.at == JF_WAITS);
  SCENE_NEEDS(look(&s, 50, 1) == 50);                          /* another thread does */
  atomic_fetch_add(&world->moved, 1);
  SCENE_NEEDS(look(&s, 1, 0) == 0 && look(&s, 7, 1) == 7);
  atomic_fetch_sub(&world->waits, 1);
  jf_world_run_ends();
  SCENE_NEEDS(look(&s, 1, 0) == 0 && s.card.at == JF_ELSEWHERE);
  return 0;
}

static void a_rank_makes_headway_where_it_computes_or_something_comes(void)
{
  CHECK(scene(headway) == 0);
}

/* ---- the thread ---- */

static int told_of_end[2];
static int n_begun;

static void begins(void *ud, const char *what) { (void)ud; n_begun += !strcmp(what, "watch"); }

static void ends(void *ud, const char *what)
{
  (void)ud;
  if (!strcmp(what, "watch") && write(told_of_end[1], "", 1) != 1) abort();
}

static int ends_with_the_world(void)
{
  const jfl_thread_hooks hooks = { .start = begins, .stop = ends };
  char byte;
  sigset_t before, after;
  make_world(6);
  SCENE_NEEDS(!pipe(told_of_end) && !jfl_set_thread_hooks(&hooks));
  sigemptyset(&before);
  sigaddset(&before, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  act = end_soon;
  SCENE_NEEDS(!strcmp(watch(), "rank 1 (one) has ended"));
  SCENE_NEEDS(read(told_of_end[0], &byte, 1) == 1 && n_begun == 1);
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  for (int i = 1; i < 32; i++) SCENE_NEEDS(sigismember(&after, i) == (i == SIGUSR1));
  return 0;
}

static void its_thread_ends_with_the_world_and_leaves_signals_as_they_were(void)
{
  CHECK(scene(ends_with_the_world) == 0);
}

/* ---- what is read ---- */

static int n_beats_before, n_text;
static char text[256];

/* Many beats and a text arrive as one. */
static void say_much(double at)
{
  static int is_said;
  char all[4096] = { 0 };
  const size_t n = 2 * (size_t)n_beats_before;
  (void)at;
  if (is_said++) return;
  say(1, all, n + frame_of(text, all + n));
}

static int much(void)
{
  memset(text, 'x', (size_t)n_text);
  text[n_text - 1] = 'y';
  text[n_text] = '\0';
  make_world(300);
  act = say_much;
  SCENE_NEEDS(!strcmp(watch(), text) && !strcmp(told[2], text));
  return 0;
}

static void a_text_is_whole_wherever_it_lies_in_what_was_read(void)
{
  const int lengths[] = { 1, 2, 100, 253, 254, 255 };
  const int beats_of[] = { 0, 1, 127, 128, 129, 200, 253, 254, 255, 256, 257, 383, 511, 512, 513 };
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (size_t k = 0; k < sizeof beats_of / sizeof *beats_of; k++) {
      n_beats_before = beats_of[k];
      n_text = lengths[i];
      CHECK_MSG(scene(much) == 0, "%d beats, %d bytes", n_beats_before, n_text);
    }
}

/* One byte at each moment. */
static void say_slowly(double at)
{
  static int n;
  static char frame[300];
  const int size = 2 + (int)frame_of("rank 2 (two) has ended: no more data", frame + 2);
  (void)at;
  if (n < size) say(1, frame + n++, 1);
}

static int slowly(void)
{
  make_world(300);
  act = say_slowly;
  SCENE_NEEDS(!strcmp(watch(), "rank 2 (two) has ended: no more data"));
  return 0;
}

static void a_text_may_come_byte_by_byte(void) { CHECK(scene(slowly) == 0); }

/* ---- connections that break ---- */

static int lost(void)
{
  make_world(6);
  SCENE_NEEDS(jf_world_lost(2) == JFL_EIO && now > 1005.9 && now < 1006.3);
  SCENE_NEEDS(!strcmp(jf_world_trouble(), "rank 2 (two) has ended"));
  return 0;
}

static void know_better(double at)
{
  if (at > 1000.55) jf_world_end("rank 1 (one) has ended: it said so");
}

static int known(void)
{
  make_world(6);
  act = know_better;
  SCENE_NEEDS(jf_world_lost(2) == JFL_EIO && now < 1000.75);
  SCENE_NEEDS(!strcmp(jfl_errmsg(), "rank 1 (one) has ended: it said so"));
  return 0;
}

static int broken(void)
{
  make_world(6);
  SCENE_NEEDS(jf_world_broke("summing", "no route") == JFL_EIO && now > 1005.9 && now < 1006.3);
  SCENE_NEEDS(!strcmp(jfl_errmsg(), "rank 0 (here): summing failed: no route"));
  return 0;
}

static int broken_known(void)
{
  make_world(6);
  act = know_better;
  SCENE_NEEDS(jf_world_broke("summing", "no route") == JFL_EIO && now < 1000.75);
  SCENE_NEEDS(!strcmp(jfl_errmsg(), "rank 1 (one) has ended: it said so"));
  return 0;
}

static void who_finds_a_connection_broken_waits_with_patience_for_the_reason(void)
{
  CHECK(scene(lost) == 0 && scene(known) == 0);
  CHECK(scene(broken) == 0 && scene(broken_known) == 0);
}

/* Alone only where there was trouble. */
static int alone(void)
{
  make_world(6);
  world->rank = 2;
  jf_world_be_alone();
  SCENE_NEEDS(jf_world_rank() == 2 && jf_world_size() == RANKS);
  jf_world_end("rank 1 (one) has ended");
  jf_world_be_alone();
  SCENE_NEEDS(jf_world_rank() == 0 && jf_world_size() == 1 && world->neighbours == 1);
  return 0;
}

static void who_is_left_of_a_world_is_rank_0_of_1(void) { CHECK(scene(alone) == 0); }

/* ---- the patience that a world begins with ---- */

static const char *asked;
static double given;

static int joins(int rank, int size)
{
  (void)size;
  if (asked) setenv("JFL_PATIENCE", asked, 1);
  else unsetenv("JFL_PATIENCE");
  RANK_NEEDS(!jf_world_join());
  RANK_NEEDS(world->patience == given);
  RANK_NEEDS(world->stall == JF_STALL && !world->stalls_elsewhere);
  world->patience = RANKS_SECONDS;
  return 0;
}

static void the_patience_is_6_seconds_unless_asked_for(void)
{
  static const struct { const char *asked; double given; } cases[] = {
    { NULL, 6 }, { "60", 60 }, { "99.5", 99.5 }, { "0.5", 6 }, { "-30", 6 }, { "soon", 6 },
    { "999999", 999999 }, { "1e6", 6 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    asked = cases[i].asked;
    given = cases[i].given;
    CHECK_MSG(ranks_run(2, joins) == 0, "%s", asked ? asked : "unset");
  }
}

static int joins_stalled(int rank, int size)
{
  (void)rank, (void)size;
  setenv("JFL_STALL_SECONDS", "1800", 1);
  RANK_NEEDS(!jf_world_join());
  RANK_NEEDS(world->stall == 1800 && world->stalls_elsewhere);
  return 0;
}

static void who_sets_an_end_for_ranks_that_hang_sets_it_for_scripts_too(void)
{
  CHECK(ranks_run(2, joins_stalled) == 0);
}

int main(void)
{
  RUN(beats_come_twice_a_second_while_all_live);
  RUN(a_silent_rank_is_given_up_after_the_patience_and_no_later);
  RUN(a_rank_that_ended_is_noticed_at_once);
  RUN(a_pause_of_its_own_excuses_the_others);
  RUN(a_world_that_makes_no_headway_ends_and_names_who_hangs);
  RUN(a_world_in_which_one_computes_or_may_wait_for_a_user_goes_on);
  RUN(a_rank_makes_headway_where_it_computes_or_something_comes);
  RUN(its_thread_ends_with_the_world_and_leaves_signals_as_they_were);
  RUN(a_text_is_whole_wherever_it_lies_in_what_was_read);
  RUN(a_text_may_come_byte_by_byte);
  RUN(who_finds_a_connection_broken_waits_with_patience_for_the_reason);
  RUN(who_is_left_of_a_world_is_rank_0_of_1);
  RUN(the_patience_is_6_seconds_unless_asked_for);
  RUN(who_sets_an_end_for_ranks_that_hang_sets_it_for_scripts_too);
  return test_done();
}
