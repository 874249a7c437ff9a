/* Opening NCCL, teams, and what becomes of them when a rank fails. */
#include "dev/cuda/nccl.h"

#include "base/library.h"
#include "world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

static struct { int version; jf_nccl_api api; char absence[160]; } nccl;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int nccl_find(void *so)
{
#define FIND(field, symbol, parameters) && jf_library_find(so, #symbol, &nccl.api.field)
  return so JF_CUDA_NCCL(FIND)
         && jf_library_find(so, "ncclGetErrorString", &nccl.api.error_text);
#undef FIND
}

/* Says why NCCL is not used. */
static void nccl_lacks(const char *why)
{
  snprintf(nccl.absence, sizeof nccl.absence, "%s", why);
  jf_library_lacks("libnccl.so.2", why);
}

static void nccl_open(void)
{
  const char *asked = getenv("JFL_NCCL");
  int version = 0;
  if (asked && !strcmp(asked, "0")) {
    nccl_lacks("left out, as JFL_NCCL is 0");
    return;
  }
  void *so = jf_library_try("libnccl.so.2");
  if (!so) nccl_lacks("it is not installed, so GPUs of several ranks exchange data through hosts");
  else if (!nccl_find(so) || nccl.api.version(&version) || version < JF_NCCL_OLDEST)
    nccl_lacks("it is older than 2.14");
  else nccl.version = version;
}

int jf_nccl_ability(void)
{
  pthread_once(&once, nccl_open);
  return nccl.version;
}

const char *jf_nccl_absence(void)
{
  if (jf_world_size() == 1) return "there is one rank";
  return jf_nccl_ability() ? jf_cuda_absence() : nccl.absence;
}

static jfl_status nccl_fail(const jf_cuda *c, jf_nccl_status e)
{
  return jf_fail(JFL_EDEVICE, "%s: NCCL failed: %s (NCCL error %d)", c->name,
                 nccl.api.error_text(e), e);
}

/* ---- trouble ---- */

/* All teams of the process; mu guards them and the calls on them. */
static struct { pthread_mutex_t mu; jf_cuda_team *first; atomic_int live; } teams = {
  .mu = PTHREAD_MUTEX_INITIALIZER
};

/* What NCCL says of the calls that were made last, or of what they did. */
static jf_nccl_status team_state(const jf_cuda_team *t)
{
  jf_nccl_status state = 0;
  const jf_nccl_status e = nccl.api.comm_state(t->comm, &state);
  return e ? e : state;
}

static void team_abort(jf_cuda_team *t)
{
  if (!t->comm) return;
  nccl.api.comm_abort(t->comm);
  t->comm = NULL;
  atomic_fetch_sub(&teams.live, 1);
}

/* What the GPU still does for a team ends only if the team does. The caller holds mu. */
static jfl_status teams_abort(void)
{
  for (jf_cuda_team *t = teams.first; t; t = t->next) team_abort(t);
  return jf_world_fail();
}

static jfl_status teams_check(void)
{
  if (!atomic_load(&teams.live)) return JFL_OK;
  for (jf_cuda_team *t = teams.first; t && !jf_world_trouble(); t = t->next) {
    const jf_nccl_status e = t->comm ? team_state(t) : 0;
    if (jf_nccl_failed(e)) jf_world_broke("NCCL", nccl.api.error_text(e));
  }
  return jf_world_trouble() ? teams_abort() : JFL_OK;
}

int jf_cuda_may_hang(void) { return atomic_load(&teams.live) != 0; }

jfl_status jf_cuda_watch(int round)
{
  pthread_mutex_lock(&teams.mu);
  const jfl_status s = teams_check();
  pthread_mutex_unlock(&teams.mu);
  jf_give_way(round);
  return s;
}

/* ---- teams ---- */

int jf_cuda_team_seat(const jf_cuda_team *t, int64_t rank)
{
  int i = 0;
  while (i < t->n && t->rank[i] != rank) i++;
  return i;
}

jfl_status jf_nccl_invite(jf_device *d, void *invitation)
{
  jf_cuda *c = d->state;
  JF_TRY(jf_cuda_enter(c));
  const jf_nccl_status e = nccl.api.id_new(invitation);
  jf_cuda_leave(c);
  return e ? nccl_fail(c, e) : JFL_OK;
}

/* Waits for the other ranks of a team, which call this, too, but may compile kernels first: so for
   ten times as long as one that says nothing at all. */
static jfl_status team_connect(jf_cuda_team *t, const void *invitation)
{
  const double patience = 10 * jf_world_patience();
  jf_nccl_settings settings = { sizeof settings, 0xcafebeef, JF_NCCL_OLDEST, 0 };
  jf_nccl_id id;
  const double until = jf_now() + patience;
  memcpy(&id, invitation, sizeof id);
  jf_nccl_status e = nccl.api.comm_new(&t->comm, t->n, id, jf_cuda_team_seat(t, jf_world_rank()),
                                       &settings);
  for (int round = 0; e == JF_NCCL_IN_PROGRESS && t->comm; round++) {
    if (jf_world_trouble()) return jf_world_fail();
    if (jf_now() > until)
      return jf_fail(JFL_EDEVICE, "%s: NCCL did not connect it with %d ranks in %g s",
                     t->cuda->name, t->n, patience);
    jf_give_way(round);
    e = team_state(t);
  }
  return e ? nccl_fail(t->cuda, e) : JFL_OK;
}

static void team_free(jf_cuda_team *t)
{
  jf_free(t->rank);
  jf_free(t);
}

static jf_cuda_team *team_new(jf_cuda *c, int number, const int64_t *rank, int n)
{
  jf_cuda_team *t = jf_new(sizeof *t);
  if (!t) return NULL;
  *t = (jf_cuda_team){ .api = &nccl.api, .cuda = c, .number = number, .n = n,
                       .rank = jf_new((size_t)n * sizeof *t->rank) };
  if (t->rank) return memcpy(t->rank, rank, (size_t)n * sizeof *rank), t;
  team_free(t);
  return NULL;
}

static void team_add(jf_cuda_team *t)
{
  pthread_mutex_lock(&teams.mu);
  t->next = teams.first;
  teams.first = t;
  atomic_fetch_add(&teams.live, 1);
  pthread_mutex_unlock(&teams.mu);
}

jfl_status jf_nccl_join(jf_device *d, int number, const int64_t *rank, int n,
                        const void *invitation)
{
  jf_cuda *c = d->state;
  jf_cuda_team *t = team_new(c, number, rank, n);
  if (!t) return jf_fail(JFL_ENOMEM, "out of memory");
  jfl_status s = jf_cuda_enter(c);
  if (!s) {
    s = team_connect(t, invitation);
    if (s && t->comm) nccl.api.comm_abort(t->comm);
    jf_cuda_leave(c);
  }
  if (s) team_free(t);
  else team_add(t);
  return s;
}

/* Ends a team well: what it was given is done. Ranks that end at different times do not wait for
   long. */
static void team_finish(jf_cuda_team *t)
{
  enum { PATIENCE = 5 };                 /* seconds */
  const double until = jf_now() + PATIENCE;
  jf_nccl_status e = nccl.api.comm_finish(t->comm);
  for (int round = 0; e == JF_NCCL_IN_PROGRESS && !jf_world_trouble() && jf_now() < until;
       round++) {
    jf_give_way(round);
    e = team_state(t);
  }
  if (e) nccl.api.comm_abort(t->comm);
  else nccl.api.comm_free(t->comm);
  t->comm = NULL;
  atomic_fetch_sub(&teams.live, 1);
}

/* Takes the first team of a device, or the one of that number unless it is 0, off the list. */
static jf_cuda_team *team_take(const jf_cuda *c, int number)
{
  pthread_mutex_lock(&teams.mu);
  jf_cuda_team **at = &teams.first, *t;
  while ((t = *at) && (t->cuda != c || (number && t->number != number))) at = &t->next;
  if (t) *at = t->next;
  pthread_mutex_unlock(&teams.mu);
  return t;
}

void jf_nccl_leave(jf_device *d, int number)
{
  jf_cuda_team *t = team_take(d->state, number);
  if (!t) return;
  team_abort(t);
  team_free(t);
}

void jf_nccl_end(jf_cuda *c)
{
  for (jf_cuda_team *t; (t = team_take(c, 0)); team_free(t)) {
    if (t->comm && !jf_world_trouble()) team_finish(t);
    else team_abort(t);
  }
}

/* ---- calls ---- */

static jf_cuda_team *team_find(const jf_cuda *c, int64_t number)
{
  jf_cuda_team *t = teams.first;
  while (t && (t->cuda != c || t->number != number)) t = t->next;
  return t;
}

static jf_nccl_status team_call(const jf_cuda_team *t, jf_cu_stream *s, jf_nccl_calls calls,
                                const jf_kargs *k)
{
  jf_nccl_status e = nccl.api.group_start();
  if (e) return e;
  e = calls(t, k, s);
  const jf_nccl_status ended = nccl.api.group_end();
  return jf_nccl_failed(e) ? e : ended;
}

/* A team that is used for the first time connects, which takes the other ranks. */
static jfl_status team_queue(const jf_cuda_team *t, jf_cu_stream *s, jf_nccl_calls calls,
                             const jf_kargs *k)
{
  if (!t || !t->comm) return jf_world_fail();
  jf_nccl_status e = team_call(t, s, calls, k);
  for (int round = 0; e == JF_NCCL_IN_PROGRESS; round++) {
    JF_TRY(teams_check());
    jf_give_way(round);
    e = team_state(t);
  }
  return e ? nccl_fail(t->cuda, e) : JFL_OK;
}

jfl_status jf_nccl_queue(jf_cuda *c, jf_cu_stream *s, int64_t team, jf_nccl_calls calls,
                         const jf_kargs *k)
{
  jfl_status st = jf_cuda_enter(c);
  if (!st) {
    pthread_mutex_lock(&teams.mu);
    st = team_queue(team_find(c, team), s, calls, k);
    pthread_mutex_unlock(&teams.mu);
    jf_cuda_leave(c);
  }
  if (st) jf_world_end("rank %d (%s): %.150s", jf_world_rank(), jf_world_host(jf_world_rank()),
                       jfl_error_part(JFL_ERROR_TEXT));
  return st;
}
