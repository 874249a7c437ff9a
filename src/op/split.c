/* Cutting a tensor into parts along an axis. */
#include "op/split.h"
#include "op/constant.h"
#include "op/layout.h"
#include "op/move.h"
#include "op/slice.h"

JF_ATTRS(attrs,
  JF_FIELD(jf_split, sizes, INTS, NULL,
           "the extents of the parts; one number: that of each, but the last may have less"),
  JF_FIELD(jf_split, axis, INT, "0", "the axis along which the parts follow each other"))

int jf_splits_along(const jf_node *n, int64_t axis)
{
  return n->op == &jf_op_split && ((const jf_split *)n->attr)->axis == axis;
}

/* The most parts: Lua's stack holds all results of a call. */
enum { SPLIT_MOST = 4096 };

static jfl_status split_count(int64_t parts)
{
  if (parts <= SPLIT_MOST) return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, "sizes", "must cut axis into at most %d parts, got %lld",
                          SPLIT_MOST, (long long)parts);
}

/* Replaces the one size by a list with the size of each part of an axis of extent n; the last part
   may be smaller. If that makes a single part, the list stays as it is. */
static jfl_status split_equal(const jf_infer *c, jf_ints *sizes, int64_t n)
{
  const int64_t size = sizes->v[0];
  if (size < 1) return jf_fail_argument(JFL_EINVAL, "sizes", "must be at least 1, got %lld",
                                        (long long)size);
  const int64_t parts = n > size ? (n - 1) / size + 1 : 1;
  if (parts == 1) return JFL_OK;
  JF_TRY(split_count(parts));
  *sizes = (jf_ints){ (int)parts, jf_alloc(c->arena, (size_t)parts * sizeof *sizes->v) };
  for (int64_t i = 0; i < parts; i++) sizes->v[i] = n - i * size < size ? n - i * size : size;
  return JFL_OK;
}

static jfl_status split_check(const jf_ints *sizes, int64_t n)
{
  int64_t left = n;
  for (int i = 0; i < sizes->n; i++) {
    if (sizes->v[i] < 0 || sizes->v[i] > left)
      return jf_fail_argument(JFL_ESHAPE, "sizes", "must add up to the axis's extent %lld, got "
                              "%lld where %lld are left", (long long)n, (long long)sizes->v[i],
                              (long long)left);
    left -= sizes->v[i];
  }
  if (left == 0 && sizes->n) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, "sizes", "must add up to the axis's extent %lld, got %lld",
                          (long long)n, (long long)(n - left));
}

static jfl_status split_infer(jf_infer *c)
{
  jf_split *a = c->attr;
  const jfl_value *x = c->in[0];
  JF_TRY(jf_axis(&a->axis, x->shape.n));
  const int64_t n = x->shape.d[a->axis];
  if (a->sizes.n == 1) JF_TRY(split_equal(c, &a->sizes, n));
  JF_TRY(split_count(a->sizes.n));
  if (a->sizes.n != 1) JF_TRY(split_check(&a->sizes, n));
  jf_infer_many(c, a->sizes.n);
  return jf_infer_moves(c);
}

/* The gradient of a part that the loss does not depend on is 0. */
static void split_grad(jf_gradctx *c)
{
  const jf_split *a = c->node->attr;
  jf_concat along = { .axis = a->axis };
  jfl_value **dy = jf_alloc(c->g->arena, (size_t)a->sizes.n * sizeof *dy);
  for (int i = 0; i < a->sizes.n; i++) {
    const jfl_value *y = c->out[i];
    dy[i] = c->dy[i] ? c->dy[i] : jf_emit_number(c->g, y->dtype, &y->shape, 0);
  }
  c->dx[0] = jf_emit(c->g, &jf_op_concat, &along, dy, (size_t)a->sizes.n);
}

static jf_first split_first(const jf_node *n, void *attr)
{
  jf_split *a = attr;
  (void)n;
  a->axis = jf_first_axis(a->axis);
  return JF_FIRST_ALONG;
}

static int split_moves(const jf_kargs *k, int i, jf_move *m)
{
  const jf_split *a = k->attr;
  const int64_t begin = i ? m->axis[a->axis].from.begin + m->axis[a->axis].extent : 0;
  jf_move_whole(m, 0, &k->in[0].shape);
  if (i >= a->sizes.n) return 0;
  m->out = i;
  m->axis[a->axis].from.begin = begin;
  if (a->sizes.n > 1) m->axis[a->axis].extent = a->sizes.v[i];
  return 1;
}

JFL_OP(split, .doc = "The parts of x along axis, one result each.", .path = "split", .in = {"x"},
  .out = {"part"}, JF_WITH(attrs, jf_split), .flags = JF_MANY, .infer = split_infer,
  .grad = split_grad, .channels_first = split_first, .moves = split_moves, .cpu = jf_moves_cpu)
