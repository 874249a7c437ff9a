/* Brings values to groups: what members need is cut out of what others have, and put together. */
#include "op/slice.h"
#include "pass/spmd/spmd.h"

/* ---- from parts to parts ---- */

/* What a member's part is put together from: boxes that this process has, or that come as
   messages. */
typedef struct convert_piece { jfl_value *value; int message; } convert_piece;

typedef struct convert_job {
  spmd_walk *w;
  const jfl_value *v;
  const spmd_sharding *from;
  spmd_sharding *to;
  spmd_mail mail;
  convert_piece **piece; int *n_piece; /* by member of `to` */
} convert_job;

/* Takes what both boxes have, relative to the beginning of `in`; 0: nothing. Values of no elements
   have no part that is empty for another reason. */
static int convert_common(const spmd_box *in, const spmd_box *want, spmd_box *out)
{
  out->size.n = in->size.n;
  for (int i = 0; i < in->size.n; i++) {
    const int64_t first = in->first[i] > want->first[i] ? in->first[i] : want->first[i];
    const int64_t a = in->first[i] + in->size.d[i], b = want->first[i] + want->size.d[i];
    out->first[i] = first - in->first[i];
    out->size.d[i] = (a < b ? a : b) - first;
    if (out->size.d[i] < 0 || (out->size.d[i] == 0 && in->size.d[i] && want->size.d[i])) return 0;
  }
  return 1;
}

/* The member that gives member j what all have: one on its device, of its process, or any. */
static int convert_giver(const convert_job *c, int j)
{
  const jf_group *from = c->from->group, *to = c->to->group;
  const jf_group_member *m = &to->member[j];
  int best = j % from->n, score = 0;
  for (int i = 0; i < from->n; i++) {
    const int same = from->member[i].rank == m->rank;
    const int now = same + (same && from->member[i].place == m->place);
    if (now > score) best = i, score = now;
  }
  return best;
}

/* Has member j cut what is its own out of member i's part, if it can read that: then members do so
   at the same time, and none waits for the host. */
static void convert_cut_there(const convert_job *c, int i, int j, jfl_value *cut)
{
  const spmd_walk *w = c->w;
  const int to = c->to->group->member[j].place;
  if (!cut || cut == c->from->part[i]) return;
  if (jf_has_host_memory(w->target->device[cut->place]->kind) &&
      jf_has_host_memory(w->target->device[to]->kind))
    cut->place = cut->node->place = to;
}

static void convert_take(convert_job *c, int i, int j, const spmd_box *cut)
{
  spmd_walk *w = c->w;
  const int rank = w->target->rank, from = c->from->group->member[i].rank;
  const int to = c->to->group->member[j].rank;
  convert_piece p = { NULL, -1 };
  if (from != rank && to != rank) return;
  if (from != to) {
    spmd_message m = { from, to, i, *cut, NULL };
    p.message = spmd_message_add(w, &c->mail, m);
    spmd_message *x = &c->mail.message[p.message];
    if (from == rank && !x->value) x->value = spmd_cut(w, c->from->part[i], cut);
  } else if (to == rank) {
    p.value = spmd_cut(w, c->from->part[i], cut);
    convert_cut_there(c, i, j, p.value);
  }
  c->piece[j][c->n_piece[j]++] = p;
}

/* Lists what member j needs of which member. */
static void convert_list(convert_job *c, int j)
{
  const jfl_shape *whole = &c->v->shape;
  const spmd_sharding *from = c->from, *to = c->to;
  const spmd_box want = spmd_box_of(whole, to->d, to->group->n, j);
  c->piece[j] = jf_alloc(c->w->g->arena, (size_t)from->group->n * sizeof *c->piece[j]);
  if (from->d.kind == JFL_BROADCAST) {
    convert_take(c, convert_giver(c, j), j, &want);
    return;
  }
  for (int i = 0; i < from->group->n; i++) {
    const spmd_box have = spmd_box_of(whole, from->d, from->group->n, i);
    spmd_box cut;
    if (convert_common(&have, &want, &cut)) convert_take(c, i, j, &cut);
  }
}

/* Puts member j's pieces together. */
static jfl_value *convert_join(const convert_job *c, int j)
{
  const jf_concat a = { c->from->d.axis };
  const int n = c->n_piece[j];
  jfl_value **in = jf_alloc(c->w->g->arena, (size_t)n * sizeof *in);
  for (int i = 0; i < n; i++) {
    const convert_piece *p = &c->piece[j][i];
    in[i] = p->message < 0 ? p->value : c->mail.message[p->message].value;
  }
  if (n == 1 || c->w->g->err) return in[0];
  jfl_value *all = jf_emit(c->w->g, &jf_op_concat, &a, in, (size_t)n);
  return spmd_at(c->to->group->member[j].place, all);
}

/* Whether a member lists nothing of its own: it shares the part of another one on its device. */
static int convert_shares(const convert_job *c, int j)
{
  return c->to->d.kind == JFL_BROADCAST && spmd_has(c->w, c->to->group, j)
      && spmd_twin(c->w, c->to->group, j) != j;
}

static spmd_sharding *convert_move(spmd_walk *w, const jfl_value *v, const spmd_sharding *from,
                                   const jf_group *g, jfl_distribution d)
{
  const size_t n = (size_t)g->n;
  convert_job c = { .w = w, .v = v, .from = from, .to = spmd_sharding_new(w, v, g, d),
                    .piece = jf_alloc(w->g->arena, n * sizeof *c.piece),
                    .n_piece = jf_alloc(w->g->arena, n * sizeof *c.n_piece) };
  for (int j = 0; j < g->n && !w->g->err; j++)
    if (!convert_shares(&c, j)) convert_list(&c, j);
  spmd_exchange(w, &c.mail, from->group, g, v->dtype);
  for (int j = 0; j < g->n && !w->g->err; j++) {
    if (!spmd_has(w, g, j)) continue;
    c.to->part[j] = convert_shares(&c, j) ? c.to->part[spmd_twin(w, g, j)] : convert_join(&c, j);
  }
  return w->g->err ? NULL : c.to;
}

/* ---- choosing what to convert ---- */

/* Makes a sum over the members, of partial parts, or of mirrored ones their mean: on the same
   group, and lying as said or broadcast, of which each member has its part already. */
static spmd_sharding *convert_reduce(spmd_walk *w, const jfl_value *v, const spmd_sharding *from,
                                     jfl_distribution d)
{
  const jf_group *g = from->group;
  const int wide = spmd_spans_ranks(g);
  if (d.kind == JFL_SPLIT && v->shape.d[d.axis] >= g->n && (!wide || spmd_is_ordered(g)))
    return wide ? spmd_reduce_scatter(w, v, from, d) : spmd_reduce_parts(w, v, from, d);
  spmd_sharding *to = spmd_sharding_find(w, v, g, JF_ON_ALL);
  if (to) return to;
  return wide ? spmd_sum_now(w, v, from) : spmd_reduce_here(w, v, from);
}

static spmd_sharding *convert(spmd_walk *w, jfl_value *v, const jf_group *g, jfl_distribution d)
{
  /* The way of lying that is best to begin with: all of it on those devices, else as it is made. */
  const spmd_sharding *whole = spmd_sharding_find(w, v, g, JF_ON_ALL);
  const spmd_sharding *from = whole ? whole : w->sharding[v->id];
  const int sums = from->d.kind == JFL_PARTIAL || from->d.kind == JFL_MIRRORED;
  if (d.kind == JFL_PARTIAL || d.kind == JFL_MIRRORED) {
    w->g->err = jf_fail(JFL_EINVAL, "'%s' lies %s and cannot be read as %s", v->name,
                        jf_distribution_text(w->g->arena, from->d),
                        jf_distribution_text(w->g->arena, d));
    return NULL;
  }
  if (sums) from = convert_reduce(w, v, from, d);
  if (!from || (from->group == g && jf_distribution_eq(from->d, d))) return (spmd_sharding *)from;
  return convert_move(w, v, from, g, d);
}

static const char *convert_sharing(const spmd_walk *w, const jfl_value *v, jfl_distribution d)
{
  jf_arena *a = w->g->arena;
  const spmd_sharding *from = w->sharding[v->id];
  return jf_sprintf(a, "'%s': %s -> %s, %zu bytes", v->name, jf_distribution_text(a, from->d),
                    jf_distribution_text(a, d), JF_BYTES_OF(v));
}

spmd_sharding *spmd_bring(spmd_walk *w, jfl_value *v, const jf_group *g, jfl_distribution d)
{
  const jf_node_source source = w->g->source;
  if (w->g->err) return NULL;
  spmd_sharding *there = spmd_sharding_find(w, v, g, d);
  if (!there && spmd_is_source(v)) {
    w->g->err = w->make(w, v, g, d);
    there = w->g->err ? NULL : spmd_sharding_find(w, v, g, d);
  }
  if (!there && spmd_waits(w, v)) {
    spmd_make_sums(w);
    there = spmd_sharding_find(w, v, g, d);
  }
  if (!there && !w->g->err) {
    w->g->source.sharing = convert_sharing(w, v, d);
    there = convert(w, v, g, d);
  }
  w->g->source = source;
  return w->g->err ? NULL : there;
}
