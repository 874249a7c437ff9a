/* strided_slice takes every so many-th element along each axis, forwards or backwards; its gradient
   puts them back among zeros, and strided_slice_update puts them into another tensor. */
#include "op/strided.h"
#include "op/constant.h"
#include "op/move.h"

static const jf_attr attrs[] = {
  JF_FIELD(jf_strided, begin, INTS, NULL, "the first index on each axis; negative: from the end"),
  JF_FIELD(jf_strided, step, INTS, NULL, "what is added to it for the next; negative: backwards"),
  JF_FIELD(jf_strided, size, INTS, NULL, "how many on each axis; -1: as many as there are"),
  {0},
};
static const jf_attr grad_attrs[] = {
  JF_FIELD(jf_strided_grad, begin, INTS, NULL, "the index of dy's first element on each axis"),
  JF_FIELD(jf_strided_grad, step, INTS, NULL, "what is added to it for the next"),
  JF_FIELD(jf_strided_grad, shape, INTS, NULL, "the extents of the result"),
  {0},
};
static const jf_attr update_attrs[] = {
  JF_FIELD(jf_strided_update, begin, INTS, NULL, "the first index of update on each axis of x"),
  JF_FIELD(jf_strided_update, step, INTS, NULL, "what is added to it for the next"),
  {0},
};

/* Makes begin and size of axis i absolute, for an extent of n. */
static jfl_status strided_fit(int i, int64_t n, int64_t *begin, int64_t step, int64_t *size)
{
  const int none = *size == 0 || n == 0;
  if (!step) return jf_fail_argument(JFL_EINVAL, "step", "must not be 0, as on axis %d", i);
  if (*begin < -n || *begin > n || (*begin == n && !none))
    return jf_fail_argument(JFL_ESHAPE, "begin", "%lld is out of range for axis %d of extent %lld",
                            (long long)*begin, i, (long long)n);
  if (*begin < 0) *begin += n;
  const int64_t last = step > 0 ? n - 1 - *begin : *begin;
  const int64_t far = step == INT64_MIN ? INT64_MAX : step < 0 ? -step : step;
  const int64_t most = none ? 0 : last / far + 1;
  if (*size == -1) *size = most;
  if (*size >= 0 && *size <= most) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, "size", "must be from 0 to %lld on axis %d of extent %lld, "
                          "from %lld in steps of %lld, got %lld", (long long)most, i,
                          (long long)n, (long long)*begin, (long long)step, (long long)*size);
}

/* Checks lists of n numbers, one for each axis, and completes them for a tensor of extents d. */
static jfl_status strided_lists(int n, const int64_t *d, const jf_ints *begin, const jf_ints *step,
                                int64_t *size)
{
  if (begin->n != n || step->n != n)
    return jf_fail(JFL_ESHAPE, "begin and step must have %d numbers, one for each axis, got %d "
                   "and %d", n, begin->n, step->n);
  for (int i = 0; i < n; i++) {
    JF_TRY(strided_fit(i, d[i], &begin->v[i], step->v[i], &size[i]));
    if (size[i] < 2) step->v[i] = 1;    /* so that offsets do not overflow */
  }
  return JFL_OK;
}

static jfl_status strided_infer(jf_infer *c)
{
  jf_strided *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  if (a->size.n != s->n)
    return jf_fail_argument(JFL_ESHAPE, "size", "must have %d numbers, one for each axis of x, "
                            "got %d", s->n, a->size.n);
  JF_TRY(strided_lists(s->n, s->d, &a->begin, &a->step, a->size.v));
  return jf_infer_moves(c);
}

static jfl_status strided_grad_infer(jf_infer *c)
{
  jf_strided_grad *a = c->attr;
  jfl_shape size = c->in[0]->shape;
  if (a->shape.n != size.n)
    return jf_fail_argument(JFL_ESHAPE, "shape", "must have %d numbers, one for each axis of dy, "
                            "got %d", size.n, a->shape.n);
  JF_TRY(jf_shape_from(&a->shape, &c->shape[0]));
  JF_TRY(jf_shape_check(&c->shape[0], "shape"));
  c->dtype[0] = c->in[0]->dtype;
  return strided_lists(size.n, a->shape.v, &a->begin, &a->step, size.d);
}

static jfl_status strided_update_infer(jf_infer *c)
{
  jf_strided_update *a = c->attr;
  const jfl_value *x = c->in[0], *u = c->in[1];
  jfl_shape size = u->shape;
  JF_TRY(jf_infer_dtype(c, 1, 0));
  if (size.n != x->shape.n)
    return jf_fail_argument(JFL_ESHAPE, "update", "must have %d dimensions like x, got %d",
                            x->shape.n, size.n);
  c->dtype[0] = x->dtype;
  c->shape[0] = x->shape;
  return strided_lists(size.n, x->shape.d, &a->begin, &a->step, size.d);
}

static void strided_slice_grad(jf_gradctx *c)
{
  const jf_strided *s = c->node->attr;
  jf_strided_grad a = { s->begin, s->step, jf_ints_from(&c->in[0]->shape) };
  c->dx[0] = JF_EMIT(c->g, strided_slice_grad, &a, c->dy[0]);
}

static void strided_back_grad(jf_gradctx *c)
{
  const jf_strided_grad *s = c->node->attr;
  jf_strided a = { s->begin, s->step, jf_ints_from(&c->in[0]->shape) };
  c->dx[0] = JF_EMIT(c->g, strided_slice, &a, c->dy[0]);
}

static void strided_update_grad(jf_gradctx *c)
{
  const jf_strided_update *s = c->node->attr;
  const jfl_shape *u = &c->in[1]->shape;
  jf_strided a = { s->begin, s->step, jf_ints_from(u) };
  jfl_value *zeros = jf_emit_number(c->g, c->in[1]->dtype, u, 0);
  c->dx[0] = JF_EMIT(c->g, strided_slice_update, s, c->dy[0], zeros);
  c->dx[1] = JF_EMIT(c->g, strided_slice, &a, c->dy[0]);
}

/* Along each axis one side of a move lies at begin, begin + step, ... */
static int strided_moves(const jf_kargs *k, int i, jf_move *m)
{
  const jf_strided *a = k->attr;
  jf_move_whole(m, 0, &k->in[0].shape);
  for (int j = 0; j < m->n; j++)
    m->axis[j] = (jf_move_axis){ a->size.v[j], { j, a->begin.v[j], a->step.v[j] }, { j, 0, 1 } };
  return i == 0;
}

static void strided_put(jf_move *m, const jf_ints *begin, const jf_ints *step)
{
  for (int j = 0; j < m->n; j++) m->axis[j].to = (jf_side){ j, begin->v[j], step->v[j] };
}

static int strided_grad_moves(const jf_kargs *k, int i, jf_move *m)
{
  const jf_strided_grad *a = k->attr;
  jf_move_whole(m, 0, &k->in[0].shape);
  if (i) {
    strided_put(m, &a->begin, &a->step);
  } else {
    for (int j = 0; j < m->n; j++) m->axis[j].extent = a->shape.v[j];
    jf_move_fill(m, 0);
  }
  return i < 2;
}

static int strided_update_moves(const jf_kargs *k, int i, jf_move *m)
{
  const jf_strided_update *a = k->attr;
  if (i < 2) jf_move_whole(m, i, &k->in[i].shape);
  if (i == 1) strided_put(m, &a->begin, &a->step);
  return i < 2;
}

JFL_OP(strided_slice, .doc = "Elements of x at begin, begin + step, ... along each axis.",
  .in = {"x"}, .out = {"y"}, .attr = attrs,
  .attr_size = sizeof(jf_strided), .flags = JF_MOVES, .infer = strided_infer,
  .grad = strided_slice_grad, .moves = strided_moves, .cpu = jf_moves_cpu,
  .share = jf_share_extents)

JFL_OP(strided_slice_grad, .doc = "dy in a tensor of zeros: the gradient of strided_slice.",
  .in = {"dy"}, .out = {"dx"}, .attr = grad_attrs, .attr_size = sizeof(jf_strided_grad),
  .infer = strided_grad_infer, .grad = strided_back_grad, .moves = strided_grad_moves,
  .cpu = jf_moves_cpu, .share = jf_share_extents)

JFL_OP(strided_slice_update, .doc = "x with update at begin, begin + step, ... along each axis.",
  .in = {"x", "update"}, .out = {"y"}, .attr = update_attrs,
  .attr_size = sizeof(jf_strided_update), .inplace = 1, .infer = strided_update_infer,
  .grad = strided_update_grad, .moves = strided_update_moves, .cpu = jf_moves_cpu)
