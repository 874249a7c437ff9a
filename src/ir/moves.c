/* What follows from an op's index map: shapes, signatures, and nests for kernels. */
#include "ir/moves.h"
#include "base/walk.h"
#include "ir/ir.h"

#include <string.h>

void jf_move_whole(jf_move *m, int in, const jfl_shape *s)
{
  *m = (jf_move){ .in = in, .n = s->n };
  for (int i = 0; i < s->n; i++) m->axis[i] = (jf_move_axis){ s->d[i], { i, 0, 1 }, { i, 0, 1 } };
}

void jf_move_fill(jf_move *m, double number)
{
  m->in = -1;
  m->number = number;
  for (int i = 0; i < m->n; i++) m->axis[i].from = (jf_side){ -1, 0, 1 };
}

/* The output is cut along each axis into up to three ranges; i counts their combinations. */
int jf_move_bordered(jf_move *m, int i, const jfl_shape *s, const jf_border *border,
                     double number)
{
  int outside = 0;
  jf_move_whole(m, 0, s);
  for (int j = s->n - 1; j >= 0; j--) {
    const jf_border *b = &border[j];
    const int first = b->before > 0, ranges = 1 + first + (b->after > 0);
    const int range = i % ranges - first;
    m->axis[j].extent = range < 0 ? b->before : range > 0 ? b->after : s->d[j];
    m->axis[j].to.begin = range < 0 ? 0 : range > 0 ? b->before + s->d[j] : b->before;
    outside |= range;
    i /= ranges;
  }
  if (outside) jf_move_fill(m, number);
  return i == 0;
}

/* ---- shapes ---- */

/* Makes the output's shape large enough for the box. Returns 0 once it is larger than any may
   be. */
static int moves_extend(const jf_move *m, jfl_shape *y)
{
  int fits = 1;
  for (int i = 0; i < m->n; i++) {
    const jf_move_axis *a = &m->axis[i];
    const int64_t last = a->to.begin + a->to.step * (a->extent - 1);
    const int64_t end = !a->extent || last < a->to.begin ? a->to.begin + (a->extent > 0) : last + 1;
    if (a->to.axis >= y->n) y->n = a->to.axis + 1;
    if (end > y->d[a->to.axis]) y->d[a->to.axis] = end;
    fits &= end < INT64_C(1) << 48;
  }
  return fits;
}

static jf_tensor *moves_tensors(jf_arena *a, jfl_value *const *v, int n)
{
  jf_tensor *t = jf_alloc(a, (size_t)n * sizeof *t);
  for (int i = 0; i < n; i++) t[i] = (jf_tensor){ .dtype = v[i]->dtype, .shape = v[i]->shape };
  return t;
}

jfl_status jf_infer_moves(jf_infer *c)
{
  const jf_kargs k = { .in = moves_tensors(c->arena, c->in, c->n_in), .n_in = c->n_in,
                       .attr = c->attr, .op = c->op };
  jf_move m;
  for (int i = 0; i < c->n_out; i++) {
    c->dtype[i] = c->in[0]->dtype;
    c->shape[i] = (jfl_shape){ 0 };
  }
  for (int i = 0; c->op->moves(&k, i, &m); i++)
    if (!moves_extend(&m, &c->shape[m.out])) break;
  return JFL_OK;
}

/* ---- signatures ---- */

/* Whether the box has all of that axis, in order. */
static int moves_has_all(const jf_side *s, int64_t extent, const jfl_shape *of)
{
  return s->begin == 0 && s->step == 1 && extent == of->d[s->axis];
}

/* Along an axis of the box both sides are split, or neither is. Returns 0 if that cannot be. */
static int moves_split(const jf_node *n, const jf_move *m, int i, jf_signature *s)
{
  const jf_move_axis *a = &m->axis[i];
  jfl_distribution none = JF_ON_ALL, *to = &s->out[m->out];
  jfl_distribution *from = m->in < 0 ? &none : &s->in[m->in];
  const int by_to = to->kind == JFL_SPLIT && to->axis == a->to.axis;
  const int by_from = from->kind == JFL_SPLIT && from->axis == a->from.axis;
  if (!by_to && !by_from) return 1;
  if ((to->kind == JFL_SPLIT && !by_to) || (from->kind == JFL_SPLIT && !by_from)) return 0;
  if (!moves_has_all(&a->to, a->extent, &n->out[m->out]->shape)) return 0;
  *to = JF_ALONG(a->to.axis);
  if (a->from.axis < 0) return 1;
  *from = JF_ALONG(a->from.axis);
  return moves_has_all(&a->from, a->extent, &n->in[m->in]->shape);
}

/* Completes a signature of which some outputs are split. */
static int moves_follow(const jf_node *n, const jf_kargs *k, jf_signature *s)
{
  jf_move m;
  for (int i = 0; n->op->moves(k, i, &m); i++)
    for (int j = 0; j < m.n; j++)
      if (!moves_split(n, &m, j, s)) return 0;
  return 1;
}

void jf_signatures_moved(jf_signatures *c)
{
  const jf_node *n = c->node;
  const jf_kargs k = { .in = moves_tensors(c->arena, n->in, n->n_in), .n_in = n->n_in,
                       .attr = n->attr, .op = n->op };
  jf_move m;
  int numbers = 0;
  for (int i = 0; n->op->moves(&k, i, &m); i++) numbers |= m.in < 0 && m.number != 0;
  for (int axis = 0; axis < n->out[0]->shape.n; axis++) {
    jf_signature *s = jf_signature_add(c);
    s->out[0] = JF_ALONG(axis);
    if (!moves_follow(n, &k, s)) c->n--;
  }
  if (numbers) return;
  jf_signature *sum = jf_signature_add(c);
  for (int i = 0; i < n->n_in; i++) sum->in[i] = JF_AS_SUM;
  for (int i = 0; i < n->n_out; i++) sum->out[i] = JF_AS_SUM;
}

/* ---- nests ---- */

void jf_move_nest_of(const jf_kargs *k, const jf_move *m, jf_move_nest *out)
{
  int64_t dense[2][JFL_MAXDIM];
  jf_nest nest = { .n = m->n, .n_op = 2, .step = out->step };
  const jfl_shape *x = m->in < 0 ? NULL : &k->in[m->in].shape, *y = &k->out[m->out].shape;
  if (x) jf_dense_steps(x->n, x->d, 1, dense[0]);
  jf_dense_steps(y->n, y->d, 1, dense[1]);
  out->at[0] = out->at[1] = 0;
  for (int i = 0; i < m->n; i++) {
    const jf_side *side[] = { &m->axis[i].from, &m->axis[i].to };
    nest.d[i] = m->axis[i].extent;
    for (int j = 0; j < 2; j++) {
      const int64_t step = side[j]->axis < 0 ? 0 : dense[j][side[j]->axis];
      out->at[j] += side[j]->begin * step;
      out->step[j][i] = side[j]->step * step;
    }
  }
  jf_nest_join(&nest, 0);
  out->n = nest.n;
  memcpy(out->d, nest.d, sizeof out->d);
}

int jf_move_is_whole(const jf_kargs *k, const jf_move *m)
{
  int64_t n = 1;
  for (int i = 0; i < m->n; i++) n *= m->axis[i].extent;
  return n == jf_numel(&k->out[m->out].shape);
}
