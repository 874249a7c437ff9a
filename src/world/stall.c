/* Notices that ranks make no headway though all of them live: one that hangs, or a connection on
   which nothing arrives. Each rank tells rank 0 in its beats what it is at and for how long it has
   made no headway, and rank 0 ends the world where none has for long.

   One that computes makes headway, however long that takes: the process uses its processor. One
   that waits for others does when something comes or goes, whatever its other threads do. A rank
   that is at neither, in its script between runs, may wait for a user, so that is given up only
   where JFL_STALL_SECONDS says so. */
#include "world/meet.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* How much of one processor a process uses at least that computes. */
static const double stall_share = 0.01;

void jf_world_does(const char *what)
{
  jf_world *w = &jf_the_world;
  if (w->size == 1) return;
  pthread_mutex_lock(&w->saying);
  snprintf(w->what, sizeof w->what, "%s", what);
  pthread_mutex_unlock(&w->saying);
}

void jf_world_run_begins(void) { atomic_fetch_add(&jf_the_world.runs, 1); }
void jf_world_run_ends(void) { atomic_fetch_sub(&jf_the_world.runs, 1); }

void jf_stall_look(jf_world *w, int64_t round, jf_stall *s)
{
  const int32_t at = atomic_load(&w->waits) ? JF_WAITS : atomic_load(&w->runs) ? JF_RUNS
                                                                                  : JF_ELSEWHERE;
  const uint64_t moved = atomic_load(&w->moved);
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  const double cpu = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  const double seconds = JF_ROUND * (double)(round - s->since);
  const int computes = at != JF_WAITS && cpu - s->cpu > stall_share * seconds;
  if (at != s->card.at || moved != s->moved || computes) {
    s->moved = moved;
    s->cpu = cpu;
    s->since = round;
  }
  s->card.at = at;
  s->card.rounds = (int32_t)(round - s->since);
  s->card.awaited = atomic_load(&w->awaited);
  pthread_mutex_lock(&w->saying);
  memcpy(s->card.what, w->what, sizeof s->card.what);
  pthread_mutex_unlock(&w->saying);
}

void jf_stall_hear(jf_peer *p, const void *said, size_t n)
{
  if (n != sizeof p->card) return;
  memcpy(&p->card, said, sizeof p->card);
  p->card.what[sizeof p->card.what - 1] = '\0';
}

/* ---- rank 0 ---- */

/* The first rank that is at something; -1: none is. */
static int stall_find(const jf_world *w, int n, int32_t at)
{
  for (int i = 0; i < n; i++)
    if (w->peer[i].card.at == at) return i;
  return -1;
}

static void stall_end_waiting(const jf_world *w, int n, int first)
{
  const jf_card *one = &w->peer[first].card;
  const int second = one->awaited >= 0 && one->awaited < n ? one->awaited : (first + 1) % n;
  const jf_card *two = &w->peer[second].card;
  jf_world_end("for %g s nothing came or went: rank %d (%s) waits for rank %d to %.60s, "
               "rank %d (%s) for rank %d to %.60s", w->stall, first, jf_world_host(first),
               (int)one->awaited, one->what, second, jf_world_host(second), (int)two->awaited,
               two->what);
}

void jf_stall_judge(const jf_world *w, int n)
{
  for (int i = 0; i < n; i++)
    if (JF_ROUND * w->peer[i].card.rounds <= w->stall) return;
  const int runs = stall_find(w, n, JF_RUNS), waits = stall_find(w, n, JF_WAITS);
  const int elsewhere = stall_find(w, n, JF_ELSEWHERE);
  if (runs >= 0)
    jf_world_end("rank %d (%s) does nothing for %g s, where it is to %.80s", runs,
                 jf_world_host(runs), w->stall, w->peer[runs].card.what);
  else if (waits >= 0 && elsewhere < 0) stall_end_waiting(w, n, waits);
  else if (waits >= 0 && w->stalls_elsewhere)
    jf_world_end("rank %d (%s) does nothing for %g s, while rank %d (%s) waits to %.60s; what it "
                 "last did with others was to %.60s", elsewhere, jf_world_host(elsewhere), w->stall,
                 waits, jf_world_host(waits), w->peer[waits].card.what,
                 w->peer[elsewhere].card.what);
}
