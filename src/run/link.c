/* How the ranks of a group exchange data: by devices of a kind that does so among themselves, or
   through the host where one of them cannot. All ranks settle that together, once for a group. */
#include "base/library.h"
#include "run/run.h"
#include "world/world.h"

#include <stdio.h>
#include <string.h>

/* What each rank says first. */
typedef struct link_card {
  int32_t ability;             /* that of the kind which links its device; 0: it cannot be used */
  int32_t index;               /* of the device */
  char invitation[JF_INVITATION];      /* the first rank's */
} link_card;

/* The ranks of a group, ascending. */
typedef struct link_team { jf_site *site; int64_t *rank; int n; } link_team;

static jfl_status link_ranks(const jfl_session *s, const jf_group *g, link_team *t)
{
  t->rank = jf_new((size_t)g->n * sizeof *t->rank);
  if (!t->rank) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int r = 0; r < jf_world_size() && t->n < g->n; r++)
    for (int i = 0; i < g->n; i++) {
      if (g->member[i].rank != r) continue;
      if (r == jf_world_rank()) t->site = s->site[g->member[i].place];
      t->rank[t->n++] = r;
      break;
    }
  return JFL_OK;
}

static void link_say(const link_team *t, link_card *mine)
{
  jf_device *d = t->site ? t->site->device : NULL;
  const jf_kind *link = d ? d->kind->link : NULL;
  if (!link) return;
  mine->index = d->index;
  mine->ability = link->ability();
  if (mine->ability && t->rank[0] == jf_world_rank() && link->invite(d, mine->invitation))
    mine->ability = 0;
}

/* Whether all ranks of the team said the same ability. */
static int link_agrees(const link_team *t, const link_card *all)
{
  const int32_t first = all[t->rank[0]].ability;
  int i = 0;
  while (i < t->n && all[t->rank[i]].ability == first) i++;
  if (i < t->n && t->site && t->site->device->kind->link) {
    char why[120];
    snprintf(why, sizeof why, "rank %d (%s) has none, or another version of it",
             (int)t->rank[i], jf_world_host((int)t->rank[i]));
    jf_library_lacks(t->site->device->kind->link->name, why);
  }
  return i == t->n && first;
}

static uint64_t link_hash(const link_team *t, const link_card *all)
{
  uint64_t h = 1;
  for (int i = 0; i < t->n; i++) {
    h = jf_hash(h, &t->rank[i], sizeof t->rank[i]);
    h = jf_hash(h, &all[t->rank[i]].index, sizeof all->index);
  }
  return h;
}

/* Takes over what another group of the same devices has come to. */
static int link_copy(const jfl_session *s, jf_group *g)
{
  for (int i = 0; i < s->n_group; i++) {
    const jf_group *o = s->group[i];
    if (o == g || !o->settled || o->devices != g->devices) continue;
    g->team = o->team;
    g->net = o->net;
    return 1;
  }
  return 0;
}

/* Joins the team, if this rank is one of it; *net is the device that did. */
static jfl_status link_join(jfl_session *s, const link_team *t, int number, const void *invitation,
                            jf_site **net)
{
  char name[32];
  if (!t->site) return JFL_OK;
  const jf_kind *link = t->site->device->kind->link;
  snprintf(name, sizeof name, "%s:%d", link->name, t->site->device->index);
  JF_TRY(jf_session_site(s, name, net));
  return link->join((*net)->device, number, t->rank, t->n, invitation);
}

static jfl_status link_gather(jfl_session *s, const void *mine, size_t size, void *all)
{
  jf_session_acquire(s);
  const jfl_status st = jf_session_gather(s, mine, size, all);
  jf_session_release(s);
  return st;
}

/* A team that one rank cannot join is left by all. */
static jfl_status link_make(jfl_session *s, jf_group *g, const link_team *t, const link_card *all)
{
  jf_site *net = NULL;
  int number = 1;
  while (s->group[number - 1] != g) number++;
  const jfl_status joined = link_join(s, t, number, all[t->rank[0]].invitation, &net);
  if (joined) jf_library_lacks(t->site->device->kind->link->name, jfl_error_part(JFL_ERROR_TEXT));
  const int32_t mine = joined;
  int32_t *status = jf_new((size_t)jf_world_size() * sizeof *status);
  if (!status) return jf_fail(JFL_ENOMEM, "out of memory");
  const jfl_status st = link_gather(s, &mine, sizeof mine, status);
  int well = !st;
  for (int i = 0; i < jf_world_size() && !st; i++) well &= !status[i];
  jf_free(status);
  if (well) g->team = number;
  if (well && net) g->net = net->place;
  if (!well && net && !joined) net->device->kind->leave(net->device, number);
  return st;
}

static jfl_status link_settle(jfl_session *s, jf_group *g, const link_team *t)
{
  link_card mine = { 0 }, *all;
  if (t->n < 2) return JFL_OK;
  if (!(all = jf_new((size_t)jf_world_size() * sizeof *all)))
    return jf_fail(JFL_ENOMEM, "out of memory");
  link_say(t, &mine);
  jfl_status st = link_gather(s, &mine, sizeof mine, all);
  if (!st && link_agrees(t, all)) {
    g->devices = link_hash(t, all);
    if (!link_copy(s, g)) st = link_make(s, g, t, all);
  }
  jf_free(all);
  return st;
}

jfl_status jf_session_link(jfl_session *s, jf_group *g)
{
  link_team t = { 0 };
  if (g->settled) return JFL_OK;
  jfl_status st = link_ranks(s, g, &t);
  if (!st) st = link_settle(s, g, &t);
  g->settled = !st;
  jf_free(t.rank);
  return st;
}
