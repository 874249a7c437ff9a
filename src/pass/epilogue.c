/* Bias, residual and activation become part of the product or convolution that they follow, and the
   gradient of a bias part of the filter gradient beside it. */
#include "op/bias_add.h"
#include "op/conv2d.h"
#include "op/matmul.h"
#include "op/move.h"
#include "op/reduce.h"
#include "op/reshape.h"
#include "pass/pass.h"

#include <string.h>

/* Ops that may have an epilogue, the ops that have it, where it is in their attributes, and the
   axis of the result that a bias runs along. The first attributes of both ops are the same. */
typedef struct kind {
  const jfl_op *op, *fused;
  size_t epilogue;
  int axis;                      /* -1: the last */
} kind;
static const kind kinds[] = {
  { &jf_op_matmul, &jf_op_matmul_fused, offsetof(jf_matmul_fused, epilogue), -1 },
  { &jf_op_conv2d, &jf_op_conv2d_fused, offsetof(jf_conv2d, epilogue), 1 },
};

/* A node that stands for several: a product and what follows it, or a filter gradient and a sum. It
   is emitted where node number `place` was. */
typedef struct group {
  const jf_node *first;
  const kind *kind;              /* NULL: a filter gradient */
  jfl_value *bias, *residual;
  const char *act;
  const jf_node *sum;
  int place;
} group;

typedef struct pass_epilogue_state {
  jf_rewrite r;
  int (*activates)(const char *act);
  int *made, *reader;            /* by value: numbers of its node and of its last reader, or -1 */
  group **of;                    /* by node number: the group it is in, or NULL */
} pass_epilogue_state;

static const jf_node *sole_reader(const pass_epilogue_state *s, const jfl_value *v)
{
  int i = s->reader[v->id];
  return s->r.uses[v->id] == 1 && i >= 0 && !s->of[i] ? s->r.old[i] : NULL;
}

static int axis_of(const group *p)
{
  return p->kind->axis < 0 ? p->first->out[0]->shape.n - 1 : p->kind->axis;
}

/* Whether v is broadcast to a value of shape s along that axis and no other. */
static int runs_along(const jfl_value *v, const jfl_shape *s, int axis)
{
  int at = axis - (s->n - v->shape.n);
  return at >= 0 && v->shape.d[at] == s->d[axis] && jf_numel(&v->shape) == s->d[axis];
}

/* What n, a sum, adds to v; NULL where it is no sum of that shape. */
static jfl_value *added(const jf_node *n, const jfl_value *v)
{
  if (n->op != &jf_op_add || !jf_shape_eq(&n->out[0]->shape, &v->shape)) return NULL;
  return n->in[n->in[0] == v];
}

/* Whether n can be the next part of p; v is the result of p so far. */
static int follows(const pass_epilogue_state *s, group *p, const jf_node *n, const jfl_value *v)
{
  const int axis = axis_of(p);
  if (p->act) return 0;
  if (n->op == &jf_op_bias_add && !p->bias && !p->residual) {
    if (n->in[0] != v || ((const jf_bias_add *)n->attr)->axis != axis) return 0;
    p->bias = n->in[1];
    return 1;
  }
  jfl_value *other = added(n, v);
  if (other && !p->bias && !p->residual && runs_along(other, &v->shape, axis)) p->bias = other;
  else if (other && !p->residual && jf_shape_eq(&other->shape, &v->shape)) p->residual = other;
  else if (!other && jf_is_activation(n->op) && s->activates(n->op->name))
    p->act = n->op->name;
  else return 0;
  return 1;
}

/* Whether what comes before node `to` can be done there as well: no variable changes in between. */
static int may_wait(const pass_epilogue_state *s, int from, int to)
{
  for (int i = from + 1; i < to; i++)
    for (int k = 0; k < s->r.old[i]->n_in; k++)
      if (jf_mutates(s->r.old[i], k)) return 0;
  return 1;
}

static const kind *pass_epilogue_kind_of(const jf_node *n)
{
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (n->op == kinds[i].op)
      return jf_op_dtypes(kinds[i].fused) >> n->out[0]->dtype & 1 ? &kinds[i] : NULL;
  return NULL;
}

/* Groups product number i with what follows it, if anything does. */
static void pass_epilogue_follow(pass_epilogue_state *s, int i)
{
  group p = { .first = s->r.old[i], .kind = pass_epilogue_kind_of(s->r.old[i]), .place = i },
        *kept = NULL;
  const jfl_value *v = p.first->out[0];
  const jf_node *n;
  while (p.kind && (n = sole_reader(s, v))) {
    int at = s->reader[v->id];
    if (!may_wait(s, p.place, at) || !follows(s, &p, n, v)) break;
    if (!kept) s->of[i] = kept = jf_alloc(s->r.g->arena, sizeof *kept);
    p.place = at;
    s->of[at] = kept;
    v = n->out[0];
  }
  if (kept) *kept = p;
}

static int sums_all_but_channels(const jf_node *n)
{
  const jf_ints *axis = n->op == &jf_op_reduce_sum ? &((const jf_reduce *)n->attr)->axis : NULL;
  return axis && n->in[0]->shape.n == 4 && axis->n == 3 && axis->v[0] == 0 && axis->v[1] == 2
         && axis->v[2] == 3;
}

/* Whether all that n reads is there before node number i. */
static int is_ready(const pass_epilogue_state *s, const jf_node *n, int i)
{
  for (int k = 0; k < n->n_in; k++)
    if (s->made[n->in[k]->id] >= i) return 0;
  return 1;
}

/* Groups the filter gradient that has the same dy with sum number i. */
static void join_sum(pass_epilogue_state *s, int i)
{
  const jf_node *sum = s->r.old[i];
  for (int j = 0; j < s->r.n_old; j++) {
    const jf_node *n = s->r.old[j];
    if (n->op != &jf_op_conv2d_filter_grad || n->in[1] != sum->in[0] || s->of[j]) continue;
    int place = i < j ? i : j;
    if (!is_ready(s, n, place)) continue;
    group *p = s->of[i] = s->of[j] = jf_alloc(s->r.g->arena, sizeof *p);
    *p = (group){ .first = n, .sum = sum, .place = place };
    return;
  }
}

/* The node takes its name from the first of the group, which is that of the user's layer. */
static void name_after(jf_node *n, const jf_node *first, jf_arena *a)
{
  n->name = n->out[0]->name = first->name;
  n->serves = first->serves;
  for (int i = 1; i < n->n_out; i++)
    n->out[i]->name = jf_sprintf(a, "%s/%s", n->name, n->op->out[i]);
}

static void emit_product(pass_epilogue_state *s, const group *p)
{
  jf_rewrite *r = &s->r;
  void *attr = jf_alloc(r->g->arena, p->kind->fused->attr_size);
  jfl_value *in[4] = { jf_current(r, p->first->in[0]), jf_current(r, p->first->in[1]) };
  size_t n = 2;
  memcpy(attr, p->first->attr, p->kind->op->attr_size);
  jf_epilogue *e = (jf_epilogue *)((char *)attr + p->kind->epilogue);
  *e = (jf_epilogue){ .bias = p->bias != NULL, .residual = p->residual != NULL, .act = p->act };
  if (p->bias) in[n++] = jf_current(r, p->bias);
  if (p->residual) in[n++] = jf_current(r, p->residual);
  jfl_value *y = jf_emit(r->g, p->kind->fused, attr, in, n);
  if (!y) return;
  name_after(y->node, p->first, r->g->arena);
  jf_replace(r, r->old[p->place]->out[0], y);
}

static void emit_filter_grad(pass_epilogue_state *s, const group *p)
{
  jf_rewrite *r = &s->r;
  jf_conv2d attr = *(const jf_conv2d *)p->first->attr;
  const jfl_value *sum = p->sum->out[0];
  attr.epilogue.bias = 1;
  jfl_value *y = JF_EMIT(r->g, conv2d_filter_grad, &attr, jf_current(r, p->first->in[0]),
                         jf_current(r, p->first->in[1]));
  if (!y) return;
  name_after(y->node, p->first, r->g->arena);
  jfl_value *dbias = y->node->out[1];
  if (!jf_shape_eq(&dbias->shape, &sum->shape)) {
    jf_reshape shape = { jf_ints_from(&sum->shape) };
    dbias = JF_EMIT(r->g, reshape, &shape, dbias);
  }
  jf_replace(r, p->first->out[0], y);
  jf_replace(r, sum, dbias);
}

/* The later of two products whose sum is taken gets it as its own: the other is there by then. */
static void find_groups(pass_epilogue_state *s)
{
  for (int i = s->r.n_old - 1; i >= 0; i--) pass_epilogue_follow(s, i);
  for (int i = 0; i < s->r.n_old; i++)
    if (!s->of[i] && sums_all_but_channels(s->r.old[i])) join_sum(s, i);
}

static void index_values(pass_epilogue_state *s, jf_arena *a)
{
  s->made = jf_alloc(a, (size_t)s->r.n_value * sizeof *s->made);
  s->reader = jf_alloc(a, (size_t)s->r.n_value * sizeof *s->reader);
  s->of = jf_alloc(a, (size_t)s->r.n_old * sizeof *s->of);
  for (int i = 0; i < s->r.n_value; i++) s->made[i] = s->reader[i] = -1;
  for (int i = 0; i < s->r.n_old; i++) {
    const jf_node *n = s->r.old[i];
    for (int k = 0; k < n->n_in; k++) s->reader[n->in[k]->id] = i;
    for (int k = 0; k < n->n_out; k++) s->made[n->out[k]->id] = i;
  }
}

static int none(const char *act)
{
  (void)act;
  return 0;
}

jfl_status jf_pass_epilogue(jfl_graph *g, const jf_target *t)
{
  pass_epilogue_state s = { .activates = t->device->kind->activates ? t->device->kind->activates : none };
  jf_rewrite_begin(g, &s.r);
  index_values(&s, g->arena);
  find_groups(&s);
  for (int i = 0; i < s.r.n_old; i++) {
    const group *p = s.of[i];
    if (!p) jf_rewrite_keep(&s.r, s.r.old[i]);
    else if (p->place != i) continue;
    else if (p->kind) emit_product(&s, p);
    else emit_filter_grad(&s, p);
  }
  jf_rewrite_end(&s.r);
  return g->err;
}
