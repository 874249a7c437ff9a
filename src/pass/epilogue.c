/* Makes bias, residual and activation part of the product or convolution that they follow, also
   where what the activation reads is read elsewhere and kept; the gradient of a bias part of the
   gradient of the weights, which reads the same value; and a sum part of what alone reads it. The
   records say which ops can have such endings or read sums, and which ops can be part of one. */
#include "op/epilogue.h"
#include "op/reduce.h"
#include "op/reshape.h"
#include "pass/fuse/member.h"
#include "pass/pass.h"

#include <string.h>

/* Nodes that become one: a product with what follows it, or a node that can compute sums on the
   side with such a sum. The new node is emitted where node number `place` was. */
typedef struct ending_group {
  const jf_node *first;
  jfl_value *bias, *residual;    /* of a product; or NULL */
  const char *act;
  const jf_node *apart;          /* the activation, where what it reads is kept; or NULL */
  const jf_node *sum;            /* the sum; NULL for a product */
  int summed;                    /* the number of the input that it sums */
  int place;
} ending_group;

typedef struct ending_state {
  jf_rewrite r;
  const jf_target *target;
  int *made;                     /* by value: number of its maker, or -1 */
  int *beside, *next;            /* `beside` by value: the first node that can sum it on the side,
                                    as SIDES times its number plus the input's, or -1; `next` by
                                    that: the next such node for the same value */
  char *in_program;              /* by value: whether what programs take reads it, too */
  int *changes;                  /* by node number: how many nodes before it update variables */
  ending_group **of;                    /* by node number: the group that the node is in, or NULL */
} ending_state;

enum { SIDES = 2 };

static const jf_node *sole_reader(const ending_state *s, const jfl_value *v)
{
  int i = s->r.reader[v->id];
  return s->r.uses[v->id] == 1 && i >= 0 && !s->of[i] ? s->r.old[i] : NULL;
}

/* If n adds two tensors of its own shape and v is one, gives the other; else NULL. */
static jfl_value *added(const jf_node *n, const jfl_value *v)
{
  if (!(n->op->flags & JF_ADDS) || !jf_shape_eq(&n->out[0]->shape, &v->shape)) return NULL;
  return n->in[n->in[0] == v];
}

/* If n adds a line to v along that axis, gives the line; else NULL. */
static jfl_value *added_line(const jf_node *n, const jfl_value *v, int axis)
{
  if (jf_line_axis(n) != axis || !(n->op->line->op->flags & JF_ADDS)) return NULL;
  return n->in[0] == v ? n->in[1] : NULL;
}

/* Whether products on n's device gain by having n's op as their activation. */
static int ending_activates(const ending_state *s, const jf_node *n)
{
  const jf_kind *k = s->target->device[n->place]->kind;
  return k->activates && k->activates(n->op->name, n->out[0]->dtype);
}

/* Whether n can be the next part of group p, whose result so far is v. */
static int follows(const ending_state *s, ending_group *p, const jf_node *n, const jfl_value *v)
{
  const int axis = p->first->op->ending->axis(p->first);
  const int is_first = !p->bias && !p->residual;
  jfl_value *line = added_line(n, v, axis), *other = added(n, v);
  if (p->act) return 0;
  if (line && is_first) p->bias = line;
  else if (other && is_first && jf_runs_along(other, &v->shape, axis)) p->bias = other;
  else if (other && !p->residual && jf_shape_eq(&other->shape, &v->shape)) p->residual = other;
  else if (!other && jf_is_activation(n->op) && ending_activates(s, n))
    p->act = n->op->name;
  else return 0;
  return 1;
}

/* Whether node `from` can be moved to the place of node `to`: no node in between updates a
   variable. */
static int may_wait(const ending_state *s, int from, int to)
{
  return s->changes[from + 1] == s->changes[to];
}

static int has_ending(const jf_node *n)
{
  return n->op->ending && jf_op_dtypes(n->op->ending->fused) >> n->out[0]->dtype & 1;
}

/* Starts a group with product number i and adds the nodes that follow it, if they can be part of
   it. */
static void follow(ending_state *s, int i)
{
  ending_group p = { .first = s->r.old[i], .place = i }, *kept = NULL;
  if (!has_ending(p.first)) return;
  const jfl_value *v = p.first->out[0];
  for (const jf_node *n; (n = sole_reader(s, v));) {
    int at = s->r.reader[v->id];
    if (!may_wait(s, p.place, at) || !follows(s, &p, n, v)) break;
    if (!kept) s->of[i] = kept = jf_alloc(s->r.g->arena, sizeof *kept);
    p.place = at;
    s->of[at] = kept;
    v = n->out[0];
  }
  if (kept) *kept = p;
}

/* ---- activations whose input is kept ---- */

/* Whether the pass fuse can make n part of a program. */
static int ending_is_member(const jf_node *n)
{
  return jf_member_kind(n) != JF_NO_MEMBER || n->op->expand;
}

/* The op of a product with its endings, its attributes and its inputs, at most 4 of them. */
static jf_node ending_node(const ending_state *s, const ending_group *p, jfl_value **in)
{
  const jf_rewrite *r = &s->r;
  const jf_ending *ending = p->first->op->ending;
  jf_node n = { .op = p->apart ? ending->kept : ending->fused, .in = in, .place = p->first->place };
  n.attr = jf_alloc(r->g->arena, n.op->attr_size);
  memcpy(n.attr, p->first->attr, p->first->op->attr_size);
  *(jf_epilogue *)(void *)((char *)n.attr + ending->epilogue) = (jf_epilogue){
    .bias = p->bias != NULL, .residual = p->residual != NULL, .act = p->act };
  for (int i = 0; i < 2; i++) in[n.n_in++] = jf_current(r, p->first->in[i]);
  if (p->bias) in[n.n_in++] = jf_current(r, p->bias);
  if (p->residual) in[n.n_in++] = jf_current(r, p->residual);
  return n;
}

/* Whether others than n read what n reads, or what that is a view of. */
static int ending_is_shared(const ending_state *s, const jf_node *n)
{
  const jfl_value *v = n->in[0], *root = jf_root(v);
  while (v != root && s->r.uses[v->id] == 1) v = v->node->in[0];
  return s->r.uses[v->id] > 1;
}

/* Lets a product apply the activation that is node number i, whose input others read as well, if a
   step of the device does both. What programs read they compute as quickly. */
static void ending_keep(ending_state *s, int i)
{
  const jf_node *n = s->r.old[i];
  if (s->of[i] || !jf_is_activation(n->op) || !ending_activates(s, n)) return;
  const int at = s->made[jf_root(n->in[0])->id];
  if (at < 0 || s->in_program[n->out[0]->id] || !ending_is_shared(s, n)) return;
  ending_group *was = s->of[at], p = { .first = s->r.old[at], .place = at };
  if (was) p = *was;
  if (p.act || p.sum || p.place != at || !has_ending(p.first)) return;
  if (!p.first->op->ending->kept || !jf_may_join(p.first, n)) return;
  jfl_value *in[4];
  p.act = n->op->name;
  p.apart = n;
  const jf_node with = ending_node(s, &p, in);
  if (!jf_is_one_step(s->target, &with, 0)) return;
  if (!was) was = jf_alloc(s->r.g->arena, sizeof *was);
  *was = p;
  s->of[at] = s->of[i] = was;
}

/* ---- sums on the side ---- */

/* Whether n sums over all axes except this one. */
static int sums_all_but(const jf_node *n, int axis)
{
  if (!(n->op->flags & JF_SUMS)) return 0;
  const jf_ints *over = &((const jf_reduce *)n->attr)->axis;
  int same = over->n == n->in[0]->shape.n - 1;
  for (int i = 0; same && i < over->n; i++) same = over->v[i] == i + (i >= axis);
  return same;
}

/* Whether everything that n reads is made before node number i. */
static int is_ready(const ending_state *s, const jf_node *n, int i)
{
  for (int k = 0; k < n->n_in; k++)
    if (s->made[n->in[k]->id] >= i) return 0;
  return 1;
}

/* The node that n becomes to give the sums of its input number i, too. */
static jf_node ending_summing(const ending_state *s, const jf_node *n, int i, jfl_value **in)
{
  const jf_side_sum *side = n->op->side_sum;
  jf_node with = { .op = side->with ? side->with : n->op, .place = n->place, .in = in,
                   .n_in = n->n_in };
  with.attr = jf_alloc(s->r.g->arena, with.op->attr_size);
  memcpy(with.attr, n->attr, n->op->attr_size);
  *(int *)(void *)((char *)with.attr + side->asked) = i;
  for (int k = 0; k < n->n_in; k++) in[k] = jf_current(&s->r, n->in[k]);
  return with;
}

/* Whether a sum costs less as a part of n, which sums its input number i: not of what a program
   makes, which adds up at little cost. */
static int ending_sum_pays(const ending_state *s, const jf_node *sum, const jf_node *n, int i)
{
  const jfl_value *v = jf_root(sum->in[0]);
  jfl_value *in[SIDES];
  if (!n->op->side_sum->with) return 1;
  if (v->origin == JF_RESULT && ending_is_member(v->node)) return 0;
  const jf_node with = ending_summing(s, n, i, in);
  return jf_may_join(sum, n) && jf_is_one_step(s->target, &with, 1);
}

/* Looks for a node that can compute sum number i on the side, and groups the two. */
static void join_sum(ending_state *s, int i)
{
  const jf_node *sum = s->r.old[i];
  for (int at = s->beside[sum->in[0]->id]; at >= 0; at = s->next[at]) {
    const int j = at / SIDES, input = at % SIDES, place = i < j ? i : j;
    const jf_node *n = s->r.old[j];
    if (s->of[j] || !is_ready(s, n, place)) continue;
    if (!sums_all_but(sum, n->op->side_sum->axis(n, input))) continue;
    if (!ending_sum_pays(s, sum, n, input)) continue;
    ending_group *p = s->of[i] = s->of[j] = jf_alloc(s->r.g->arena, sizeof *p);
    *p = (ending_group){ .first = n, .sum = sum, .summed = input, .place = place };
    return;
  }
}

/* Puts n in the place of the first node of its group, which has the name of the user's layer. */
static void ending_stand_for(jf_node *n, const jf_node *first, jf_arena *a)
{
  jf_stand_for(n, first);
  for (int i = 1; i < n->n_out; i++)
    n->out[i]->name = jf_sprintf(a, "%s/%s", n->name, n->op->out[i]);
}

static void emit_product(ending_state *s, const ending_group *p)
{
  jf_rewrite *r = &s->r;
  jfl_value *in[4];
  const jf_node n = ending_node(s, p, in);
  jfl_value *y = jf_emit(r->g, n.op, n.attr, in, (size_t)n.n_in);
  if (!y) return;
  ending_stand_for(y->node, p->first, r->g->arena);
  jf_replace(r, r->old[p->place]->out[0], p->apart ? y->node->out[1] : y);
  if (p->apart)
    jf_replace(r, p->apart->out[0], jf_emit_view(r->g, y, &p->apart->out[0]->shape));
}

static void emit_with_sum(ending_state *s, const ending_group *p)
{
  jf_rewrite *r = &s->r;
  jfl_value *in[SIDES];
  const jf_node n = ending_summing(s, p->first, p->summed, in);
  jfl_value *y = jf_emit(r->g, n.op, n.attr, in, (size_t)n.n_in);
  if (!y) return;
  ending_stand_for(y->node, p->first, r->g->arena);
  jfl_value *sum = jf_emit_view(r->g, y->node->out[1], &p->sum->out[0]->shape);
  jf_replace(r, p->first->out[0], y);
  jf_replace(r, p->sum->out[0], sum);
}

/* ---- sums that are read ---- */

/* The sum that n, and nothing else, reads as an input that may be two tensors; or NULL. */
static const jf_node *ending_read_sum(const ending_state *s, const jf_node *n)
{
  const jf_sum_in *in = n->op->sum_in;
  if (!in || !in->may(n->attr)) return NULL;
  const jfl_value *v = n->in[in->input];
  const int at = s->made[v->id];                       /* -1: no node makes it */
  if (at < 0 || s->r.uses[v->id] != 1 || s->of[at]) return NULL;
  const jf_node *sum = s->r.old[at];
  if (!(sum->op->flags & JF_ADDS) || !jf_may_join(sum, n)) return NULL;
  const int is_sum = added(sum, sum->in[0]) && added(sum, sum->in[1]);
  return is_sum && may_wait(s, at, s->r.next - 1) ? sum : NULL;
}

/* Lets n read the two tensors of a sum, if a kernel does. */
static void ending_take_sum(ending_state *s, jf_node *n)
{
  jfl_graph *g = s->r.g;
  const jf_node *sum = ending_read_sum(s, n);
  if (!sum) return;
  jf_node with = *n;
  with.in = jf_alloc(g->arena, (size_t)(n->n_in + 1) * sizeof *with.in);
  memcpy(with.in, n->in, (size_t)n->n_in * sizeof *with.in);
  with.in[n->op->sum_in->input] = sum->in[0];
  with.in[with.n_in++] = sum->in[1];
  with.attr = jf_attr_copy(g->arena, n->op->attr, n->op->attr_size, n->attr);
  *(int *)(void *)((char *)with.attr + n->op->sum_in->asked) = 1;
  jf_kargs k = jf_call_of(g->arena, &with);
  const int is_plain = s->target->device[n->place]->kind->plain;
  if (is_plain || jf_accepts(s->target->chooser, n->place, n->op, &k)) *n = with;
}

/* Notes what node number i makes and reads; later nodes are noted already. */
static void index_node(ending_state *s, int i)
{
  const jf_node *n = s->r.old[i];
  const int is_view = (n->op->flags & JF_VIEW) != 0, is_member = ending_is_member(n);
  for (int k = 0; k < n->n_out; k++) s->made[n->out[k]->id] = i;
  for (int k = 0; k < n->n_in; k++)
    s->in_program[n->in[k]->id] |= is_view ? s->in_program[n->out[0]->id] : (char)is_member;
  for (int k = 0; k < SIDES && n->op->side_sum; k++) {
    if (n->op->side_sum->axis(n, k) < 0) continue;
    const int id = n->in[k]->id;
    s->next[i * SIDES + k] = s->beside[id];
    s->beside[id] = i * SIDES + k;
  }
}

/* Lists nodes by what they read. Goes backwards, so that each list begins with its first node. */
static void index_values(ending_state *s, jf_arena *a)
{
  const size_t n_value = (size_t)s->r.n_value, n_old = (size_t)s->r.n_old;
  s->made = jf_alloc(a, n_value * sizeof *s->made);
  s->beside = jf_alloc(a, n_value * sizeof *s->beside);
  s->in_program = jf_alloc(a, n_value);
  s->next = jf_alloc(a, n_old * SIDES * sizeof *s->next);
  s->changes = jf_alloc(a, (n_old + 1) * sizeof *s->changes);
  s->of = jf_alloc(a, n_old * sizeof *s->of);
  for (int i = 0; i < s->r.n_value; i++) s->made[i] = s->beside[i] = -1;
  for (int i = s->r.n_old - 1; i >= 0; i--) index_node(s, i);
  for (int i = 0; i < s->r.n_old; i++)
    s->changes[i + 1] = s->changes[i] + jf_updates(s->r.old[i]);
}

jfl_status jf_pass_epilogue(jfl_graph *g, const jf_target *t)
{
  ending_state s = { .target = t };
  jf_rewrite_begin(g, &s.r);
  index_values(&s, g->arena);
  /* Backwards, so that when a sum reads two products, the later one takes the sum as its ending:
     by then the earlier one is computed. */
  for (int i = s.r.n_old - 1; i >= 0; i--) follow(&s, i);
  for (int i = 0; i < s.r.n_old; i++) ending_keep(&s, i);
  for (int i = 0; i < s.r.n_old; i++)
    if (!s.of[i] && s.r.old[i]->op->flags & JF_SUMS) join_sum(&s, i);
  for (jf_node *n; (n = jf_rewrite_next(&s.r));) {
    const ending_group *p = s.of[s.r.next - 1];
    if (!p) {
      ending_take_sum(&s, n);
      jf_rewrite_keep(&s.r, n);
    } else if (p->place != s.r.next - 1) continue;
    else if (p->sum) emit_with_sum(&s, p);
    else emit_product(&s, p);
  }
  jf_rewrite_end(&s.r);
  return g->err;
}
