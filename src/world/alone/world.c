/* The world where processes cannot meet: this one is alone. Built in the place of the other files
   of the room but ask.c. */
#include "base/need.h"
#include "world/collective.h"
#include "world/launcher.h"
#include "world/world.h"

#include <stdlib.h>
#include <string.h>

int jf_world_size(void) { return 1; }
int jf_world_rank(void) { return 0; }
int jf_world_neighbours(void) { return 1; }
int jf_world_trouble_fd(void) { return -1; }
double jf_world_patience(void) { return 0; }
uint64_t jf_world_seed(void) { return jf_entropy(); }
const char *jf_world_host(int rank) { return (void)rank, ""; }
const char *jf_world_trouble(void) { return NULL; }
void jf_world_end(const char *fmt, ...) { (void)fmt; }
void jf_world_be_alone(void) { }
void jf_world_does(const char *what) { (void)what; }
void jf_world_run_begins(void) { }
void jf_world_run_ends(void) { }
int jf_launched_rank(int *size) { return *size = 1, 0; }
void jf_launched_forget(void) { }
int jf_launched_report(void) { return -1; }

static jfl_status alone_refuse(const char *what)
{
  return jf_fail(JFL_ESTATE, "%s: several processes cannot work together on this system; run one",
                 what);
}

jfl_status jf_world_join(void)
{
  const char *size = getenv("JFL_RANKS");
  return size && atoi(size) > 1 ? alone_refuse("JFL_RANKS") : JFL_OK;
}

jfl_status jf_world_agree(const void *mine, size_t size, void *all)
{
  memcpy(all, mine, size);
  return JFL_OK;
}

jfl_status jf_world_agree_unless(const void *mine, size_t size, void *all, int (*stop)(void *ctx),
                                 void *ctx)
{
  (void)stop, (void)ctx;
  return jf_world_agree(mine, size, all);
}

jfl_status jf_world_fail(void) { return alone_refuse("ranks"); }
jfl_status jf_world_lost(int rank) { return (void)rank, jf_world_fail(); }
jfl_status jf_world_broke(const char *doing, const char *text)
{
  return (void)doing, (void)text, jf_world_fail();
}

jfl_status jfl_world_set(const char *const *host, int n, int port, int rank)
{
  JF_NEED_POINTER(host);
  if (n < 1) return jf_fail_argument(JFL_EINVAL, "n", "must be at least 1, got %d", n);
  if (port < 0 || port > 65535)
    return jf_fail_argument(JFL_EINVAL, "port", "must be from 0 to 65535, got %d", port);
  if (rank >= n)
    return jf_fail_argument(JFL_EINVAL, "rank", "must be from 0 to %d, got %d", n - 1, rank);
  return n == 1 ? JFL_OK : alone_refuse("machine");
}

/* ---- what ranks have for each other: of one, nothing ---- */

jfl_status jf_world_all_reduce(const jf_ranks *team, void *data, int64_t n, const jf_addition *t)
{
  (void)team, (void)data, (void)n, (void)t;
  return JFL_OK;
}

jfl_status jf_world_reduce_scatter(const jf_ranks *team, void *in, void *out, const int64_t *count,
                                   const jf_addition *t)
{
  (void)team;
  memcpy(out, in, (size_t)count[0] * t->size);
  return JFL_OK;
}

jfl_status jf_world_exchange(const jf_mail *send, int n_send, const jf_mail *receive, int n_receive)
{
  for (int i = 0; i < n_send && i < n_receive; i++)
    memcpy(receive[i].data, send[i].data, receive[i].size);
  return JFL_OK;
}
