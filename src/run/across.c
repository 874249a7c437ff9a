/* Contents of variables between processes. Each function here is called by all of them, in the same
   order, and fails on all if it does on one. */
#include "run/run.h"
#include "world/collective.h"
#include "world/world.h"

#include <string.h>

/* ---- what rank 0 has, for all ---- */

/* Ranks that have the bytes hand them on, so that their number doubles each time. */
jfl_status jf_hand_out(void *data, size_t size)
{
  const int rank = jf_world_rank(), n = jf_world_size();
  for (int64_t have = 1; have < n; have *= 2) {
    const jf_mail to = { rank + (int)have, data, size }, from = { rank - (int)have, data, size };
    const int sends = rank < have && to.rank < n, receives = rank >= have && rank < 2 * have;
    if (sends || receives) JF_TRY(jf_world_exchange(&to, sends, &from, receives));
  }
  return JFL_OK;
}

jfl_status jf_hand_out_block(jfl_session *s, void **data, size_t *size)
{
  const int first = !jf_world_rank();
  void *room = NULL;
  JF_TRY(jf_hand_out(size, sizeof *size));
  if (!first) room = jf_new_raw(*size);
  jfl_status st = first || room ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
  st = jf_session_agree_status(s, st);
  if (!st) st = jf_hand_out(first ? *data : room, *size);
  if (st) jf_free(room);
  else if (!first) *data = room;
  return st;
}

jfl_status jfl_session_hand_out(jfl_session *s, const char *doing, const char *text, char **out)
{
  JF_NEED(SESSION, s);
  JF_NEED_POINTERS(doing, text);
  JF_NEED_POINTER(out);
  char *copy = jf_name_copy(text);
  if (!copy) return jf_fail(JFL_ENOMEM, "out of memory");
  if (jf_world_size() == 1) return *out = copy, JFL_OK;
  void *shared = copy;
  size_t size = strlen(copy) + 1;
  jf_session_acquire(s);
  jfl_status st = jf_session_agree(s, doing);
  if (!st) st = jf_hand_out_block(s, &shared, &size);
  jf_session_release(s);
  if (shared != copy || st) jf_free(copy);
  if (!st && (!size || ((const char *)shared)[size - 1])) {
    jf_free(shared);
    st = jf_fail(JFL_EDATA, "rank 0 (%s) hands out a text that has no end", jf_world_host(0));
  }
  if (!st) *out = shared;
  return st;
}

/* ---- what no rank has alone ---- */

static int across_has(const jf_group *g, int rank)
{
  for (int i = 0; i < g->n; i++)
    if (g->member[i].rank == rank) return 1;
  return 0;
}

int jf_var_is_sharded(const jf_var *v, int to)
{
  const jf_group *g = v->group;
  const int n = jf_world_size();
  if (n == 1 || !g) return 0;
  if (v->distribution.kind != JFL_SPLIT) {
    for (int i = to < 0 ? 0 : to; i < (to < 0 ? n : to + 1); i++)
      if (!across_has(g, i)) return 1;
    return 0;
  }
  for (int i = 0; i < g->n; i++)
    if (g->member[i].rank != to) return 1;
  return 0;
}

/* The messages by which the parts of a variable reach rank `to`, or all ranks where that is -1.
   part[m] is member m's, or NULL where this rank neither has nor gets it. */
typedef struct across_parts {
  jf_var *v;
  int to, n;                   /* of what is whole, there is one part: member 0's */
  char **part;
  jf_mail *send, *receive; int n_send, n_receive;
} across_parts;

/* Whether a rank gets a part that another one has. */
static int across_gets(const across_parts *a, int rank, int member)
{
  const jf_group *g = a->v->group;
  const int lacks = a->v->distribution.kind == JFL_SPLIT ? g->member[member].rank != rank
                                                         : !across_has(g, rank);
  return lacks && (a->to < 0 || a->to == rank);
}

static jfl_status across_take(across_parts *a)
{
  const size_t most = (size_t)a->n * (size_t)jf_world_size();
  a->part = jf_new((size_t)a->n * sizeof *a->part);
  a->send = jf_new(most * sizeof *a->send);
  a->receive = jf_new((size_t)a->n * sizeof *a->receive);
  return a->part && a->send && a->receive ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
}

static jfl_status across_read(across_parts *a, int m)
{
  const jf_group *g = a->v->group;
  const int rank = jf_world_rank(), owner = g->member[m].rank;
  const int has = a->v->distribution.kind == JFL_SPLIT ? owner == rank : across_has(g, rank);
  const size_t size = jf_var_part_bytes(a->v, m);
  if (!has && !across_gets(a, rank, m)) return JFL_OK;
  a->part[m] = jf_new_raw(size);
  if (!a->part[m]) return jf_var_no_memory(a->v, size);
  if (!has) a->receive[a->n_receive++] = (jf_mail){ owner, a->part[m], size };
  for (int i = 0; owner == rank && i < jf_world_size(); i++)
    if (across_gets(a, i, m)) a->send[a->n_send++] = (jf_mail){ i, a->part[m], size };
  return has ? jf_var_read_part(a->v, m, a->part[m]) : JFL_OK;
}

static jfl_status across_prepare(across_parts *a)
{
  JF_TRY(across_take(a));
  for (int m = 0; m < a->n; m++) JF_TRY(across_read(a, m));
  return JFL_OK;
}

static void across_free(const across_parts *a)
{
  for (int m = 0; m < a->n && a->part; m++) jf_free(a->part[m]);
  jf_free(a->part);
  jf_free(a->send);
  jf_free(a->receive);
}

jfl_status jf_var_gather(jfl_session *s, jf_var *v, int to, void *out, jfl_status mine)
{
  const int gets = to < 0 || to == jf_world_rank();
  across_parts a = { .v = v, .to = to, .n = v->distribution.kind == JFL_SPLIT ? v->group->n : 1 };
  jfl_status st = jf_session_agree_status(s, mine ? mine : across_prepare(&a));
  if (!st) st = jf_world_exchange(a.send, a.n_send, a.receive, a.n_receive);
  for (int m = 0; m < a.n && !st && gets && out; m++)
    if (a.part[m]) jf_var_join_part(v, m, a.part[m], out);
  across_free(&a);
  return st;
}
