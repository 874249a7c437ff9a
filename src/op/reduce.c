/* Reductions over any axes. Sums of float32 are accumulated in double. */
#include "op/reduce.h"
#include "base/walk.h"
#include "op/attrs.h"
#include "op/cast.h"
#include "op/elementwise.h"
#include "op/layout.h"
#include "op/move.h"
#include "op/reshape.h"

#include <string.h>

JF_ATTRS(attrs,
  JF_FIELD(jf_reduce, axis, INTS, "none", "the axes to reduce; all of them unless given"),
  JF_FIELD(jf_reduce, keepdims, BOOL, "false", "keep reduced axes with extent 1"))

/* Makes all axes count from 0 and sorts them. */
static jfl_status sort_axes(const jf_infer *c, jf_ints *axis)
{
  int rank = c->in[0]->shape.n;
  int64_t seen[JFL_MAXDIM] = { 0 };
  for (int i = 0; i < axis->n; i++) {
    JF_TRY(jf_axis(&axis->v[i], rank));
    if (seen[axis->v[i]]++)
      return jf_fail(JFL_EINVAL, "axis %lld is given twice", (long long)axis->v[i]);
  }
  int all = axis->n == 0;
  if (all) axis->v = jf_alloc(c->arena, (size_t)rank * sizeof *axis->v);
  axis->n = 0;
  for (int i = 0; i < rank; i++)
    if (all || seen[i]) axis->v[axis->n++] = i;
  return JFL_OK;
}

static int reduce_among(const jf_ints *axis, int i)
{
  for (int j = 0; j < axis->n; j++)
    if (axis->v[j] == i) return 1;
  return 0;
}

/* The input's shape with reduced axes of extent 1. */
static jfl_shape kept_shape(const jfl_shape *s, const jf_ints *axis)
{
  jfl_shape r = *s;
  for (int i = 0; i < axis->n; i++) r.d[axis->v[i]] = 1;
  return r;
}

static jfl_status reduce_infer(jf_infer *c)
{
  jf_reduce *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  JF_TRY(sort_axes(c, &a->axis));
  jfl_shape y = kept_shape(s, &a->axis);
  if (!a->keepdims) {
    y.n = 0;
    for (int i = 0; i < s->n; i++)
      if (!reduce_among(&a->axis, i)) y.d[y.n++] = s->d[i];
    if (!y.n && s->n) y = (jfl_shape){ 1, { 1 } };
  }
  c->shape[0] = y;
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

/* The infer rule of max and min, which refuse to reduce no elements. */
static jfl_status extreme_infer(jf_infer *c)
{
  char s[JF_SHAPE_STR];
  JF_TRY(reduce_infer(c));
  if (jf_numel(&c->in[0]->shape) || !jf_numel(&c->shape[0])) return JFL_OK;
  return jf_fail(JFL_ESHAPE, "the axes must have elements, got %s",
                 jf_shape_str(&c->in[0]->shape, s));
}

/* The axes of x, split into kept and reduced ones. At each offset of the two nests lie `run`
   elements side by side, which belong to the innermost axes: either all kept or all reduced. */
typedef struct split {
  jf_nest kept_axes, gone_axes;
  int64_t kept_step[1][JFL_MAXDIM], gone_step[1][JFL_MAXDIM];
  jf_walk kept, gone;
  int64_t run, count;          /* count: how many elements are reduced to one, */
  int64_t whole;               /* and how many in the whole of which the call is a part */
  int run_is_gone;
  int64_t done;                /* elements that were looked at */
} split;

/* Asked behind n elements more. */
static int split_ends(split *r, int64_t n)
{
  r->done += n;
  return jf_loop_ends_at(r->done / n, n);
}

static void split_axes(const jf_kargs *k, split *r)
{
  const jfl_shape *s = &k->in[0].shape;
  const jf_ints *axis = &((const jf_reduce *)k->attr)->axis;
  int64_t step[JFL_MAXDIM];
  int inner = s->n - 1;
  r->kept_axes = (jf_nest){ .n_op = 1, .step = r->kept_step };
  r->gone_axes = (jf_nest){ .n_op = 1, .step = r->gone_step };
  r->run = r->count = 1;
  r->done = 0;
  jf_dense_steps(s->n, s->d, 1, step);
  r->run_is_gone = reduce_among(axis, inner);
  for (; inner >= 0 && (s->d[inner] == 1 || reduce_among(axis, inner) == r->run_is_gone); inner--)
    r->run *= s->d[inner];
  for (int i = 0; i <= inner; i++) {
    jf_nest *w = reduce_among(axis, i) ? &r->gone_axes : &r->kept_axes;
    w->d[w->n] = s->d[i];
    w->step[0][w->n++] = step[i];
  }
  for (int i = 0; i < axis->n; i++) r->count *= s->d[axis->v[i]];
  r->whole = jf_mean_count(k->attr, r->count);
  r->kept = jf_walk_at(&r->kept_axes, r->kept_axes.n, 0);
  r->gone = jf_walk_at(&r->gone_axes, r->gone_axes.n, 0);
}

enum { LANES = 32 };

#define ADD_TO(to, value, A_, STEP) { A_ acc = (to), v = (value); (to) = (A_)(STEP); }

/* Reduces in LANES lanes; if the innermost axis is reduced, the lanes are folded at the end. In
   STEP and FINISH v is an element or a lane, acc the lane so far, and n the number of elements that
   are reduced to one. */
#define REDUCE(id, D, T_, A_, INIT, STEP, FINISH)                                     \
  static void id##_row_##D(A_ *lane, const T_ *x, int64_t n)                          \
  {                                                                                   \
    int64_t i = 0;                                                                    \
    for (; i + LANES <= n; i += LANES) {                                              \
      if (jf_loop_ends_at(i / LANES, LANES)) return;                                  \
      for (int j = 0; j < LANES; j++) ADD_TO(lane[j], (A_)x[i + j], A_, STEP)         \
    }                                                                                 \
    for (int j = 0; i + j < n; j++) ADD_TO(lane[j], (A_)x[i + j], A_, STEP)           \
  }                                                                                   \
  REDUCE_ALL(id, D, T_, A_, INIT, STEP, FINISH)
#define REDUCE_ALL(id, D, T_, A_, INIT, STEP, FINISH)                                 \
  static void id##_some_##D(split *s, const T_ *x, T_ *y, int64_t width)              \
  {                                                                                   \
    A_ lane[LANES], n = (A_)s->whole; (void)n;                                        \
    for (int j = 0; j < LANES; j++) lane[j] = (INIT);                                 \
    do id##_row_##D(lane, x + s->kept.off[0] + s->gone.off[0], width);                \
    while (jf_walk_next(&s->gone) && !split_ends(s, width));                          \
    for (int j = 1; j < LANES && s->run_is_gone; j++) ADD_TO(lane[0], lane[j], A_, STEP) \
    for (int j = 0; j < width && !(j && s->run_is_gone); j++) {                       \
      A_ acc = lane[j]; y[j] = (T_)(FINISH);                                          \
    }                                                                                 \
  }                                                                                   \
  static jfl_status id##_none_##D(const jf_kargs *k)                                  \
  {                                                                                   \
    const A_ acc = (INIT), n = 0; (void)n;                                            \
    T_ *y = k->out[0].data;                                                           \
    for (int64_t i = 0; i < jf_numel(&k->out[0].shape); i++) y[i] = (T_)(FINISH);     \
    return JFL_OK;                                                                    \
  }                                                                                   \
  REDUCE_KERNEL(id, D, T_)
#define REDUCE_KERNEL(id, D, T_)                                                  \
  static jfl_status id##_##D(const jf_kargs *k)                                   \
  {                                                                               \
    split s;                                                                      \
    T_ *y = k->out[0].data;                                                       \
    split_axes(k, &s);                                                            \
    if (!s.count) return id##_none_##D(k);                                        \
    int64_t step = s.run_is_gone ? s.run : LANES, width;                          \
    do for (int64_t i = 0; i < s.run && !split_ends(&s, step);                     \
                i += step, y += s.run_is_gone ? 1 : width) {                      \
      width = s.run - i < step ? s.run - i : step;                                \
      id##_some_##D(&s, (const T_ *)k->in[0].data + i, y, width);                 \
    } while (jf_walk_next(&s.kept) && !split_ends(&s, step));                     \
    return JFL_OK;                                                                \
  }

/* If one of them is a NaN, the result is NaN, wherever the NaN stands. */
#define LARGER acc > v || acc != acc ? acc : v
#define SMALLER acc < v || acc != acc ? acc : v
REDUCE(sum, F32, float, double, 0, acc + v, acc)
REDUCE(sum, F64, double, double, 0, acc + v, acc)
REDUCE(sum, I32, int32_t, uint64_t, 0, acc + v, acc)
REDUCE(sum, I64, int64_t, uint64_t, 0, acc + v, acc)
REDUCE(mean, F32, float, double, 0, acc + v, acc / n)
REDUCE(mean, F64, double, double, 0, acc + v, acc / n)
REDUCE(prod, F32, float, double, 1, acc * v, acc)
REDUCE(prod, F64, double, double, 1, acc * v, acc)
REDUCE(prod, I32, int32_t, uint64_t, 1, acc * v, acc)
REDUCE(prod, I64, int64_t, uint64_t, 1, acc * v, acc)
REDUCE(max, F32, float, float, -INFINITY, LARGER, acc)
REDUCE(max, F64, double, double, -INFINITY, LARGER, acc)
REDUCE(max, I32, int32_t, int32_t, INT32_MIN, LARGER, acc)
REDUCE(max, I64, int64_t, int64_t, INT64_MIN, LARGER, acc)
REDUCE(max, I8, int8_t, int8_t, INT8_MIN, LARGER, acc)
REDUCE(max, U8, uint8_t, uint8_t, 0, LARGER, acc)
REDUCE(min, F32, float, float, INFINITY, SMALLER, acc)
REDUCE(min, F64, double, double, INFINITY, SMALLER, acc)
REDUCE(min, I32, int32_t, int32_t, INT32_MAX, SMALLER, acc)
REDUCE(min, I64, int64_t, int64_t, INT64_MAX, SMALLER, acc)
REDUCE(min, I8, int8_t, int8_t, INT8_MAX, SMALLER, acc)
REDUCE(min, U8, uint8_t, uint8_t, UINT8_MAX, SMALLER, acc)
REDUCE(any, I8, int8_t, int8_t, 0, acc | (v != 0), acc)
REDUCE(all, I8, int8_t, int8_t, 1, acc & (v != 0), acc)

#define EMIT(id, ...) JF_EMIT(c->g, id, NULL, __VA_ARGS__)
#define SCALAR(v) jf_scalar(c->g, c->in[0]->dtype, v)

/* Emits v, which has the output's shape, in a shape that broadcasts against the input. */
static jfl_value *kept(jf_gradctx *c, jfl_value *v)
{
  const jf_reduce *a = c->node->attr;
  const jfl_shape s = kept_shape(&c->in[0]->shape, &a->axis);
  return jf_emit_view(c->g, v, &s);
}

static jfl_value *reduce_spread(jf_gradctx *c, jfl_value *v)
{
  jf_broadcast b = { jf_ints_from(&c->in[0]->shape) };
  return JF_EMIT(c->g, broadcast_to, &b, v);
}

static void reduce_sum_grad(jf_gradctx *c) { c->dx[0] = reduce_spread(c, kept(c, c->dy[0])); }

/* A sum over axes of extent 1 folds for integers only: sums of floats start from 0, which turns -0
   into 0. */
static jfl_value *sum_fold(jf_foldctx *c)
{
  jfl_value *x = c->node->in[0], *y = c->node->out[0];
  if (jf_is_float(y->dtype) || jf_numel(&x->shape) != jf_numel(&y->shape)) return NULL;
  return jf_emit_view(c->g, x, &y->shape);
}

static void mean_grad(jf_gradctx *c)
{
  double n = (double)jf_numel(&c->in[0]->shape) / (double)jf_numel(&c->out[0]->shape);
  c->dx[0] = reduce_spread(c, kept(c, EMIT(multiply, c->dy[0], SCALAR(1 / n))));
}

/* The gradient of max and min: every element that equals the result gets all of dy, as in
   OneFlow. */
static void extreme_grad(jf_gradctx *c)
{
  jfl_value *hit = EMIT(equal, c->in[0], kept(c, c->out[0]));
  c->dx[0] = EMIT(where, hit, kept(c, c->dy[0]), SCALAR(0));
}

/* The gradient for an element is dy times the product of the others. If no element is 0, that is p
   / x. If exactly one is 0, it gets the product of the rest and all others get 0. If more are 0,
   all get 0. */
static void prod_grad(jf_gradctx *c)
{
  jf_reduce a = *(const jf_reduce *)c->node->attr;
  jf_cast as_x = { c->in[0]->dtype };
  jfl_value *zero = SCALAR(0), *one = SCALAR(1);
  a.keepdims = 1;
  jfl_value *is_zero = EMIT(equal, c->in[0], zero);
  jfl_value *rest = EMIT(where, is_zero, one, c->in[0]);
  jfl_value *p = JF_EMIT(c->g, reduce_prod, &a, rest);
  jfl_value *zeros = JF_EMIT(c->g, reduce_sum, &a, JF_EMIT(c->g, cast, &as_x, is_zero));
  jfl_value *at_zero = EMIT(where, EMIT(equal, zeros, one), p, zero);
  jfl_value *elsewhere = EMIT(where, EMIT(equal, zeros, zero), EMIT(divide, p, rest), zero);
  c->dx[0] = EMIT(multiply, kept(c, c->dy[0]), EMIT(where, is_zero, at_zero, elsewhere));
}

/* A sum over all axes does not depend on their order. A sum over some axes can run on blocks only
   if the result is in plain order: either channels are summed, or all cells are. */
static int reduce_layout(jf_layout *c)
{
  jf_ints *axis = &((jf_reduce *)c->attr)->axis;
  int channels = reduce_among(axis, 1), cells = reduce_among(axis, 2) && reduce_among(axis, 3);
  if (c->in[0] != JF_PLAIN && axis->n == c->in_shape[0]->n) return axis->n = 0, 1;
  if (c->in[0] != JF_BLOCKED || !(channels || cells)) return 0;
  if (channels) {                        /* the axis within blocks is summed as well */
    int64_t *longer = jf_alloc(c->arena, (size_t)(axis->n + 1) * sizeof *longer);
    memcpy(longer, axis->v, (size_t)axis->n * sizeof *longer);
    longer[axis->n] = 4;
    *axis = (jf_ints){ axis->n + 1, longer };
  }
  return 1;
}

/* A result without height or width, but with the channels, would have others axes than before. */
static jf_first reduction_first(const jf_node *n, void *attr)
{
  jf_reduce *a = attr;
  const int cells = reduce_among(&a->axis, 1) + reduce_among(&a->axis, 2);
  (void)n;
  if (!a->keepdims && cells < 2 && !reduce_among(&a->axis, 3)) return JF_FIRST_NOT;
  for (int i = 0; i < a->axis.n; i++) a->axis.v[i] = jf_first_axis(a->axis.v[i]);
  return JF_FIRST_ALONG;
}

/* The axis of the result that axis i of the input becomes; -1: it is reduced. */
static int reduce_axis_of(const jf_reduce *a, int i)
{
  int at = i;
  for (int j = 0; j < a->axis.n; j++) {
    if (a->axis.v[j] == i) return -1;
    at -= !a->keepdims && a->axis.v[j] < i;
  }
  return at;
}

/* Axes that stay may be split; what is left of the input makes a sum, a product, ... of its own. */
static void reduce_signatures(jf_signatures *c)
{
  const jf_node *n = c->node;
  for (int i = 0; i < n->in[0]->shape.n; i++) {
    const int to = reduce_axis_of(n->attr, i);
    const int adds = (n->op->flags & (JF_SUMS | JF_MEANS)) != 0;
    if (to < 0 && !adds) continue;
    if (to < 0) jf_signature_say(c, "%d->P", i);
    else jf_signature_say(c, "%d->%d", i, to);
  }
}

/* A part of a mean is divided by the number of elements of the whole. */
static void reduce_share(jf_share *s)
{
  const int64_t results = jf_numel(&s->node->out[0]->shape);
  if (results && s->signature->out[0].kind == JFL_PARTIAL)
    ((jf_reduce *)s->attr)->whole = jf_numel(&s->node->in[0]->shape) / results;
}

#define REDUCTION(kernels, rule)                                                       \
  .in = {"input_tensor"}, .out = {"y"}, JF_WITH(attrs, jf_reduce),                     \
  .infer = rule, .layout = reduce_layout, .signatures = reduce_signatures, \
  .channels_first = reduction_first, \
  .cpu = JF_KERNELS(kernels)

JFL_OP(reduce_sum, .doc = "The sum over axes.", .path = "math.reduce_sum",
  REDUCTION(JF_NUMS(sum_), reduce_infer), .alike = 1, .flags = JF_SUMS, .fold = sum_fold,
  .grad = reduce_sum_grad)

JFL_OP(reduce_mean, .doc = "The mean over axes.", .path = "math.reduce_mean",
  REDUCTION(JF_FLOATS(mean_), reduce_infer), .flags = JF_MEANS, .grad = mean_grad,
  .share = reduce_share)

JFL_OP(reduce_max, .doc = "The largest element over axes.", .path = "math.reduce_max",
  REDUCTION(JF_TYPES(max_), extreme_infer), .flags = JF_KEEPS, .grad = extreme_grad)

JFL_OP(reduce_min, .doc = "The smallest element over axes.", .path = "math.reduce_min",
  REDUCTION(JF_TYPES(min_), extreme_infer), .flags = JF_KEEPS, .grad = extreme_grad)

JFL_OP(reduce_prod, .doc = "The product over axes.", .path = "math.reduce_prod",
  REDUCTION(JF_NUMS(prod_), reduce_infer), .alike = 1, .flags = JF_KEEPS, .grad = prod_grad)

JFL_OP(reduce_any, .doc = "1 where any element over axes is not 0.", .path = "math.reduce_any",
  REDUCTION([JFL_I8] = any_I8, reduce_infer), .truth = 1)

JFL_OP(reduce_all, .doc = "1 where no element over axes is 0.", .path = "math.reduce_all",
  REDUCTION([JFL_I8] = all_I8, reduce_infer), .truth = 1)
