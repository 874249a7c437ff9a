/* Micro-batches: what the body computes is put on a group that has its devices once for each part
   of the batch, so that the pass spmd gives each part its nodes, and pipeline puts these one
   after another. */
#include "pass/pass.h"

static int repeat_is_wanted(const jfl_graph *g, const jf_target *t, const jf_node *n)
{
  return g->turns > 1 && !(n->op->flags & (JF_EFFECT | JF_STORED)) &&
         (jf_is_group(n->place) || !t->n_rank);
}

static jfl_status repeat_move(jf_node *n, int place)
{
  n->place = place;
  for (int k = 0; k < n->n_out; k++) {
    if (n->out[k]->distribution.kind == JFL_MIRRORED)
      return jf_fail(JFL_ENOSYS, "'%s' is mirrored, and only batches of the consistent view are "
                     "cut into micro-batches", n->out[k]->name);
    n->out[k]->place = place;
  }
  return JFL_OK;
}

jfl_status jf_pass_repeat(jfl_graph *g, const jf_target *t)
{
  const int n_device = t->n_device;
  int *to = jf_alloc(g->arena, (size_t)(n_device + t->n_group) * sizeof *to);
  for (int i = 0; i < g->n_node; i++) {
    jf_node *n = g->node[i];
    if (!repeat_is_wanted(g, t, n)) continue;
    int *known = &to[jf_is_group(n->place) ? n_device + n->place - JF_GROUPS : n->place];
    if (!*known) JF_TRY(t->repeated(t->host, n->place, g->turns, known));
    JF_TRY(repeat_move(n, *known));
  }
  return JFL_OK;
}
