/* gather picks slices by number, unsorted_segment_sum adds slices by number, one_hot writes numbers
   as vectors. */
#include "op/gather.h"
#include "op/move.h"

#include <string.h>

static const jf_attr gather_attrs[] = {
  JF_FIELD(jf_gather, axis, INT, "0", "the axis that indices count along"),
  {0},
};
static const jf_attr sum_attrs[] = {
  JF_FIELD(jf_segment_sum, num_segments, INT, NULL, "how many sums there are"),
  JF_FIELD(jf_segment_sum, axis, INT, "0", "the axis of data that segment_ids start at"),
  {0},
};
static const jf_attr one_hot_attrs[] = {
  JF_FIELD(jf_one_hot, depth, INT, NULL, "how many classes there are"),
  JF_FIELD(jf_one_hot, on_value, NUM, "1", "the number at an index"),
  JF_FIELD(jf_one_hot, off_value, NUM, "0", "the number elsewhere"),
  JF_FIELD(jf_one_hot, axis, INT, "-1", "where the classes stand in the result"),
  JF_FIELD(jf_one_hot, dtype, DTYPE, "float32", "the dtype of the result"),
  {0},
};

/* Replaces axes axis .. axis + drop - 1 of *s by those of t. */
static jfl_status splice(const jfl_shape *s, int axis, int drop,
                         const jfl_shape *t, jfl_shape *out)
{
  jfl_shape y = { .n = s->n - drop + t->n };
  if (y.n > JFL_MAXDIM)
    return jf_fail(JFL_ESHAPE, "the result would have %d dimensions, at most %d are possible", y.n,
                   (int)JFL_MAXDIM);
  for (int i = 0; i < axis; i++) y.d[i] = s->d[i];
  for (int i = 0; i < t->n; i++) y.d[axis + i] = t->d[i];
  for (int i = axis + drop; i < s->n; i++) y.d[i - drop + t->n] = s->d[i];
  *out = y;
  return JFL_OK;
}

static jfl_status gather_infer(jf_infer *c)
{
  jf_gather *a = c->attr;
  JF_TRY(jf_check_indices(c, 1));
  JF_TRY(jf_axis(&a->axis, c->in[0]->shape.n));
  c->dtype[0] = c->in[0]->dtype;
  return splice(&c->in[0]->shape, (int)a->axis, 1, &c->in[1]->shape, &c->shape[0]);
}

static jfl_status sum_infer(jf_infer *c)
{
  jf_segment_sum *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape, *ids = &c->in[1]->shape;
  char x[JF_SHAPE_STR], y[JF_SHAPE_STR];
  JF_TRY(jf_check_indices(c, 1));
  JF_TRY(jf_axis(&a->axis, ids->n ? s->n : s->n + 1));
  int fit = a->axis + ids->n <= s->n;
  for (int i = 0; fit && i < ids->n; i++) fit = s->d[a->axis + i] == ids->d[i];
  if (!fit)
    return jf_fail_argument(JFL_ESHAPE, "data", "must have the extents of segment_ids %s from "
                            "axis %lld on, got %s", jf_shape_str(ids, y), (long long)a->axis,
                            jf_shape_str(s, x));
  if (a->num_segments < 0)
    return jf_fail_argument(JFL_EINVAL, "num_segments", "must be at least 0, got %lld",
                            (long long)a->num_segments);
  c->dtype[0] = c->in[0]->dtype;
  return splice(s, (int)a->axis, ids->n, &(jfl_shape){ 1, { a->num_segments } }, &c->shape[0]);
}

static jfl_status one_hot_infer(jf_infer *c)
{
  jf_one_hot *a = c->attr;
  JF_TRY(jf_axis(&a->axis, c->in[0]->shape.n + 1));
  if (a->depth < 1)
    return jf_fail_argument(JFL_EINVAL, "depth", "must be at least 1, got %lld",
                            (long long)a->depth);
  if (!(JF_COMPUTED >> a->dtype & 1)) return jf_fail_dtype("dtype", JF_COMPUTED, a->dtype);
  if (!jf_holds(a->dtype, a->on_value) || !jf_holds(a->dtype, a->off_value))
    return jf_fail(JFL_EINVAL, "on_value and off_value must fit %s, got %.17g and %.17g",
                   jfl_dtype_name(a->dtype), a->on_value, a->off_value);
  c->dtype[0] = a->dtype;
  return splice(&c->in[0]->shape, (int)a->axis, 0, &(jfl_shape){ 1, { a->depth } },
                &c->shape[0]);
}

static void gather_grad(jf_gradctx *c)
{
  int64_t axis = ((const jf_gather *)c->node->attr)->axis;
  jf_segment_sum a = { c->in[0]->shape.d[axis], axis };
  c->dx[0] = JF_EMIT(c->g, unsorted_segment_sum, &a, c->dy[0], c->in[1]);
}

static void gather_sum_grad(jf_gradctx *c)
{
  jf_gather a = { ((const jf_segment_sum *)c->node->attr)->axis };
  c->dx[0] = JF_EMIT(c->g, gather, &a, c->dy[0], c->in[1]);
}

static jfl_status gather(const jf_kargs *k)
{
  const jf_tensor *x = &k->in[0], *ids = &k->in[1];
  jf_axes s = jf_axes_at(&x->shape, ((const jf_gather *)k->attr)->axis);
  size_t run = (size_t)s.after * jfl_dtype_size(x->dtype);
  int64_t n = jf_numel(&ids->shape);
  char *y = k->out[0].data;
  JF_TRY(jf_check_range(k, JF_WRONG_INDEX, ids, s.m));
  for (int64_t i = 0; i < s.before; i++)
    for (int64_t j = 0; j < n; j++, y += run)
      memcpy(y, (const char *)x->data + (size_t)(i * s.m + jf_index_at(ids, j)) * run, run);
  return JFL_OK;
}
static const jf_kernel gather_cpu[JFL_N_DTYPE] = { JF_EVERY_DTYPE(gather) };

/* y[i, id[j], l] = sum of x[i, j, l], added in the tensor's dtype and in the order of j. `add` adds
   n elements of x to n elements of y. */
static jfl_status gather_sum(const jf_kargs *k,
                      void (*add)(const jf_kargs *k, int64_t to, int64_t from, int64_t n))
{
  const jf_tensor *y = &k->out[0], *ids = &k->in[1];
  jf_axes s = jf_axes_at(&y->shape, ((const jf_segment_sum *)k->attr)->axis);
  int64_t n = jf_numel(&ids->shape);
  JF_TRY(jf_check_range(k, JF_WRONG_SEGMENT, ids, s.m));
  memset(y->data, 0, (size_t)jf_numel(&y->shape) * jfl_dtype_size(y->dtype));
  for (int64_t i = 0; i < s.before; i++)
    for (int64_t j = 0; j < n; j++)
      add(k, (i * s.m + jf_index_at(ids, j)) * s.after, (i * n + j) * s.after, s.after);
  return JFL_OK;
}

/* Sums of integers wrap. */
#define SUM(D, T, U)                                                                 \
  static void gather_add_##D(const jf_kargs *k, int64_t to, int64_t from, int64_t n) \
  {                                                                                  \
    const T *x = (const T *)k->in[0].data + from;                                    \
    T *y = (T *)k->out[0].data + to;                                                 \
    for (int64_t i = 0; i < n; i++) y[i] = (T)((U)y[i] + (U)x[i]);                   \
  }                                                                                  \
  static jfl_status gather_sum_##D(const jf_kargs *k) { return gather_sum(k, gather_add_##D); }
SUM(F32, float, float)
SUM(F64, double, double)
SUM(I32, int32_t, uint32_t)
SUM(I64, int64_t, uint64_t)
static const jf_kernel sum_cpu[JFL_N_DTYPE] = {
  [JFL_F32] = gather_sum_F32, [JFL_F64] = gather_sum_F64,
  [JFL_I32] = gather_sum_I32, [JFL_I64] = gather_sum_I64,
};

#define ONE_HOT(D, T)                                                           \
  static void mark_##D(const jf_kargs *k)                                       \
  {                                                                             \
    const jf_one_hot *a = k->attr;                                              \
    jf_axes s = jf_axes_at(&k->out[0].shape, a->axis);                          \
    T *y = k->out[0].data, on = (T)a->on_value, off = (T)a->off_value;          \
    for (int64_t i = 0, n = jf_numel(&k->out[0].shape); i < n; i++) y[i] = off; \
    for (int64_t i = 0; i < s.before * s.after; i++)                            \
      y[(i / s.after * s.m + jf_index_at(&k->in[0], i)) * s.after + i % s.after] = on; \
  }
JF_EACH_TYPE(ONE_HOT)
#define MARK_ROW(D, T) [JFL_##D] = mark_##D,

/* The kernel is chosen by the dtype of indices, so it looks at the dtype of the result itself. */
static jfl_status one_hot(const jf_kargs *k)
{
  static void (*const mark[JFL_N_DTYPE])(const jf_kargs *) = { JF_EACH_TYPE(MARK_ROW) };
  JF_TRY(jf_check_range(k, JF_WRONG_INDEX, &k->in[0], ((const jf_one_hot *)k->attr)->depth));
  mark[k->out[0].dtype](k);
  return JFL_OK;
}
static const jf_kernel one_hot_cpu[JFL_N_DTYPE] = { [JFL_I32] = one_hot, [JFL_I64] = one_hot };

JFL_OP(gather, .doc = "Slices of params along axis, chosen by indices, which replace that axis.",
  .path = "gather", .in = {"params", "indices"}, .out = {"y"}, .attr = gather_attrs,
  .attr_size = sizeof(jf_gather), .infer = gather_infer, .grad = gather_grad, .cpu = gather_cpu)

JFL_OP(unsorted_segment_sum, .doc = "Sums of the slices of data that have the same segment id.",
       .path = "math.unsorted_segment_sum", .in = { "data", "segment_ids" }, .out = { "y" },
       .attr = sum_attrs, .attr_size = sizeof(jf_segment_sum), .infer = sum_infer,
       .grad = gather_sum_grad, .cpu = sum_cpu)

JFL_OP(one_hot, .doc = "For each index a line with on_value at the index and off_value elsewhere.",
  .path = "one_hot", .in = {"indices"}, .out = {"y"}, .attr = one_hot_attrs,
  .attr_size = sizeof(jf_one_hot), .infer = one_hot_infer, .cpu = one_hot_cpu)
