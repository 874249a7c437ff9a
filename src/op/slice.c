/* slice cuts a box out of a tensor, and strided_slice every so many-th element along each axis,
   forwards or backwards; their gradient puts them back among zeros, and strided_slice_update puts
   them into another tensor. */
#include "op/slice.h"
#include "op/constant.h"
#include "op/layout.h"
#include "op/move.h"

#include <string.h>

#define SLICE_LIST(name, doc) JF_FIELD(jf_slice, name, INTS, NULL, doc)
JF_ATTRS(slice_attrs,
  SLICE_LIST(begin, "the first index on each axis; negative: from the end"),
  SLICE_LIST(size, "how many on each axis; -1: up to the end"))
JF_ATTRS(strided_attrs,
  SLICE_LIST(begin, "the first index on each axis; negative: from the end"),
  SLICE_LIST(step, "what is added to it for the next; negative: backwards"),
  SLICE_LIST(size, "how many on each axis; -1: as many as there are"))
JF_ATTRS(grad_attrs,
  SLICE_LIST(begin, "the index of dy's first element on each axis"),
  SLICE_LIST(step, "what is added to it for the next"),
  SLICE_LIST(shape, "the extents of the result"))
JF_ATTRS(update_attrs,
  SLICE_LIST(begin, "the first index of update on each axis of x"),
  SLICE_LIST(step, "what is added to it for the next"))

/* Makes begin and size of axis i absolute, for an extent of n. */
static jfl_status slice_fit(int i, int64_t n, int64_t *begin, int64_t step, int64_t *size)
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

/* Checks the lists for a tensor of extents d, and completes them. */
static jfl_status slice_lists(const jf_infer *c, const int64_t *d, int64_t *size)
{
  const int n = c->in[0]->shape.n;
  jf_slice *a = c->attr;
  for (const jf_attr *x = c->op->attr; x->name; x++) {
    const jf_ints *list = (const jf_ints *)(const void *)((const char *)c->attr + x->off);
    if (list->n != n)
      return jf_fail_argument(JFL_ESHAPE, x->name, "must have %d numbers, one for each axis, got "
                              "%d", n, list->n);
  }
  for (int i = 0; i < n; i++) {
    JF_TRY(slice_fit(i, d[i], &a->begin.v[i], jf_slice_step(a, i), &size[i]));
    if (a->step.n && size[i] < 2) a->step.v[i] = 1;    /* so that offsets do not overflow */
  }
  return JFL_OK;
}

static jfl_status slice_infer(jf_infer *c)
{
  JF_TRY(slice_lists(c, c->in[0]->shape.d, ((jf_slice *)c->attr)->size.v));
  return jf_infer_moves(c);
}

static jfl_status slice_grad_infer(jf_infer *c)
{
  jfl_shape size = c->in[0]->shape;
  JF_TRY(slice_lists(c, ((jf_slice *)c->attr)->shape.v, size.d));
  return jf_infer_moves(c);
}

static jfl_status slice_update_infer(jf_infer *c)
{
  const jfl_value *x = c->in[0], *u = c->in[1];
  jfl_shape size = u->shape;
  JF_TRY(jf_infer_dtype(c, 1, 0));
  if (size.n != x->shape.n)
    return jf_fail_argument(JFL_ESHAPE, "update", "must have %d dimensions like x, got %d",
                            x->shape.n, size.n);
  JF_TRY(slice_lists(c, x->shape.d, size.d));
  return jf_infer_moves(c);
}

static void slice_grad(jf_gradctx *c)
{
  const jf_slice *s = c->node->attr;
  const jfl_shape *x = &c->in[0]->shape;
  int64_t step[JFL_MAXDIM];
  const jf_slice a = { .begin = s->begin, .step = { x->n, step }, .shape = jf_ints_from(x) };
  for (int i = 0; i < x->n; i++) step[i] = jf_slice_step(s, i);
  c->dx[0] = JF_EMIT(c->g, strided_slice_grad, &a, c->dy[0]);
}

/* Emits a strided_slice of dy with the extents of input i. */
static jfl_value *slice_of_dy(jf_gradctx *c, int i)
{
  const jf_slice *s = c->node->attr;
  const jf_slice a = { .begin = s->begin, .step = s->step,
                       .size = jf_ints_from(&c->in[i]->shape) };
  return JF_EMIT(c->g, strided_slice, &a, c->dy[0]);
}

static void slice_grad_grad(jf_gradctx *c) { c->dx[0] = slice_of_dy(c, 0); }

static void slice_update_grad(jf_gradctx *c)
{
  jfl_value *zeros = jf_emit_number(c->g, c->in[1]->dtype, &c->in[1]->shape, 0);
  c->dx[0] = JF_EMIT(c->g, strided_slice_update, c->node->attr, c->dy[0], zeros);
  c->dx[1] = slice_of_dy(c, 1);
}

/* Turns a list for (N, C, H, W) into one for (N, C / block, H, W, block); `last` is the entry of
   the last axis. Entry 1 counts channels in units of `unit`. */
static void blocked_list(jf_arena *arena, jf_ints *list, int64_t unit, int64_t last)
{
  int64_t *v = jf_alloc(arena, 5 * sizeof *v);
  if (list->n == 0) return;
  memcpy(v, list->v, 4 * sizeof *v);
  v[1] /= unit;
  v[4] = last;
  *list = (jf_ints){ 5, v };
}

static jf_first slice_first(const jf_node *n, void *attr)
{
  jf_slice *a = attr;
  (void)n;
  jf_first_list(&a->begin, 1);
  jf_first_list(&a->size, 1);
  jf_first_list(&a->step, 1);
  return JF_FIRST_ALONG;
}

/* If the box consists of whole blocks of channels, the op can run on blocks. */
static int slice_layout(jf_layout *c)
{
  jf_slice *a = c->attr;
  jf_ints *whole = a->shape.n ? &a->shape : &a->size;
  const int64_t b = c->in[0] == JF_BLOCKED ? jf_layout_block(c) : 0;
  if (!b || a->begin.v[1] % b || whole->v[1] % b || jf_slice_step(a, 1) != 1) return 0;
  blocked_list(c->arena, &a->begin, b, 0);
  blocked_list(c->arena, &a->step, 1, 1);
  blocked_list(c->arena, whole, b, b);
  jf_layout_all(c, JF_BLOCKED);
  return 1;
}

static int slice_moves(const jf_kargs *k, int i, jf_move *m)
{
  const jf_slice *a = k->attr;
  jf_move_whole(m, 0, &k->in[0].shape);
  for (int j = 0; j < m->n; j++) {
    m->axis[j].extent = a->size.v[j];
    m->axis[j].from = (jf_side){ j, a->begin.v[j], jf_slice_step(a, j) };
  }
  return i == 0;
}

/* Along each axis the move goes to begin, begin + step, ... */
static void slice_put(jf_move *m, const jf_slice *a)
{
  for (int j = 0; j < m->n; j++) m->axis[j].to = (jf_side){ j, a->begin.v[j], a->step.v[j] };
}

/* A box is surrounded by zeros; what lies apart is put among them. */
static int slice_grad_moves(const jf_kargs *k, int i, jf_move *m)
{
  const jf_slice *a = k->attr;
  const jfl_shape *dy = &k->in[0].shape;
  jf_border border[JFL_MAXDIM];
  int apart = 0;
  for (int j = 0; j < dy->n; j++) {
    border[j] = (jf_border){ a->begin.v[j], a->shape.v[j] - a->begin.v[j] - dy->d[j] };
    apart |= a->step.v[j] != 1;
  }
  if (!apart) return jf_move_bordered(m, i, dy, border, 0);
  jf_move_whole(m, 0, dy);
  if (i) return slice_put(m, a), i == 1;
  for (int j = 0; j < m->n; j++) m->axis[j].extent = a->shape.v[j];
  jf_move_fill(m, 0);
  return 1;
}

static int slice_update_moves(const jf_kargs *k, int i, jf_move *m)
{
  if (i < 2) jf_move_whole(m, i, &k->in[i].shape);
  if (i == 1) slice_put(m, k->attr);
  return i < 2;
}

#define SLICES(attrs_, moves_) \
  JF_WITH(attrs_, jf_slice), .moves = moves_, .cpu = jf_moves_cpu

JFL_OP(slice, .doc = "The box of x that starts at begin and has the extents size.", .path = "slice",
  .in = {"x"}, .out = {"y"}, SLICES(slice_attrs, slice_moves), .flags = JF_MOVES | JF_KEEPS,
  .infer = slice_infer, .grad = slice_grad, .layout = slice_layout, .channels_first = slice_first,
  .share = jf_share_extents)

JFL_OP(strided_slice, .doc = "Elements of x at begin, begin + step, ... along each axis.",
  .in = {"x"}, .out = {"y"}, SLICES(strided_attrs, slice_moves), .flags = JF_MOVES,
  .infer = slice_infer, .grad = slice_grad, .layout = slice_layout, .channels_first = slice_first,
  .share = jf_share_extents)

JFL_OP(strided_slice_grad, .doc = "dy in a tensor of zeros: the gradient of slices.",
  .in = {"dy"}, .out = {"dx"}, SLICES(grad_attrs, slice_grad_moves), .infer = slice_grad_infer,
  .grad = slice_grad_grad, .layout = slice_layout, .share = jf_share_extents)

JFL_OP(strided_slice_update, .doc = "x with update at begin, begin + step, ... along each axis.",
  .in = {"x", "update"}, .out = {"y"}, SLICES(update_attrs, slice_update_moves), .inplace = 1,
  .infer = slice_update_infer, .grad = slice_update_grad)
