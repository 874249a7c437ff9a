/* Sums over processes: small ones wait for each other, to be made together. */
#include "op/collective.h"
#include "op/op.h"
#include "pass/spmd/spmd.h"

/* Values of at least so many bytes are summed alone, as soon as they are there; smaller ones once
   there are so many bytes of them. */
enum { BUCKET_ALONE = 1 << 20, BUCKET_FULL = 1 << 22 };

/* Gives the members the sum that came to this process. */
static void bucket_give(spmd_walk *w, const spmd_sum *s, jfl_value *sum)
{
  const jf_group *g = s->from->group;
  spmd_sharding *to = spmd_sharding_new(w, s->of, g, JF_ON_ALL);
  for (int i = 0; i < g->n && !w->g->err; i++) {
    if (!spmd_has(w, g, i)) continue;
    const int twin = spmd_twin(w, g, i);
    to->part[i] = twin == i ? spmd_scale(w, s->from, i, sum) : to->part[twin];
  }
}

/* Makes n sums of one group and dtype in one step. */
static void bucket_reduce(spmd_walk *w, const spmd_sum *s, int n)
{
  const jf_group *g = s->from->group;
  const jf_all_reduce a = { spmd_ranks(w, g), g->team };
  jfl_value **in = jf_alloc(w->g->arena, (size_t)n * sizeof *in);
  for (int i = 0; i < n; i++) in[i] = spmd_local_sum(w, s[i].from);
  if (w->g->err) return;
  jfl_value *first = in[0] ? jf_emit(w->g, &jf_op_all_reduce, &a, in, (size_t)n) : NULL;
  spmd_at(spmd_net(w, g), first);
  for (int i = 0; i < n && !w->g->err; i++)
    bucket_give(w, &s[i], first ? first->node->out[i] : NULL);
}

/* "12 values: partial -> broadcast, 39760 bytes" */
static const char *bucket_sharing(const spmd_walk *w, const spmd_sum *s, int n)
{
  size_t bytes = 0;
  for (int i = 0; i < n; i++) bytes += JF_BYTES_OF(s[i].of);
  return jf_sprintf(w->g->arena, "%d values: %s -> broadcast, %zu bytes", n,
                    jf_distribution_text(w->g->arena, s->from->d), bytes);
}

void spmd_make_sums(spmd_walk *w)
{
  const jf_node_source source = w->g->source;
  spmd_sum *s = w->sum;
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

int spmd_waits(const spmd_walk *w, const jfl_value *v)
{
  for (int i = 0; i < w->n_sum; i++)
    if (w->sum[i].of == v) return 1;
  return 0;
}

spmd_sharding *spmd_sum_now(spmd_walk *w, const jfl_value *v, const spmd_sharding *from)
{
  bucket_reduce(w, &(spmd_sum){ v, from }, 1);
  return w->g->err ? NULL : spmd_sharding_find(w, v, from->group, JF_ON_ALL);
}

int spmd_wait(spmd_walk *w, const jfl_value *v, const jf_group *g)
{
  const spmd_sharding *from = w->sharding[v->id];
  const int sums = from->d.kind == JFL_PARTIAL || from->d.kind == JFL_MIRRORED;
  if (!sums || from->group != g || !spmd_spans_ranks(g) || JF_BYTES_OF(v) >= BUCKET_ALONE) return 0;
  w->sum = jf_grow(w->g->arena, w->sum, w->n_sum, &w->cap_sum, sizeof *w->sum);
  w->sum[w->n_sum++] = (spmd_sum){ v, from };
  w->sum_size += JF_BYTES_OF(v);
  if (w->sum_size >= BUCKET_FULL) spmd_make_sums(w);
  return 1;
}
