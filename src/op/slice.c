/* slice cuts a box out of a tensor; its gradient puts the box back among zeros. */
#include "op/slice.h"
#include "op/layout.h"
#include "op/move.h"

#include <string.h>

static const jf_attr attrs[] = {
  JF_FIELD(jf_slice, begin, INTS, NULL, "the first index on each axis; negative: from the end"),
  JF_FIELD(jf_slice, size, INTS, NULL, "how many on each axis; -1: up to the end"),
  {0},
};
static const jf_attr grad_attrs[] = {
  JF_FIELD(jf_slice_grad, begin, INTS, NULL, "where dy starts on each axis"),
  JF_FIELD(jf_slice_grad, shape, INTS, NULL, "the extents of the result"),
  {0},
};

/* Makes begin and size of axis i absolute, for an extent of n. */
static jfl_status slice_fit(int i, int64_t n, int64_t *begin, int64_t *size)
{
  const int at_end = *begin == n && (n == 0 || *size == 0);
  if (*begin < -n || (*begin >= n && !at_end))
    return jf_fail(JFL_ESHAPE, "begin %lld is out of range for axis %d of extent %lld",
                   (long long)*begin, i, (long long)n);
  if (*begin < 0) *begin += n;
  if (*size == -1) *size = n - *begin;
  if (*size < 0 || *size > n - *begin)
    return jf_fail(JFL_ESHAPE, "size %lld from %lld does not fit axis %d of extent %lld",
                   (long long)*size, (long long)*begin, i, (long long)n);
  return JFL_OK;
}

static jfl_status slice_infer(jf_infer *c)
{
  jf_slice *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  if (a->begin.n != s->n || a->size.n != s->n)
    return jf_fail(JFL_ESHAPE, "begin and size must have %d numbers, one for each axis of x, got "
                   "%d and %d", s->n, a->begin.n, a->size.n);
  for (int i = 0; i < s->n; i++) JF_TRY(slice_fit(i, s->d[i], &a->begin.v[i], &a->size.v[i]));
  return jf_infer_moves(c);
}

static jfl_status slice_grad_infer(jf_infer *c)
{
  jf_slice_grad *a = c->attr;
  jfl_shape size = c->in[0]->shape;
  if (a->begin.n != size.n || a->shape.n != size.n)
    return jf_fail(JFL_ESHAPE, "begin and shape must have %d numbers, one for each axis of dy, "
                   "got %d and %d", size.n, a->begin.n, a->shape.n);
  for (int i = 0; i < size.n; i++)
    JF_TRY(slice_fit(i, a->shape.v[i], &a->begin.v[i], &size.d[i]));
  return jf_infer_moves(c);
}

static void slice_grad(jf_gradctx *c)
{
  jf_slice_grad a = { ((const jf_slice *)c->node->attr)->begin, jf_ints_from(&c->in[0]->shape) };
  c->dx[0] = JF_EMIT(c->g, slice_grad, &a, c->dy[0]);
}

static void grad_grad(jf_gradctx *c)
{
  jf_slice a = { ((const jf_slice_grad *)c->node->attr)->begin, jf_ints_from(&c->in[0]->shape) };
  c->dx[0] = JF_EMIT(c->g, slice, &a, c->dy[0]);
}

/* Turns a list for (N, C, H, W) into one for (N, C / block, H, W, block); `last` is the entry of
   the last axis. */
static jf_ints blocked_list(jf_arena *arena, const jf_ints *list, int64_t block, int64_t last)
{
  int64_t *v = jf_alloc(arena, 5 * sizeof *v);
  memcpy(v, list->v, 4 * sizeof *v);
  v[1] /= block;
  v[4] = last;
  return (jf_ints){ 5, v };
}

/* If the box consists of whole blocks of channels, the op can run on blocks. */
static int in_blocks(jf_layout *c, jf_ints *begin, jf_ints *size)
{
  int64_t b = c->in[0] == JF_BLOCKED ? jf_layout_block(c) : 0;
  if (!b || begin->v[1] % b || size->v[1] % b) return 0;
  *begin = blocked_list(c->arena, begin, b, 0);
  *size = blocked_list(c->arena, size, b, b);
  jf_layout_all(c, JF_BLOCKED);
  return 1;
}

static int slice_layout(jf_layout *c)
{
  jf_slice *a = c->attr;
  return in_blocks(c, &a->begin, &a->size);
}

static int grad_layout(jf_layout *c)
{
  jf_slice_grad *a = c->attr;
  return in_blocks(c, &a->begin, &a->shape);
}

static int slice_moves(const jf_kargs *k, int i, jf_move *m)
{
  const jf_slice *a = k->attr;
  jf_move_whole(m, 0, &k->in[0].shape);
  for (int j = 0; j < m->n; j++) {
    m->axis[j].extent = a->size.v[j];
    m->axis[j].from.begin = a->begin.v[j];
  }
  return i == 0;
}

static int slice_grad_moves(const jf_kargs *k, int i, jf_move *m)
{
  const jf_slice_grad *a = k->attr;
  const jfl_shape *dy = &k->in[0].shape;
  jf_border border[JFL_MAXDIM];
  for (int j = 0; j < dy->n; j++)
    border[j] = (jf_border){ a->begin.v[j], a->shape.v[j] - a->begin.v[j] - dy->d[j] };
  return jf_move_bordered(m, i, dy, border, 0);
}

JFL_OP(slice, .doc = "The box of x that starts at begin and has the extents size.", .path = "slice",
  .in = {"x"}, .out = {"y"}, .attr = attrs, .attr_size = sizeof(jf_slice),
  .flags = JF_MOVES | JF_KEEPS, .infer = slice_infer, .grad = slice_grad,
  .layout = slice_layout, .moves = slice_moves, .cpu = jf_moves_cpu, .share = jf_share_extents)

JFL_OP(slice_grad, .doc = "dy at begin in a tensor of zeros: the gradient of slice.",
  .in = {"dy"}, .out = {"dx"}, .attr = grad_attrs, .attr_size = sizeof(jf_slice_grad),
  .infer = slice_grad_infer, .grad = grad_grad, .layout = grad_layout, .moves = slice_grad_moves,
  .cpu = jf_moves_cpu, .share = jf_share_extents)
