/* The world of this process: joining it, agreement, and its end. */
#include "world/collective.h"
#include "world/launcher.h"
#include "world/meet.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/need.h"
#include "system/system.h"

jf_world jf_the_world = { .joining = PTHREAD_MUTEX_INITIALIZER,
                          .agreeing = PTHREAD_MUTEX_INITIALIZER,
                          .telling = PTHREAD_MUTEX_INITIALIZER,
                          .saying = PTHREAD_MUTEX_INITIALIZER,
                          .size = 1, .neighbours = 1, .trouble_fd = -1 };
static jf_world *const world = &jf_the_world;

int jf_world_size(void) { return world->size; }
int jf_world_rank(void) { return world->rank; }
int jf_world_neighbours(void) { return world->neighbours; }
int jf_world_trouble_fd(void) { return world->trouble_fd; }

uint64_t jf_world_seed(void)
{
  pthread_mutex_lock(&world->agreeing);
  const uint64_t seed = world->seed;
  world->seed = jf_hash(seed, &seed, sizeof seed);
  pthread_mutex_unlock(&world->agreeing);
  return seed;
}

double jf_world_patience(void) { return world->patience; }

const char *jf_world_host(int rank)
{
  jf_host_name *host = atomic_load_explicit(&world->host, memory_order_acquire);
  return host && rank >= 0 && rank < world->size ? host[rank] : "";
}

/* ---- trouble ---- */

const char *jf_world_trouble(void)
{
  if (world->size > 1 && world->forks != jf_forks())
    return "this process was forked off a rank, and has no part in what the ranks do together";
  return atomic_load_explicit(&world->trouble, memory_order_acquire);
}

jfl_status jf_world_fail(void)
{
  const char *text = jf_world_trouble();
  return jf_fail(JFL_EIO, "%s", text ? text : "the ranks have parted");
}

/* Tells a rank; a connection that takes nothing now is given up. */
static void world_tell(const jf_peer *p, const char *text)
{
  unsigned char frame[2 + sizeof world->text];
  const size_t n = strlen(text);
  frame[0] = 1;
  frame[1] = (unsigned char)n;
  memcpy(frame + 2, text, n);
  if (p->life >= 0) send(p->life, frame, n + 2, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void jf_world_end(const char *fmt, ...)
{
  const uint64_t one = 1;
  va_list ap;
  if (world->forks != jf_forks()) return;
  pthread_mutex_lock(&world->telling);
  if (world->size > 1 && !atomic_load(&world->trouble)) {
    va_start(ap, fmt);
    vsnprintf(world->text, sizeof world->text, fmt, ap);
    va_end(ap);
    for (int i = 0; i < world->size; i++) world_tell(&world->peer[i], world->text);
    atomic_store_explicit(&world->trouble, world->text, memory_order_release);
    if (write(world->trouble_fd, &one, sizeof one) < 0) { /* cannot be full */ }
  }
  pthread_mutex_unlock(&world->telling);
}

void jf_world_be_alone(void)
{
  if (!atomic_load(&world->trouble)) return;
  pthread_mutex_lock(&world->agreeing);
  pthread_mutex_lock(&world->telling);
  world->rank = 0;
  world->size = world->neighbours = 1;
  pthread_mutex_unlock(&world->telling);
  pthread_mutex_unlock(&world->agreeing);
}

/* Waits for what the watch hears of a connection that broke: the rank may have said why it ends, or
   have learned of another one. The end of a process closes all that it has, so this takes as long
   as the watch's thread needs; only where one connection alone is broken it takes all patience. */
static void world_await_trouble(void)
{
  struct pollfd p = { .fd = world->trouble_fd, .events = POLLIN };
  for (double until = jf_now() + world->patience, left; (left = until - jf_now()) > 0;)
    if (poll(&p, 1, left < 1e6 ? (int)(1e3 * left) + 1 : -1) >= 0 || errno != EINTR) break;
}

jfl_status jf_world_lost(int rank)
{
  world_await_trouble();
  jf_world_end("rank %d (%s) has ended", rank, jf_world_host(rank));
  return jf_world_fail();
}

jfl_status jf_world_broke(const char *doing, const char *text)
{
  world_await_trouble();
  jf_world_end("rank %d (%s): %s failed: %s", world->rank, jf_world_host(world->rank), doing, text);
  return jf_world_fail();
}

/* ---- agreement ---- */

/* What precedes the bytes: from a rank, and from rank 0. */
typedef enum world_kind { SAID, ALIKE, EACH, UNLIKE, GOODBYE } world_kind;
typedef struct world_head {
  uint32_t kind, size;
  uint64_t number;
} world_head;

/* The error of an agreement that did not come about, by what failed on this rank. */
static jfl_status world_broke(jfl_status s, int rank)
{
  if (jf_world_trouble()) return jf_world_fail();
  if (s != JFL_ESTATE) return jf_world_lost(rank);
  jf_world_end("rank %d (%s) was interrupted while it waited for the others", world->rank,
               jf_world_host(world->rank));
  return jf_world_fail();
}

static jfl_status world_send(int rank, world_kind kind, const void *data, size_t size,
                             const jf_wait *w)
{
  char message[sizeof(world_head) + JF_WORLD_MESSAGE];
  const world_head h = { (uint32_t)kind, (uint32_t)size, world->number };
  const size_t first = size < JF_WORLD_MESSAGE ? size : JF_WORLD_MESSAGE;
  memcpy(message, &h, sizeof h);
  memcpy(message + sizeof h, data, first);
  atomic_store(&world->awaited, rank);
  jfl_status s = jf_socket_send(world->peer[rank].word, message, sizeof h + first, w);
  if (!s && size > first)
    s = jf_socket_send(world->peer[rank].word, (const char *)data + first, size - first, w);
  atomic_fetch_add(&world->moved, 1);
  return s ? world_broke(s, rank) : JFL_OK;
}

/* Receives a head and at most `most` bytes; a head that cannot be is a broken connection. */
static jfl_status world_receive(int rank, world_head *h, void *data, size_t most, const jf_wait *w)
{
  const int fd = world->peer[rank].word;
  atomic_store(&world->awaited, rank);
  jfl_status s = jf_socket_receive(fd, h, sizeof *h, w);
  if (!s && h->kind == GOODBYE) jf_world_end("rank %d (%s) has ended", rank, jf_world_host(rank));
  if (!s && (h->size > most || h->kind >= GOODBYE || h->number != world->number)) s = JFL_EIO;
  if (!s) s = jf_socket_receive(fd, data, h->size, w);
  atomic_fetch_add(&world->moved, 1);
  return s ? world_broke(s, rank) : JFL_OK;
}

/* What ranks get that gave different numbers of bytes. */
static jfl_status world_refuse(int rank)
{
  return jf_fail(JFL_ESTATE, "rank %d (%s) does something else than rank 0 (%s) now", rank,
                 jf_world_host(rank), jf_world_host(0));
}

static jfl_status world_answer(world_kind kind, const void *data, size_t size, const jf_wait *w)
{
  for (int i = 1; i < world->size; i++) JF_TRY(world_send(i, kind, data, size, w));
  return JFL_OK;
}

static jfl_status world_hear_all(const void *mine, size_t size, char *all, const jf_wait *w)
{
  int alike = 1;
  int32_t unlike = 0;
  memcpy(all, mine, size);
  for (int i = 1; i < world->size; i++) {
    char said[JF_WORLD_MESSAGE];
    world_head h;
    JF_TRY(world_receive(i, &h, said, sizeof said, w));
    if (h.size != size) {
      if (!unlike) unlike = i;
      continue;
    }
    memcpy(all + (size_t)i * size, said, size);
    alike = alike && !memcmp(said, mine, size);
  }
  if (unlike) {
    JF_TRY(world_answer(UNLIKE, &unlike, sizeof unlike, w));
    return world_refuse(unlike);
  }
  return alike ? world_answer(ALIKE, mine, size, w)
               : world_answer(EACH, all, (size_t)world->size * size, w);
}

/* Where all ranks gave the same, which is usual, rank 0 says so in few bytes. */
static jfl_status world_hear_first(const void *mine, size_t size, char *all, const jf_wait *w)
{
  const size_t most = (size_t)world->size * size;
  world_head h;
  int32_t unlike;
  JF_TRY(world_send(0, SAID, mine, size, w));
  JF_TRY(world_receive(0, &h, all, most > sizeof unlike ? most : sizeof unlike, w));
  if (h.size != (h.kind == EACH ? most : h.kind == ALIKE ? size : sizeof unlike))
    return world_broke(JFL_EIO, 0);
  memcpy(&unlike, all, sizeof unlike);
  if (h.kind != ALIKE && h.kind != EACH) return world_refuse(unlike);
  for (int i = 1; h.kind == ALIKE && i < world->size; i++)
    memcpy(all + (size_t)i * size, all, size);
  return JFL_OK;
}

jfl_status jf_world_agree_unless(const void *mine, size_t size, void *all, int (*stop)(void *ctx),
                                 void *ctx)
{
  if (size > JF_WORLD_MESSAGE)
    return jf_fail(JFL_EINVAL, "ranks must agree on at most %d bytes, got %zu", JF_WORLD_MESSAGE,
                   size);
  if (world->size == 1) return memcpy(all, mine, size), JFL_OK;
  pthread_mutex_lock(&world->agreeing);
  const jf_wait w = { .wake = world->trouble_fd, .stop = stop, .ctx = ctx };
  jfl_status s = jf_world_trouble() ? jf_world_fail() : JFL_OK;
  atomic_fetch_add(&world->waits, 1);
  if (!s) s = world->rank ? world_hear_first(mine, size, world->room, &w)
                          : world_hear_all(mine, size, world->room, &w);
  atomic_fetch_sub(&world->waits, 1);
  world->number++;
  if (!s) memcpy(all, world->room, (size_t)world->size * size);
  pthread_mutex_unlock(&world->agreeing);
  return s;
}

jfl_status jf_world_agree(const void *mine, size_t size, void *all)
{
  return jf_world_agree_unless(mine, size, all, NULL, NULL);
}

/* ---- joining ---- */

/* Rank 0 has two sockets for each other rank, and each one for callers that it does not know
   yet. */
static void world_need_files(int size)
{
  struct rlimit r;
  const rlim_t want = (rlim_t)(2 * size + 256 + JF_CALLERS);
  if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= want) return;
  r.rlim_cur = r.rlim_max < want ? r.rlim_max : want;
  setrlimit(RLIMIT_NOFILE, &r);
}

static jfl_status world_make_room(jf_world *w, int size)
{
  w->peer = jf_new((size_t)size * sizeof *w->peer);
  w->room = jf_new((size_t)size * JF_WORLD_MESSAGE);
  w->trouble_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (!w->peer || !w->room || w->trouble_fd < 0)
    return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; i < size; i++) w->peer[i].word = w->peer[i].life = -1;
  return JFL_OK;
}

/* What all ranks tell each other first. */
typedef struct world_card {
  char host[JF_WORLD_NAME];
  uint64_t seed, cores;        /* cores: a hash of which ones of the host it may use */
} world_card;

static uint64_t world_cores(void)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) ? 0 : jf_hash(0, &set, sizeof set);
}

/* The watch, which may name a rank meanwhile, gets the names once all are there. */
static jfl_status world_introduce(jf_world *w)
{
  world_card mine = { .seed = jf_entropy(), .cores = world_cores() };
  world_card *all = jf_new((size_t)w->size * sizeof *all);
  jf_host_name *host = jf_new((size_t)w->size * sizeof *host);
  if (!all || !host) return jf_free(all), jf_free(host), jf_fail(JFL_ENOMEM, "out of memory");
  gethostname(mine.host, sizeof mine.host - 1);
  const jfl_status s = jf_world_agree(&mine, sizeof mine, all);
  for (int i = 0; !s && i < w->size; i++) {
    snprintf(host[i], sizeof host[i], "%.*s", JF_WORLD_NAME - 1, all[i].host);
    w->neighbours += i != w->rank && !strcmp(all[i].host, mine.host) && all[i].cores == mine.cores;
  }
  w->seed = all[0].seed;
  atomic_store_explicit(&w->host, host, memory_order_release);
  jf_free(all);
  return s;
}

/* Leaves the others to find out at once. */
static void world_part(const jf_world *w, int size)
{
  for (int i = 0; i < size; i++) {
    jf_socket_drop(&w->peer[i].word);
    jf_socket_drop(&w->peer[i].life);
  }
}

/* A forked child is no rank. With a connection in its hands others would not see that this rank has
   ended. */
static void world_forget(void)
{
  for (int i = 0; i < world->size; i++) {
    jf_socket_drop(&world->peer[i].word);
    jf_socket_drop(&world->peer[i].life);
  }
}

static int world_hears_goodbye(int rank, const jf_wait *w)
{
  world_head h;
  atomic_store(&world->awaited, rank);
  return !jf_socket_receive(world->peer[rank].word, &h, sizeof h, w) && h.kind == GOODBYE;
}

/* Rank 0 waits for the goodbye of all others, and answers it. */
static int world_part_well(void)
{
  const jf_wait w = { .wake = world->trouble_fd };
  if (world->rank) return !world_send(0, GOODBYE, "", 0, &w) && world_hears_goodbye(0, &w);
  for (int i = 1; i < world->size; i++)
    if (!world_hears_goodbye(i, &w)) return 0;
  return !world_answer(GOODBYE, "", 0, &w);
}

/* At the end of the process. Ranks that end well wait for each other, so that none is missed while
   others still read what it said last; MPI wants that, too. One that fails is not waited for, nor
   one that goes on: it will hear of it when it next asks for the others. */
static void world_say_goodbye(int status)
{
  if (world->forks != jf_forks()) return;
  pthread_mutex_lock(&world->agreeing);
  jf_world_does("end");
  atomic_fetch_add(&world->waits, 1);
  const int well = !status && !jf_world_trouble() && world_part_well();
  pthread_mutex_unlock(&world->agreeing);
  if (well && world->mpi) world->mpi->end();
  if (!well) jf_world_end("rank %d (%s) has ended", world->rank, jf_world_host(world->rank));
}

static jfl_status world_enter(jf_world *w)
{
  jf_meeting m;
  JF_TRY(jf_meeting_find(&m));
  if (m.size == 1) return JFL_OK;
  world_need_files(m.size);
  JF_TRY(world_make_room(w, m.size));
  const jfl_status met = jf_meeting_hold(&m, w->peer);
  if (met) return world_part(w, m.size), met;
  memcpy(w->key, m.key, sizeof w->key);
  if (m.is_near) snprintf(w->near, sizeof w->near, "%.*s", JF_ADDRESS - 1, m.address[0]);
  w->forks = jf_forks();
  w->patience = jf_launched_patience();
  w->stall = jf_launched_stall();
  w->stalls_elsewhere = w->stall > 0;
  if (!w->stalls_elsewhere) w->stall = JF_STALL;
  w->rank = m.rank;
  w->size = m.size;
  w->mpi = m.mpi;
  jf_at_fork(world_forget);
  JF_TRY(jf_watch_start(w));
  jf_at_exit(world_say_goodbye);
  return world_introduce(w);
}

jfl_status jf_world_join(void)
{
  jf_world *w = world;
  pthread_mutex_lock(&w->joining);
  if (!w->is_joined) {
    w->failed = world_enter(w);
    if (!w->failed && w->size > 1) w->failed = jf_world_open_data(w->mpi);
    if (w->failed) jf_blame(w->failed, "joining the other ranks: ");
    if (w->failed) w->error = jf_error_copy();
    w->is_joined = 1;
  }
  const jfl_status s = w->failed;
  pthread_mutex_unlock(&w->joining);
  return s ? jf_error_restore(s, w->error) : JFL_OK;
}
