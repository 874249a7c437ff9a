/* Agreement of the ranks on what they do, and on whether it went well on each. */
#include "run/run.h"
#include "world/world.h"

#include <stdio.h>
#include <string.h>

/* Whether a wait for other ranks ends: the user wants to stop, or the session is closed. */
typedef struct agree_wait { jfl_session *s; int asks; } agree_wait;

static int agree_stops(void *ctx)
{
  const agree_wait *w = ctx;
  pthread_mutex_lock(&w->s->mu);
  const int stop = w->s->stop;
  pthread_mutex_unlock(&w->s->mu);
  return stop || (w->asks && w->s->stop_asked && w->s->stop_asked(w->s->stop_ctx));
}

/* The worker's runs are not stopped by what stops the caller. */
jfl_status jf_session_gather(jfl_session *s, const void *mine, size_t size, void *all)
{
  agree_wait w = { s, s->current == NULL };
  return jf_world_agree_unless(mine, size, all, agree_stops, &w);
}

/* ---- what they do ---- */

/* What a rank does: as much of the text as is shown, and a hash of all of it. */
enum { AGREE_DOING = 216 };
typedef struct agree_word { uint64_t hash; char doing[AGREE_DOING]; } agree_word;

static jfl_status agree_differs(const agree_word *first, const agree_word *other, int rank)
{
  const char *here = jf_world_host(0), *there = jf_world_host(rank);
  if (strcmp(first->doing, other->doing))
    return jf_fail(JFL_ESTATE, "rank %d (%s) is to %s, rank 0 (%s) to %s; all ranks must do the "
                   "same in the same order", rank, there, other->doing, here, first->doing);
  return jf_fail(JFL_ESTATE, "rank %d (%s) and rank 0 (%s) both %s, but it is not the same there; "
                 "ranks must run one script with the same options, settings and random seed", rank,
                 there, here, first->doing);
}

jfl_status jf_session_agree_on(jfl_session *s, const char *doing, uint64_t hash)
{
  const int n = jf_world_size();
  if (n == 1) return JFL_OK;
  agree_word mine = { .hash = jf_hash_str(hash, doing) };
  agree_word *all = jf_new_raw((size_t)n * sizeof *all);
  if (!all) return jf_fail(JFL_ENOMEM, "out of memory");
  snprintf(mine.doing, sizeof mine.doing, "%s", doing);
  jf_world_does(doing);
  jfl_status st = jf_session_gather(s, &mine, sizeof mine, all);
  for (int i = 1; i < n && !st; i++) {
    if (!memcmp(&all[i], &all[0], sizeof *all)) continue;
    all[0].doing[sizeof all[0].doing - 1] = all[i].doing[sizeof all[i].doing - 1] = '\0';
    st = agree_differs(&all[0], &all[i], i);
  }
  jf_free(all);
  return st;
}

jfl_status jf_session_agree(jfl_session *s, const char *doing)
{
  return jf_session_agree_on(s, doing, 0);
}

jfl_status jf_session_agree_to(jfl_session *s, const char *what, const char *name)
{
  char doing[AGREE_DOING];
  snprintf(doing, sizeof doing, "%s '%.120s'", what, name);
  return jf_session_agree_on(s, doing, jf_hash_str(0, name));
}

/* ---- how it went ---- */

/* An error as it is told to others: its text, the node where it happened, and that one's line. */
typedef struct agree_error { char node[110], line[80], text[320]; } agree_error;

/* Tells the error of the first rank that has one. */
static jfl_status agree_tell(jfl_session *s, const int32_t *status, int rank)
{
  const int n = jf_world_size(), own = rank == jf_world_rank();
  agree_error mine = { .text = "" }, *all = jf_new_raw((size_t)n * sizeof *all);
  if (!all) return jf_fail(JFL_ENOMEM, "out of memory");
  if (own) {
    const char *node = jfl_error_part(JFL_ERROR_NODE), *what = jfl_error_part(JFL_ERROR_ARGUMENT);
    const char *line = jfl_error_part(JFL_ERROR_LINE);
    snprintf(mine.line, sizeof mine.line, "%s", line ? line : "");
    snprintf(mine.node, sizeof mine.node, "%s", node ? node : "");
    snprintf(mine.text, sizeof mine.text, "%s%s%s", what ? what : "", what ? " " : "",
             jfl_error_part(JFL_ERROR_TEXT));
  }
  jfl_status st = jf_session_gather(s, &mine, sizeof mine, all);
  if (!st) {
    agree_error *e = &all[rank];
    e->node[sizeof e->node - 1] = e->line[sizeof e->line - 1] = '\0';
    e->text[sizeof e->text - 1] = '\0';
    st = status[rank] > 0 && status[rank] < JFL_N_STATUS ? (jfl_status)status[rank] : JFL_EDATA;
    st = jf_fail(st, "rank %d (%s): %s", rank, jf_world_host(rank), e->text);
    if (*e->node) jf_fail_in(st, JFL_ERROR_NODE, e->node);
    if (*e->line) jf_fail_in(st, JFL_ERROR_LINE, e->line);
  }
  jf_free(all);
  return st;
}

/* A rank that fails keeps its own error, unless the world has ended. */
jfl_status jf_session_agree_status(jfl_session *s, jfl_status mine)
{
  const int n = jf_world_size();
  const int32_t said = (int32_t)mine;
  if (n == 1) return mine;
  jf_error *own = mine ? jf_error_copy() : NULL;
  int32_t *all = jf_new_raw((size_t)n * sizeof *all);
  jfl_status st = all ? jf_session_gather(s, &said, sizeof said, all)
                      : jf_fail(JFL_ENOMEM, "out of memory");
  int bad = 0;
  while (!st && bad < n && !all[bad]) bad++;
  if (mine && !st) jf_error_restore(mine, own);
  if (!st && bad < n) st = agree_tell(s, all, bad);
  if (mine && own) st = jf_error_restore(mine, own);
  jf_free(all);
  jf_free(own);
  return st;
}

/* ---- plans ---- */

jfl_status jf_plan_agree(const jfl_plan *p)
{
  char doing[200];
  snprintf(doing, sizeof doing, "make run %llu of job '%.120s'",
           (unsigned long long)p->job->run + 1, p->job->name);
  const uint64_t seed = p->job->session->seed;
  const uint64_t hash = jf_hash(p->graph->shared, &seed, sizeof seed);
  return jf_session_agree_on(p->job->session, doing, jf_hash_str(hash, p->job->name));
}
