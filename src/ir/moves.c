/* What follows from an op's index map: shapes, and nests for kernels. */
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

jf_kargs jf_moves_call(jf_arena *a, const jfl_op *op, const void *attr, jfl_value *const *in,
                       int n_in)
{
  return (jf_kargs){ .in = jf_tensors_of(a, in, n_in), .n_in = n_in, .attr = attr, .op = op };
}

jfl_status jf_infer_moves(jf_infer *c)
{
  const jf_kargs k = jf_moves_call(c->arena, c->op, c->attr, c->in, c->n_in);
  jf_move m;
  for (int i = 0; i < c->n_out; i++) {
    c->dtype[i] = c->in[0]->dtype;
    c->shape[i] = (jfl_shape){ 0 };
  }
  for (int i = 0; c->op->moves(&k, i, &m); i++)
    if (!moves_extend(&m, &c->shape[m.out])) break;
  return JFL_OK;
}

/* ---- nests ---- */

void jf_move_nest_of(const jf_kargs *k, const jf_move *m, int64_t border, jf_move_nest *out)
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
  jf_nest_join(&nest, border);
  out->n = nest.n;
  memcpy(out->d, nest.d, sizeof out->d);
}

int64_t jf_move_count(const jf_move *m)
{
  int64_t n = 1;
  for (int i = 0; i < m->n; i++) n *= m->axis[i].extent;
  return n;
}
