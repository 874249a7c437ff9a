/* Makes bias, residual and activation part of the product or convolution that they follow, the
   gradient of a bias part of the filter gradient of the same value, and a sum part of what alone
   reads it. The records say which ops can have such endings or read sums, and which ops can be part
   of one. */
#include "op/epilogue.h"
#include "op/reduce.h"
#include "op/reshape.h"
#include "pass/pass.h"

#include <string.h>

/* Nodes that become one: a product with what follows it, or a node that can compute sums on the
   side with such a sum. The new node is emitted where node number `place` was. */
typedef struct ending_group {
  const jf_node *first;
  jfl_value *bias, *residual;    /* of a product; or NULL */
  const char *act;
  const jf_node *sum;            /* the sum; NULL for a product */
  int place;
} ending_group;

typedef struct ending_state {
  jf_rewrite r;
  const jf_target *target;
  int *made;                     /* by value: number of its maker, or -1 */
  int *beside, *next;            /* `beside` by value: the first node that can sum it on the side,
                                    or -1; `next` by node number: the next such node for the same
                                    value */
  int *changes;                  /* by node number: how many nodes before it update variables */
  ending_group **of;                    /* by node number: the group that the node is in, or NULL */
} ending_state;

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

/* Looks for a node that can compute sum number i on the side, and groups the two. */
static void join_sum(ending_state *s, int i)
{
  const jf_node *sum = s->r.old[i];
  for (int j = s->beside[sum->in[0]->id]; j >= 0; j = s->next[j]) {
    const jf_node *n = s->r.old[j];
    const int place = i < j ? i : j;
    if (s->of[j] || !is_ready(s, n, place)) continue;
    if (!sums_all_but(sum, n->op->side_sum->axis(n))) continue;
    ending_group *p = s->of[i] = s->of[j] = jf_alloc(s->r.g->arena, sizeof *p);
    *p = (ending_group){ .first = n, .sum = sum, .place = place };
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
  const jf_ending *ending = p->first->op->ending;
  void *attr = jf_alloc(r->g->arena, ending->fused->attr_size);
  jfl_value *in[4] = { jf_current(r, p->first->in[0]), jf_current(r, p->first->in[1]) };
  size_t n = 2;
  memcpy(attr, p->first->attr, p->first->op->attr_size);
  jf_epilogue *e = (jf_epilogue *)((char *)attr + ending->epilogue);
  *e = (jf_epilogue){ .bias = p->bias != NULL, .residual = p->residual != NULL, .act = p->act };
  if (p->bias) in[n++] = jf_current(r, p->bias);
  if (p->residual) in[n++] = jf_current(r, p->residual);
  jfl_value *y = jf_emit(r->g, ending->fused, attr, in, n);
  if (!y) return;
  ending_stand_for(y->node, p->first, r->g->arena);
  jf_replace(r, r->old[p->place]->out[0], y);
}

static void emit_with_sum(ending_state *s, const ending_group *p)
{
  jf_rewrite *r = &s->r;
  const jf_node *n = p->first;
  const jf_side_sum *side = n->op->side_sum;
  void *attr = memcpy(jf_alloc(r->g->arena, n->op->attr_size), n->attr, n->op->attr_size);
  jfl_value **in = jf_alloc(r->g->arena, (size_t)n->n_in * sizeof *in);
  for (int i = 0; i < n->n_in; i++) in[i] = jf_current(r, n->in[i]);
  *(int *)((char *)attr + side->asked) = 1;
  jfl_value *y = jf_emit(r->g, n->op, attr, in, (size_t)n->n_in);
  if (!y) return;
  ending_stand_for(y->node, n, r->g->arena);
  jfl_value *sum = jf_emit_view(r->g, y->node->out[side->output], &p->sum->out[0]->shape);
  jf_replace(r, n->out[0], y);
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

static void index_node(ending_state *s, int i)
{
  const jf_node *n = s->r.old[i];
  for (int k = 0; k < n->n_out; k++) s->made[n->out[k]->id] = i;
  if (!n->op->side_sum) return;
  const int id = n->in[n->op->side_sum->input]->id;
  s->next[i] = s->beside[id];
  s->beside[id] = i;
}

/* Lists nodes by what they read. Goes backwards, so that each list begins with its first node. */
static void index_values(ending_state *s, jf_arena *a)
{
  const size_t n_value = (size_t)s->r.n_value, n_old = (size_t)s->r.n_old;
  s->made = jf_alloc(a, n_value * sizeof *s->made);
  s->beside = jf_alloc(a, n_value * sizeof *s->beside);
  s->next = jf_alloc(a, n_old * sizeof *s->next);
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
