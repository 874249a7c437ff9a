/* Sums over processes: small ones wait for each other, to be made together. */
#include "op/collective.h"
#include "op/op.h"
#include "pass/spread/spread.h"

/* Values of at least so many bytes are summed alone, as soon as they are there; smaller ones once
   there are so many bytes of them. */
enum { BUCKET_ALONE = 1 << 20, BUCKET_FULL = 1 << 22 };

/* Gives the members the sum that came to this process. */
static void bucket_give(spread_walk *w, const spread_sum *s, jfl_value *sum)
{
  const jf_group *g = s->from->group;
  spread_lie *to = spread_lie_new(w, s->of, g, JF_ON_ALL);
  for (int i = 0; i < g->n && !w->g->err; i++) {
    if (!spread_has(w, g, i)) continue;
    const int twin = spread_twin(w, g, i);
    to->part[i] = twin == i ? spread_scale(w, s->from, i, sum) : to->part[twin];
  }
}

/* Makes n sums of one group and dtype in one step. */
static void bucket_reduce(spread_walk *w, const spread_sum *s, int n)
{
  const jf_group *g = s->from->group;
  const jf_all_reduce a = { spread_ranks(w, g), g->team };
  jfl_value **in = jf_alloc(w->g->arena, (size_t)n * sizeof *in);
  for (int i = 0; i < n; i++) in[i] = spread_local_sum(w, s[i].from);
  if (w->g->err) return;
  jfl_value *first = in[0] ? jf_emit(w->g, &jf_op_all_reduce, &a, in, (size_t)n) : NULL;
  spread_at(spread_net(w, g), first);
  for (int i = 0; i < n && !w->g->err; i++)
    bucket_give(w, &s[i], first ? first->node->out[i] : NULL);
}

/* "12 values: partial -> broadcast, 39760 bytes" */
static const char *bucket_sharing(const spread_walk *w, const spread_sum *s, int n)
{
  size_t bytes = 0;
  for (int i = 0; i < n; i++) bytes += spread_bytes(s[i].of);
  return jf_sprintf(w->g->arena, "%d values: %s -> broadcast, %zu bytes", n,
                    jf_distribution_text(w->g->arena, s->from->d), bytes);
}

void spread_make_sums(spread_walk *w)
{
  const jf_node_source source = w->g->source;
  spread_sum *s = w->sum;
  const int n = w->n_sum;
  w->sum = NULL;
  w->n_sum = w->cap_sum = 0;
  w->sum_size = 0;
  for (int i = 0, k; i < n && !w->g->err; i = k) {
    for (k = i + 1; k < n; k++)
      if (s[k].from->group != s[i].from->group || s[k].of->dtype != s[i].of->dtype) break;
    w->g->source.sharing = bucket_sharing(w, s + i, k - i);
    bucket_reduce(w, s + i, k - i);
  }
  w->g->source = source;
}

int spread_waits(const spread_walk *w, const jfl_value *v)
{
  for (int i = 0; i < w->n_sum; i++)
    if (w->sum[i].of == v) return 1;
  return 0;
}

spread_lie *spread_sum_now(spread_walk *w, const jfl_value *v, const spread_lie *from)
{
  bucket_reduce(w, &(spread_sum){ v, from }, 1);
  return w->g->err ? NULL : spread_lie_find(w, v, from->group, JF_ON_ALL);
}

int spread_wait(spread_walk *w, const jfl_value *v, const jf_group *g)
{
  const spread_lie *from = w->lie[v->id];
  const int sums = from->d.kind == JFL_PARTIAL || from->d.kind == JFL_MIRRORED;
  if (!sums || from->group != g || !spread_is_wide(g) || spread_bytes(v) >= BUCKET_ALONE) return 0;
  w->sum = jf_grow(w->g->arena, w->sum, w->n_sum, &w->cap_sum, sizeof *w->sum);
  w->sum[w->n_sum++] = (spread_sum){ v, from };
  w->sum_size += spread_bytes(v);
  if (w->sum_size >= BUCKET_FULL) spread_make_sums(w);
  return 1;
}
