/* What a node can be in a fused program, and what it reads as its member. */
#include "pass/fuse/member.h"

#include "base/walk.h"
#include "op/reduce.h"

static int is_sum(const jf_node *n) { return (n->op->flags & (JF_SUMS | JF_MEANS)) != 0; }

const jfl_op *jf_member_op(const jf_node *n)
{
  return n->op->line ? n->op->line->op : n->op;
}

jfl_dtype jf_member_key(const jf_node *n)
{
  return jf_node_key(jf_member_op(n), n);
}

static int has_loop(const jf_node *n)
{
  const jfl_op *op = jf_member_op(n);
  return op->loop && op->loop[jf_member_key(n)];
}

jf_member jf_member_kind(const jf_node *n)
{
  if (n->op->flags & JF_EFFECT || jf_numel(jf_member_shape(n)) < 1) return JF_NO_MEMBER;
  if (is_sum(n))
    return jf_numel(&n->in[0]->shape) > jf_numel(&n->out[0]->shape) ? JF_MEMBER_SUM : JF_NO_MEMBER;
  if (n->n_in < 1 || n->n_in > 3 || n->n_out > 2 || !has_loop(n)) return JF_NO_MEMBER;
  return JF_MEMBER_LOOP;
}

int jf_is_seen_through(const jf_node *n)
{
  return (n->op->flags & (JF_VIEW | JF_REPEATS)) != 0;
}

const jfl_shape *jf_member_shape(const jf_node *n)
{
  return is_sum(n) ? &n->in[0]->shape : &n->out[0]->shape;
}

/* Follows v back past a broadcast, then past views, which keep the order of elements. Gives the
   value below and its steps along the axes of `to`. */
static const jfl_value *see_through(const jfl_value *v, const jfl_shape *to, int64_t *step)
{
  const jf_node *n = v->node;
  const jfl_value *from = n && n->op->flags & JF_REPEATS ? n->in[0] : v;
  jf_broadcast_steps(&from->shape, to, 1, step);
  return jf_root(from);
}

void jf_operand_of(const jf_node *n, int i, jf_operand *out)
{
  const jfl_value *v = n->in[i], *from = v;
  const int line = i == 1 ? jf_line_axis(n) : -1;
  *out = (jf_operand){ .dtype = v->dtype };
  while (from->node && jf_is_seen_through(from->node)) from = from->node->in[0];
  if (jf_number(from, &out->number)) return;
  if (line >= 0) {
    out->v = see_through(v, &v->shape, out->step);
    out->step[line] = out->step[0];
    for (int a = 0; a < n->out[0]->shape.n; a++)
      if (a != line) out->step[a] = 0;
  } else {
    out->v = see_through(v, jf_member_shape(n), out->step);
  }
}

int64_t jf_member_sum_steps(const jf_node *n, int64_t *step)
{
  const jfl_shape *s = &n->in[0]->shape;
  const jf_ints *axis = &((const jf_reduce *)n->attr)->axis;
  int64_t size = 1, row = 1;
  for (int i = s->n - 1, j = axis->n - 1; i >= 0; i--) {
    const int gone = j >= 0 && axis->v[j] == i;
    step[i] = gone ? 0 : size;
    j -= gone;
    if (!gone) size *= s->d[i];
    else if (size == 1) row *= s->d[i];
    else if (s->d[i] > 1) row = 0;
  }
  return row;
}
