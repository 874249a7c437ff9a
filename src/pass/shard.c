/* Splits large trained variables over the devices of their group, so that each keeps and updates a
   part of them and of what their optimizer keeps (ZeRO, Rajbhandari et al. 2020, stages 1 and 2):
   ops read the whole, which is put together for them, and gradients are summed where they are used.
   Variables of which an optimizer measures all, such as their norm, stay whole. */
#include "op/attrs.h"
#include "op/op.h"
#include "optim/optim.h"
#include "pass/pass.h"

static int shard_is_listed(const jfl_graph *g, const jfl_value *v)
{
  for (int i = 0; i < g->n_sharded; i++)
    if (g->sharded[i] == v) return 1;
  return 0;
}

/* Notes which variables are split, before those that are to be where others are have a place. */
jfl_status jf_pass_find_shards(jfl_graph *g, const jf_target *t)
{
  (void)t;
  if (!g->shard) return JFL_OK;
  g->sharded = jf_alloc(g->arena, (size_t)g->n_value * sizeof *g->sharded);
  for (int i = 0; i < g->n_training; i++) {
    const jf_training *asked = g->training[i];
    const int measures = jf_optim_rule(asked->optim, asked->attr)->n_sum > 0;
    for (int k = 0; k < asked->n_variable && !measures; k++) {
      jfl_value *v = asked->variable[k];
      if (v->distribution.kind == JFL_AUTO && jf_numel(&v->shape) >= g->shard &&
          !shard_is_listed(g, v))
        g->sharded[g->n_sharded++] = v;
    }
  }
  return JFL_OK;
}

/* Whether v can be split, and is not there already in another way. */
static int shard_can(const jfl_value *v, const jf_target *t)
{
  if (!jf_is_group(v->place)) return 0;
  const int n = t->group[v->place - JF_GROUPS]->n;
  const int is_free = v->distribution.kind == JFL_AUTO ||
                      jf_distribution_eq(v->distribution, JF_ALONG(0));
  return is_free && n > 1 && v->shape.n > 0 && v->shape.d[0] >= n;
}

/* Emits the whole of v, which all readers get. */
static jfl_value *shard_gather(jfl_graph *g, jfl_value *v)
{
  static const jf_parallel_cast whole = { "broadcast", "split(0)" };
  v->distribution = JF_ALONG(0);
  jfl_value *all = JF_EMIT(g, parallel_cast, &whole, v);
  if (all) all->place = all->node->place = v->place;
  return all;
}

jfl_status jf_pass_shard(jfl_graph *g, const jf_target *target)
{
  jf_rewrite r;
  if (!g->n_sharded) return JFL_OK;
  jfl_value **whole = jf_alloc(g->arena, (size_t)g->n_value * sizeof *whole);
  jf_rewrite_begin(g, &r);
  for (int i = 0; i < g->n_sharded; i++) {
    jfl_value *v = g->sharded[i];
    if (shard_can(v, target) && !(whole[v->id] = shard_gather(g, v))) return g->err;
  }
  for (int i = 0; i < r.n_old; i++) {
    jf_node *n = r.old[i];
    for (int k = 0; k < n->n_in; k++)
      if (whole[n->in[k]->id] && !jf_mutates(n, k)) n->in[k] = whole[n->in[k]->id];
    jf_rewrite_keep(&r, n);
  }
  jf_rewrite_end(&r);
  return JFL_OK;
}
